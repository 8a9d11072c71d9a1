// SPDX-License-Identifier: Apache-2.0
// The workspace that the kernel takes for one sample.
#include "rnnt_sizes.h"

extern "C" int64_t SampleFloats(int64_t frames, int64_t u1) { return RnntSampleFloats(frames, u1); }
