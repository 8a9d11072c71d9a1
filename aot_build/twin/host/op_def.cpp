// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "registered_ops.h"

namespace ops {

OpParamDef& OpParamDef::ParamType(Option value) {
  param_type = value;
  return *this;
}
OpParamDef& OpParamDef::DataType(std::vector<ge::DataType> types) {
  data_types = std::move(types);
  return *this;
}
OpParamDef& OpParamDef::Format(std::vector<ge::Format> values) {
  formats = std::move(values);
  return *this;
}
OpParamDef& OpParamDef::AutoContiguous() {
  contiguous = true;
  return *this;
}
OpParamDef& OpParamDef::Follow(const char* paramName, FollowType) {
  follows = paramName;
  return *this;
}

OpAttrDef& OpAttrDef::AttrType(Option value) {
  attr_type = value;
  return *this;
}
OpAttrDef& OpAttrDef::Bool(bool value) {
  type = "bool";
  default_value = value ? "true" : "false";
  return *this;
}
OpAttrDef& OpAttrDef::Float(float value) {
  type = "float";
  default_value = std::to_string(value);
  return *this;
}
OpAttrDef& OpAttrDef::Int(int64_t value) {
  type = "int";
  default_value = std::to_string(value);
  return *this;
}

namespace {
OpAICoreConfig& SetItem(OpAICoreConfig* config, const char* key, const char* value) {
  config->items[key] = value;
  return *config;
}
const char* Flag(bool flag) { return flag ? "true" : "false"; }
}  // namespace

OpAICoreConfig& OpAICoreConfig::DynamicCompileStaticFlag(bool flag) {
  return SetItem(this, "dynamicCompileStatic.flag", Flag(flag));
}
OpAICoreConfig& OpAICoreConfig::DynamicRankSupportFlag(bool flag) {
  return SetItem(this, "dynamicRankSupport.flag", Flag(flag));
}
OpAICoreConfig& OpAICoreConfig::DynamicShapeSupportFlag(bool flag) {
  return SetItem(this, "dynamicShapeSupport.flag", Flag(flag));
}
OpAICoreConfig& OpAICoreConfig::NeedCheckSupportFlag(bool flag) {
  return SetItem(this, "needCheckSupport.flag", Flag(flag));
}
OpAICoreConfig& OpAICoreConfig::PrecisionReduceFlag(bool flag) {
  return SetItem(this, "precision_reduce.flag", Flag(flag));
}
OpAICoreConfig& OpAICoreConfig::ExtendCfgInfo(const char* key, const char* value) {
  return SetItem(this, key, value);
}

OpAICoreDef& OpAICoreDef::SetTiling(gert::OpImplRegisterV2::TilingKernelFunc func) {
  tiling = func;
  return *this;
}
OpAICoreDef& OpAICoreDef::AddConfig(const char* soc) {
  configs[soc] = OpAICoreConfig();
  return *this;
}
OpAICoreDef& OpAICoreDef::AddConfig(const char* soc, OpAICoreConfig& aicore_config) {
  configs[soc] = aicore_config;
  return *this;
}

OpParamDef& OpDef::Input(const char* name) {
  inputs.emplace_back(name);
  return inputs.back();
}
OpParamDef& OpDef::Output(const char* name) {
  outputs.emplace_back(name);
  return outputs.back();
}
OpAttrDef& OpDef::Attr(const char* name) {
  attrs.emplace_back(name);
  return attrs.back();
}
OpDef& OpDef::SetInferShape(gert::OpImplRegisterV2::InferShapeKernelFunc func) {
  infer_shape = func;
  return *this;
}
OpDef& OpDef::SetInferDataType(gert::OpImplRegisterV2::InferDataTypeKernelFunc func) {
  infer_data_type = func;
  return *this;
}

std::map<std::string, OpDef>& RegisteredOps() {
  static std::map<std::string, OpDef> ops;
  return ops;
}

int RegisterOp(const char* name, OpDefCreator creator) {
  RegisteredOps().emplace(name, creator(name));
  return 0;
}

}  // namespace ops
