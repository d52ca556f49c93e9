// The codec against python3-msgpack, both ways. A Python that lacks it is a failure, not a skip: ci/install-packages
// installs it.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

#include <ferry/wire/codec.hpp>
#include <ferry/wire/reader.hpp>
#include <ferry/wire/writer.hpp>

#include "wire_samples.hpp"

namespace ferry::wire {
namespace {

using namespace samples;  // NOLINT: a test

class Scratch {
 public:
  Scratch() {
    std::string name = (std::filesystem::temp_directory_path() / "ferry-wire-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) {
      throw std::runtime_error("no temporary folder");
    }
    path_ = name;
  }
  ~Scratch() { std::filesystem::remove_all(path_); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  std::string file(const std::string& name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

// Runs python_peer.py over frames; what it wrote, or a throw.
std::string run_python(const std::string& mode, const std::vector<Bytes>& frames) {
  const Scratch scratch;
  Bytes in;
  Writer writer(in);
  for (const Bytes& frame : frames) {
    writer.u32(static_cast<std::uint32_t>(frame.size()));
    writer.raw(frame);
  }
  std::ofstream(scratch.file("in"), std::ios::binary) << as_text(in);
  const std::string command =
      fmt::format("{} {} {} {} {}", FERRY_PYTHON, FERRY_PYTHON_PEER, mode, scratch.file("in"), scratch.file("out"));
  if (std::system(command.c_str()) != 0) {
    throw std::runtime_error("failed: " + command);
  }
  std::ifstream out(scratch.file("out"), std::ios::binary);
  return {std::istreambuf_iterator<char>(out), {}};
}

std::vector<Bytes> frames_of(const std::string& text) {
  std::vector<Bytes> frames;
  Reader reader(as_bytes(text));
  while (reader.remaining() > 0) {
    const ByteView frame = reader.raw(reader.u32());
    frames.emplace_back(frame.begin(), frame.end());
  }
  EXPECT_TRUE(reader.ok());
  return frames;
}

TEST(PythonTest, UnderstandsWhatFerryWrites) {
  std::vector<Bytes> frames;
  std::string expected;
  const auto add = [&](const auto& value, const std::string& repr) {
    frames.push_back(encoded(value));
    expected += repr + "\n";
  };
  add(std::monostate{}, "None");
  add(true, "True");
  add(std::uint64_t{18446744073709551615ULL}, "18446744073709551615");
  add(std::numeric_limits<std::int64_t>::min(), "-9223372036854775808");
  add(1.5F, "1.5");
  add(0.1, "0.1");
  add("text", "'text'");
  add(std::string(70000, 'x'), "'" + std::string(70000, 'x') + "'");
  add(std::vector<std::byte>{std::byte{1}, std::byte{255}}, R"(b'\x01\xff')");
  add(std::vector<int>{1, -2, 300}, "[1, -2, 300]");
  add(std::vector<int>(20, 0), "[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]");
  add(std::map<std::string, std::vector<bool>>{{"a", {true}}, {"b", {}}}, "{'a': [True], 'b': []}");
  add(std::unordered_map<int, int>{{2, 3}, {1, 2}}, "{1: 2, 2: 3}");
  add(std::optional<int>(), "None");
  add(std::variant<int, std::string>("s"), "[1, 's']");
  add(Point{7, "seven"}, "[7, 'seven']");
  add(Tree{1, {{2, {}}}}, "[1, [[2, []]]]");
  add(Color::blue, "2");
  add(JobId(5), "5");
  add(std::chrono::seconds(90), "90");
  add(Mass(2.0), R"(ExtType(code=40, data=b'\x00\x00\x00\x00\x00\x00\x00@'))");
  EXPECT_EQ(run_python("repr", frames), expected);
}

TEST(PythonTest, IsUnderstoodByFerry) {
  std::vector<Bytes> expressions;
  const auto add = [&](std::string_view expression) {
    const ByteView bytes = as_bytes(expression);
    expressions.emplace_back(bytes.begin(), bytes.end());
  };
  add("None");
  add("2 ** 64 - 1");
  add("-2 ** 63");
  add("0.1");
  add("'text' * 20000");
  add("bytes(300)");
  add("list(range(-40, 70000, 997))");
  add("{'a': [True, False], 'b': []}");
  add("[7, 'seven']");
  add("[1, [[2, []], [3, [[4, []]]]]]");
  add("ExtType(40, bytes([0, 0, 0, 0, 0, 0, 0, 64]))");
  add("[3, [5, None]]");
  const std::vector<Bytes> frames = frames_of(run_python("eval", expressions));
  ASSERT_EQ(frames.size(), expressions.size());

  EXPECT_TRUE(decode<std::monostate>(frames[0]).has_value());
  EXPECT_EQ(decode<std::uint64_t>(frames[1]).value(), std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(decode<std::int64_t>(frames[2]).value(), std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(decode<double>(frames[3]).value(), 0.1);
  EXPECT_EQ(decode<float>(frames[3]).value(), 0.1F) << "Python's floats are always f64";
  EXPECT_EQ(decode<std::string>(frames[4]).value().size(), 80000u);
  EXPECT_EQ(decode<std::vector<std::byte>>(frames[5]).value(), std::vector<std::byte>(300));
  const auto numbers = decode<std::vector<int>>(frames[6]).value();
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    EXPECT_EQ(numbers[i], -40 + 997 * static_cast<int>(i));
  }
  EXPECT_EQ(numbers.size(), 71u);
  EXPECT_EQ((decode<std::map<std::string, std::vector<bool>>>(frames[7]).value()),
            (std::map<std::string, std::vector<bool>>{{"a", {true, false}}, {"b", {}}}));
  EXPECT_EQ(decode<Point>(frames[8]).value(), (Point{7, "seven"}));
  EXPECT_EQ(decode<Tree>(frames[9]).value(), (Tree{1, {{2, {}}, {3, {{4, {}}}}}}));
  EXPECT_EQ(decode<Mass>(frames[10]).value(), Mass(2.0));
  EXPECT_EQ((decode<std::variant<std::monostate, int, std::string, Point>>(frames[11]).value()),
            (std::variant<std::monostate, int, std::string, Point>(Point{5, {}})));
}

using Mixed = std::tuple<std::vector<std::int64_t>, std::uint64_t, double, std::map<std::string, std::vector<int>>,
                         std::vector<std::string>, std::vector<std::byte>, std::map<int, std::pair<bool, int>>>;

Mixed drawn() {
  using namespace rc;  // NOLINT: a test
  // Python's strings are Unicode; ferry leaves that to its users.
  const auto text = gen::container<std::string>(gen::inRange<char>(' ', '~'));
  Mixed mixed;
  std::get<0>(mixed) = *gen::arbitrary<std::vector<std::int64_t>>();
  std::get<1>(mixed) = *gen::arbitrary<std::uint64_t>();
  std::get<2>(mixed) = *gen::arbitrary<double>();
  std::get<3>(mixed) =
      *gen::container<std::map<std::string, std::vector<int>>>(text, gen::arbitrary<std::vector<int>>());
  std::get<4>(mixed) = *gen::container<std::vector<std::string>>(text);
  for (const std::uint8_t byte : *gen::arbitrary<std::vector<std::uint8_t>>()) {
    std::get<5>(mixed).push_back(std::byte{byte});
  }
  std::get<6>(mixed) = *gen::arbitrary<std::map<int, std::pair<bool, int>>>();
  return mixed;
}

TEST(PythonTest, GivesDrawnValuesBackInTheSameBytes) {
  std::vector<Bytes> frames;
  EXPECT_TRUE(rc::check("draws values", [&] { frames.push_back(encoded(drawn())); }));
  for (const std::size_t size : {0, 15, 16, 31, 32, 255, 256, 65535, 65536}) {
    frames.push_back(encoded(std::string(size, 's')));
    frames.push_back(encoded(std::vector<std::byte>(size)));
    frames.push_back(encoded(std::vector<bool>(size)));
  }
  const std::vector<Bytes> back = frames_of(run_python("echo", frames));
  ASSERT_EQ(back.size(), frames.size());
  for (std::size_t i = 0; i < frames.size(); ++i) {
    EXPECT_EQ(hex(back[i]), hex(frames[i]));
  }
}

}  // namespace
}  // namespace ferry::wire
