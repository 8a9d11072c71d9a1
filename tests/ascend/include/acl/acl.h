// SPDX-License-Identifier: Apache-2.0
// Of acl, what ascendc_op/examples calls, with the signatures of CANN. fake_runtime.cpp has them.
#ifndef FAKE_ACL_ACL_H_
#define FAKE_ACL_ACL_H_

#include "acl/acl_base.h"

enum aclrtMemMallocPolicy { ACL_MEM_MALLOC_HUGE_FIRST };
enum aclrtMemcpyKind {
  ACL_MEMCPY_HOST_TO_HOST,
  ACL_MEMCPY_HOST_TO_DEVICE,
  ACL_MEMCPY_DEVICE_TO_HOST
};

extern "C" {
aclError aclInit(const char* configPath);
aclError aclFinalize();
const char* aclGetRecentErrMsg();
aclError aclrtSetDevice(int32_t deviceId);
aclError aclrtResetDevice(int32_t deviceId);
aclError aclrtCreateStream(aclrtStream* stream);
aclError aclrtSynchronizeStream(aclrtStream stream);
aclError aclrtDestroyStream(aclrtStream stream);
aclError aclrtMalloc(void** devPtr, size_t size, aclrtMemMallocPolicy policy);
aclError aclrtFree(void* devPtr);
aclError aclrtMemcpy(void* dst, size_t destMax, const void* src, size_t count,
                     aclrtMemcpyKind kind);
}

#endif  // FAKE_ACL_ACL_H_
