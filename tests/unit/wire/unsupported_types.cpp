// Must not compile: each line asks ferry for a type that it refuses. unsupported_types_test.cpp reads the messages.
#include <chrono>
#include <memory>

#include <ferry/wire/codec.hpp>
#include <ferry/wire/type_name.hpp>

namespace {

enum Unfixed { one, two };
struct WithArray {
  int before;
  int values[3];
  std::string after;
};
struct WithArrayOfOne {
  int values[1];
};
struct Base {
  int a;
};
struct Derived : Base {
  int b;
};
class Opaque {
 public:
  Opaque() {}
};
struct Held {
  std::unique_ptr<int> owner;
};
class NoDefault {
 public:
  explicit NoDefault(int value);
};
struct HoldsReference {
  int& value;
};
union Either {
  int a;
  float b;
};

template <class T>
void send(const T& value) {
  ferry::wire::Bytes bytes;
  ferry::wire::encode(bytes, value);
}

template <class T>
void receive() {
  static_cast<void>(ferry::wire::decode<T>(ferry::wire::ByteView{}));
}

}  // namespace

void ask(int* pointer, long double wide, wchar_t letter, int (&array)[3]) {
  send(pointer);
  send(wide);
  send(letter);
  send(array);
  send(Unfixed::one);
  send(WithArray{});
  send(WithArrayOfOne{});
  send(Derived{});
  send(Opaque{});
  send(Held{});
  send(Either{});
  send(std::optional<std::optional<int>>{});
  receive<std::string_view>();
  receive<ferry::wire::ByteView>();
  receive<std::pair<const int, int>>();
  receive<std::tuple<int, NoDefault>>();
  receive<HoldsReference>();
  static_cast<void>(ferry::wire::type_name<std::vector<Opaque>>());
}
