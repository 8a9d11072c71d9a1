// SPDX-License-Identifier: Apache-2.0
#ifndef TWIN_HOST_INFER_DATATYPE_CONTEXT_H_
#define TWIN_HOST_INFER_DATATYPE_CONTEXT_H_

#include "exe_graph/runtime/context.h"

namespace gert {

class InferDataTypeContext : public ExtendedKernelContext {
 public:
  ge::DataType GetInputDataType(const size_t index) const {
    return index < input_descs.size() ? input_descs[index].data_type : ge::DT_UNDEFINED;
  }
  ge::graphStatus SetOutputDataType(const size_t index, const ge::DataType datatype) {
    if (index >= output_types.size()) return ge::GRAPH_FAILED;
    output_types[index] = datatype;
    return ge::GRAPH_SUCCESS;
  }
};

}  // namespace gert

#endif  // TWIN_HOST_INFER_DATATYPE_CONTEXT_H_
