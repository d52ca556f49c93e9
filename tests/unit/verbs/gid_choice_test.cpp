#include <ferry/verbs/gid_choice.hpp>

#include <arpa/inet.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ferry::verbs {
namespace {

using testing::HasSubstr;

// Of an address as text; an IPv4 one is mapped, as in the tables.
Gid gid_of(std::string_view text) {
  Gid gid{};
  const std::string full = text.find('.') == std::string_view::npos ? std::string(text) : "::ffff:" + std::string(text);
  EXPECT_EQ(::inet_pton(AF_INET6, full.c_str(), gid.data()), 1) << text;
  return gid;
}

std::uint32_t chosen(const std::vector<GidEntry>& table, int wanted = -1) {
  return choose_gid(table, wanted).value().index;
}

TEST(GidChoice, RoutableAddressOverRoceV2GoesFirst) {
  // As a ConnectX with an IPv4 address has it: each address as v1 and v2, the link-local ones first.
  const std::vector<GidEntry> table{{0, GidType::roce_v1, gid_of("fe80::5054:ff:fe12:3456")},
                                    {1, GidType::roce_v2, gid_of("fe80::5054:ff:fe12:3456")},
                                    {2, GidType::roce_v1, gid_of("10.1.2.3")},
                                    {3, GidType::roce_v2, gid_of("10.1.2.3")},
                                    {4, GidType::roce_v1, gid_of("2001:db8::1")},
                                    {5, GidType::roce_v2, gid_of("2001:db8::1")}};
  EXPECT_EQ(chosen(table), 3U);
}

TEST(GidChoice, Ipv6GoesBeforeLinkLocal) {
  EXPECT_EQ(chosen({{0, GidType::roce_v2, gid_of("fe80::1")}, {1, GidType::roce_v2, gid_of("fd00::7")}}), 1U);
  EXPECT_EQ(chosen({{0, GidType::roce_v2, gid_of("169.254.3.4")}, {1, GidType::roce_v2, gid_of("2001:db8::1")}}), 1U);
}

TEST(GidChoice, LinkLocalV2GoesBeforeRoutableV1) {
  EXPECT_EQ(chosen({{0, GidType::roce_v1, gid_of("10.1.2.3")}, {1, GidType::roce_v2, gid_of("fe80::1")}}), 1U);
}

TEST(GidChoice, V1IsTakenWhereThereIsNoOther) {
  EXPECT_EQ(chosen({{0, GidType::roce_v1, gid_of("fe80::1")}, {1, GidType::roce_v1, gid_of("192.168.0.9")}}), 1U);
}

TEST(GidChoice, FirstOfEqualsIsTaken) {
  EXPECT_EQ(chosen({{2, GidType::roce_v2, gid_of("10.1.2.3")}, {7, GidType::roce_v2, gid_of("10.9.9.9")}}), 2U);
}

TEST(GidChoice, LoopbackIsTheLastResort) {
  EXPECT_EQ(chosen({{0, GidType::roce_v2, gid_of("127.0.0.1")}, {1, GidType::roce_v2, gid_of("fe80::1")}}), 1U);
  EXPECT_EQ(chosen({{0, GidType::roce_v2, gid_of("127.0.0.1")}}), 0U);
}

TEST(GidChoice, EmptyTableTellsTheRemedy) {
  const auto none = choose_gid({}, -1);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code(), errc::invalid_argument);
  EXPECT_THAT(none.error().detail(), HasSubstr("ip address add"));
  const std::vector<GidEntry> zeroes{{0, GidType::roce_v2, Gid{}}};
  EXPECT_FALSE(choose_gid(zeroes, -1)) << "an entry of zeroes is none";
}

TEST(GidChoice, WantedIndexIsTakenWhateverItIs) {
  const std::vector<GidEntry> table{{0, GidType::roce_v1, gid_of("fe80::1")},
                                    {3, GidType::roce_v2, gid_of("10.1.2.3")}};
  EXPECT_EQ(chosen(table, 0), 0U);
  const auto missing = choose_gid(table, 1);
  ASSERT_FALSE(missing);
  EXPECT_THAT(missing.error().detail(), HasSubstr("0: RoCE v1 fe80::1, 3: RoCE v2 10.1.2.3"));
}

TEST(GidChoice, ScopesAreTold) {
  EXPECT_EQ(scope_of(Gid{}), GidScope::none);
  EXPECT_EQ(scope_of(gid_of("::1")), GidScope::loopback);
  EXPECT_EQ(scope_of(gid_of("127.3.4.5")), GidScope::loopback);
  EXPECT_EQ(scope_of(gid_of("febf::1")), GidScope::link_local);
  EXPECT_EQ(scope_of(gid_of("fec0::1")), GidScope::ipv6);
  EXPECT_EQ(scope_of(gid_of("8.8.8.8")), GidScope::ipv4);
  EXPECT_EQ(to_string(gid_of("10.1.2.3")), "10.1.2.3");
  EXPECT_EQ(to_string(gid_of("fe80::1")), "fe80::1");
}

}  // namespace
}  // namespace ferry::verbs
