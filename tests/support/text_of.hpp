// text_of(f): what the exception that f() throws says; "no error" where it throws none.
#pragma once

#include <exception>
#include <string>

namespace ferry::test {

template <class F>
std::string text_of(F&& function) {
  try {
    function();
  } catch (const std::exception& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace ferry::test
