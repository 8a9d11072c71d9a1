// SPDX-License-Identifier: Apache-2.0
#ifndef TWIN_HOST_INFER_SHAPE_CONTEXT_H_
#define TWIN_HOST_INFER_SHAPE_CONTEXT_H_

#include "exe_graph/runtime/context.h"

namespace gert {

class InferShapeContext : public ExtendedKernelContext {
 public:
  const Shape* GetInputShape(const size_t index) const {
    return index < inputs.size() ? &inputs[index].GetOriginShape() : nullptr;
  }
  Shape* GetOutputShape(const size_t index) {
    return index < outputs.size() ? &outputs[index] : nullptr;
  }
};

}  // namespace gert

#endif  // TWIN_HOST_INFER_SHAPE_CONTEXT_H_
