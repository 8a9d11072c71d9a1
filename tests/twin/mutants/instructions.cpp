// SPDX-License-Identifier: Apache-2.0
// One instruction per function, on a tensor from GM to GM: test_twin_instructions.py compares the
// results with numpy.
#include "kernel_operator.h"

using namespace AscendC;

struct Tiling {
  uint32_t in_bytes, out_bytes, a, b, c, d;
};

constexpr uint32_t kBufferBytes = 65536;

// Loads `x` whole, calls body(in, out, tiling), stores `y` whole.
template <typename In, typename Out, typename Body>
void Through(GM_ADDR x, GM_ADDR y, GM_ADDR tiling, Body body) {
  GET_TILING_DATA_WITH_STRUCT(Tiling, data, tiling);
  TPipe pipe;
  TQue<TPosition::VECIN, 1> in_queue;
  TQue<TPosition::VECOUT, 1> out_queue;
  pipe.InitBuffer(in_queue, 1, kBufferBytes);
  pipe.InitBuffer(out_queue, 1, kBufferBytes);
  GlobalTensor<In> gx;
  GlobalTensor<Out> gy;
  gx.SetGlobalBuffer((__gm__ In*)x, data.in_bytes / sizeof(In));
  gy.SetGlobalBuffer((__gm__ Out*)y, data.out_bytes / sizeof(Out));
  LocalTensor<In> in = in_queue.AllocTensor<In>();
  DataCopyPad(in, gx, DataCopyExtParams(1, data.in_bytes, 0, 0, 0),
              DataCopyPadExtParams<In>(false, 0, 0, In()));
  in_queue.EnQue(in);
  in = in_queue.DeQue<In>();
  LocalTensor<Out> out = out_queue.AllocTensor<Out>();
  Duplicate(out.template ReinterpretCast<int32_t>(), int32_t{0}, kBufferBytes / 4);
  PipeBarrier<PIPE_V>();
  body(in, out, data);
  PipeBarrier<PIPE_V>();
  in_queue.FreeTensor(in);
  out_queue.EnQue(out);
  out = out_queue.DeQue<Out>();
  DataCopyPad(gy, out, DataCopyExtParams(1, data.out_bytes, 0, 0, 0));
  out_queue.FreeTensor(out);
}

#define ENTRY(name, In, Out, ...)                                                                  \
  extern "C" __global__ __aicore__ void do_##name(GM_ADDR x, GM_ADDR y, GM_ADDR, GM_ADDR tiling) { \
    Through<In, Out>(x, y, tiling, [](LocalTensor<In> in, LocalTensor<Out> out, const Tiling& t) { \
      (void)t;                                                                                     \
      __VA_ARGS__;                                                                                 \
    });                                                                                            \
  }

// Two operands are the two halves of the input: element a starts the second one.
ENTRY(add, float, float, Add(out, in, in[t.a], static_cast<int32_t>(t.b)))
ENTRY(max, float, float, Max(out, in, in[t.a], static_cast<int32_t>(t.b)))
ENTRY(min, float, float, Min(out, in, in[t.a], static_cast<int32_t>(t.b)))
ENTRY(add_half, half, half, Add(out, in, in[t.a], static_cast<int32_t>(t.b)))

// Rows of a lanes, a / 8 blocks apart; each minus its own block of b (second half of the input).
ENTRY(sub_rows, float, float,
      Sub(out, in, in[t.d], static_cast<uint64_t>(t.c), static_cast<uint8_t>(t.b),
          BinaryRepeatParams(1, 1, 0, static_cast<uint8_t>(t.a / 8), static_cast<uint8_t>(t.a / 8),
                             1)))
// Only the lanes of a bit mask.
ENTRY(mask_bits, float, float, uint64_t mask[2] = {t.a | static_cast<uint64_t>(t.b) << 32, 0};
      Muls(out, in, 2.0f, mask, static_cast<uint8_t>(t.c), UnaryRepeatParams(1, 1, 8, 8)))
// dst == src1 with repeat stride 0 accumulates.
ENTRY(accumulate, float, float,
      Add(out, in, out, static_cast<uint64_t>(64), static_cast<uint8_t>(t.a),
          BinaryRepeatParams(1, 1, 1, 0, 8, 0)))

