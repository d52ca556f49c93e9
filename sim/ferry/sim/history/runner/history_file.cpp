#include <ferry/sim/history/runner/history_file.hpp>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

namespace ferry::sim {
namespace {

using nlohmann::json;

constexpr std::array kModels{"register", "lock", "queue"};

// What is wrong with a line; parse_history adds file and number.
class Wrong : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// What a method takes and gives.
struct Shape {
  Method method;
  std::size_t model;  // index into kModels
  bool has_argument;
  bool has_expected;
  bool gives_nothing;
};
constexpr std::array<Shape, 10> kShapes{{{Method::read, 0, false, false, false},
                                         {Method::write, 0, true, false, true},
                                         {Method::swap, 0, true, false, false},
                                         {Method::fetch_add, 0, true, false, false},
                                         {Method::compare_swap, 0, true, true, false},
                                         {Method::acquire, 1, false, false, true},
                                         {Method::try_acquire, 1, false, false, false},
                                         {Method::release, 1, false, false, true},
                                         {Method::push, 2, true, false, false},
                                         {Method::pop, 2, false, false, false}}};

// As it stands in the file, so much of it as fits a line.
std::string shown(const json& value) {
  constexpr std::size_t kShown = 60;
  const std::string text = value.dump(-1, ' ', false, json::error_handler_t::replace);
  return text.size() <= kShown ? text : text.substr(0, kShown) + "…";
}

// What a line may be before it is known what it is: no deeper than a list in an object, no member twice.
class LineRules {
 public:
  bool operator()(int depth, json::parse_event_t event, json& parsed) {
    constexpr int kDepth = 2;
    if (depth > kDepth) {
      throw Wrong("lists within lists; expected integers, texts, and lists of integers");
    }
    if (event == json::parse_event_t::key && depth == 1 && !names_.insert(parsed.get<std::string>()).second) {
      throw Wrong(fmt::format("{} is there twice", shown(parsed)));
    }
    return true;
  }

 private:
  std::set<std::string> names_;
};

std::size_t model_named(std::string_view name) {
  const auto found = std::find(kModels.begin(), kModels.end(), name);
  if (found == kModels.end()) {
    throw Wrong(fmt::format("\"{}\" is no model; expected one of {}", name, fmt::join(kModels, ", ")));
  }
  return static_cast<std::size_t>(found - kModels.begin());
}

void refuse_other_members(const json& line, std::initializer_list<std::string_view> known) {
  for (const auto& [name, value] : line.items()) {
    if (std::find(known.begin(), known.end(), name) == known.end()) {
      throw Wrong(fmt::format("\"{}\" is not known here; expected {}", name, fmt::join(known, ", ")));
    }
  }
}

const json& member(const json& line, const char* name, const char* expected) {
  const auto found = line.find(name);
  if (found == line.end()) {
    throw Wrong(fmt::format("there is no \"{}\"; expected {}", name, expected));
  }
  return *found;
}

std::int64_t integer(const json& value, const char* name) {
  if (!value.is_number_integer() || (value.is_number_unsigned() && value.get<std::uint64_t>() > INT64_MAX)) {
    throw Wrong(fmt::format("\"{}\" is {}; expected a 64-bit integer", name, shown(value)));
  }
  return value.get<std::int64_t>();
}

Words words(const json& value, const char* name) {
  if (value.is_null()) {
    return {};
  }
  if (!value.is_array()) {
    return {integer(value, name)};
  }
  Words words;
  for (const json& word : value) {
    words.push_back(integer(word, name));
  }
  if (words.empty()) {
    throw Wrong(fmt::format("\"{}\" is an empty list; expected integers, or null for nothing", name));
  }
  return words;
}

class Reader {
 public:
  explicit Reader(std::string_view model) {
    if (!model.empty()) {
      model_ = model_named(model);
    }
  }

  void read(const std::string& text) {
    json line;
    try {
      line = json::parse(text, LineRules());
    } catch (const json::parse_error&) {
      throw Wrong("this is no JSON; expected an object on each line");
    } catch (const json::out_of_range&) {
      throw Wrong("a number is too large for any machine; expected integers of 64 bits");
    }
    if (!line.is_object()) {
      throw Wrong(fmt::format("found {}; expected an object on each line", line.type_name()));
    }
    if (line.contains("model")) {
      read_model(line);
    } else {
      read_call(line);
    }
    first_ = false;
  }

  HistoryFile finish() && {
    if (file_.calls.empty()) {
      throw Wrong("there are no calls; expected one on each line");
    }
    file_.model = *model_ == 0   ? AnyModel(RegisterModel(initial_))
                  : *model_ == 1 ? AnyModel(LockModel())
                                 : AnyModel(QueueModel(capacity_));
    return std::move(file_);
  }

 private:
  void read_model(const json& line) {
    refuse_other_members(line, {"model", "initial", "capacity"});
    if (!first_) {
      throw Wrong("a model after the first line; expected a call");
    }
    const json& name = line.at("model");
    if (!name.is_string()) {
      throw Wrong(fmt::format("\"model\" is {}; expected one of {}", shown(name), fmt::join(kModels, ", ")));
    }
    const std::size_t named = model_named(name.get<std::string>());
    if (model_ && *model_ != named) {
      throw Wrong(fmt::format("the model is {}, but {} was asked for", kModels[named], kModels[*model_]));
    }
    model_ = named;
    if (line.contains("initial")) {
      if (named != 0) {
        throw Wrong("\"initial\" belongs to a register");
      }
      initial_ = words(line.at("initial"), "initial");
      if (initial_.empty()) {
        throw Wrong("\"initial\" is null; expected an integer or a list of them");
      }
    }
    if (line.contains("capacity")) {
      const std::int64_t capacity = integer(line.at("capacity"), "capacity");
      if (named != 2 || capacity < 1) {
        throw Wrong("\"capacity\" belongs to a queue and is at least 1");
      }
      capacity_ = static_cast<std::size_t>(capacity);
    }
  }

