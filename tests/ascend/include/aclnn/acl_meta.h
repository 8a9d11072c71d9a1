// SPDX-License-Identifier: Apache-2.0
// Of aclnn, what the headers of operators and their callers use, with the signatures of CANN.
#ifndef FAKE_ACLNN_ACL_META_H_
#define FAKE_ACLNN_ACL_META_H_

#include "acl/acl_base.h"

typedef struct aclTensor aclTensor;
typedef struct aclOpExecutor aclOpExecutor;
using aclnnStatus = int32_t;

extern "C" {
aclTensor* aclCreateTensor(const int64_t* viewDims, uint64_t viewDimsNum, aclDataType dataType,
                           const int64_t* stride, int64_t offset, aclFormat format,
                           const int64_t* storageDims, uint64_t storageDimsNum, void* tensorData);
aclnnStatus aclDestroyTensor(const aclTensor* tensor);
}

#endif  // FAKE_ACLNN_ACL_META_H_
