// SPDX-License-Identifier: Apache-2.0
// aclnnRnntLossFused called directly: two samples, losses and gradients against known values.
// Build and run, after CANN's set_env.sh and with opp=<install path>/vendors/mindspore_rnnt:
//
//   cann=$ASCEND_HOME_PATH
//   export CPATH=$cann/include:$opp/op_api/include LIBRARY_PATH=$cann/lib64:$opp/op_api/lib
//   g++ -std=c++14 test_aclnn_rnnt_loss_fused.cpp -lascendcl -lnnopbase -lcust_opapi -o example
//   ASCEND_CUSTOM_OPP_PATH=$opp LD_LIBRARY_PATH=$opp/op_api/lib:$LD_LIBRARY_PATH ./example
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "acl/acl.h"
#include "aclnn_rnnt_loss_fused.h"

namespace {

// Sample 0 has 3 frames and labels {1, 2}, sample 1 has 2 frames and label {3}: 3 * 3 + 2 * 2
// packed rows.
constexpr int64_t kRows = 13;
constexpr int64_t kClasses = 4;
const std::vector<int32_t> kTargets = {1, 2, 3, 0};
const std::vector<int32_t> kLogitLengths = {3, 2};
const std::vector<int32_t> kTargetLengths = {2, 1};

// From an enumeration of all paths in float64, blank = 0; the gradients are those of cell (0, 0).
const std::vector<float> kLosses = {5.20303427f, 3.77528808f};
const std::vector<float> kFirstGradient = {-0.31399518f, -0.29982786f, 0.39631872f, 0.21750432f};
const std::vector<float> kSecondGradient = {-0.21696109f, 0.24037945f, 0.39631872f, -0.41973708f};
constexpr int64_t kSecondRow = 9;
constexpr float kTolerance = 1e-5f;

void Check(int status, const char* what) {
  if (status == 0) return;
  std::fprintf(stderr, "%s failed with status %d: %s\n", what, status, aclGetRecentErrMsg());
  std::exit(2);
}

// Values on the device, and what aclnn knows of them.
template <typename T>
class DeviceTensor {
 public:
  DeviceTensor(const std::vector<T>& values, const std::vector<int64_t>& shape, aclDataType type)
      : size_(values.size()) {
    Check(aclrtMalloc(&memory_, Bytes(), ACL_MEM_MALLOC_HUGE_FIRST), "aclrtMalloc");
    Check(aclrtMemcpy(memory_, Bytes(), values.data(), Bytes(), ACL_MEMCPY_HOST_TO_DEVICE),
          "aclrtMemcpy to the device");
    std::vector<int64_t> strides(shape.size(), 1);
    for (size_t i = shape.size() - 1; i > 0; --i) strides[i - 1] = strides[i] * shape[i];
    tensor_ = aclCreateTensor(shape.data(), shape.size(), type, strides.data(), 0, ACL_FORMAT_ND,
                              shape.data(), shape.size(), memory_);
  }
  ~DeviceTensor() {
    aclDestroyTensor(tensor_);
    aclrtFree(memory_);
  }
  DeviceTensor(const DeviceTensor&) = delete;
  DeviceTensor& operator=(const DeviceTensor&) = delete;

  const aclTensor* Get() const { return tensor_; }

  std::vector<T> Values() const {
    std::vector<T> values(size_);
    Check(aclrtMemcpy(values.data(), Bytes(), memory_, Bytes(), ACL_MEMCPY_DEVICE_TO_HOST),
          "aclrtMemcpy to the host");
    return values;
  }

 private:
  size_t Bytes() const { return size_ * sizeof(T); }

  size_t size_;
  void* memory_ = nullptr;
  aclTensor* tensor_ = nullptr;
};

// logits[t, u, k] = ((7 t + 3 u + 5 k) mod 11) / 10, the samples one after the other.
std::vector<float> RampLogits() {
  std::vector<float> logits;
  for (size_t b = 0; b < kLogitLengths.size(); ++b) {
    for (int32_t t = 0; t < kLogitLengths[b]; ++t) {
      for (int32_t u = 0; u <= kTargetLengths[b]; ++u) {
        for (int32_t k = 0; k < kClasses; ++k) {
          logits.push_back(static_cast<float>((7 * t + 3 * u + 5 * k) % 11) / 10.0f);
        }
      }
    }
  }
  return logits;
}

int Mismatches(const char* what, const float* got, const std::vector<float>& expected) {
  int count = 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    const bool good = std::fabs(got[i] - expected[i]) <= kTolerance;
    std::printf("%s[%zu] = %.8f, expected %.8f%s\n", what, i, got[i], expected[i],
                good ? "" : "  MISMATCH");
    count += good ? 0 : 1;
  }
  return count;
}

int Run(aclrtStream stream) {
  const DeviceTensor<float> logits(RampLogits(), {kRows, kClasses}, ACL_FLOAT);
  const DeviceTensor<int32_t> targets(kTargets, {2, 2}, ACL_INT32);
  const DeviceTensor<int32_t> logit_lengths(kLogitLengths, {2}, ACL_INT32);
  const DeviceTensor<int32_t> target_lengths(kTargetLengths, {2}, ACL_INT32);
  const DeviceTensor<float> loss(std::vector<float>(2), {2}, ACL_FLOAT);
  const DeviceTensor<float> grad(std::vector<float>(kRows * kClasses), {kRows, kClasses},
                                 ACL_FLOAT);

  uint64_t workspace_size = 0;
  aclOpExecutor* executor = nullptr;
  Check(aclnnRnntLossFusedGetWorkspaceSize(logits.Get(), targets.Get(), logit_lengths.Get(),
                                           target_lengths.Get(), /*blank=*/0, /*clamp=*/-1.0,
                                           /*fusedLogSoftmax=*/true, loss.Get(), grad.Get(),
                                           &workspace_size, &executor),
        "aclnnRnntLossFusedGetWorkspaceSize");
  void* workspace = nullptr;
  if (workspace_size > 0) {
    Check(aclrtMalloc(&workspace, workspace_size, ACL_MEM_MALLOC_HUGE_FIRST), "aclrtMalloc");
  }
  Check(aclnnRnntLossFused(workspace, workspace_size, executor, stream), "aclnnRnntLossFused");
  Check(aclrtSynchronizeStream(stream), "aclrtSynchronizeStream");
  if (workspace != nullptr) aclrtFree(workspace);

  const std::vector<float> gradients = grad.Values();
  return Mismatches("loss", loss.Values().data(), kLosses) +
         Mismatches("grad of sample 0", gradients.data(), kFirstGradient) +
         Mismatches("grad of sample 1", gradients.data() + kSecondRow * kClasses, kSecondGradient);
}

}  // namespace

int main() {
  constexpr int32_t kDevice = 0;
  Check(aclInit(nullptr), "aclInit");
  Check(aclrtSetDevice(kDevice), "aclrtSetDevice");
  aclrtStream stream = nullptr;
  Check(aclrtCreateStream(&stream), "aclrtCreateStream");
  const int mismatches = Run(stream);
  aclrtDestroyStream(stream);
  aclrtResetDevice(kDevice);
  aclFinalize();
  std::printf("%s\n", mismatches == 0 ? "all values match" : "FAILED");
  return mismatches == 0 ? 0 : 1;
}
