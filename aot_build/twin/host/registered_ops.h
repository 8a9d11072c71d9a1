// SPDX-License-Identifier: Apache-2.0
#ifndef TWIN_HOST_REGISTERED_OPS_H_
#define TWIN_HOST_REGISTERED_OPS_H_

#include <map>
#include <string>

#include "register/op_def_registry.h"

namespace ops {

// All that OP_ADD has added, by operator type.
std::map<std::string, OpDef>& RegisteredOps();

}  // namespace ops

#endif  // TWIN_HOST_REGISTERED_OPS_H_
