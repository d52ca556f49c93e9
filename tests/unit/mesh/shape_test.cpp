// Shapes and what a mesh tells about its ranks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <set>

#include <ferry/base/failure.hpp>
#include <ferry/mesh/mesh_error.hpp>
#include <ferry/mesh/shape.hpp>
#include <ferry/mesh/value_mesh.hpp>

#include <text_of.hpp>

namespace ferry {
namespace {

using test::text_of;

TEST(Shape, CountsRanksRowByRow) {
  const Shape shape{{"hosts", 2}, {"gpus", 3}};
  EXPECT_EQ(shape.ranks(), 6U);
  EXPECT_EQ(shape.describe(0), "hosts=0,gpus=0");
  EXPECT_EQ(shape.describe(5), "hosts=1,gpus=2");
  EXPECT_EQ(shape.ranks_at("hosts", 1), (std::vector<std::size_t>{3, 4, 5}));
  EXPECT_EQ(shape.ranks_at("gpus", 1), (std::vector<std::size_t>{1, 4}));
  EXPECT_EQ(shape.without("hosts").describe(2), "gpus=2");
  EXPECT_EQ(Shape().ranks(), 1U);
  EXPECT_EQ(Shape().describe(0), "");
}

TEST(Shape, RefusesWhatNamesNoMesh) {
  EXPECT_EQ(text_of([] { Dimension("", 1); }),
            "shape: invalid_argument: a dimension's name has 1 to 31 bytes; \"\" has 0");
  EXPECT_EQ(text_of([] { Dimension(std::string(32, 'x'), 1); }),
            "shape: invalid_argument: a dimension's name has 1 to 31 bytes; \"" + std::string(32, 'x') + "\" has 32");
  EXPECT_EQ(text_of([] { Dimension("gpus", 0); }),
            "shape: invalid_argument: dimension \"gpus\" needs a size of at least 1");
  EXPECT_EQ(text_of([] { Dimension("gpus", -3); }),
            "shape: invalid_argument: dimension \"gpus\" needs a size of at least 1");
  EXPECT_EQ(text_of([] {
              Shape({"a", 1024}, {"b", 1025});
            }),
            "shape: invalid_argument: a mesh has at most 1048576 ranks");
  EXPECT_EQ(text_of([] {
              Shape({"a", ~std::uint64_t{0}}, {"b", 2});
            }),
            "shape: invalid_argument: a mesh has at most 1048576 ranks");
  EXPECT_EQ(text_of([] { Shape({"a", 2}, {"a", 2}); }), "shape: invalid_argument: two dimensions are named \"a\"");
  const Shape shape{{"hosts", 2}, {"gpus", 3}};
  EXPECT_EQ(text_of([&] { static_cast<void>(shape.ranks_at("racks", 0)); }),
            "shape: invalid_argument: no dimension is named \"racks\"; there are: hosts, gpus");
  EXPECT_EQ(text_of([&] { static_cast<void>(shape.ranks_at("gpus", 3)); }),
            "shape: invalid_range: dimension \"gpus\" has the indices 0 to 2, not 3");
}

RC_GTEST_PROP(Shape, SlicesOfADimensionAreAPartitionInOrder, ()) {
  const auto a = *rc::gen::inRange<std::size_t>(1, 6);
  const auto b = *rc::gen::inRange<std::size_t>(1, 6);
  const auto c = *rc::gen::inRange<std::size_t>(1, 6);
  const Shape shape{{"a", a}, {"b", b}, {"c", c}};
  const auto name = *rc::gen::element(std::string("a"), std::string("b"), std::string("c"));
  const std::size_t size = name == "a" ? a : name == "b" ? b : c;
  std::set<std::size_t> seen;
  for (std::size_t index = 0; index < size; ++index) {
    const auto ranks = shape.ranks_at(name, index);
    RC_ASSERT(ranks.size() == shape.without(name).ranks());
    RC_ASSERT(std::is_sorted(ranks.begin(), ranks.end()));
    for (std::size_t at = 0; at < ranks.size(); ++at) {
      RC_ASSERT(seen.insert(ranks[at]).second);
      RC_ASSERT(shape.describe(ranks[at]).find(name + "=" + std::to_string(index)) != std::string::npos);
    }
  }
  RC_ASSERT(seen.size() == shape.ranks());
}

TEST(MeshError, NamesEveryFailedRankUpToEight) {
  std::vector<RankFailure> failures;
  failures.push_back({1, "gpus=1", Failure(errc::peer_lost, "cut").with_effect(Effect::unknown)});
  failures.push_back({3, "gpus=3", Failure(errc::endpoint_failed, "boom")});
  const MeshError two(4, failures);
  EXPECT_STREQ(two.what(),
               "peer_lost: 2 of 4 ranks failed: gpus=1: peer_lost: cut (it may have taken effect); gpus=3: "
               "endpoint_failed: boom (it may have taken effect)");
  EXPECT_EQ(two.ferry_code(), errc::peer_lost);
  EXPECT_EQ(two.failures()[1].rank, 3U);
  std::vector<RankFailure> many(20, failures[1]);
  EXPECT_STREQ(MeshError(21, many).what(),
               "endpoint_failed: 20 of 21 ranks failed: gpus=3, gpus=3, gpus=3, gpus=3, gpus=3, gpus=3, gpus=3, gpus=3 "
               "and 12 more: boom");
  for (std::size_t rank = 0; rank < many.size(); ++rank) {
    many[rank].failure = Failure(errc::endpoint_failed, std::to_string(rank));
  }
  EXPECT_THAT(MeshError(20, many).what(), testing::EndsWith("; gpus=3: 7; and 12 more causes"));
}

TEST(MeshError, SaysOnceWhatItsFailuresHaveInCommon) {
  const Failure failure = Failure(errc::name_in_use, "choose another")
                              .during("spawn of Worker \"w\"")
                              .with_peer("process 1/2 (root/gpus=0)");
  std::vector<RankFailure> failures{{0, "gpus=0", failure},
                                    {1, "gpus=1", failure.with_peer("process 1/3 (root/gpus=1)")}};
  EXPECT_STREQ(MeshError(2, failures).what(), "spawn of Worker \"w\": name_in_use: all 2 ranks failed: choose another");
  EXPECT_STREQ(MeshError(3, failures).what(),
               "spawn of Worker \"w\": name_in_use: 2 of 3 ranks failed: gpus=0, gpus=1: choose another");
  failures[1].failure = Failure(errc::peer_lost, "cut").during("spawn of Worker \"w\"").with_effect(Effect::unknown);
  const MeshError mixed(2, failures);
  EXPECT_STREQ(mixed.what(),
               "spawn of Worker \"w\": name_in_use: all 2 ranks failed: gpus=0: name_in_use: choose "
               "another; gpus=1: peer_lost: cut (it may have taken effect)");
  EXPECT_EQ(mixed.effect(), Effect::unknown);
  // A mesh of one: the failure as it is.
  EXPECT_EQ(MeshError(1, {{0, "", failure}}).what(), failure.to_text());
}

TEST(ValueMesh, ARankBeyondItIsRefusedWithBothNumbers) {
  const ValueMesh<int> mesh(Shape(Dimension("gpus", 4)), {1, 2, 3, 4});
  EXPECT_EQ(mesh[3], 4);
  EXPECT_EQ(text_of([&] { static_cast<void>(mesh[9]); }), "invalid_argument: rank 9 of a mesh of 4");
}

TEST(ValueMesh, HoldsValuesOfAnyTypeBoolIncluded) {
  ValueMesh<bool> flags(Shape(Dimension("gpus", 3)), {true, false, true});
  EXPECT_TRUE(flags[0]);
  EXPECT_FALSE(flags[1]);
  EXPECT_EQ(flags.size(), 3U);
  const ValueMesh<std::string> texts(Shape(), {"a"});
  EXPECT_EQ(texts[0], "a");
  EXPECT_THROW(static_cast<void>(texts[1]), Error);
}

}  // namespace
}  // namespace ferry
