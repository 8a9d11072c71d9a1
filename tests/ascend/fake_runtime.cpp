// SPDX-License-Identifier: Apache-2.0
// acl on the host, and aclnnRnntLossFused by the CPU library's RnntFused: enough to run
// ascendc_op/examples. Device memory lies 1 GB off, so that a missing copy cannot go unnoticed.
#include <cstdlib>
#include <cstring>
#include <exception>
#include <string>
#include <vector>

#include "acl/acl.h"
#include "aclnn_rnnt_loss_fused.h"
#include "rnnt_params.h"

extern "C" int RnntFused(int nparam, void** params, int* ndims, int64_t** shapes,
                         const char** dtypes, void* stream, void* extra);

struct aclTensor {
  std::vector<int64_t> shape;
  const char* dtype;
  void* data;
};
struct aclOpExecutor {
  std::vector<const aclTensor*> tensors;
  std::vector<float> params;
};

namespace {

constexpr uintptr_t kDeviceOffset = uintptr_t{1} << 30;
void* ToDevice(void* host) { return reinterpret_cast<char*>(host) + kDeviceOffset; }
void* ToHost(const void* device) {
  return reinterpret_cast<void*>(reinterpret_cast<uintptr_t>(device) - kDeviceOffset);
}
const uint64_t kWorkspace = 64;
int g_open = 0;  // tensors, memory and streams not given back

}  // namespace

aclError aclInit(const char*) { return 0; }
aclError aclFinalize() { return g_open; }
const char* aclGetRecentErrMsg() { return ""; }
aclError aclrtSetDevice(int32_t) { return 0; }
aclError aclrtResetDevice(int32_t) { return 0; }
aclError aclrtCreateStream(aclrtStream* stream) {
  ++g_open;
  *stream = &g_open;
  return 0;
}
aclError aclrtSynchronizeStream(aclrtStream stream) { return stream == &g_open ? 0 : 1; }
aclError aclrtDestroyStream(aclrtStream) {
  --g_open;
  return 0;
}
aclError aclrtMalloc(void** devPtr, size_t size, aclrtMemMallocPolicy) {
  ++g_open;
  void* memory = std::malloc(size);
  std::memset(memory, 0xFF, size);
  *devPtr = ToDevice(memory);
  return 0;
}
aclError aclrtFree(void* devPtr) {
  --g_open;
  std::free(ToHost(devPtr));
  return 0;
}
aclError aclrtMemcpy(void* dst, size_t destMax, const void* src, size_t count,
                     aclrtMemcpyKind kind) {
  if (count > destMax) return 1;
  if (kind == ACL_MEMCPY_HOST_TO_DEVICE) {
    std::memcpy(ToHost(dst), src, count);
  } else {
    std::memcpy(dst, ToHost(src), count);
  }
  return 0;
}

aclTensor* aclCreateTensor(const int64_t* viewDims, uint64_t viewDimsNum, aclDataType dataType,
                           const int64_t* stride, int64_t, aclFormat, const int64_t*, uint64_t,
                           void* tensorData) {
  ++g_open;
  for (uint64_t i = 0; i < viewDimsNum; ++i) {
    if (stride[i] != (i + 1 < viewDimsNum ? stride[i + 1] * viewDims[i + 1] : 1)) return nullptr;
  }
  return new aclTensor{{viewDims, viewDims + viewDimsNum},
                       dataType == ACL_FLOAT ? "float32" : "int32",
                       ToHost(tensorData)};
}
aclnnStatus aclDestroyTensor(const aclTensor* tensor) {
  --g_open;
  delete tensor;
  return 0;
}

aclnnStatus aclnnRnntLossFusedGetWorkspaceSize(const aclTensor* logits, const aclTensor* targets,
                                               const aclTensor* logitLengths,
                                               const aclTensor* targetLengths, int64_t blank,
                                               double clamp, bool fusedLogSoftmax,
                                               const aclTensor* lossOut, const aclTensor* gradOut,
                                               uint64_t* workspaceSize, aclOpExecutor** executor) {
  std::vector<float> params(kRnntParamCount);
  params[kRnntParamBlank] = static_cast<float>(blank);
  params[kRnntParamClamp] = static_cast<float>(clamp);
  params[kRnntParamFusedLogSoftmax] = fusedLogSoftmax ? 1.0f : 0.0f;
  *executor =
      new aclOpExecutor{{logits, targets, logitLengths, targetLengths, lossOut, gradOut}, params};
  *workspaceSize = kWorkspace;
  return 0;
}

aclnnStatus aclnnRnntLossFused(void* workspace, uint64_t workspaceSize, aclOpExecutor* executor,
                               aclrtStream) {
  if (workspace == nullptr || workspaceSize != kWorkspace) return 1;
  int64_t params_shape = kRnntParamCount;
  std::vector<float> params = executor->params;
  const std::vector<const aclTensor*> tensors = executor->tensors;
  std::vector<void*> data;
  std::vector<int> ranks;
  std::vector<int64_t*> shapes;
  std::vector<const char*> dtypes;
  for (const aclTensor* tensor : tensors) {
    if (data.size() == 4) {  // behind the inputs: what the attributes stand for
      data.push_back(params.data());
      ranks.push_back(1);
      shapes.push_back(&params_shape);
      dtypes.push_back("float32");
    }
    data.push_back(tensor->data);
    ranks.push_back(static_cast<int>(tensor->shape.size()));
    shapes.push_back(const_cast<int64_t*>(tensor->shape.data()));
    dtypes.push_back(tensor->dtype);
  }
  delete executor;
  if (std::getenv("FAKE_ACL_FAILS") != nullptr) return 2;  // a device that fails
  try {
    return RnntFused(static_cast<int>(data.size()), data.data(), ranks.data(), shapes.data(),
                     dtypes.data(), nullptr, nullptr);
  } catch (const std::exception&) {
    return 2;
  }
}
