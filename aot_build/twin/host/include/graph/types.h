// SPDX-License-Identifier: Apache-2.0
// The part of ge's types that op_host uses, with the public values.
#ifndef TWIN_HOST_GRAPH_TYPES_H_
#define TWIN_HOST_GRAPH_TYPES_H_

#include <cstdint>

namespace ge {

using char_t = char;
using graphStatus = uint32_t;
const graphStatus GRAPH_FAILED = 0xFFFFFFFF;
const graphStatus GRAPH_SUCCESS = 0;

enum DataType {
  DT_FLOAT = 0,
  DT_FLOAT16 = 1,
  DT_INT8 = 2,
  DT_INT32 = 3,
  DT_UINT8 = 4,
  DT_INT16 = 6,
  DT_UINT16 = 7,
  DT_UINT32 = 8,
  DT_INT64 = 9,
  DT_UINT64 = 10,
  DT_DOUBLE = 11,
  DT_BOOL = 12,
  DT_BF16 = 27,
  DT_UNDEFINED = 28
};

enum Format { FORMAT_NCHW = 0, FORMAT_NHWC = 1, FORMAT_ND = 2 };

}  // namespace ge

#endif  // TWIN_HOST_GRAPH_TYPES_H_
