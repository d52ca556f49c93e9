// Everything that a program needs: actors, references, one-sided operations, meshes, and run().
//
// The simulator is apart: <ferry/sim/run.hpp>.
#pragma once

#include <ferry/actor/actor.hpp>
#include <ferry/actor/actor_context.hpp>
#include <ferry/actor/actor_ref.hpp>
#include <ferry/actor/endpoints.hpp>
#include <ferry/base/block_on.hpp>
#include <ferry/base/buggify.hpp>
#include <ferry/base/offload.hpp>
#include <ferry/base/sleep.hpp>
#include <ferry/base/start.hpp>
#include <ferry/base/task.hpp>
#include <ferry/buffer/allocator.hpp>
#include <ferry/buffer/batch.hpp>
#include <ferry/buffer/buffer_ref.hpp>
#include <ferry/buffer/rdma_buffer.hpp>
#include <ferry/buffer/sequence.hpp>
#include <ferry/mesh/actor_mesh.hpp>
#include <ferry/mesh/mesh_error.hpp>
#include <ferry/mesh/proc_mesh.hpp>
#include <ferry/run/node.hpp>
#include <ferry/run/run.hpp>
