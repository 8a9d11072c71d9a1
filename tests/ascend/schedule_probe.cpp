// SPDX-License-Identifier: Apache-2.0
// The workspace that the kernel takes for one sample.
#include "rnnt_schedule.h"

extern "C" int64_t SampleFloats(int64_t diagonals, int64_t u1) {
  return RnntSampleFloats(diagonals, u1);
}
