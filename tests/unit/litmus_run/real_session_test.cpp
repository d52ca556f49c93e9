// What ferry-litmus says and how it ends for what a transport has shown.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <unistd.h>
#include <filesystem>
#include <fstream>

#include <ferry/sim/litmus/runner/run_program.hpp>

namespace ferry::sim::litmus::runner {
namespace {

using testing::HasSubstr;

class Shown final : public RealTransport {
 public:
  explicit Shown(RealSample sample, std::string why_not = {})
      : sample_(std::move(sample)), why_not_(std::move(why_not)) {}
  std::optional<std::string> why_not(const Program& /*program*/) const override {
    return why_not_.empty() ? std::nullopt : std::optional(why_not_);
  }
  Result<RealSample> run(const Program& /*program*/, std::size_t /*runs*/, std::uint64_t /*seed*/) override {
    return sample_;
  }

 private:
  RealSample sample_;
  std::string why_not_;
};

class RealSessionTest : public testing::Test {
 protected:
  RealSessionTest() : path_(testing::TempDir() + "real_session_" + std::to_string(::getpid()) + ".litmus") {
    std::ofstream(path_) << "litmus T\ninit a@A=1 x@B=0\nqueue q A B\nthread A on A\nput q x@B <- a@A\nthread B on B\n"
                            "ld r x@B\nask B:r = 1\nexpect portable allowed\n";
    settings_.files = {path_};
    settings_.transport = "shm";
    settings_.runs = 10;
  }
  ~RealSessionTest() override { std::filesystem::remove(path_); }

  // Its output; status_ is how it ended.
  std::string show(const RealSample& sample, const std::string& why_not = {}) {
    testing::internal::CaptureStdout();
    status_ = run_program(settings_, [&](const std::string&) -> Result<std::unique_ptr<RealTransport>> {
      return std::unique_ptr<RealTransport>(std::make_unique<Shown>(sample, why_not));
    });
    return testing::internal::GetCapturedStdout();
  }

  std::string path_;
  Settings settings_;
  int status_ = -1;
};

// a, x; r
const Outcome kEarly{{1, 1}, {0}};
const Outcome kLate{{1, 1}, {1}};
const Outcome kImpossible{{1, 1}, {2}};

TEST_F(RealSessionTest, WhatPortableHasIsOk) {
  EXPECT_THAT(show({{{kEarly, 7}, {kLate, 3}}, 0}),
              HasSubstr("T shm 10 runs 2 outcomes (portable has 2) ok, as asked in 3\n1 test on shm: 1 ok;"));
  EXPECT_EQ(status_, 0);
}

TEST_F(RealSessionTest, WhatPortableDoesNotHaveFailsAndIsNamed) {
  EXPECT_THAT(show({{{kEarly, 8}, {kImpossible, 2}}, 0}),
              HasSubstr("T shm 10 runs 2 outcomes (portable has 2) WEAKER\n"
                        "  not in portable, seen in 2 runs: a@A=1 x@B=1 B:r=2\n"
                        "1 test on shm: 0 ok, 1 WEAKER than portable;"));
  EXPECT_EQ(status_, kDiffers);
}

TEST_F(RealSessionTest, ARunThatGetsStuckWherePortableHasNoneFails) {
  EXPECT_THAT(show({{{kEarly, 9}}, 1}), HasSubstr("WEAKER, 1 stuck (portable has none)\n"));
  EXPECT_EQ(status_, kDiffers);
}

TEST_F(RealSessionTest, WhatCannotBeRunIsSaidAndCounted) {
  EXPECT_THAT(show({}, "it has no atomics"),
              HasSubstr("T shm not run: it has no atomics\n1 test on shm: 0 ok, 1 not run;"));
  EXPECT_EQ(status_, 0);
}

TEST_F(RealSessionTest, WeakerOutcomesAreMarkedInJSON) {
  settings_.json = true;
  EXPECT_EQ(show({{{kEarly, 8}, {kImpossible, 2}}, 0}),
            "{\"litmus\":\"T\",\"transport\":\"shm\",\"seed\":1,\"runs\":10,\"stuck\":0,\"portable\":2,"
            "\"result\":\"weaker\",\"outcomes\":[{\"a@A\":1,\"x@B\":1,\"B:r\":0},{\"a@A\":1,\"x@B\":1,\"B:r\":2}],"
            "\"hits\":[8,2],\"weaker\":[1]}\n");
  EXPECT_EQ(status_, kDiffers);
}

}  // namespace
}  // namespace ferry::sim::litmus::runner