ENTRY(half_to_float, half, float, Cast(out, in, RoundMode::CAST_NONE, t.a))
ENTRY(float_to_half, float, half, Cast(out, in, RoundMode::CAST_RINT, t.a))
ENTRY(bf16_to_float, bfloat16_t, float, Cast(out, in, RoundMode::CAST_NONE, t.a))
ENTRY(float_to_bf16, float, bfloat16_t, Cast(out, in, RoundMode::CAST_RINT, t.a))
ENTRY(float_to_int, float, int32_t, Cast(out, in, RoundMode::CAST_RINT, t.a))
ENTRY(int_to_float, int32_t, float, Cast(out, in, RoundMode::CAST_NONE, t.a))
ENTRY(round_float, float, float, Cast(out, in, RoundMode::CAST_RINT, t.a))

ENTRY(exp, float, float, Exp(out, in, static_cast<int32_t>(t.a)))
ENTRY(ln, float, float, Ln(out, in, static_cast<int32_t>(t.a)))
ENTRY(abs, float, float, Abs(out, in, static_cast<int32_t>(t.a)))
ENTRY(iota, float, int32_t, CreateVecIndex(out, static_cast<int32_t>(t.a), t.b))
ENTRY(fill_lane, float, float, uint64_t mask[2] = {1ull << t.a, 0};
      Duplicate(out, 3.0f, mask, static_cast<uint8_t>(t.b), 1, static_cast<uint8_t>(t.c)))
ENTRY(brcb, float, float, Brcb(out, in, static_cast<uint8_t>(t.a), BrcbRepeatParams(1, 8)))
// Byte offsets are behind the a data elements.
ENTRY(gather, float, float, Gather(out, in, in[t.a].ReinterpretCast<uint32_t>(), t.b, t.c))

ENTRY(whole_max, float, float,
      WholeReduceMax(out, in, static_cast<int32_t>(t.a), static_cast<int32_t>(t.b), 1, 1,
                     static_cast<int32_t>(t.c), ReduceOrder::ORDER_ONLY_VALUE))
ENTRY(whole_sum, float, float,
      WholeReduceSum(out, in, static_cast<int32_t>(t.a), static_cast<int32_t>(t.b), 1, 1,
                     static_cast<int32_t>(t.c)))
ENTRY(block_max, float, float,
      BlockReduceMax(out, in, static_cast<int32_t>(t.b), static_cast<int32_t>(t.a), 1, 1, 8))
ENTRY(block_sum, float, float,
      BlockReduceSum(out, in, static_cast<int32_t>(t.b), static_cast<int32_t>(t.a), 1, 1, 8))

// Loads b blocks of a bytes, c bytes apart in GM and d blocks apart in UB, and stores UB whole.
template <typename T>
void Pad(GM_ADDR x, GM_ADDR y, GM_ADDR tiling, DataCopyPadExtParams<T> padding) {
  GET_TILING_DATA_WITH_STRUCT(Tiling, data, tiling);
  TPipe pipe;
  TQueBind<TPosition::VECIN, TPosition::VECOUT, 1> queue;
  pipe.InitBuffer(queue, 1, kBufferBytes);
  GlobalTensor<T> gx, gy;
  gx.SetGlobalBuffer((__gm__ T*)x, data.in_bytes / sizeof(T));
  gy.SetGlobalBuffer((__gm__ T*)y, data.out_bytes / sizeof(T));
  LocalTensor<T> tensor = queue.AllocTensor<T>();
  DataCopyPad(tensor, gx,
              DataCopyExtParams(static_cast<uint16_t>(data.b), data.a, data.c, data.d, 0), padding);
  queue.EnQue(tensor);
  tensor = queue.DeQue<T>();
  DataCopyPad(gy, tensor, DataCopyExtParams(1, data.out_bytes, 0, 0, 0));
  queue.FreeTensor(tensor);
}

#define PAD(name, T, ...)                                                                          \
  extern "C" __global__ __aicore__ void do_##name(GM_ADDR x, GM_ADDR y, GM_ADDR, GM_ADDR tiling) { \
    Pad<T>(x, y, tiling, DataCopyPadExtParams<T>(__VA_ARGS__));                                    \
  }

PAD(pad_value, int32_t, true, 1, 2, -7)
PAD(pad_nothing, int32_t, false, 0, 0, -7)
PAD(pad_enabled_without_size, int32_t, true, 0, 0, -7)
PAD(pad_random, int32_t, false, 0, 2, -7)
PAD(pad_half, uint16_t, true, 0, 3, 0xFC00)
