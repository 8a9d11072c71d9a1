// SPDX-License-Identifier: Apache-2.0
// What the rows' gradients need, on all cores, from what the lattice with durations left:
//
//   posterior of an arc = alpha * p_token * p_duration * beta / P     (label arcs: * label_weight)
//
// The coefficients of a row are the sums over its blank arcs, over its label arcs and over both; its
// duration posteriors the sums over both arcs of each duration.
#ifndef MINDSPORE_RNNT_TDT_POSTERIORS_H_
#define MINDSPORE_RNNT_TDT_POSTERIORS_H_

#include "rnnt_fill.h"
#include "rnnt_outcome.h"
#include "tdt_step.h"

namespace rnnt {

class TdtPosteriors {
 public:
  RNNT_FN void Init(TPipe* pipe, Batch* batch, const Options& options, GM_ADDR workspace,
                    GM_ADDR coefficients, GM_ADDR posteriors) {
    const RnntTiling& tiling = batch->tiling();
    batch_ = batch;
    label_weight_ = options.label_weight;
    D_ = batch->durations().count;
    arrays_ = RnntTdtArrays(D_);
    tile_rows_ = static_cast<int32_t>(
        RnntMin(kMaxRows, kSourceFloats / SourceArrays() / kBlockLanes * kBlockLanes));
    workspace_.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(workspace));
    outcome_.Init(pipe, options, workspace);
    coefficients_.Init(pipe, tiling.rows, kCoefficients, coefficients);
    coefficient_filler_.Init(pipe, tiling, kCoefficients, coefficients);
    posteriors_.Init(pipe, tiling.rows, D_, posteriors);
    posterior_filler_.Init(pipe, tiling, D_, posteriors);
    pipe->InitBuffer(source_queue_, 2, kSourceFloats * sizeof(float));
    pipe->InitBuffer(result_buffer_, (D_ * tile_rows_ + 2 * kMaxRows) * sizeof(float));
  }

  RNNT_FN OutcomeReader& outcomes() { return outcome_; }

  RNNT_FN void Run() {
    coefficient_filler_.ZeroOutside(batch_);
    posterior_filler_.ZeroOutside(batch_);
    Tiles tiles;
    tiles.Init(batch_, tile_rows_, D_ * sizeof(float));
    Tile next;
    int64_t sample = -1;
    Verdict next_verdict = {};
    bool more = Next(&tiles, &next, &sample, &next_verdict);
    while (more) {
      const Tile tile = next;
      const Verdict verdict = next_verdict;
      if (verdict.outcome == kLoss) {
        Compute(tile, verdict);
      } else {
        Mark(tile, verdict);
      }
      more = Next(&tiles, &next, &sample, &next_verdict);
    }
  }

 private:
  static constexpr int32_t kCoefficients = 3;
  static constexpr int32_t kSourceFloats = 12288;

  // Vectors of a tile: the arcs, alpha, and beta at the end of each arc.
  RNNT_FN int32_t SourceArrays() const { return 2 * arrays_ + 2 + 4 * D_; }

  RNNT_FN bool Next(Tiles* tiles, Tile* tile, int64_t* sample, Verdict* verdict) {
    if (!tiles->Next(tile)) return false;
    if (tile->sample.index != *sample) {
      *sample = tile->sample.index;
      *verdict = outcome_.Of(tile->sample);
    }
    if (verdict->outcome == kLoss) Load(*tile);
    return true;
  }

  // The arcs' exponents and mantissas; alpha; the terms, which begin as beta where an arc ends.
  struct Source {
    LocalTensor<float> floats;
    int32_t arrays, terms, pitch;

    RNNT_FN Scaled Arc(int32_t array) const {
      return {floats[array * pitch], floats[(arrays + array) * pitch]};
    }
    RNNT_FN Scaled Alpha() const {
      return {floats[2 * arrays * pitch], floats[(2 * arrays + 1) * pitch]};
    }
    RNNT_FN Scaled Term(int32_t x) const {
      const int32_t first = 2 * arrays + 2 + x;
      return {floats[first * pitch], floats[(first + terms) * pitch]};
    }
  };

  RNNT_FN Source SourceOf(const Tile& tile, const LocalTensor<float>& floats,
                          const TdtTerms& terms) {
    return {floats, arrays_, terms.count,
            static_cast<int32_t>(RnntAlignUp(tile.count, kBlockLanes))};
  }

  // No arc from the tile's diagonal leads so far.
  static RNNT_FN bool IsBeyond(const TdtStrip& strip, int64_t diagonal) {
    return diagonal > strip.diagonal + strip.count;
  }

  RNNT_FN void Load(const Tile& tile) {
    TdtTerms terms;
    terms.List(batch_->durations(), tile.sample.T);
    const TdtStrip strip = TdtSpace(tile.sample, D_).StripOf(tile.lane);
    const LocalTensor<float> floats = source_queue_.AllocTensor<float>();
    const Source source = SourceOf(tile, floats, terms);
    const int64_t row = tile.diagonal - strip.diagonal;
    CopyIn(source.Arc(0).exponent, strip, tile, strip.exponents + row * arrays_ * strip.lanes,
           arrays_, 1);
    CopyIn(source.Arc(0).mantissa, strip, tile, strip.mantissas + row * arrays_ * strip.lanes,
           arrays_, 1);
    CopyIn(source.Alpha().exponent, strip, tile, strip.alpha + row * 2 * strip.lanes, 2, 1);
    for (int32_t x = 0; x < terms.count; ++x) {
      if (IsBeyond(strip, tile.diagonal + terms.offset[x])) continue;
      const int64_t array = (row + terms.offset[x]) * 4 + (terms.IsBlank(x) ? 0 : 2);
      CopyIn(source.Term(x).exponent, strip, tile, strip.beta + array * strip.lanes, 2,
             terms.count);
    }
    source_queue_.EnQue(floats);
  }

