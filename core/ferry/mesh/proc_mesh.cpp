#include <ferry/mesh/proc_mesh.hpp>

namespace ferry {

ProcMesh ProcMesh::slice(std::string_view dimension, std::size_t index) const {
  std::vector<Peer*> selected;
  for (const std::size_t rank : shape_.ranks_at(dimension, index)) {
    selected.push_back(peers_[rank]);
  }
  return ProcMesh(*stack_, shape_.without(dimension), std::move(selected));
}

ProcMesh Context::this_proc() const {
  return ProcMesh(*stack_, Shape(), {&node().peers().find_or_add(node().self())});
}

}  // namespace ferry
