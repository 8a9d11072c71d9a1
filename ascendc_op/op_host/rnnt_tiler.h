// SPDX-License-Identifier: Apache-2.0
// Fills RnntTiling from the shapes of an operator's inputs, and decides on cores and workspace.
//
// Tiling sees shapes only: lengths and labels are on the device. So it fixes the number of cores
// and a bound of the workspace, and the kernel balances the load itself.
#ifndef MINDSPORE_RNNT_RNNT_TILER_H_
#define MINDSPORE_RNNT_RNNT_TILER_H_

#include <cstdint>
#include <cstdio>
#include <limits>
#include <string>

#include "../op_kernel/rnnt_params.h"
#include "../op_kernel/rnnt_tdt_sizes.h"
#include "../op_kernel/rnnt_tiling.h"
#include "register/op_def_registry.h"
#include "tiling/platform/platform_ascendc.h"

namespace optiling {

// The inputs are described in order. The first that does not fit is named on stderr, and `Launch`
// then fails.
class Tiler {
 public:
  explicit Tiler(gert::TilingContext* context)
      : context_(context), out_(context->GetTilingData<RnntTiling>()) {
    if (out_ != nullptr) {
      *out_ = RnntTiling();
      out_->max_u = kRnntNoTargets;
    }
    good_ = out_ != nullptr;
  }

  // Logits of a batch: (N, V), or (B, max_T, max_U1, V).
  Tiler& Logits(size_t input, const char* name) {
    const gert::Shape* shape = Shape(input);
    if (shape == nullptr) return Fail();
    TakeBatchRows(*shape, name);
    return TakeClasses(input, *shape, name);
  }

  // Logits that belong to no batch: (.., V), with any leading shape.
  Tiler& LogitsOfRows(size_t input, const char* name) {
    const gert::Shape* shape = Shape(input);
    if (shape == nullptr) return Fail();
    if (shape->GetDimNum() < 2) return Refuse(name, "of rank 2 or more", Describe(*shape));
    TakeRows(*shape, name);
    return TakeClasses(input, *shape, name);
  }

  // Stats of a batch: (N, width), or (B, max_T, max_U1, width).
  Tiler& Stats(size_t input, const char* name, int64_t width) {
    const gert::Shape* shape = Shape(input);
    if (shape == nullptr) return Fail();
    TakeBatchRows(*shape, name);
    return PerRow(input, name, width);
  }

  // (D,), and the log-probs of the durations with the stats' leading shape.
  Tiler& Durations(size_t durations, size_t log_probs) {
    const gert::Shape* shape = Shape(durations);
    if (shape == nullptr) return Fail();
    if (shape->GetDimNum() != 1 || shape->GetDim(0) < 1 ||
        shape->GetDim(0) > kRnntTdtMaxDurations) {
      const std::string most = std::to_string(kRnntTdtMaxDurations);
      return Refuse("durations", "of shape (D,) with D from 1 to " + most, Describe(*shape));
    }
    out_->V = static_cast<int32_t>(shape->GetDim(0));
    return PerRow(log_probs, "duration_log_probs", out_->V);
  }

  // Both (B,).
  Tiler& Lengths(size_t logit_lengths, size_t target_lengths) {
    const gert::Shape* shape = Shape(logit_lengths);
    if (shape == nullptr) return Fail();
    if (shape->GetDimNum() != 1 || shape->GetDim(0) < 1) {
      return Refuse("logit_lengths", "of shape (B,) with B >= 1", Describe(*shape));
    }
    Narrow("logit_lengths", shape->GetDim(0), &out_->B);
    if (out_->padded != 0) Expect(logit_lengths, "logit_lengths", {leading_.GetDim(0)});
    return Expect(target_lengths, "target_lengths", {out_->B});
  }

  // (B, max_U); max_U may be 0.
  Tiler& Targets(size_t input) {
    const gert::Shape* shape = Shape(input);
    if (shape == nullptr) return Fail();
    if (shape->GetDimNum() != 2 || shape->GetDim(0) != out_->B) {
      const std::string wanted = "of shape (" + std::to_string(out_->B) + ", max_U)";
      return Refuse("targets", wanted, Describe(*shape));
    }
    return Narrow("targets", shape->GetDim(1), &out_->max_u);
  }

  // The rows' leading shape, with `width` behind it or alone; the state has one axis of rows.
  Tiler& PerRow(size_t input, const char* name, int64_t width) {
    gert::Shape expected = leading_;
    return Expect(input, name, expected.AppendDim(width));
  }
  Tiler& OnePerRow(size_t input, const char* name) { return Expect(input, name, leading_); }
  Tiler& State(size_t input, int64_t width) { return Expect(input, "state", {out_->rows, width}); }
  Tiler& OnePerSample(size_t input, const char* name) { return Expect(input, name, {out_->B}); }
  Tiler& Params(size_t input) { return Expect(input, "params", {kRnntParamCount}); }

