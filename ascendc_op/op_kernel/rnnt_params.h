// SPDX-License-Identifier: Apache-2.0
// Slots of the `params` tensor, the one way in which options reach every operator on every backend.
//
// It is a float32 vector of kRnntParamCount values (32 bytes, one UB block). MindSpore's PyNative
// mode on Ascend takes only tensors through ops.Custom, so the attributes travel as data. Python's
// mirror is mindspore_rnnt/native/params.py; a test compares the two. Plain C++11: the CPU kernel,
// the AscendC kernel and op_host all include this file.
#ifndef MINDSPORE_RNNT_RNNT_PARAMS_H_
#define MINDSPORE_RNNT_RNNT_PARAMS_H_

enum RnntParam {
  kRnntParamBlank = 0,            // class index in [-V, V-1]; negative wraps in the kernel
  kRnntParamClamp = 1,            // > 0: clip the unit-upstream gradient to [-clamp, clamp]
  kRnntParamFusedLogSoftmax = 2,  // 1: logits, 0: the input already holds log-probabilities
  kRnntParamFastEmitLambda = 3,   // label posteriors count (1 + lambda) times in the gradient
  kRnntParamZeroInfinity = 4,     // 1: an impossible sample has loss 0 instead of +inf
  kRnntParamMayThrow = 5,         // 1: the CPU kernel may throw (PyNative); 0: bad samples are NaN
  // Of RnntRowStats and RnntRowGrad on logits:
  kRnntParamTemperature = 6,  // they see logits / temperature; 0 means 1
  kRnntParamRest = 7,  // 1: row_sum covers only the classes that are neither blank nor label,
                       // and no other class has a softmax term in its gradient
  // Of RnntTdtLattice:
  kRnntParamSigma = 6,  // subtracted from the log-prob of each token arc
  kRnntParamCount = 8
};

#endif  // MINDSPORE_RNNT_RNNT_PARAMS_H_
