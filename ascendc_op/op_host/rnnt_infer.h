// SPDX-License-Identifier: Apache-2.0
// Shapes and dtypes of outputs from those of inputs, for graphs. An unknown size is -1, an unknown
// rank one size of -2.
//
// `Infer<Output...>` lists an operator's outputs in order, each as one of the rules below. The
// rules of MindSpore's own inference (the library's aclnn<Op>InferShape and aclnn<Op>InferType) are
// the same; a test compares them.
#ifndef MINDSPORE_RNNT_RNNT_INFER_H_
#define MINDSPORE_RNNT_RNNT_INFER_H_

#include <cstddef>
#include <cstdint>
#include <initializer_list>

#include "register/op_def_registry.h"

namespace rnnt {

inline bool IsUnknownRank(const gert::Shape& shape) {
  return shape.GetDimNum() == 1 && shape.GetDim(0) == -2;
}

// Shape and dtype of an input: gradients.
template <size_t kInput>
struct LikeInput {
  static gert::Shape Shape(const gert::Shape& input) { return input; }
  static ge::DataType DataType(ge::DataType input) { return input; }
  static constexpr size_t Input() { return kInput; }
};

// One float32 for each of an input's lengths: losses.
template <size_t kLengths>
struct PerSample {
  static gert::Shape Shape(const gert::Shape& lengths) {
    return gert::Shape({IsUnknownRank(lengths) ? -1 : lengths.GetDim(0)});
  }
  static ge::DataType DataType(ge::DataType) { return ge::DT_FLOAT; }
  static constexpr size_t Input() { return kLengths; }
};

// (rows of input 0, kWidth) float32; rows are packed (N, V) or padded (B, max_T, max_U1, V).
template <int64_t kWidth>
struct PerRow {
  static gert::Shape Shape(const gert::Shape& rows) {
    int64_t count = IsUnknownRank(rows) ? -1 : 1;
    for (size_t i = 0; i + 1 < rows.GetDimNum(); ++i) {
      count = count < 0 || rows.GetDim(i) < 0 ? -1 : count * rows.GetDim(i);
    }
    return gert::Shape({count, kWidth});
  }
  static ge::DataType DataType(ge::DataType) { return ge::DT_FLOAT; }
  static constexpr size_t Input() { return 0; }
};

// The shape of input 0 with kWidth as its last axis, float32: what belongs to rows of any shape.
template <int64_t kWidth>
struct WithLastAxis {
  static gert::Shape Shape(const gert::Shape& rows) {
    gert::Shape shape = rows;
    const size_t rank = shape.GetDimNum();
    if (rank > 0 && !IsUnknownRank(rows)) shape.SetDim(rank - 1, kWidth);
    return shape;
  }
  static ge::DataType DataType(ge::DataType) { return ge::DT_FLOAT; }
  static constexpr size_t Input() { return 0; }
};

template <typename... Outputs>
struct Infer {
  static ge::graphStatus Shapes(gert::InferShapeContext* context) {
    size_t index = 0;
    for (const bool done : {SetShape<Outputs>(context, index++)...}) {
      if (!done) return ge::GRAPH_FAILED;
    }
    return ge::GRAPH_SUCCESS;
  }

  static ge::graphStatus DataTypes(gert::InferDataTypeContext* context) {
    size_t index = 0;
    for (const ge::graphStatus status : {SetDataType<Outputs>(context, index++)...}) {
      if (status != ge::GRAPH_SUCCESS) return status;
    }
    return ge::GRAPH_SUCCESS;
  }

 private:
  template <typename Output>
  static bool SetShape(gert::InferShapeContext* context, size_t index) {
    const gert::Shape* input = context->GetInputShape(Output::Input());
    gert::Shape* output = context->GetOutputShape(index);
    if (input == nullptr || output == nullptr) return false;
    *output = Output::Shape(*input);
    return true;
  }

  template <typename Output>
  static ge::graphStatus SetDataType(gert::InferDataTypeContext* context, size_t index) {
    const ge::DataType input = context->GetInputDataType(Output::Input());
    return context->SetOutputDataType(index, Output::DataType(input));
  }
};

}  // namespace rnnt

#endif  // MINDSPORE_RNNT_RNNT_INFER_H_
