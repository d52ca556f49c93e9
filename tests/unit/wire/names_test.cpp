// The expected texts are the same for every compiler: ci/test compiles this with g++ 12 and with clang 16.
#include <gtest/gtest.h>

#include <ferry/wire/concatenated.hpp>
#include <ferry/wire/type_name.hpp>

#include "wire_samples.hpp"

namespace ns {

class Server {
 public:
  int weights(int) { return 1; }
  double loss() const noexcept { return 0; }
  template <class T>
  void set(T) {}
  void overloaded(int) {}
  void overloaded(double) {}
  int member = 0;
};

enum class Mode { fast, safe };

template <class T>
struct Box {
  T get() { return {}; }
  struct Lid {
    void open() {}
  };
};

template <auto Value>
struct Constant {};

inline namespace v2 {
struct Versioned {};
}  // namespace v2

template <class T>
auto local_of_template() {
  struct Local {};
  return Local{};
}

inline const auto lambda = [](int) {
  struct InLambda {};
  return InLambda{};
};

}  // namespace ns

namespace {

struct Hidden {
  void run() {}
  template <class T>
  struct Nested {};
};

}  // namespace

template <>
inline constexpr std::string_view ferry::wire::kClassName<ns::Versioned> = "ns::Versioned";

namespace ferry::wire {
namespace {

TEST(ClassNameTest, IsTheQualifiedName) {
  EXPECT_EQ(class_name<ns::Server>(), "ns::Server");
  EXPECT_EQ(class_name<ns::Box<int>::Lid>(), "ns::Box<int>::Lid");
}

TEST(ClassNameTest, TemplateArgumentsAreSpelledAlike) {
  EXPECT_EQ(class_name<ns::Box<int>>(), "ns::Box<int>");
  EXPECT_EQ(class_name<ns::Box<ns::Box<ns::Server>>>(), "ns::Box<ns::Box<ns::Server>>");
  EXPECT_EQ(class_name<ns::Box<std::vector<std::string>>>(), "ns::Box<std::vector<std::basic_string<char>>>");
  EXPECT_EQ((class_name<ns::Box<std::map<int, const char*>>>()), "ns::Box<std::map<int,const char*>>");
  EXPECT_EQ(class_name<ns::Box<const char* const&>>(), "ns::Box<const char*const&>");
  EXPECT_EQ(class_name<ns::Box<int (*)(int, char)>>(), "ns::Box<int(*)(int,char)>");
  EXPECT_EQ(class_name<ns::Box<void(int)>>(), "ns::Box<void(int)>");
  EXPECT_EQ(class_name<ns::Box<int[3]>>(), "ns::Box<int[3]>");
  EXPECT_EQ(class_name<ns::Constant<3U>>(), "ns::Constant<3>");
  EXPECT_EQ(class_name<ns::Constant<-5L>>(), "ns::Constant<-5>");
  EXPECT_EQ(class_name<ns::Constant<true>>(), "ns::Constant<true>");
  EXPECT_EQ(class_name<ns::Constant<'x'>>(), "ns::Constant<'x'>");
  EXPECT_EQ(class_name<ns::Constant<ns::Mode::safe>>(), "ns::Constant<ns::Mode::safe>");
  EXPECT_EQ(class_name<ns::Constant<&ns::Server::loss>>(), "ns::Constant<&ns::Server::loss>");
}

TEST(ClassNameTest, ArithmeticTypesHaveOneName) {
  EXPECT_EQ(class_name<ns::Box<char>>(), "ns::Box<char>");
  EXPECT_EQ(class_name<ns::Box<signed char>>(), "ns::Box<signed char>");
  EXPECT_EQ(class_name<ns::Box<unsigned char>>(), "ns::Box<unsigned char>");
  EXPECT_EQ(class_name<ns::Box<short>>(), "ns::Box<short>");
  EXPECT_EQ(class_name<ns::Box<unsigned short>>(), "ns::Box<unsigned short>");
  EXPECT_EQ(class_name<ns::Box<unsigned>>(), "ns::Box<unsigned int>");
  EXPECT_EQ(class_name<ns::Box<long>>(), "ns::Box<long>");
  EXPECT_EQ(class_name<ns::Box<const volatile unsigned long*>>(), "ns::Box<const volatile unsigned long*>");
  EXPECT_EQ(class_name<ns::Box<long long>>(), "ns::Box<long long>");
  EXPECT_EQ(class_name<ns::Box<unsigned long long>>(), "ns::Box<unsigned long long>");
  EXPECT_EQ(class_name<ns::Box<long double>>(), "ns::Box<long double>");
}

TEST(ClassNameTest, AnonymousNamespacesAreSpelledAlike) {
  EXPECT_EQ(class_name<Hidden>(), "{anonymous}::Hidden");
  EXPECT_EQ(class_name<Hidden::Nested<Hidden>>(), "{anonymous}::Hidden::Nested<{anonymous}::Hidden>");
}

TEST(ClassNameTest, LocalClassesAreNamedWithoutTheirFunction) {
  struct Local {};
  EXPECT_EQ(class_name<Local>(), "Local");
  EXPECT_EQ(class_name<ns::Box<Local>>(), "ns::Box<Local>");
  EXPECT_EQ(class_name<decltype(ns::local_of_template<int>())>(), "Local");
  EXPECT_EQ(class_name<decltype(ns::lambda(1))>(), "InLambda");
}

TEST(ClassNameTest, ASpecialisationNamesWhatCompilersNameDifferently) {
  EXPECT_EQ(class_name<ns::Versioned>(), "ns::Versioned");
}

TEST(MemberNameTest, IsTheNameWithoutItsClass) {
  EXPECT_EQ(member_name<&ns::Server::weights>(), "weights");
  EXPECT_EQ(member_name<&ns::Server::loss>(), "loss");
  EXPECT_EQ(member_name<&ns::Server::member>(), "member");
  EXPECT_EQ(member_name<&ns::Server::set<std::string>>(), "set");
  EXPECT_EQ(member_name<static_cast<void (ns::Server::*)(double)>(&ns::Server::overloaded)>(), "overloaded");
  EXPECT_EQ((member_name<&ns::Box<std::map<int, int>>::get>()), "get");
  EXPECT_EQ(member_name<&ns::Box<int>::Lid::open>(), "open");
  EXPECT_EQ(member_name<&Hidden::run>(), "run");
}

TEST(NamesTest, StandInConstantExpressions) {
  static_assert(class_name<ns::Server>() == "ns::Server");
  static_assert(member_name<&ns::Server::loss>() == "loss");
  static_assert(type_name<std::vector<float>>() == "list<f32>");
  static_assert(class_name<class Incomplete>().ends_with("Incomplete"));
}

TEST(TypeNameTest, ScalarsAreNamedByTheirWidth) {
  EXPECT_EQ(type_name<bool>(), "bool");
  EXPECT_EQ(type_name<char>(), "u8");
  EXPECT_EQ(type_name<signed char>(), "i8");
  EXPECT_EQ(type_name<char32_t>(), "u32");
  EXPECT_EQ(type_name<short>(), "i16");
  EXPECT_EQ(type_name<int>(), "i32");
  EXPECT_EQ(type_name<unsigned long>(), "u64");
  EXPECT_EQ(type_name<unsigned long long>(), "u64");
  EXPECT_EQ(type_name<float>(), "f32");
  EXPECT_EQ(type_name<double>(), "f64");
  EXPECT_EQ(type_name<samples::Color>(), "u8");
  EXPECT_EQ(type_name<samples::Switch>(), "bool");
  EXPECT_EQ(type_name<samples::JobId>(), "u32");
  EXPECT_EQ(type_name<std::monostate>(), "nil");
  EXPECT_EQ(type_name<void>(), "void");
}

TEST(TypeNameTest, ContainersAreNamedByWhatTheyHold) {
  EXPECT_EQ(type_name<std::string>(), "str");
  EXPECT_EQ(type_name<const std::string&>(), "str");
  EXPECT_EQ(type_name<std::string_view>(), "str");
  EXPECT_EQ(type_name<std::vector<std::byte>>(), "bytes");
  EXPECT_EQ((type_name<std::array<std::byte, 16>>()), "bytes<16>");
  EXPECT_EQ((type_name<std::array<float, 3>>()), "array<f32,3>");
  EXPECT_EQ((type_name<std::map<std::string, std::uint64_t>>()), "map<str,u64>");
  EXPECT_EQ((type_name<std::unordered_map<std::string, std::vector<int>>>()), "map<str,list<i32>>");
  EXPECT_EQ(type_name<std::unordered_set<int>>(), "set<i32>");
  EXPECT_EQ((type_name<std::pair<int, std::string>>()), "{i32,str}");
  EXPECT_EQ(type_name<std::tuple<>>(), "{}");
  EXPECT_EQ(type_name<std::optional<bool>>(), "optional<bool>");
  EXPECT_EQ((type_name<std::variant<int, std::string>>()), "variant<i32,str>");
  EXPECT_EQ(type_name<std::chrono::milliseconds>(), "duration<i64,1/1000>");
  EXPECT_EQ((type_name<std::chrono::duration<double>>()), "duration<f64,1/1>");
}

TEST(TypeNameTest, StructsAreNamedByTheirMembers) {
  EXPECT_EQ(type_name<samples::Point>(), "{i32,optional<str>}");
  EXPECT_EQ(type_name<samples::Nothing>(), "{}");
  EXPECT_EQ((type_name<std::vector<std::tuple<samples::Point, int>>>()), "list<{{i32,optional<str>},i32}>");
  EXPECT_EQ((type_name<std::pair<samples::Mass, int>>()), "{mass,i32}");
}

struct Branch {
  struct Leaf {
    std::vector<Branch> branches;
    std::vector<Leaf> leaves;
  };
  std::vector<Branch> branches;
  Leaf leaf;
};

TEST(TypeNameTest, StructsInsideThemselvesAreCountedOutwards) {
  EXPECT_EQ(type_name<samples::Tree>(), "{i32,list<^1>}");
  EXPECT_EQ(type_name<Branch>(), "{list<^1>,{list<^2>,list<^1>}}");
}

constexpr std::string_view kOpen = "actor<";
constexpr std::string_view kServer = class_name<ns::Server>();
constexpr std::string_view kClose = ">";

TEST(NamesTest, AreJoinedAtCompileTime) {
  static_assert(kConcatenated<kOpen, kServer, kClose> == "actor<ns::Server>");
}

TEST(FingerprintTest, IsTheSameEverywhere) {
  static_assert(fingerprint("ns::Server", "weights", "{i32}", "i32") == 0x94ddb14c852352a5);
}

TEST(FingerprintTest, DependsOnEachTextAndOnTheirBounds) {
  EXPECT_NE(fingerprint("ab", "c"), fingerprint("a", "bc"));
  EXPECT_NE(fingerprint("ab"), fingerprint("ab", ""));
  EXPECT_NE(fingerprint("a", "b"), fingerprint("b", "a"));
  EXPECT_NE(fingerprint(), fingerprint(""));
}

}  // namespace
}  // namespace ferry::wire
