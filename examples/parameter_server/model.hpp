// Softmax regression: weights of (64 pixels + bias) x 10 classes, row by row.
#pragma once

#include <cstddef>
#include <span>

#include "dataset.hpp"

namespace parameter_server {

inline constexpr std::size_t kWeights = (kPixels + 1) * kClasses;

// What to add to the weights for one batch: -rate times the mean gradient of the cross-entropy.
void gradient_step(std::span<const float, kWeights> weights, std::span<const Row* const> batch, float rate,
                   std::span<float, kWeights> step);

struct Quality {
  double loss = 0;      // mean cross-entropy, nats
  double accuracy = 0;  // 0 to 1
};

Quality evaluate(std::span<const float, kWeights> weights, std::span<const Row> rows);

}  // namespace parameter_server
