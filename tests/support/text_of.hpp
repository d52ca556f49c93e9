// text_of(f): what the ferry::Error that f() throws says; "no error" where it throws none.
#pragma once

#include <string>

#include <ferry/base/failure.hpp>

namespace ferry::test {

template <class F>
std::string text_of(F&& function) {
  try {
    function();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace ferry::test
