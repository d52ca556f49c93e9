// main() of tests that need an RDMA device: where there is none they are skipped, with the way to run them.
#include <cstdio>

#include <gmock/gmock.h>

#include <ferry/verbs/verbs_transport.hpp>

int main(int argc, char** argv) {
  testing::InitGoogleMock(&argc, argv);
  if (!ferry::verbs::has_devices()) {
    std::puts("this host has no RDMA device; `ci/rxe-guest ctest --preset dev -L verbs` has one");
    return 77;
  }
  return RUN_ALL_TESTS();
}
