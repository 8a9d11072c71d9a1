// SPDX-License-Identifier: Apache-2.0
// Shape and dtype inference: `<Op>InferShape` / `<Op>InferType` for the CPU and `aclnn<Op>...` for
// Ascend, the only form that works with dynamic shapes. While a graph is compiled an axis may be -1
// (unknown) and a shape {-2} (unknown rank); no axis beyond a shape's rank is read.
#include <cstdint>
#include <vector>

#include "records.h"

namespace {

// MindSpore's numbers for dtypes; those of inputs are only passed on.
enum TypeId : int { kInt32 = 34, kFloat32 = 43 };

using Shape = std::vector<int64_t>;
using Shapes = std::vector<Shape>;
using Types = std::vector<TypeId>;

class Inputs {
 public:
  Inputs(int* ranks, int64_t** shapes) : ranks_(ranks), shapes_(shapes) {}

  Shape operator[](int i) const { return Shape(shapes_[i], shapes_[i] + ranks_[i]); }

  // -1 if unknown.
  int64_t Axis(int i, int axis) const {
    return KnownRank(i) && axis < ranks_[i] ? shapes_[i][axis] : -1;
  }
  // The shape of input i with another last axis; unknown if its rank is.
  Shape WithLastAxis(int i, int64_t last) const {
    Shape shape = (*this)[i];
    if (KnownRank(i) && !shape.empty()) shape.back() = last;
    return shape;
  }
  // The shape of input i without its last axis; unknown if its rank is.
  Shape WithoutLastAxis(int i) const {
    Shape shape = (*this)[i];
    if (KnownRank(i) && !shape.empty()) shape.pop_back();
    return shape;
  }
  // Rows of logits, packed or padded: the product of all axes but the last.
  int64_t Rows(int i) const {
    if (!KnownRank(i)) return -1;
    int64_t rows = 1;
    for (int axis = 0; axis + 1 < ranks_[i]; ++axis) {
      if (shapes_[i][axis] < 0) return -1;
      rows *= shapes_[i][axis];
    }
    return rows;
  }

 private:
  bool KnownRank(int i) const { return !(ranks_[i] == 1 && shapes_[i][0] == -2); }

  int* ranks_;
  int64_t** shapes_;
};

Shapes FusedShapes(const Inputs& in) { return {{in.Axis(2, 0)}, in[0]}; }
Types FusedTypes(const Types& in) { return {kFloat32, in[0]}; }

Shapes ForwardShapes(const Inputs& in) {
  return {{in.Axis(2, 0)}, {in.Rows(0), rnnt::kStateFloats}};
}
Shapes LatticeShapes(const Inputs& in) {
  return {{in.Axis(1, 0)}, in.WithLastAxis(0, rnnt::kCoefficientsFloats)};
}
Shapes TdtShapes(const Inputs& in) {
  return {{in.Axis(2, 0)}, in.WithLastAxis(0, rnnt::kCoefficientsFloats), in[1]};
}
Shapes DistillationShapes(const Inputs& in) {
  return {in[4], in.WithLastAxis(0, rnnt::kCoefficientsFloats)};
}
Shapes ArcPosteriorsShapes(const Inputs& in) {
  return {in[1], in.WithoutLastAxis(0), in.WithoutLastAxis(0)};
}
Types ThreeFloats(const Types&) { return {kFloat32, kFloat32, kFloat32}; }

Shapes SimpleGradShapes(const Inputs& in) { return {in[0], in[1]}; }

// The shapes of frames, log_probs and path_log_prob.
Shapes AlignShapes(const Inputs& in) { return {in[3], in[3], {in.Axis(1, 0)}}; }
Types AlignTypes(const Types&) { return {kInt32, kFloat32, kFloat32}; }
Types TwoFloats(const Types&) { return {kFloat32, kFloat32}; }

// The shapes of row_labels, row_samples and least_loss.
Shapes RowLabelsShapes(const Inputs& in) {
  return {in.WithoutLastAxis(0), in.WithoutLastAxis(0), {in.Axis(2, 0)}};
}
Types RowLabelsTypes(const Types&) { return {kInt32, kInt32, kFloat32}; }

Shape LikeFirst(const Inputs& in) { return in[0]; }
TypeId TypeOfFirst(const Types& in) { return in[0]; }

Shape SimpleStatsShape(const Inputs& in) {
  return {in.Axis(0, 0), in.Axis(0, 1), in.Axis(1, 1), rnnt::kStatsFloats};
}
Shape StatsShape(const Inputs& in) { return in.WithLastAxis(0, rnnt::kStatsFloats); }
TypeId Float(const Types&) { return kFloat32; }

}  // namespace

// MindSpore asks an operator of one output for a shape, one of several for a list.
#define RNNT_INFER_AS(name, ShapeResult, TypeResult, shape_of, type_of)                       \
  extern "C" __attribute__((visibility("default"))) ShapeResult name##InferShape(             \
      int* ranks, int64_t** shapes, void*) {                                                  \
    return shape_of(Inputs(ranks, shapes));                                                   \
  }                                                                                           \
  extern "C"                                                                                  \
      __attribute__((visibility("default"))) TypeResult name##InferType(Types types, void*) { \
    return type_of(types);                                                                    \
  }
#define RNNT_INFER_ONE(op, shape_of, type_of)         \
  RNNT_INFER_AS(op, Shape, TypeId, shape_of, type_of) \
  RNNT_INFER_AS(aclnn##op, Shape, TypeId, shape_of, type_of)
#define RNNT_INFER_MANY(op, shape_of, type_of)        \
  RNNT_INFER_AS(op, Shapes, Types, shape_of, type_of) \
  RNNT_INFER_AS(aclnn##op, Shapes, Types, shape_of, type_of)

RNNT_INFER_MANY(RnntFused, FusedShapes, FusedTypes)
RNNT_INFER_ONE(RnntScaleGrad, LikeFirst, TypeOfFirst)
RNNT_INFER_MANY(RnntForward, ForwardShapes, TwoFloats)
RNNT_INFER_ONE(RnntBackward, LikeFirst, TypeOfFirst)
RNNT_INFER_MANY(RnntRowLabels, RowLabelsShapes, RowLabelsTypes)
RNNT_INFER_ONE(RnntRowStats, StatsShape, Float)
RNNT_INFER_MANY(RnntLattice, LatticeShapes, TwoFloats)
RNNT_INFER_ONE(RnntRowGrad, LikeFirst, TypeOfFirst)
RNNT_INFER_MANY(RnntTdtLattice, TdtShapes, ThreeFloats)
RNNT_INFER_ONE(RnntDurationLogProbs, LikeFirst, Float)
RNNT_INFER_ONE(RnntDurationGrad, LikeFirst, TypeOfFirst)
RNNT_INFER_ONE(RnntSimpleStats, SimpleStatsShape, Float)
RNNT_INFER_MANY(RnntSimpleGrad, SimpleGradShapes, TwoFloats)
RNNT_INFER_MANY(RnntDistillation, DistillationShapes, TwoFloats)
RNNT_INFER_MANY(RnntArcPosteriors, ArcPosteriorsShapes, ThreeFloats)
RNNT_INFER_MANY(RnntAlign, AlignShapes, AlignTypes)
