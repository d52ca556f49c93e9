// One executable: the tests, and every process that they start.
#include <iostream>

#include "process_actors.hpp"
#include "process_roles.hpp"

int main(int argc, char** argv) {
  using namespace ferry;
  if (is_child()) {
    return run(NodeOptions{}, conformance::kProcessActors, [](Context&) -> Task<int> { co_return 0; });
  }
  if (argc == 3 && std::string_view(argv[1]) == conformance::kRootRole) {
    return conformance::be_root(argv[2]);
  }
  testing::InitGoogleMock(&argc, argv);
  return RUN_ALL_TESTS();
}
