#include "model.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace parameter_server {
namespace {

// The class probabilities of one row.
std::array<float, kClasses> probabilities(std::span<const float, kWeights> weights, const Row& row) {
  std::array<float, kClasses> score{};
  for (std::size_t pixel = 0; pixel < kPixels; ++pixel) {
    for (std::size_t klass = 0; klass < kClasses; ++klass) {
      score[klass] += weights[pixel * kClasses + klass] * row.pixels[pixel];
    }
  }
  float highest = -INFINITY;
  for (std::size_t klass = 0; klass < kClasses; ++klass) {
    score[klass] += weights[kPixels * kClasses + klass];
    highest = std::max(highest, score[klass]);
  }
  float sum = 0;
  for (float& value : score) {
    value = std::exp(value - highest);
    sum += value;
  }
  for (float& value : score) {
    value /= sum;
  }
  return score;
}

}  // namespace

void gradient_step(std::span<const float, kWeights> weights, std::span<const Row* const> batch, float rate,
                   std::span<float, kWeights> step) {
  std::fill(step.begin(), step.end(), 0.0F);
  const float scale = -rate / static_cast<float>(batch.size());
  for (const Row* row : batch) {
    auto error = probabilities(weights, *row);
    error[row->label] -= 1.0F;
    for (std::size_t klass = 0; klass < kClasses; ++klass) {
      const float scaled = scale * error[klass];
      for (std::size_t pixel = 0; pixel < kPixels; ++pixel) {
        step[pixel * kClasses + klass] += scaled * row->pixels[pixel];
      }
      step[kPixels * kClasses + klass] += scaled;
    }
  }
}

Quality evaluate(std::span<const float, kWeights> weights, std::span<const Row> rows) {
  Quality quality;
  for (const Row& row : rows) {
    const auto probability = probabilities(weights, row);
    quality.loss -= std::log(std::max(probability[row.label], 1e-12F));
    const auto best = std::max_element(probability.begin(), probability.end()) - probability.begin();
    quality.accuracy += best == row.label ? 1 : 0;
  }
  quality.loss /= static_cast<double>(rows.size());
  quality.accuracy /= static_cast<double>(rows.size());
  return quality;
}

}  // namespace parameter_server
