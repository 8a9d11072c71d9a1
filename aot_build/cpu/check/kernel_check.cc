// SPDX-License-Identifier: Apache-2.0
// A check of the library without Python: for a cross-compiled build under an emulator, and for the
// sanitizers. The test suite proper is tests/kernel.
//
// clang-format off
//   cmake -S aot_build -B build/check -DSANITIZE=ON && cmake --build build/check --target check_kernel
//
//   cmake -S aot_build -B build/arm -DCMAKE_SYSTEM_NAME=Linux -DCMAKE_SYSTEM_PROCESSOR=aarch64
//         -DCMAKE_CXX_COMPILER=aarch64-linux-gnu-g++
//         -DCMAKE_CROSSCOMPILING_EMULATOR="qemu-aarch64-static;-L;/usr/aarch64-linux-gnu"
//   cmake --build build/arm --target check_kernel
// clang-format on
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <exception>
#include <random>
#include <string>
#include <vector>

extern "C" {
using Entry = int(int nparam, void** params, int* ndims, int64_t** shapes, const char** dtypes,
                  void*, void*);
Entry RnntFused, RnntForward, RnntBackward;
const char* MindsporeRnntCpuLevels();
int MindsporeRnntSelectCpuLevel(const char* level);
}

namespace {

using Shape = std::vector<int64_t>;

struct Argument {
  void* data;
  Shape shape;
  const char* dtype;
};

void Call(Entry* entry, std::vector<Argument> arguments) {
  std::vector<void*> data;
  std::vector<int> ranks;
  std::vector<int64_t*> shapes;
  std::vector<const char*> dtypes;
  for (Argument& a : arguments) {
    data.push_back(a.data);
    ranks.push_back(static_cast<int>(a.shape.size()));
    shapes.push_back(a.shape.data());
    dtypes.push_back(a.dtype);
  }
  entry(static_cast<int>(data.size()), data.data(), ranks.data(), shapes.data(), dtypes.data(),
        nullptr, nullptr);
}

// A batch in vectors of exactly its size, so that the address sanitizer sees every step beside
// them.
struct Batch {
  int64_t B, V, max_u;
  Shape logits_shape;
  std::vector<float> logits;
  std::vector<int32_t> targets, logit_lengths, target_lengths;
  std::vector<float> params{0, -1, 1, 0, 0, 0, 0, 0};
  std::vector<float> loss, grad;

  std::vector<Argument> Inputs() {
    return {{logits.data(), logits_shape, "float32"},
            {targets.data(), {B, max_u}, "int32"},
            {logit_lengths.data(), {B}, "int32"},
            {target_lengths.data(), {B}, "int32"},
            {params.data(), {8}, "float32"}};
  }

  void Run() {
    loss.assign(B, NAN);
    grad.assign(logits.size(), NAN);
    std::vector<Argument> arguments = Inputs();
    arguments.push_back({loss.data(), {B}, "float32"});
    arguments.push_back({grad.data(), logits_shape, "float32"});
    Call(RnntFused, arguments);
  }

