// Result<T>: a value or a Failure. What every fallible function inside ferry returns; never thrown across layers.
//
// A thin, nodiscard name for boost::system::result. value() on a failure throws Error.
#pragma once

#include <boost/system/result.hpp>

#include <ferry/base/failure.hpp>

namespace ferry {

// Found by boost::system::result when value() is called on a failure.
[[noreturn]] inline void throw_exception_from_error(const Failure& failure, const boost::source_location&) {
  throw Error(failure);
}

template <class T>
class [[nodiscard]] Result : public boost::system::result<T, Failure> {
 public:
  using Base = boost::system::result<T, Failure>;
  using Base::Base;

  // boost::system::result is ambiguous where T is constructible from Failure; these two never are.
  Result(const Failure& failure) : Base(boost::system::in_place_error, failure) {}
  Result(Failure&& failure) : Base(boost::system::in_place_error, std::move(failure)) {}
};

}  // namespace ferry