  // The tile's lanes of `count` arrays, which are `step` arrays apart in UB.
  RNNT_FN void CopyIn(const LocalTensor<float>& dst, const TdtStrip& strip, const Tile& tile,
                      int64_t at, int32_t count, int32_t step) {
    const int32_t n = tile.count, filled = static_cast<int32_t>(RnntAlignUp(n, kBlockLanes));
    DataCopyPad(
        dst, workspace_[static_cast<uint64_t>(at + tile.lane - strip.first)],
        DataCopyExtParams(static_cast<uint16_t>(count), static_cast<uint32_t>(n * sizeof(float)),
                          static_cast<uint32_t>((strip.lanes - n) * sizeof(float)),
                          static_cast<uint32_t>((step - 1) * filled / kBlockLanes), 0),
        DataCopyPadExtParams<float>(true, 0, static_cast<uint8_t>(filled - n), 0.0f));
  }

  RNNT_FN void Compute(const Tile& tile, const Verdict& verdict) {
    TdtTerms terms;
    terms.List(batch_->durations(), tile.sample.T);
    LocalTensor<float> floats = source_queue_.DeQue<float>();
    const Source source = SourceOf(tile, floats, terms);
    const int32_t P = source.pitch;
    Fill(tile, terms, source);
    Weigh(verdict, terms, source);
    const LocalTensor<float> posteriors = source.Term(0).mantissa;
    const LocalTensor<float> of_durations = result_buffer_.Get<float>()[2 * kMaxRows];
    Duplicate(of_durations, 0.0f, D_ * P);
    Fence();
    for (int32_t x = 0; x < terms.count; ++x) {
      if (x == terms.blanks) Fence();
      const LocalTensor<float> sum = of_durations[(terms.array[x] - kTdtDurations) * P];
      Add(sum, sum, posteriors[x * P], P);
    }
    const LocalTensor<float> label = posteriors[terms.blanks * P];
    Fence();
    FoldRows<SumOf>(posteriors, terms.blanks, P);
    FoldRows<SumOf>(label, terms.count - terms.blanks, P);
    Add(Occupation(), posteriors, label, P);
    Fence();
    coefficients_.Store(tile, {{Occupation(), posteriors, label}});
    posteriors_.Store(tile, of_durations, P);
    source_queue_.FreeTensor(floats);
  }

  // Arcs that lead too far have no beta.
  RNNT_FN void Fill(const Tile& tile, const TdtTerms& terms, const Source& source) {
    const TdtStrip strip = TdtSpace(tile.sample, D_).StripOf(tile.lane);
    for (int32_t x = 0; x < terms.count; ++x) {
      if (!IsBeyond(strip, tile.diagonal + terms.offset[x])) continue;
      Duplicate(source.Term(x).exponent, kLogZero, source.pitch);
      Duplicate(source.Term(x).mantissa, 1.0f, source.pitch);
    }
    Fence();
  }

  // The terms' mantissas become posteriors. Their exponents are added first, exactly.
  RNNT_FN void Weigh(const Verdict& verdict, const TdtTerms& terms, const Source& source) {
    const int32_t P = source.pitch, all = terms.count * P;
    const Scaled of_all = source.Term(0);
    for (int32_t x = 0; x < terms.count; ++x) {
      Multiply(source.Term(x), source.Term(x), source.Arc(terms.array[x]), P);
    }
    Fence();
    for (int32_t x = 0; x < terms.count; ++x) {
      Multiply(source.Term(x), source.Term(x), source.Arc(terms.Token(x)), P);
    }
    Fence();
    for (int32_t x = 0; x < terms.count; ++x) {
      Multiply(source.Term(x), source.Term(x), source.Alpha(), P);
    }
    Fence();
    Adds(of_all.exponent, of_all.exponent, -verdict.exponent, all);
    Fence();
    Adds(of_all.exponent, of_all.exponent, -verdict.log_mantissa, all);
    Fence();
    Exp(of_all.exponent, of_all.exponent, all);
    Fence();
    Mul(of_all.mantissa, of_all.mantissa, of_all.exponent, all);
    Fence();
    if (label_weight_ == 1.0f) return;
    const LocalTensor<float> label = of_all.mantissa[terms.blanks * P];
    Muls(label, label, label_weight_, (terms.count - terms.blanks) * P);
    Fence();
  }

  // NaN in all that the sample has, or 0.
  RNNT_FN void Mark(const Tile& tile, const Verdict& verdict) {
    Fence();
    Duplicate(Marks(), verdict.HasNaNGradient() ? __builtin_nanf("") : 0.0f, kMaxRows);
    Fence();
    coefficients_.Store(tile, Marks(), 0);
    posteriors_.Store(tile, Marks(), 0);
  }

  RNNT_FN LocalTensor<float> Occupation() { return result_buffer_.Get<float>(); }
  RNNT_FN LocalTensor<float> Marks() { return result_buffer_.Get<float>()[kMaxRows]; }

  Batch* batch_;
  float label_weight_;
  int32_t D_, arrays_, tile_rows_;
  GlobalTensor<float> workspace_;
  OutcomeReader outcome_;
  RecordWriter coefficients_, posteriors_;
  Filler<float> coefficient_filler_, posterior_filler_;
  TQue<TPosition::VECIN, 1> source_queue_;
  TBuf<TPosition::VECCALC> result_buffer_;
};

}  // namespace rnnt

#endif  // MINDSPORE_RNNT_TDT_POSTERIORS_H_