  const Shape& shape_of(const json& line) const {
    const json& call = member(line, "call", "the name of a method");
    const auto found = std::find_if(kShapes.begin(), kShapes.end(),
                                    [&call](const Shape& shape) { return call == to_string(shape.method); });
    if (found == kShapes.end() || (model_ && found->model != *model_)) {
      std::vector<std::string_view> names;
      for (const Shape& shape : kShapes) {
        if (!model_ || shape.model == *model_) {
          names.push_back(to_string(shape.method));
        }
      }
      throw Wrong(fmt::format("\"call\" is {}; expected one of {}", shown(call), fmt::join(names, ", ")));
    }
    return *found;
  }

  void read_call(const json& line) {
    refuse_other_members(line, {"caller", "key", "call", "value", "expected", "called", "returned", "result"});
    if (!model_) {
      throw Wrong(
          fmt::format("nothing says what the objects are; expected a first line such as {{\"model\":\"register\"}}, "
                      "or the option --model (one of {})",
                      fmt::join(kModels, ", ")));
    }
    const Shape& shape = shape_of(line);
    ObjectCall call;
    const std::int64_t caller = integer(member(line, "caller", "a number"), "caller");
    if (caller < 0 || caller > UINT32_MAX) {
      throw Wrong(fmt::format("\"caller\" is {}; expected 0 to {}", caller, UINT32_MAX));
    }
    call.caller = call.input.caller = static_cast<std::uint32_t>(caller);
    call.key = line.contains("key") ? key_number(line.at("key").dump()) : key_number("0");
    call.input.method = shape.method;
    call.input.argument = argument(line, "value", shape.has_argument, shape.method);
    call.input.expected = argument(line, "expected", shape.has_expected, shape.method);
    const bool one_word = shape.model == 2 || shape.method == Method::fetch_add;
    if (one_word && call.input.argument.size() > 1) {
      throw Wrong(fmt::format("{} takes one integer", to_string(shape.method)));
    }
    call.called = integer(member(line, "called", "a time"), "called");
    if (line.contains("returned") && !line.at("returned").is_null()) {
      call.returned = integer(line.at("returned"), "returned");
      if (call.returned < call.called) {
        throw Wrong(fmt::format("it returned at {}, before it was called at {}", call.returned, call.called));
      }
      call.output = result(line, shape);
    } else if (line.contains("result")) {
      throw Wrong("there is a \"result\" but no \"returned\": a call of unknown outcome has neither");
    }
    file_.calls.push_back(std::move(call));
  }

  static Words argument(const json& line, const char* name, bool takes, Method method) {
    if (!takes) {
      if (line.contains(name)) {
        throw Wrong(fmt::format("{} takes no \"{}\"", to_string(method), name));
      }
      return {};
    }
    Words value = words(member(line, name, "an integer or a list of them"), name);
    if (value.empty()) {
      throw Wrong(fmt::format("\"{}\" is null; expected an integer or a list of them", name));
    }
    return value;
  }

  static Words result(const json& line, const Shape& shape) {
    if (shape.gives_nothing) {
      if (line.contains("result") && !line.at("result").is_null()) {
        throw Wrong(
            fmt::format("{} gives nothing, but \"result\" is {}", to_string(shape.method), shown(line.at("result"))));
      }
      return {};
    }
    return words(member(line, "result", "what the call gave"), "result");
  }

  std::uint64_t key_number(const std::string& key) {
    const auto [at, is_new] = numbers_.try_emplace(key, file_.keys.size());
    if (is_new) {
      file_.keys.push_back(key);
    }
    return at->second;
  }

  std::optional<std::size_t> model_;
  Words initial_{0};
  std::size_t capacity_ = SIZE_MAX;
  bool first_ = true;
  std::map<std::string, std::uint64_t> numbers_;
  HistoryFile file_;
};

}  // namespace

Result<HistoryFile> parse_history(std::string_view name, std::string_view text, std::string_view model) {
  std::size_t number = 0;
  try {
    Reader reader(model);
    while (!text.empty()) {
      const std::size_t end = text.find('\n');
      const std::string line(text.substr(0, end));
      text = end == std::string_view::npos ? std::string_view{} : text.substr(end + 1);
      ++number;
      if (line.find_first_not_of(" \t\r") != std::string::npos) {
        reader.read(line);
      }
    }
    return std::move(reader).finish();
  } catch (const Wrong& wrong) {
    return Failure(errc::malformed, number == 0 ? fmt::format("{}: {}", name, wrong.what())
                                                : fmt::format("{}:{}: {}", name, number, wrong.what()));
  }
}

Verdict judge(const HistoryFile& history, const LinearizabilityOptions& options) {
  return std::visit([&](const auto& model) { return check_linearizable(model, history.calls, options); },
                    history.model);
}

}  // namespace ferry::sim
