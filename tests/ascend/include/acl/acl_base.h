// SPDX-License-Identifier: Apache-2.0
// Of acl, the types and values that the operators' callers use.
#ifndef FAKE_ACL_ACL_BASE_H_
#define FAKE_ACL_ACL_BASE_H_

#include <cstddef>
#include <cstdint>

using aclError = int;
using aclrtStream = void*;

enum aclDataType { ACL_FLOAT = 0, ACL_INT32 = 3 };
enum aclFormat { ACL_FORMAT_ND = 2 };

#endif  // FAKE_ACL_ACL_BASE_H_