  void RunTwoOp() {
    const int64_t rows = static_cast<int64_t>(logits.size()) / V;
    std::vector<float> state(rows * 5, NAN), dloss(B, 1.0f), dlogits(logits.size(), NAN);
    std::vector<Argument> arguments = Inputs();
    arguments.push_back({loss.data(), {B}, "float32"});
    arguments.push_back({state.data(), {rows, 5}, "float32"});
    Call(RnntForward, arguments);
    arguments = Inputs();
    arguments.push_back({state.data(), {rows, 5}, "float32"});
    arguments.push_back({dloss.data(), {B}, "float32"});
    arguments.push_back({dlogits.data(), logits_shape, "float32"});
    Call(RnntBackward, arguments);
    if (!grad.empty() && memcmp(dlogits.data(), grad.data(), grad.size() * sizeof(float)) != 0)
      throw std::string("two-op != fused");
  }
};

// Packed, all values good.
Batch GoodBatch(std::mt19937& random, int64_t V) {
  Batch batch = {3, V, 9, {}, {}, std::vector<int32_t>(27, -7), {}, {}};
  int64_t rows = 0;
  for (int b = 0; b < 3; ++b) {
    const int T = 1 + random() % 30, U = random() % 10;
    batch.logit_lengths.push_back(T);
    batch.target_lengths.push_back(U);
    for (int u = 0; u < U; ++u) batch.targets[b * 9 + u] = static_cast<int32_t>(random() % V);
    rows += T * (U + 1);
  }
  batch.logits_shape = {rows, V};
  batch.logits.resize(rows * V);
  std::normal_distribution<float> normal(0.0f, 2.0f);
  for (float& x : batch.logits) x = normal(random);
  return batch;
}

// The loss of sample b in plain float64, row by row.
double PlainLoss(const Batch& batch, int b) {
  int64_t row = 0;
  for (int i = 0; i < b; ++i) row += batch.logit_lengths[i] * (batch.target_lengths[i] + 1);
  const int T = batch.logit_lengths[b], U = batch.target_lengths[b];
  const auto log_prob = [&](int t, int u, int k) {
    const float* x = &batch.logits[(row + t * (U + 1) + u) * batch.V];
    double sum = 0;
    for (int64_t i = 0; i < batch.V; ++i) sum += std::exp(static_cast<double>(x[i]));
    return x[k] - std::log(sum);
  };
  std::vector<double> alpha(U + 1, -INFINITY);
  for (int t = 0; t < T; ++t) {
    for (int u = 0; u <= U; ++u) {
      const double stay = t > 0 ? alpha[u] + log_prob(t - 1, u, 0) : u > 0 ? -INFINITY : 0.0;
      const double emit =
          u > 0 ? alpha[u - 1] + log_prob(t, u - 1, batch.targets[b * 9 + u - 1]) : -INFINITY;
      const double larger = std::max(stay, emit);
      alpha[u] = larger + std::log(std::exp(stay - larger) + std::exp(emit - larger));
    }
  }
  return -(alpha[U] + log_prob(T - 1, U, 0));
}

void CheckValues(const std::vector<std::string>& levels) {
  std::mt19937 random(1);
  double worst_loss = 0, worst_grad = 0;
  for (const int64_t V : {2, 3, 8, 17, 50, 129, 1001, 5000}) {
    Batch batch = GoodBatch(random, V);
    std::vector<float> portable;
    for (auto level = levels.rbegin(); level != levels.rend(); ++level) {  // portable first
      MindsporeRnntSelectCpuLevel(level->c_str());
      batch.Run();
      batch.RunTwoOp();
      for (int b = 0; b < 3; ++b) {
        const double exact = PlainLoss(batch, b);
        worst_loss = std::max(worst_loss, std::abs(batch.loss[b] - exact) / std::max(1.0, exact));
      }
      if (portable.empty()) portable = batch.grad;
      for (size_t i = 0; i < portable.size(); ++i) {
        const double difference = std::abs(batch.grad[i] - portable[i]);
        worst_grad = difference <= worst_grad ? worst_grad : difference;  // NaN, too
      }
    }
  }
  printf("loss against float64: %.3g relative; gradients of levels against portable: %.3g\n",
         worst_loss, worst_grad);
  if (!(worst_loss < 2.5e-7 && worst_grad < 2e-6)) throw std::string("wrong values");
}

void CheckBadValues(const std::vector<std::string>& levels) {
  std::mt19937 random(2);
  const int32_t odd[] = {INT32_MIN, -2, -1, 0, 1, 2, 3, 4, 5, 9, INT32_MAX};
  const auto any = [&] { return odd[random() % 11]; };
  for (int i = 0; i < 3000; ++i) {
    MindsporeRnntSelectCpuLevel(levels[i % levels.size()].c_str());
    const auto below = [&](int n) { return static_cast<int64_t>(random() % n); };
    Batch batch = {1 + below(3), 1 + below(40), below(5), {}, {}, {}, {}, {}};
    for (int64_t b = 0; b < batch.B; ++b) {
      batch.logit_lengths.push_back(any());
      batch.target_lengths.push_back(any());
      for (int64_t u = 0; u < batch.max_u; ++u) batch.targets.push_back(any());
    }
    batch.logits_shape = below(2) == 1 ? Shape{below(30), batch.V}
                                       : Shape{batch.B, 1 + below(4), 1 + below(5), batch.V};
    int64_t size = 1;
    for (const int64_t axis : batch.logits_shape) size *= axis;
    batch.logits.assign(size, 0.5f);
    batch.params = {static_cast<float>(any()),
                    random() % 2 ? 0.1f : -1.0f,
                    random() % 2 ? 1.0f : 0.0f,
                    0,
                    0,
                    0,
                    0,
                    0};
    batch.Run();
    batch.RunTwoOp();
    for (const float g : batch.grad) {
      if (std::isnan(g)) throw std::string("an entry of a gradient is NaN or was not written");
    }
  }
  printf("3000 batches of odd lengths and labels: all gradients written\n");
}

}  // namespace

int main() {
  std::vector<std::string> levels;
  for (const char* name = MindsporeRnntCpuLevels(); *name != '\0';) {
    const size_t length = strcspn(name, ",");
    levels.emplace_back(name, length);
    name += length + (name[length] == ',');
  }
  printf("levels: %s\n", MindsporeRnntCpuLevels());
  try {
    CheckValues(levels);
    CheckBadValues(levels);
  } catch (const std::string& message) {
    printf("FAILED: %s\n", message.c_str());
    return 1;
  }
  return 0;
}
