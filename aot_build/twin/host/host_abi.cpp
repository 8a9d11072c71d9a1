// SPDX-License-Identifier: Apache-2.0
// The C ABI of the host twin; host_driver.py calls it.
#include <cstring>
#include <string>

#include "registered_ops.h"

namespace {

// All views of one node; Python fills it and asks for one of them.
struct Node {
  gert::TilingContext tiling;
};

std::string Quoted(const std::string& text) { return "\"" + text + "\""; }

template <typename Items, typename Format>
std::string List(const Items& items, Format format) {
  std::string json = "[";
  for (const auto& item : items) {
    if (json.size() > 1) json += ",";
    json += format(item);
  }
  return json + "]";
}

std::string Param(const ops::OpParamDef& param) {
  return "{\"name\":" + Quoted(param.name) +
         ",\"required\":" + (param.param_type == ops::REQUIRED ? "true" : "false") +
         ",\"contiguous\":" + (param.contiguous ? "true" : "false") +
         ",\"follows\":" + Quoted(param.follows) + ",\"data_types\":" +
         List(param.data_types, [](ge::DataType type) { return std::to_string(type); }) +
         ",\"formats\":" +
         List(param.formats, [](ge::Format format) { return std::to_string(format); }) + "}";
}

std::string Attr(const ops::OpAttrDef& attr) {
  return "{\"name\":" + Quoted(attr.name) + ",\"type\":" + Quoted(attr.type) +
         ",\"default\":" + Quoted(attr.default_value) +
         ",\"required\":" + (attr.attr_type == ops::REQUIRED ? "true" : "false") + "}";
}

std::string Configs(const std::map<std::string, ops::OpAICoreConfig>& configs) {
  std::string json = "{";
  for (const auto& config : configs) {
    if (json.size() > 1) json += ",";
    json += Quoted(config.first) + ":{";
    bool first = true;
    for (const auto& item : config.second.items) {
      json += (first ? "" : ",") + Quoted(item.first) + ":" + Quoted(item.second);
      first = false;
    }
    json += "}";
  }
  return json + "}";
}

template <typename Context>
void CopyNode(const Node& node, Context* context) {
  static_cast<gert::ExtendedKernelContext&>(*context) = node.tiling;
}

std::string g_operators;

}  // namespace

extern "C" {

// Every registered operator as JSON, by type.
const char* HostOperators() {
  g_operators = "{";
  for (const auto& op : ops::RegisteredOps()) {
    if (g_operators.size() > 1) g_operators += ",";
    g_operators += Quoted(op.first) + ":{\"inputs\":" + List(op.second.inputs, Param) +
                   ",\"outputs\":" + List(op.second.outputs, Param) +
                   ",\"attrs\":" + List(op.second.attrs, Attr) +
                   ",\"configs\":" + Configs(op.second.ai_core.configs) + "}";
  }
  g_operators += "}";
  return g_operators.c_str();
}

void* HostNode(const char* op, int outputs, uint32_t vector_cores, uint64_t ub_bytes) {
  auto* node = new Node();
  node->tiling.node_name = op;
  node->tiling.outputs.resize(outputs);
  node->tiling.output_types.assign(outputs, ge::DT_UNDEFINED);
  node->tiling.platform.vector_cores = vector_cores;
  node->tiling.platform.ub_bytes = ub_bytes;
  std::memset(node->tiling.tiling_data, 0xCD, sizeof(node->tiling.tiling_data));
  return node;
}

void HostFree(void* node) { delete static_cast<Node*>(node); }

void HostInput(void* node, int data_type, const int64_t* dims, int count) {
  gert::TilingContext& context = static_cast<Node*>(node)->tiling;
  gert::CompileTimeTensorDesc desc;
  desc.data_type = static_cast<ge::DataType>(data_type);
  context.input_descs.push_back(desc);
  gert::StorageShape shape;
  for (int i = 0; i < count; ++i) {
    shape.MutableOriginShape().AppendDim(dims[i]);
    shape.MutableStorageShape().AppendDim(dims[i]);
  }
  context.inputs.push_back(shape);
}

void HostAttr(void* node, char kind, double value) {
  gert::RuntimeAttrs::Attr attr;
  attr.kind = kind;
  attr.integer = static_cast<int64_t>(value);
  attr.real = static_cast<float>(value);
  attr.flag = value != 0;
  static_cast<Node*>(node)->tiling.attrs.attrs.push_back(attr);
}

uint32_t HostTile(void* node, const char* op) {
  gert::TilingContext& context = static_cast<Node*>(node)->tiling;
  return ops::RegisteredOps().at(op).ai_core.tiling(&context);
}

// decision: block_dim, schedule_mode, tiling_key, workspace bytes, tiling bytes
void HostDecision(void* node, uint64_t* decision, uint8_t* tiling) {
  const gert::TilingContext& context = static_cast<Node*>(node)->tiling;
  decision[0] = context.block_dim;
  decision[1] = context.schedule_mode;
  decision[2] = context.tiling_key;
  decision[3] = context.workspaces.empty() ? 0 : context.workspaces[0];
  decision[4] = context.tiling_bytes;
  std::memcpy(tiling, context.tiling_data, context.tiling_bytes);
}

uint32_t HostInferShape(void* node, const char* op) {
  gert::InferShapeContext context;
  CopyNode(*static_cast<Node*>(node), &context);
  const uint32_t status = ops::RegisteredOps().at(op).infer_shape(&context);
  static_cast<Node*>(node)->tiling.outputs = context.outputs;
  return status;
}

uint32_t HostInferDataType(void* node, const char* op) {
  gert::InferDataTypeContext context;
  CopyNode(*static_cast<Node*>(node), &context);
  const uint32_t status = ops::RegisteredOps().at(op).infer_data_type(&context);
  static_cast<Node*>(node)->tiling.output_types = context.output_types;
  return status;
}

int HostOutput(void* node, int index, int64_t* dims, int* data_type) {
  const gert::TilingContext& context = static_cast<Node*>(node)->tiling;
  const gert::Shape& shape = context.outputs[index];
  for (size_t i = 0; i < shape.GetDimNum(); ++i) dims[i] = shape.GetDim(i);
  *data_type = context.output_types[index];
  return static_cast<int>(shape.GetDimNum());
}

}  // extern "C"