  // The attribute form: what the others take in `params`.
  Tiler& Attributes() {
    const gert::RuntimeAttrs* attributes = context_->GetAttrs();
    if (attributes == nullptr) return Fail();
    const int64_t* blank = attributes->GetInt(0);
    const float* clamp = attributes->GetFloat(1);
    const bool* fused_log_softmax = attributes->GetBool(2);
    if (blank == nullptr || clamp == nullptr || fused_log_softmax == nullptr) return Fail();
    const int64_t V = out_->V;
    if (*blank < -V || *blank >= V) {
      const std::string end = std::to_string(V);
      return Refuse("blank", "in [-" + end + ", " + end + ")", std::to_string(*blank));
    }
    out_->blank = static_cast<int32_t>(*blank);
    out_->clamp = *clamp;
    out_->fused_log_softmax = *fused_log_softmax ? 1 : 0;
    return *this;
  }

  // `phases` of rnnt_sizes.h. Those with a lattice wait for all cores, which deadlocks unless all of
  // them run at once, and which needs the framework's part of the workspace. The others need none.
  ge::graphStatus Launch(int32_t phases) {
    if (!good_) return ge::GRAPH_FAILED;
    const platform_ascendc::PlatformAscendC platform(context_->GetPlatformInfo());
    uint64_t ub_bytes = 0;
    platform.GetCoreMemSize(platform_ascendc::CoreMemType::UB, ub_bytes);
    if (ub_bytes < kUbBytes) {
      Refuse("chip", "one with " + std::to_string(kUbBytes) + " B of unified buffer",
             std::to_string(ub_bytes));
      return ge::GRAPH_FAILED;
    }
    size_t* workspace = context_->GetWorkspaceSizes(1);
    if (workspace == nullptr) return ge::GRAPH_FAILED;
    workspace[0] = 0;
    if ((phases & kRnntLattice) != 0) {
      workspace[0] = platform.GetLibApiWorkSpaceSize() + ((phases & kRnntDurations) != 0
                                                              ? RnntTdtWorkspaceBytes(*out_)
                                                              : RnntWorkspaceBytes(*out_));
      context_->SetScheduleMode(kAllCoresAtOnce);
    }
    const int32_t cores = static_cast<int32_t>(platform.GetCoreNumAiv());
    return context_->SetBlockDim(
        static_cast<uint32_t>(RnntCoreCount(*out_, phases, element_bytes_, cores)));
  }

 private:
  static constexpr uint64_t kUbBytes = 188160;  // of a vector core, what the kernel plans for
  static constexpr uint32_t kAllCoresAtOnce = 1;

  static std::string Describe(const gert::Shape& shape) {
    std::string text = "shape (";
    for (size_t i = 0; i < shape.GetDimNum(); ++i) {
      text += (i == 0 ? "" : ", ") + std::to_string(shape.GetDim(i));
    }
    return text + ")";
  }

  const gert::Shape* Shape(size_t input) {
    const gert::StorageShape* shape = good_ ? context_->GetInputShape(input) : nullptr;
    return shape == nullptr ? nullptr : &shape->GetStorageShape();
  }

  void TakeBatchRows(const gert::Shape& shape, const char* name) {
    const size_t rank = shape.GetDimNum();
    if (rank != 2 && rank != 4) {
      Refuse(name, "of rank 2 or 4", Describe(shape));
      return;
    }
    TakeRows(shape, name);
    if (rank == 2) return;
    out_->padded = 1;
    Narrow(name, shape.GetDim(1), &out_->max_t);
    Narrow(name, shape.GetDim(2), &out_->max_u1);
  }

  // All axes but the last one.
  void TakeRows(const gert::Shape& shape, const char* name) {
    for (size_t i = 0; i < shape.GetDimNum(); ++i) {
      if (shape.GetDim(i) < 1) Refuse(name, "not empty", Describe(shape));
    }
    leading_ = shape;
    leading_.SetDimNum(shape.GetDimNum() - 1);
    out_->rows = leading_.GetShapeSize();
  }

  Tiler& TakeClasses(size_t input, const gert::Shape& shape, const char* name) {
    const auto* description = context_->GetInputDesc(input);
    if (description == nullptr) return Fail();
    element_bytes_ = description->GetDataType() == ge::DT_FLOAT ? 4 : 2;
    return Narrow(name, shape.GetDim(shape.GetDimNum() - 1), &out_->V);
  }

  Tiler& Expect(size_t input, const char* name, const gert::Shape& expected) {
    const gert::Shape* shape = Shape(input);
    if (shape == nullptr) return Fail();
    if (*shape != expected) return Refuse(name, "of " + Describe(expected), Describe(*shape));
    return *this;
  }

  Tiler& Narrow(const char* name, int64_t size, int32_t* out) {
    if (size > std::numeric_limits<int32_t>::max()) {
      return Refuse(name, "of sizes below 2^31", std::to_string(size));
    }
    *out = static_cast<int32_t>(size);
    return *this;
  }

  Tiler& Refuse(const char* name, const std::string& expected, const std::string& got) {
    if (good_) {
      std::fprintf(stderr, "For '%s', the '%s' must be %s, but got %s.\n", context_->GetNodeType(),
                   name, expected.c_str(), got.c_str());
    }
    return Fail();
  }

  Tiler& Fail() {
    good_ = false;
    return *this;
  }

  gert::TilingContext* context_;
  RnntTiling* out_;
  bool good_ = false;
  gert::Shape leading_;
  int32_t element_bytes_ = 4;
};

}  // namespace optiling

#endif  // MINDSPORE_RNNT_RNNT_TILER_H_
