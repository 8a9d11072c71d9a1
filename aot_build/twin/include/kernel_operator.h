// SPDX-License-Identifier: Apache-2.0
// Host twin of the AscendC calls that the RNN-T kernel uses, for Atlas A2 (__NPU_ARCH__ 2201).
//
// Every call has the public signature and does what the instruction does, on the memory of a
// modelled vector core, after checking all that the hardware would not forgive (model/fault.h).
#ifndef TWIN_KERNEL_OPERATOR_H_
#define TWIN_KERNEL_OPERATOR_H_

#include "ascendc/copy.h"
#include "ascendc/entry.h"
#include "ascendc/params.h"
#include "ascendc/queue.h"
#include "ascendc/sync.h"
#include "ascendc/tensor.h"
#include "ascendc/types.h"
#include "ascendc/vector_binary.h"
#include "ascendc/vector_cast.h"
#include "ascendc/vector_move.h"
#include "ascendc/vector_reduce.h"
#include "ascendc/vector_unary.h"

#endif  // TWIN_KERNEL_OPERATOR_H_
