// SPDX-License-Identifier: Apache-2.0
// The options of an operator, from its params tensor or from its attributes.
#ifndef MINDSPORE_RNNT_RNNT_OPTIONS_H_
#define MINDSPORE_RNNT_RNNT_OPTIONS_H_

#include "rnnt_params.h"
#include "rnnt_vector.h"

namespace rnnt {

struct Options {
  int64_t blank;       // in [0, V), or -1: no such class, and no sample has a loss
  float clamp;         // > 0, or no clamp
  float label_weight;  // 1 + fastemit_lambda
  bool fused_log_softmax;
  bool zero_infinity;
  // Of the operators on rows only:
  float inverse_temperature;
  bool rest;  // the sum covers the classes that are neither blank nor label
};

RNNT_FN int64_t WrapBlank(int64_t blank, int64_t V) {
  if (blank < 0) blank += V;
  return blank >= 0 && blank < V ? blank : -1;
}

// Values that are no integer give a blank that no sample has.
RNNT_FN Options OptionsOf(GM_ADDR params, int64_t V) {
  GlobalTensor<float> p;
  p.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(params), kRnntParamCount);
  const float blank = p.GetValue(kRnntParamBlank);
  const float limit = static_cast<float>(V);
  const bool in_range = blank >= -limit && blank < limit;
  const int64_t whole = in_range ? static_cast<int64_t>(blank) : 0;
  Options options;
  options.blank = in_range && static_cast<float>(whole) == blank ? WrapBlank(whole, V) : -1;
  options.clamp = p.GetValue(kRnntParamClamp);
  options.label_weight = 1.0f + p.GetValue(kRnntParamFastEmitLambda);
  options.fused_log_softmax = p.GetValue(kRnntParamFusedLogSoftmax) != 0.0f;
  options.zero_infinity = p.GetValue(kRnntParamZeroInfinity) != 0.0f;
  options.inverse_temperature = 1.0f;
  options.rest = false;
  return options;
}

// For RnntRowStats and RnntRowGrad, which see logits / temperature.
RNNT_FN Options RowOptionsOf(GM_ADDR params, int64_t V) {
  GlobalTensor<float> p;
  p.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(params), kRnntParamCount);
  Options options = OptionsOf(params, V);
  if (!options.fused_log_softmax) return options;
  const float temperature = p.GetValue(kRnntParamTemperature);
  options.inverse_temperature = temperature == 0.0f ? 1.0f : 1.0f / temperature;
  options.rest = p.GetValue(kRnntParamRest) != 0.0f;
  return options;
}

// For RnntTdtLattice.
RNNT_FN float SigmaOf(GM_ADDR params) {
  GlobalTensor<float> p;
  p.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(params), kRnntParamCount);
  return p.GetValue(kRnntParamSigma);
}

RNNT_FN Options OptionsOf(const RnntTiling& tiling) {
  Options options;
  options.blank = WrapBlank(tiling.blank, tiling.V);
  options.clamp = tiling.clamp;
  options.label_weight = 1.0f;
  options.fused_log_softmax = tiling.fused_log_softmax != 0;
  options.zero_infinity = false;
  options.inverse_temperature = 1.0f;
  options.rest = false;
  return options;
}

}  // namespace rnnt

#endif  // MINDSPORE_RNNT_RNNT_OPTIONS_H_
