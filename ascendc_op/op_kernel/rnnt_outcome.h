// SPDX-License-Identifier: Apache-2.0
// What becomes of a sample once log P is known from alpha and from beta: its loss, and what kind of
// gradient it gets.
#ifndef MINDSPORE_RNNT_RNNT_OUTCOME_H_
#define MINDSPORE_RNNT_RNNT_OUTCOME_H_

#include "rnnt_options.h"
#include "rnnt_scaled.h"
#include "rnnt_workspace.h"

namespace rnnt {

enum Outcome {
  kLoss,
  kInvalid,     // lengths or labels that fit no tensor: loss NaN, gradient 0
  kImpossible,  // every path has probability 0: loss +inf, or 0 with zero_infinity; gradient 0
  kNaN,         // NaN or +inf among the logits: loss and gradient NaN
  kMismatch     // log P from alpha and from beta disagree: loss and gradient NaN
};

struct Verdict {
  Outcome outcome;
  float loss;
  float exponent, log_mantissa;  // log P is their sum

  RNNT_FN bool HasNaNGradient() const { return outcome == kNaN || outcome == kMismatch; }
};

class OutcomeReader {
 public:
  RNNT_FN void Init(TPipe* pipe, const Options& options, GM_ADDR workspace) {
    options_ = options;
    workspace_.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(workspace));
    pipe->InitBuffer(buffer_, kHeaderBlocks * kBlockBytes);
    pipe->InitBuffer(loss_buffer_, kBlockBytes);
  }

  RNNT_FN Verdict Of(const Sample& sample) {
    Verdict verdict = {kInvalid, kQuietNaN, 0.0f, 0.0f};
    if (!sample.valid) return verdict;
    const LocalTensor<float> header = Header(sample);
    if (header.GetValue(kBadLabels * kBlockLanes) > 0.0f) return verdict;

    const uint32_t end = static_cast<uint32_t>(sample.EndLane() % kBlockLanes);
    const uint32_t first = static_cast<uint32_t>(sample.FirstCellLane() % kBlockLanes);
    const float alpha = header.GetValue(kAlphaExponent * kBlockLanes + end);
    const float alpha_rest = header.GetValue(kAlphaLogMantissa * kBlockLanes + end);
    const float beta = header.GetValue(kBetaExponent * kBlockLanes + first);
    const float beta_rest = header.GetValue(kBetaLogMantissa * kBlockLanes + first);
    constexpr float kNoPath = 0.1f * kLogZero;
    if (alpha + alpha_rest < kNoPath && beta + beta_rest < kNoPath) {
      verdict.outcome = kImpossible;
      verdict.loss = options_.zero_infinity ? 0.0f : kInfinity;
      return verdict;
    }
    const float loss = -(alpha + alpha_rest);
    const float difference = (alpha - beta) + (alpha_rest - beta_rest);
    verdict.outcome = difference == difference ? kMismatch : kNaN;
    // Rounding of some T + U products, relative to the loss for long utterances. Written so that
    // NaN fails. Beyond kExactExponent the posteriors would be wrong.
    const float steps = static_cast<float>(sample.Diagonals());
    const float tolerance = 1e-3f + 1e-5f * steps + 1e-6f * Magnitude(loss);
    if (!(Magnitude(difference) <= tolerance && Magnitude(loss) < kExactExponent)) return verdict;

    verdict.outcome = kLoss;
    verdict.exponent = alpha;
    verdict.log_mantissa = alpha_rest;
    // Paths that exclude each other have at most probability 1; what is beyond is rounding.
    const bool at_most_one =
        options_.fused_log_softmax && !(header.GetValue(kBlankLabels * kBlockLanes) > 0.0f);
    verdict.loss = at_most_one && loss < 0.0f ? 0.0f : loss;
    return verdict;
  }

  // Each core writes the losses of every K-th sample.
  RNNT_FN void WriteLosses(Batch* batch, GM_ADDR loss) {
    GlobalTensor<float> losses;
    losses.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(loss),
                           static_cast<uint64_t>(batch->tiling().B));
    const LocalTensor<float> value = loss_buffer_.Get<float>();
    Sample sample = batch->Begin();
    while (batch->Next(&sample)) {
      if (sample.index % GetBlockNum() != GetBlockIdx()) continue;
      value.SetValue(0, Of(sample).loss);
      Order<HardEvent::S_MTE3>();
      DataCopyPad(losses[static_cast<uint64_t>(sample.index)], value,
                  DataCopyExtParams(1, sizeof(float), 0, 0, 0));
      Order<HardEvent::MTE3_S>();
    }
  }

 private:
  static constexpr float kQuietNaN = __builtin_nanf("");

  static RNNT_FN float Magnitude(float x) { return x < 0.0f ? -x : x; }

  RNNT_FN LocalTensor<float> Header(const Sample& sample) {
    const LocalTensor<float> header = buffer_.Get<float>();
    Order<HardEvent::S_MTE2>();
    DataCopy(header, workspace_[static_cast<uint64_t>(SampleSpace(sample).Header(kAlphaExponent))],
             kHeaderBlocks * kBlockLanes);
    Order<HardEvent::MTE2_S>();
    return header;
  }

  Options options_;
  GlobalTensor<float> workspace_;
  TBuf<TPosition::VECIN> buffer_;
  TBuf<TPosition::VECOUT> loss_buffer_;
};

}  // namespace rnnt

#endif  // MINDSPORE_RNNT_RNNT_OUTCOME_H_
