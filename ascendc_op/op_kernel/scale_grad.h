// SPDX-License-Identifier: Apache-2.0
// dlogits = grad * dloss[b], row by row: what the fused gradient still needs in a backward pass.
#ifndef MINDSPORE_RNNT_SCALE_GRAD_H_
#define MINDSPORE_RNNT_SCALE_GRAD_H_

#include "rnnt_fill.h"
#include "rnnt_records.h"
#include "rnnt_rows.h"

namespace rnnt {

template <typename T>
class ScaleGrad {
 public:
  RNNT_FN void Init(TPipe* pipe, Batch* batch, GM_ADDR grad, GM_ADDR dloss, GM_ADDR dlogits) {
    batch_ = batch;
    V_ = batch->tiling().V;
    dloss_.Init(pipe, batch->tiling().B, 1, dloss);
    grad_.Init(pipe, batch->tiling(), grad);
    reader_.Init(pipe, batch->tiling(), kTileLanes, grad);
    writer_.Init(pipe, batch->tiling(), kTileLanes, dlogits);
    filler_.Init(pipe, batch->tiling(), V_, dlogits);
  }

  // What Pieces asks of a set of rows.
  RNNT_FN void Begin(Tiles* tiles, int32_t max_rows, int64_t row_bytes, int32_t joint_rows) {
    tiles->Init(batch_, max_rows, row_bytes, joint_rows);
  }
  RNNT_FN const RnntTiling& tiling() const { return batch_->tiling(); }

  RNNT_FN void Run() {
    filler_.ZeroOutside(batch_);
    pieces_.Init(this, V_, kTileLanes, sizeof(T), true);
    SamplePiece next;
    next.sample = -1;
    bool more = Next(&next);
    while (more) {
      const SamplePiece work = next;
      if (work.worked) reader_.Receive();
      more = Next(&next);
      if (work.worked) {
        Scale(work);
      } else if (work.piece.first) {
        // NaN for a NaN sample. Exactly 0 with a weight of 0, whatever the gradient is.
        filler_.RowsOf(work.piece.tile, work.dloss != 0.0f);
      }
    }
  }

 private:
  static constexpr int32_t kTileLanes = 128 * kRepeatLanes;

  struct SamplePiece {
    Piece piece;
    int64_t sample;
    float dloss;
    bool worked;  // its rows are read and scaled; else all of them are filled with one value
  };

  RNNT_FN bool Next(SamplePiece* work) {
    if (!pieces_.Next(&work->piece)) return false;
    const int64_t sample = work->piece.tile.sample.index;
    if (sample != work->sample) {
      work->sample = sample;
      work->dloss = dloss_.At(sample, 0);
      // RnntFused makes all of a sample NaN or nothing. Such a sample is filled, as bits, since a Cast
      // may not pass NaN on.
      work->worked = work->dloss != 0.0f && !grad_.IsNaN(work->piece.tile.sample.row_base * V_);
    }
    if (work->worked) reader_.Load(work->piece, pieces_.pitch());
    return true;
  }

  RNNT_FN void Scale(const SamplePiece& work) {
    const int32_t pitch = pieces_.pitch(), n = work.piece.rows * pitch;
    const bool finite = work.dloss >= kLowest && work.dloss <= -kLowest;
    const float factor = finite ? work.dloss : (work.dloss < 0.0f ? kLowest : -kLowest);
    const LocalTensor<float> y = writer_.Floats();
    Muls(y, reader_.Floats(work.piece, pitch, y), factor, n);
    reader_.Release();
    Fence();
    if (!finite) Overflow(y, work.dloss != work.dloss, n);
    writer_.Store(work.piece, pitch);
  }

  // Takes y, which is times the largest float by now, to what an infinite or NaN upstream makes of
  // it, except that 0 stays 0: so it is for a sample whose loss is infinite or NaN and whose
  // gradient is therefore 0.
  RNNT_FN void Overflow(const LocalTensor<float>& y, bool to_nan, int32_t n) {
    for (int32_t i = 0; i < 2; ++i) {  // 1e-45 takes it three times
      Muls(y, y, -kLowest, n);
      Fence();
    }
    if (!to_nan) return;
    Sub(y, y, y, n);  // inf - inf
    Fence();
  }

  Batch* batch_;
  int32_t V_;
  Pieces<Tiles> pieces_;
  ScalarReader dloss_;
  NaNReader<T> grad_;
  RowReader<T> reader_;
  RowWriter<T> writer_;
  Filler<T> filler_;
};

}  // namespace rnnt

#endif  // MINDSPORE_RNNT_SCALE_GRAD_H_
