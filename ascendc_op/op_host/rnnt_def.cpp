// SPDX-License-Identifier: Apache-2.0
// The operators as CANN knows them: names, operands in order, attributes, inference, tiling.
//
// RnntLossFused takes attributes and is for C++ and other frameworks. The others take tensors only,
// options included (`params`, see op_kernel/rnnt_params.h), because MindSpore's PyNative mode
// passes nothing else; their table in Python is mindspore_rnnt/kernels/signatures.py, and a test
// compares the two.
#include "rnnt_infer.h"
#include "rnnt_op_def.h"
#include "rnnt_tile.h"
#include "rnnt_widths.h"

namespace ops {

using rnnt::Infer;
using rnnt::LikeInput;
using rnnt::PerRow;
using rnnt::PerSample;
using rnnt::WithLastAxis;

// Input indices of the operators that take the whole batch.
constexpr size_t kLogits = 0;
constexpr size_t kLogitLengths = 2;

class RnntLossFused : public RnntOpDef {
 public:
  explicit RnntLossFused(const char* name) : RnntOpDef(name) {
    BatchInputs();
    FloatOutput("loss");
    RowsOutput("grad");
    Attr("blank").AttrType(OPTIONAL).Int(-1);
    Attr("clamp").AttrType(OPTIONAL).Float(-1.0f);
    Attr("fused_log_softmax").AttrType(OPTIONAL).Bool(true);
    using Outputs = Infer<PerSample<kLogitLengths>, LikeInput<kLogits>>;
    Implement(Outputs::Shapes, Outputs::DataTypes, optiling::TileRnntLossFused);
  }
};
OP_ADD(RnntLossFused);

class RnntFused : public RnntOpDef {
 public:
  explicit RnntFused(const char* name) : RnntOpDef(name) {
    BatchInputs();
    FloatInput("params");
    FloatOutput("loss");
    RowsOutput("grad");
    using Outputs = Infer<PerSample<kLogitLengths>, LikeInput<kLogits>>;
    Implement(Outputs::Shapes, Outputs::DataTypes, optiling::TileRnntFused);
  }
};
OP_ADD(RnntFused);

class RnntScaleGrad : public RnntOpDef {
 public:
  explicit RnntScaleGrad(const char* name) : RnntOpDef(name) {
    RowsInput("grad");
    Int32Input("logit_lengths");
    Int32Input("target_lengths");
    FloatInput("dloss");
    RowsOutput("dlogits");
    using Outputs = Infer<LikeInput<0>>;
    Implement(Outputs::Shapes, Outputs::DataTypes, optiling::TileRnntScaleGrad);
  }
};
OP_ADD(RnntScaleGrad);

class RnntForward : public RnntOpDef {
 public:
  explicit RnntForward(const char* name) : RnntOpDef(name) {
    BatchInputs();
    FloatInput("params");
    FloatOutput("loss");
    FloatOutput("state");
    using Outputs = Infer<PerSample<kLogitLengths>, PerRow<rnnt::kStateWidth>>;
    Implement(Outputs::Shapes, Outputs::DataTypes, optiling::TileRnntForward);
  }
};
OP_ADD(RnntForward);

class RnntBackward : public RnntOpDef {
 public:
  explicit RnntBackward(const char* name) : RnntOpDef(name) {
    BatchInputs();
    FloatInput("params");
    FloatInput("state");
    FloatInput("dloss");
    RowsOutput("dlogits");
    using Outputs = Infer<LikeInput<kLogits>>;
    Implement(Outputs::Shapes, Outputs::DataTypes, optiling::TileRnntBackward);
  }
};
OP_ADD(RnntBackward);

class RnntRowStats : public RnntOpDef {
 public:
  explicit RnntRowStats(const char* name) : RnntOpDef(name) {
    RowsInput("logits");
    Int32Input("row_labels");
    FloatInput("params");
    FloatOutput("stats");
    using Outputs = Infer<WithLastAxis<rnnt::kStatsWidth>>;
    Implement(Outputs::Shapes, Outputs::DataTypes, optiling::TileRnntRowStats);
  }
};
OP_ADD(RnntRowStats);

class RnntLattice : public RnntOpDef {
 public:
  explicit RnntLattice(const char* name) : RnntOpDef(name, 1) {
    FloatInput("stats");
    Int32Input("logit_lengths");
    Int32Input("target_lengths");
    FloatInput("params");
    FloatOutput("loss");
    FloatOutput("coefficients");
    using Outputs = Infer<PerSample<1>, WithLastAxis<rnnt::kCoefficientsWidth>>;
    Implement(Outputs::Shapes, Outputs::DataTypes, optiling::TileRnntLattice);
  }
};
OP_ADD(RnntLattice);

class RnntTdtLattice : public RnntOpDef {
 public:
  explicit RnntTdtLattice(const char* name) : RnntOpDef(name, 1) {
    FloatInput("stats");
    FloatInput("duration_log_probs");
    Int32Input("logit_lengths");
    Int32Input("target_lengths");
    Int32Input("durations");
    FloatInput("params");
    FloatOutput("loss");
    FloatOutput("coefficients");
    FloatOutput("duration_posteriors");
    using Outputs = Infer<PerSample<2>, WithLastAxis<rnnt::kCoefficientsWidth>, LikeInput<1>>;
    Implement(Outputs::Shapes, Outputs::DataTypes, optiling::TileRnntTdtLattice);
  }
};
OP_ADD(RnntTdtLattice);

class RnntRowGrad : public RnntOpDef {
 public:
  explicit RnntRowGrad(const char* name) : RnntOpDef(name) {
    RowsInput("logits");
    Int32Input("row_labels");
    FloatInput("stats");
    FloatInput("coefficients");
    FloatInput("row_dloss");
    FloatInput("params");
    RowsOutput("dlogits");
    using Outputs = Infer<LikeInput<kLogits>>;
    Implement(Outputs::Shapes, Outputs::DataTypes, optiling::TileRnntRowGrad);
  }
};
OP_ADD(RnntRowGrad);

}  // namespace ops
