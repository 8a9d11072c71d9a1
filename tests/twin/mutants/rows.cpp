// SPDX-License-Identifier: Apache-2.0
// A small right kernel that the mutants of test_twin_checkers.py spoil, one line at a time.
//
// y[r][v] = exp(x[r][v + 1] - max_v x[r][v]), the last column 0. One core finds the maximum of a
// row, another one uses it: workspace, SyncAll, queues, own flags, masks and strides all occur.
struct Tiling {
  uint32_t rows, width;
};

constexpr float kLowest = -1e30f;
constexpr uint32_t kTileRows = 8;
constexpr uint32_t kTileBytes = 8192;
constexpr uint32_t kMaxRows = 64;
constexpr uint32_t kRestOfUb = 188160 - 4 * kTileBytes - 4 * kMaxRows - 2 * 256;

extern "C" __global__ __aicore__ void rows_kernel(GM_ADDR x, GM_ADDR y, GM_ADDR workspace,
                                                  GM_ADDR tiling) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIV_1_0);
  REGISTER_TILING_DEFAULT(Tiling);
  GET_TILING_DATA_WITH_STRUCT(Tiling, data, tiling);
  const uint32_t width = data.width;
  const uint32_t pitch = (width + 7) / 8 * 8;
  const uint8_t padding = static_cast<uint8_t>(pitch - width);
  const uint32_t core = static_cast<uint32_t>(GetBlockIdx());
  const uint32_t cores = static_cast<uint32_t>(GetBlockNum());

  TPipe pipe;
  TQue<TPosition::VECIN, 1> in;
  TQue<TPosition::VECOUT, 1> out;
  TBuf<TPosition::VECIN> max_buffer;
  TBuf<TPosition::VECCALC> offset_buffer, brcb_buffer, rest;
  pipe.InitBuffer(in, 2, kTileBytes);
  pipe.InitBuffer(out, 2, kTileBytes);
  pipe.InitBuffer(max_buffer, kMaxRows * 4);
  pipe.InitBuffer(offset_buffer, 256);
  pipe.InitBuffer(brcb_buffer, 256);
  pipe.InitBuffer(rest, kRestOfUb);

  GlobalTensor<float> gx, gy, maxima;
  gx.SetGlobalBuffer((__gm__ float*)x, data.rows * width);
  gy.SetGlobalBuffer((__gm__ float*)y, data.rows * width);
  maxima.SetGlobalBuffer((__gm__ float*)GetUserWorkspace(workspace), kMaxRows);
  const DataCopyPadExtParams<float> pad(true, 0, padding, kLowest);

  for (uint32_t r = core; r < data.rows; r += cores) {
    LocalTensor<float> row = in.AllocTensor<float>();
    DataCopyPad(row, gx[r * width], DataCopyExtParams(1, width * 4, 0, 0, 0), pad);
    in.EnQue(row);
    row = in.DeQue<float>();
    LocalTensor<float> max = out.AllocTensor<float>();
    WholeReduceMax(max, row, static_cast<int32_t>(pitch), 1, 1, 1, 8,
                   ReduceOrder::ORDER_ONLY_VALUE);
    out.EnQue(max);
    in.FreeTensor(row);
    max = out.DeQue<float>();
    DataCopyPad(maxima[r], max, DataCopyExtParams(1, 4, 0, 0, 0));
    out.FreeTensor(max);
  }

  SyncAll();

  LocalTensor<float> max = max_buffer.Get<float>();
  DataCopyPad(max, maxima, DataCopyExtParams(1, data.rows * 4, 0, 0, 0),
              DataCopyPadExtParams<float>(false, 0, 0, 0.0f));
  const TEventID loaded = pipe.AllocEventID<HardEvent::MTE2_V>();
  SetFlag<HardEvent::MTE2_V>(loaded);
  LocalTensor<int32_t> offset = offset_buffer.Get<int32_t>();
  CreateVecIndex(offset, 1, pitch);
  PipeBarrier<PIPE_V>();
  Mins(offset, offset, static_cast<int32_t>(pitch - 1), static_cast<int32_t>(pitch));
  PipeBarrier<PIPE_V>();
  Muls(offset, offset, 4, static_cast<int32_t>(pitch));
  WaitFlag<HardEvent::MTE2_V>(loaded);
  pipe.ReleaseEventID<HardEvent::MTE2_V>(loaded);
  PipeBarrier<PIPE_V>();

  const uint8_t stride = static_cast<uint8_t>(pitch / 8);
  for (uint32_t first = core * kTileRows; first < data.rows; first += cores * kTileRows) {
    const uint32_t left = data.rows - first;
    const uint8_t rows = static_cast<uint8_t>(left < kTileRows ? left : kTileRows);
    LocalTensor<float> source = in.AllocTensor<float>();
    DataCopyPad(source, gx[first * width], DataCopyExtParams(rows, width * 4, 0, 0, 0), pad);
    in.EnQue(source);
    source = in.DeQue<float>();
    LocalTensor<float> result = out.AllocTensor<float>();
    LocalTensor<float> max_blocks = brcb_buffer.Get<float>();
    Brcb(max_blocks, max[first], 1, BrcbRepeatParams(1, 8));
    for (uint32_t i = 0; i < rows; ++i) {
      Gather(result[i * pitch], source[i * pitch], offset.ReinterpretCast<uint32_t>(), 0, pitch);
    }
    in.FreeTensor(source);
    PipeBarrier<PIPE_V>();
    Sub(result, result, max_blocks, pitch, rows, BinaryRepeatParams(1, 1, 0, stride, stride, 1));
    PipeBarrier<PIPE_V>();
    Exp(result, result, pitch, rows, UnaryRepeatParams(1, 1, stride, stride));
    out.EnQue(result);
    result = out.DeQue<float>();
    DataCopyPad(gy[first * width], result, DataCopyExtParams(rows, width * 4, 0, 0, 0));
    out.FreeTensor(result);
  }
}
