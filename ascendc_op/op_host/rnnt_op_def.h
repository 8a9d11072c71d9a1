// SPDX-License-Identifier: Apache-2.0
// What the operators have in common as CANN operator definitions (OpDef): dtypes, formats,
// chips.
//
// An operator is a row of inputs, attributes and outputs. Dtypes are listed by column: column i of
// all operands together is one binary. Only what has the logits' dtype differs between columns.
#ifndef MINDSPORE_RNNT_RNNT_OP_DEF_H_
#define MINDSPORE_RNNT_RNNT_OP_DEF_H_

#include <vector>

#include "register/op_def_registry.h"

namespace ops {

class RnntOpDef : public OpDef {
 protected:
  using DataTypes = std::vector<ge::DataType>;

  // One column for each dtype of the logits, or a single one where there are none.
  explicit RnntOpDef(const char* name, size_t columns = RowDataTypes().size())
      : OpDef(name), columns_(columns) {}

  void RowsInput(const char* name) { Describe(Input(name), RowDataTypes()).AutoContiguous(); }
  void Int32Input(const char* name) { Describe(Input(name), All(ge::DT_INT32)).AutoContiguous(); }
  void FloatInput(const char* name) { Describe(Input(name), All(ge::DT_FLOAT)).AutoContiguous(); }
  void RowsOutput(const char* name) { Describe(Output(name), RowDataTypes()); }
  void FloatOutput(const char* name) { Describe(Output(name), All(ge::DT_FLOAT)); }

  // What says which rows belong to which sample, behind the logits.
  void BatchInputs() {
    RowsInput("logits");
    Int32Input("targets");
    Int32Input("logit_lengths");
    Int32Input("target_lengths");
  }

  // Same instruction set on both chips. A loss must not be computed in float16 by a framework's
  // mixed precision.
  void Implement(gert::OpImplRegisterV2::InferShapeKernelFunc infer_shape,
                 gert::OpImplRegisterV2::InferDataTypeKernelFunc infer_data_type,
                 gert::OpImplRegisterV2::TilingKernelFunc tiling) {
    SetInferShape(infer_shape);
    SetInferDataType(infer_data_type);
    AICore().SetTiling(tiling);
    OpAICoreConfig config;
    config.DynamicCompileStaticFlag(true)
        .DynamicRankSupportFlag(true)
        .DynamicShapeSupportFlag(true)
        .PrecisionReduceFlag(false);
    AICore().AddConfig("ascend910b", config);
    AICore().AddConfig("ascend910_93", config);
  }

 private:
  static DataTypes RowDataTypes() { return {ge::DT_FLOAT, ge::DT_FLOAT16, ge::DT_BF16}; }
  DataTypes All(ge::DataType data_type) const { return DataTypes(columns_, data_type); }

  static OpParamDef& Describe(OpParamDef& operand, const DataTypes& data_types) {
    return operand.ParamType(REQUIRED)
        .DataType(data_types)
        .Format(std::vector<ge::Format>(data_types.size(), ge::FORMAT_ND));
  }

  size_t columns_;
};

}  // namespace ops

#endif  // MINDSPORE_RNNT_RNNT_OP_DEF_H_
