// SPDX-License-Identifier: Apache-2.0
// One node of a graph, as the framework shows it to the host side of an operator. All three
// contexts are views of it.
#ifndef TWIN_HOST_CONTEXT_H_
#define TWIN_HOST_CONTEXT_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "exe_graph/runtime/shape.h"
#include "graph/types.h"

namespace fe {

// The chip that the node runs on.
struct PlatFormInfos {
  uint32_t vector_cores = 48;
  uint64_t ub_bytes = 192 * 1024 - 256;
  uint64_t l2_bytes = 192ull * 1024 * 1024;
};

}  // namespace fe

namespace gert {

class CompileTimeTensorDesc {
 public:
  ge::DataType GetDataType() const { return data_type; }
  ge::DataType data_type = ge::DT_UNDEFINED;
};

// Attribute values in the order of the OpDef.
class RuntimeAttrs {
 public:
  const int64_t* GetInt(const size_t index) const {
    return Find(index, 'i') ? &attrs[index].integer : nullptr;
  }
  const float* GetFloat(const size_t index) const {
    return Find(index, 'f') ? &attrs[index].real : nullptr;
  }
  const bool* GetBool(const size_t index) const {
    return Find(index, 'b') ? &attrs[index].flag : nullptr;
  }
  size_t GetAttrNum() const { return attrs.size(); }

  struct Attr {
    char kind;
    int64_t integer;
    float real;
    bool flag;
  };
  std::vector<Attr> attrs;

 private:
  bool Find(size_t index, char kind) const {
    return index < attrs.size() && attrs[index].kind == kind;
  }
};

class ExtendedKernelContext {
 public:
  const CompileTimeTensorDesc* GetInputDesc(const size_t index) const {
    return index < input_descs.size() ? &input_descs[index] : nullptr;
  }
  const RuntimeAttrs* GetAttrs() const { return &attrs; }
  const ge::char_t* GetNodeName() const { return node_name.c_str(); }
  const ge::char_t* GetNodeType() const { return node_name.c_str(); }
  size_t GetComputeNodeInputNum() const { return input_descs.size(); }

  std::string node_name;
  std::vector<CompileTimeTensorDesc> input_descs;
  std::vector<StorageShape> inputs;
  std::vector<Shape> outputs;
  std::vector<ge::DataType> output_types;
  RuntimeAttrs attrs;
  fe::PlatFormInfos platform;
};

}  // namespace gert

#endif  // TWIN_HOST_CONTEXT_H_
