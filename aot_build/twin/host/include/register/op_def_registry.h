// SPDX-License-Identifier: Apache-2.0
// ops::OpDef and OP_ADD: what an operator registers, kept so that a test can read it.
#ifndef TWIN_HOST_OP_DEF_REGISTRY_H_
#define TWIN_HOST_OP_DEF_REGISTRY_H_

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "exe_graph/runtime/infer_datatype_context.h"
#include "exe_graph/runtime/infer_shape_context.h"
#include "exe_graph/runtime/tiling_context.h"

namespace gert {

class OpImplRegisterV2 {
 public:
  using InferShapeKernelFunc = uint32_t (*)(InferShapeContext*);
  using TilingKernelFunc = uint32_t (*)(TilingContext*);
  using InferDataTypeKernelFunc = uint32_t (*)(InferDataTypeContext*);
};

}  // namespace gert

namespace ops {

enum Option { IGNORE = 0, OPTIONAL = 1, REQUIRED = 2, DYNAMIC = 3, VIRTUAL = 4 };
enum class FollowType : uint32_t { ALL = 0, DTYPE = 1, FORMAT = 2, SHAPE = 3, INVALID_TYPE };

class OpParamDef {
 public:
  explicit OpParamDef(const char* name) : name(name) {}
  OpParamDef& ParamType(Option param_type);
  OpParamDef& DataType(std::vector<ge::DataType> types);
  OpParamDef& Format(std::vector<ge::Format> formats);
  OpParamDef& AutoContiguous();
  OpParamDef& Follow(const char* paramName, FollowType ftype);

  std::string name;
  Option param_type = IGNORE;
  std::vector<ge::DataType> data_types;
  std::vector<ge::Format> formats;
  bool contiguous = false;
  std::string follows;
};

class OpAttrDef {
 public:
  explicit OpAttrDef(const char* name) : name(name) {}
  OpAttrDef& AttrType(Option attr_type);
  OpAttrDef& Bool(bool value);
  OpAttrDef& Float(float value);
  OpAttrDef& Int(int64_t value);

  std::string name;
  Option attr_type = IGNORE;
  std::string type;
  std::string default_value;
};

class OpAICoreConfig {
 public:
  OpAICoreConfig& DynamicCompileStaticFlag(bool flag);
  OpAICoreConfig& DynamicRankSupportFlag(bool flag);
  OpAICoreConfig& DynamicShapeSupportFlag(bool flag);
  OpAICoreConfig& NeedCheckSupportFlag(bool flag);
  OpAICoreConfig& PrecisionReduceFlag(bool flag);
  OpAICoreConfig& ExtendCfgInfo(const char* key, const char* value);

  std::map<std::string, std::string> items;
};

class OpAICoreDef {
 public:
  OpAICoreDef& SetTiling(gert::OpImplRegisterV2::TilingKernelFunc func);
  OpAICoreDef& AddConfig(const char* soc);
  OpAICoreDef& AddConfig(const char* soc, OpAICoreConfig& aicore_config);

  gert::OpImplRegisterV2::TilingKernelFunc tiling = nullptr;
  std::map<std::string, OpAICoreConfig> configs;
};

class OpDef {
 public:
  explicit OpDef(const char* type) : type(type) {}
  OpParamDef& Input(const char* name);
  OpParamDef& Output(const char* name);
  OpAttrDef& Attr(const char* name);
  OpDef& SetInferShape(gert::OpImplRegisterV2::InferShapeKernelFunc func);
  OpDef& SetInferDataType(gert::OpImplRegisterV2::InferDataTypeKernelFunc func);
  OpAICoreDef& AICore(void) { return ai_core; }

  std::string type;
  std::deque<OpParamDef> inputs, outputs;
  std::deque<OpAttrDef> attrs;
  gert::OpImplRegisterV2::InferShapeKernelFunc infer_shape = nullptr;
  gert::OpImplRegisterV2::InferDataTypeKernelFunc infer_data_type = nullptr;
  OpAICoreDef ai_core;
};

// As in the framework: an operator is made by value, when somebody asks for it.
using OpDefCreator = OpDef (*)(const char*);
int RegisterOp(const char* name, OpDefCreator creator);

}  // namespace ops

#define OP_ADD(opType, ...)       \
  static int g_##opType##_added = \
      ops::RegisterOp(#opType, [](const char* name) -> ops::OpDef { return opType(name); })

#endif  // TWIN_HOST_OP_DEF_REGISTRY_H_
