// The parser: what it takes, and the text of each error.
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include <ferry/sim/litmus/limits.hpp>
#include <ferry/sim/litmus/parser.hpp>
#include <ferry/sim/litmus/program_text.hpp>

namespace ferry::sim::litmus {
namespace {

// The error of a text, without its errc; "" where it is taken.
std::string refusal(std::string_view text) {
  const auto programs = parse("f", text);
  return programs ? std::string() : programs.error().detail();
}

// A whole test around some lines, which begin at line 6.
std::string around(std::string_view lines) {
  return "litmus T\n"
         "init a@A=1 b@A=0 x@B=0 c@C=0\n"
         "queue q A B\n"
         "queue p B A\n"
         "thread A on A\n" +
         std::string(lines) + "\n";
}

Program parsed(std::string_view text) {
  auto programs = parse("f", text);
  EXPECT_TRUE(programs) << programs.error().detail();
  EXPECT_EQ(programs->size(), 1U);
  return std::move(programs->front());
}

TEST(LitmusParser, TakesATestWithEverythingInIt) {
  constexpr std::string_view text =
      "litmus Everything\n"
      "doc all there is ≠ nothing\n"
      "atomics glob\n"
      "init a@A=1\n"
      "init b@A=0\n"
      "init x@B=18446744073709551615\n"
      "init y@B=3\n"
      "queue q A B\n"
      "queue self A A\n"
      "thread T1 on A\n"
      "  st a@A 7\n"
      "  ld r a@A\n"
      "  st b@A r\n"
      "  wait a@A r\n"
      "  wait a@A 7\n"
      "  mf\n"
      "  cas s a@A 7 8\n"
      "  faa t a@A 1\n"
      "  put q x@B <- a@A\n"
      "  put.fence.imm.inline q x@B <- a@A, y@B <- b@A\n"
      "  get.fence q a@A <- x@B, b@A <- x@B\n"
      "  rfaa.fence q a@A <- x@B + 5\n"
      "  rcas q a@A <- x@B : 5 -> 6\n"
      "  put self b@A <- a@A\n"
      "  poll q\n"
      "  rpoll self\n"
      "thread T2 on B\n"
      "  ld r x@B\n"
      "  rpoll q\n"
      "ask !(a@A = 1 & T1:r != 2) & (x@B = 3 | T2:r = 0) | 1 = 1\n"
      "expect strict forbidden, portable allowed\n";
  const Program program = parsed(text);
  EXPECT_EQ(to_text(program), text);
  EXPECT_EQ(program.registers.size(), 4U);
  EXPECT_EQ(program.operations.size(), 6U);
  EXPECT_EQ(program.expected_of(ProfileName::portable), Verdict::allowed);
}

TEST(LitmusParser, TakesLinesInAnyOrderAndOddSpacing) {
  const Program program = parsed(
      "\r\n# before\n\n"
      "  litmus   T # name\r\n"
      "ask x@B=1&!A:r!=2 # question\n"
      "thread A on A\n"
      "ld r a@A\n"
      "put.inline.fence q x@B<-a@A,x@B<-b@A\n"
      "rcas q a@A<-x@B:1->2\n"
      "init a@A = 1 b@A=2\n"
      "rfaa q a@A<-x@B+1\n"
      "\tqueue q A B\n"
      "init x@B=0\n"
      "expect portable allowed");
  EXPECT_EQ(to_text(program),
            "litmus T\n"
            "init a@A=1\ninit b@A=2\ninit x@B=0\n"
            "queue q A B\n"
            "thread A on A\n"
            "  ld r a@A\n"
            "  put.fence.inline q x@B <- a@A, x@B <- b@A\n"
            "  rcas q a@A <- x@B : 1 -> 2\n"
            "  rfaa q a@A <- x@B + 1\n"
            "ask x@B = 1 & !(A:r != 2)\n"
            "expect portable allowed\n");
  EXPECT_FALSE(program.expected_of(ProfileName::strict));
}

TEST(LitmusParser, TakesSeveralTestsAndTestsWithoutAQuestion) {
  const auto programs = parse("f", "litmus A\nlitmus B\ninit x@N=4\nlitmus C\nthread t on N\n");
  ASSERT_TRUE(programs);
  ASSERT_EQ(programs->size(), 3U);
  EXPECT_EQ((*programs)[1].locations[0].initial, 4U);
  EXPECT_FALSE((*programs)[1].question);
}

TEST(LitmusParser, NotBindsTighterThanAndAndThatTighterThanOr) {
  const Program program = parsed("litmus T\ninit x@B=0\nask 1 = 2 & 1 = 1 | ! 1 = 2 & x@B = 0\n");
  EXPECT_TRUE(satisfies({{0}, {}}, *program.question));
  EXPECT_FALSE(satisfies({{1}, {}}, *program.question));
  const Program other = parsed("litmus T\ninit x@B=0\nask !(x@B = 0 | x@B = 1)\n");
  EXPECT_FALSE(satisfies({{1}, {}}, *other.question));
  EXPECT_TRUE(satisfies({{2}, {}}, *other.question));
}

struct Refused {
  std::string_view line;  // stands in line 6
  std::string_view text;  // after "f:6: "
};

TEST(LitmusParser, SaysOfAWrongInstructionWhatWasFoundAndWhatWasExpected) {
  for (const auto& [line, text] : std::vector<Refused>{
           {"plop q",
            "found 'plop'; expected an instruction (st, ld, wait, mf, cas, faa, put, get, rfaa, rcas, poll or rpoll) "
            "or one of init, queue, thread, atomics, doc, ask, expect or litmus"},
           {"st x@B 1", "found 'x@B'; expected the location to store to, a location on node A"},
           {"st d@A 1", "found 'd@A', which no init line declares; expected a declared location (a@A, b@A, c@C, x@B)"},
           {"st a 1", "found 'a'; expected the location to store to, a location on node A"},
           {"st a@A",
            "found the end of the line; expected the value to store, an unsigned integer or a register "
            "written before"},
           {"st a@A -1", "found '-1'; expected the value to store, an unsigned integer or a register written before"},
           {"st a@A 18446744073709551616",
            "found '18446744073709551616'; expected an unsigned integer of at most 18446744073709551615"},
           {"st a@A 1x", "found '1x'; expected the value to store, an unsigned integer or a register written before"},
           {"st a@A r",
            "found register 'r', which the thread has not written before; expected the value to store, an "
            "unsigned integer or a register written before"},
           {"st a@A 1 2", "found '2'; expected the end of the line"},
           {"st.fence a@A 1", "found the flag '.fence' of st; expected no flag"},
           {"ld a@A r", "found 'a@A'; expected REG, the register that gets the value"},
           {"ld r", "found the end of the line; expected the location to load, a location on node A"},
           {"ld r.x a@A", "found 'r.x'; expected REG, the register that gets the value"},
           {"ld 1 a@A", "found '1'; expected REG, the register that gets the value"},
           {"wait a@A r",
            "found register 'r', which the thread has not written before; expected the value to wait "
            "for, an unsigned integer or a register written before"},
           {"wait x@B 1", "found 'x@B'; expected the location to wait for, a location on node A"},
           {"mf 1", "found '1'; expected the end of the line"},
           {"cas r a@A 1", "found the end of the line; expected DESIRED, an unsigned integer"},
           {"cas r a@A r 1", "found 'r'; expected EXPECTED, an unsigned integer"},
           {"cas r x@B 1 2", "found 'x@B'; expected the location to compare and swap, a location on node A"},
           {"faa r a@A r", "found 'r'; expected N, an unsigned integer"},
           {"faa r x@B 1", "found 'x@B'; expected the location to add to, a location on node A"},
           {"put z x@B <- a@A", "found 'z'; expected a declared queue (p, q)"},
           {"put x@B <- a@A", "found 'x@B'; expected a queue"},
           {"put p a@A <- x@B", "found queue p from B to A in thread A on A; expected a queue from A"},
           {"put q a@A <- x@B", "found 'a@A'; expected REMOTE, a location on node B"},
           {"put q x@B <- x@B", "found 'x@B'; expected LOCAL, a location on node A"},
           {"put q x@B -> a@A", "found '->'; expected <-"},
           {"put q x@B <- a@A,", "found the end of the line; expected REMOTE, a location on node B"},
           {"put q x@B <- a@A b@A", "found 'b@A'; expected the end of the line"},
           {"put.fence.fence q x@B <- a@A", "found the flag '.fence' a second time; expected each flag at most once"},
           {"put.fast q x@B <- a@A", "found the flag '.fast' of put; expected .fence, .imm or .inline"},
           {"put. q x@B <- a@A", "found 'put.'; expected MNEMONIC or MNEMONIC.FLAG"},
           {"get q x@B <- a@A", "found 'x@B'; expected LOCAL, a location on node A"},
           {"get q a@A <- b@A", "found 'b@A'; expected REMOTE, a location on node B"},
           {"get.imm q a@A <- x@B", "found the flag '.imm' of get; expected .fence"},
           {"get.inline q a@A <- x@B", "found the flag '.inline' of get; expected .fence"},
           {"get p a@A <- x@B", "found queue p from B to A in thread A on A; expected a queue from A"},
           {"rfaa q a@A <- x@B", "found the end of the line; expected +"},
           {"rfaa q a@A <- x@B + b@A", "found 'b@A'; expected N, an unsigned integer"},
           {"rfaa q a@A <- x@B, b@A <- x@B + 1", "found ','; expected +"},
           {"rfaa.imm q a@A <- x@B + 1", "found the flag '.imm' of rfaa; expected .fence"},
           {"rfaa p a@A <- x@B + 1", "found queue p from B to A in thread A on A; expected a queue from A"},
           {"rcas q a@A <- x@B : 1", "found the end of the line; expected ->"},
           {"rcas q a@A <- x@B 1 -> 2", "found '1'; expected :"},
           {"rcas q a@A <- x@B : r -> 2", "found 'r'; expected EXPECTED, an unsigned integer"},
           {"rcas.inline q a@A <- x@B : 1 -> 2", "found the flag '.inline' of rcas; expected .fence"},
           {"poll p", "found queue p from B to A in thread A on A; expected a queue from A"},
           {"rpoll q", "found queue q from A to B in thread A on A; expected a queue to A"},
           {"poll", "found the end of the line; expected a queue"},
           {"poll q q", "found 'q'; expected the end of the line"},
           {"rpoll.fence p", "found the flag '.fence' of rpoll; expected no flag"}}) {
    EXPECT_EQ(refusal(around(line)), "f:6: " + std::string(text)) << line;
  }
}

TEST(LitmusParser, SaysOfAWrongDeclarationWhatWasFoundAndWhatWasExpected) {
  for (const auto& [line, text] : std::vector<Refused>{
           {"init", "found the end of the line; expected NAME@NODE=VALUE"},
           {"init y@B", "found the end of the line; expected NAME@NODE=VALUE"},
           {"init y=1", "found 'y'; expected NAME@NODE=VALUE"},
           {"init y@=1", "found 'y@=1'; expected NAME@NODE=VALUE"},
           {"init 1y@B=1", "found '1y@B=1'; expected NAME@NODE=VALUE"},
           {"init y@B=z", "found 'z'; expected an unsigned integer as initial value"},
           {"init y@B=1, z@B=2", "found ','; expected NAME@NODE=VALUE"},
           {"init a@A=1", "found location 'a@A' a second time; expected each location declared once"},
           {"queue r A", "found the end of the line; expected queue NAME FROM TO"},
           {"queue r A B C", "found 'C'; expected the end of the line after queue NAME FROM TO"},
           {"queue r A->B", "found '->'; expected queue NAME FROM TO"},
           {"queue q A C", "found queue 'q' a second time; expected each queue declared once"},
           {"thread T A", "found 'A'; expected thread NAME on NODE"},
           {"thread T", "found the end of the line; expected thread NAME on NODE"},
           {"thread T on A:", "found ':'; expected the end of the line after thread NAME on NODE"},
           {"thread A on B", "found thread 'A' a second time; expected each thread declared once"},
           {"atomics", "found the end of the line; expected atomics hca or atomics glob"},
           {"atomics cpu", "found 'cpu'; expected atomics hca or atomics glob"},
           {"atomics hca glob", "found 'glob'; expected the end of the line after the scope of atomics"},
           {"atomics hca\natomics hca", "atomics"},
           {"doc one\ndoc two", "doc"},
           {"ask 1 = 1\nask 1 = 1", "ask"},
           {"ask 1 = 1\nexpect strict allowed\nexpect portable allowed", "expect"}}) {
    if (line.find('\n') == std::string_view::npos) {
      EXPECT_EQ(refusal(around(line)), "f:6: " + std::string(text)) << line;
    } else {
      const auto first = text == "expect" ? 7 : 6;
      EXPECT_EQ(refusal(around(line)), "f:" + std::to_string(first + 1) + ": found " + std::string(text) +
                                           " a second time, after line " + std::to_string(first) + "; expected " +
                                           std::string(text) + " at most once in a test");
    }
  }
}

TEST(LitmusParser, SaysOfAWrongQuestionWhatWasFoundAndWhatWasExpected) {
  for (const auto& [line, text] : std::vector<Refused>{
           {"ask", "found the end of the line; expected NAME@NODE, THREAD:REGISTER or an unsigned integer"},
           {"ask a@A", "found the end of the line; expected = or !="},
           {"ask a@A = 1 = 1", "found '='; expected &, | or the end of the line after a comparison"},
           {"ask a@A == 1", "found '='; expected NAME@NODE, THREAD:REGISTER or an unsigned integer"},
           {"ask a@A < 1", "found '<'; expected = or !="},
           {"ask r = 1", "found 'r'; expected NAME@NODE, THREAD:REGISTER or an unsigned integer"},
           {"ask A:r = 1",
            "found 'A:r', which no instruction writes; expected a register that its thread writes "
            "(there is none)"},
           {"ask Z:r = 1", "found 'Z:r'; expected a register of a declared thread (A)"},
           {"ask z@A = 1",
            "found 'z@A', which no init line declares; expected a declared location (a@A, b@A, c@C, x@B)"},
           {"ask (a@A = 1", "found the end of the line; expected &, | or )"},
           {"ask a@A = 1)", "found ')'; expected &, | or the end of the line after a comparison"},
           {"ask a@A = 1 &", "found the end of the line; expected NAME@NODE, THREAD:REGISTER or an unsigned integer"},
           {"ask a@A = 1 && b@A = 1", "found '&'; expected NAME@NODE, THREAD:REGISTER or an unsigned integer"},
           {"ask 1 = 1\nexpect strict allow", "1 found 'allow'; expected a verdict (allowed or forbidden)"},
           {"ask 1 = 1\nexpect strong allowed",
            "1 found 'strong'; expected a profile (strict, portable, relaxed or unordered)"},
           {"ask 1 = 1\nexpect strict", "1 found the end of the line; expected a verdict (allowed or forbidden)"},
           {"ask 1 = 1\nexpect",
            "1 found the end of the line; expected a profile (strict, portable, relaxed or unordered)"},
           {"ask 1 = 1\nexpect strict allowed,",
            "1 found the end of the line; expected a profile (strict, portable, relaxed or unordered)"},
           {"ask 1 = 1\nexpect strict allowed portable allowed",
            "1 found 'portable'; expected a comma or the end of the line after PROFILE VERDICT"},
           {"ask 1 = 1\nexpect strict allowed, strict allowed",
            "1 found profile 'strict' a second time; expected each profile at most once"},
           {"expect strict allowed",
            "found expect in a test without ask; expected ask, the question that the verdict answers"}}) {
    const bool is_second = text.starts_with('1');
    EXPECT_EQ(refusal(around(line)), (is_second ? "f:7: " : "f:6: ") + std::string(text.substr(is_second ? 2 : 0)))
        << line;
  }
}

TEST(LitmusParser, RefusesAFileThatIsNoTest) {
  for (const char* text : {"", "\n\n", "# only a comment\n"}) {
    EXPECT_EQ(refusal(text), "f:1: found no test; expected litmus NAME, which begins a test");
  }
  EXPECT_EQ(refusal("\ninit a@A=1\n"), "f:2: found 'init'; expected litmus NAME, which begins a test");
  EXPECT_EQ(refusal("\x01\n"), "f:1: found '\\x01'; expected litmus NAME, which begins a test");
  EXPECT_EQ(refusal("litmus\n"), "f:1: found the end of the line; expected litmus NAME");
  EXPECT_EQ(refusal("litmus T-1\n"), "f:1: found '-1'; expected the end of the line after litmus NAME");
  EXPECT_EQ(refusal("litmus T\nmf\n"),
            "f:2: found the instruction 'mf'; expected thread NAME on NODE before its instructions");
  EXPECT_EQ(refusal("litmus T\nlitmus U\nlitmus T\n"),
            "f:3: found test T a second time, after line 1; expected each test of a file with a name of its own");
  EXPECT_EQ(refusal("litmus T\nthread A on A\nmf\nlitmus U\nmf\n"),
            "f:5: found the instruction 'mf'; expected thread NAME on NODE before its instructions");
}

TEST(LitmusParser, ARegisterMayBeReadOnlyAfterTheInstructionThatWritesIt) {
  EXPECT_EQ(refusal(around("ld r a@A\nst a@A r\nwait b@A r\n")), "");
  EXPECT_NE(refusal(around("st a@A r\nld r a@A\n")), "");
  EXPECT_NE(refusal(around("ld r a@A\nthread B on A\nst a@A r\n")), "") << "registers belong to their thread";
}

TEST(LitmusParser, KeepsItsBounds) {
  std::string many = "litmus T\n";
  for (std::size_t index = 0; index <= kMaxLocations; ++index) {
    many += "init a" + std::to_string(index) + "@A=0\n";
  }
  EXPECT_EQ(refusal(many), "f:202: found more than 200 locations; expected at most 200 locations in a test");

  std::string queues = "litmus T\n";
  std::string threads = "litmus T\n";
  for (int index = 0; index <= 60; ++index) {
    queues += "queue q" + std::to_string(index) + " A B\n";
    threads += "thread t" + std::to_string(index) + " on A\n";
  }
  EXPECT_EQ(refusal(queues), "f:62: found more than 60 queues; expected at most 60 queues in a test");
  EXPECT_EQ(refusal(threads), "f:62: found more than 60 threads; expected at most 60 threads in a test");

  std::string instructions = "litmus T\nthread A on A\n";
  for (std::size_t index = 0; index <= kMaxInstructions; ++index) {
    instructions += "mf\n";
  }
  EXPECT_EQ(refusal(instructions),
            "f:203: found more than 200 instructions; expected at most 200 instructions in a "
            "test");

  std::string chunks = "put q x@B <- a@A";
  for (std::size_t index = 1; index < kMaxChunks; ++index) {
    chunks += ", x@B <- a@A";
  }
  EXPECT_EQ(refusal(around(chunks)), "");
  EXPECT_EQ(refusal(around(chunks + ", x@B <- a@A")),
            "f:6: found one chunk more; expected at most 60 chunks in an operation");

  const std::string deep =
      "ask " + std::string(kMaxConditionDepth, '(') + "1 = 1" + std::string(kMaxConditionDepth, ')');
  EXPECT_EQ(refusal(around(deep)), "");
  EXPECT_EQ(refusal(around("ask " + std::string(100'000, '('))),
            "f:6: found a question nested more deeply; expected at most 100 levels");
  std::string wide = "ask 1 = 1";
  for (std::size_t index = 0; index < kMaxConditionTerms; ++index) {
    wide += " & 1 = 1";
  }
  EXPECT_EQ(refusal(around(wide)), "f:6: found a longer question; expected at most 1000 comparisons");

  const std::string name(kMaxNameLength, 'n');
  EXPECT_EQ(refusal("litmus " + name), "");
  EXPECT_EQ(refusal("litmus " + name + "n"),
            "f:1: found '" + name.substr(0, 60) + "…'; expected litmus NAME, names of at most 100 bytes");
  EXPECT_EQ(refusal(std::string(kMaxFileSize + 1, '\n')),
            "f:1: found a file of 16777217 bytes; expected litmus tests in at most 16777216 bytes");
}

}  // namespace
}  // namespace ferry::sim::litmus
