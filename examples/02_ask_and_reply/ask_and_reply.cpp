// A call asks and waits for the reply. It always ends: with the value, or with an error that says what went wrong.

#include <cstdint>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <tuple>

#include <ferry/ferry.hpp>

#include "../output/output.hpp"

// Plain aggregates travel as they are; nothing has to be declared for them.
struct Order {
  std::string item;
  std::uint32_t count = 0;
};

class Shop : public ferry::Actor {
 public:
  Shop(ferry::ActorContext&, std::uint32_t stock) : stock_(stock) {}  // the arguments of spawn, behind the context

  // Returns what is left.
  std::uint32_t sell(const Order& order) {
    if (order.count > stock_) {
      throw std::out_of_range("only " + std::to_string(stock_) + " " + order.item + " left");
    }
    return stock_ -= order.count;
  }

  static constexpr auto endpoints = ferry::endpoints<&Shop::sell>;

 private:
  std::uint32_t stock_;
};

int main(int argc, char** argv) {
  return printed(ferry::run(argc, argv, ferry::actors<Shop>, [](ferry::Context& context) -> ferry::Task<int> {
    auto shops = co_await context.this_proc().spawn<Shop>("shop", 20);
    const auto shop = shops.only();

    const Order pears{"pears", 4};  // named first: g++ 12 destroys it twice where it is made inside the co_await
    const std::uint32_t left = co_await shop.call<&Shop::sell>(pears);
    std::printf("bought 4, %u left\n", left);

    // The exception of an endpoint reaches the caller. as_result gives a Result in place of throwing ferry::Error.
    const Order too_many{"pears", 100};
    const auto refused = co_await ferry::as_result(shop.call<&Shop::sell>(too_many));
    std::printf("%s\n", refused.error().detail().c_str());

    // The actor lives on. Calls may be under way at the same time; all() waits for every one.
    const auto both = co_await ferry::all(shop.call<&Shop::sell>(pears), shop.call<&Shop::sell>(pears));
    std::printf("bought 4, %u left; bought 4, %u left\n", std::get<0>(both), std::get<1>(both));
    co_return 0;
  }));
}
