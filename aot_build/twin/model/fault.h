// SPDX-License-Identifier: Apache-2.0
// The faults that the twin can name. One table: enum, name for reports and tests, what it means.
#ifndef TWIN_MODEL_FAULT_H_
#define TWIN_MODEL_FAULT_H_

namespace twin {

#define TWIN_FAULTS(X)                                                                           \
  X(kUbCapacity, "ub_capacity", "buffers need more UB than the core offers")                     \
  X(kUbOutOfRange, "ub_out_of_range", "an access passes the end of its LocalTensor")             \
  X(kUbUnaligned, "ub_unaligned", "an operand address breaks its alignment rule")                \
  X(kUbUninitialised, "ub_uninitialised", "a lane reads UB bytes that were never written")       \
  X(kStaleTensor, "stale_tensor", "a tensor is used that is freed, queued or of an old plan")    \
  X(kUbOverlap, "ub_overlap", "source and destination overlap partly")                           \
  X(kBufferRule, "buffer_rule", "too many buffers, a zero length or a wrong buffer size")        \
  X(kBufferPosition, "buffer_position", "the instruction does not work on this TPosition")       \
  X(kQueueDeadlock, "queue_deadlock", "AllocTensor or DeQue would wait for ever")                \
  X(kQueueMisuse, "queue_misuse", "a tensor is queued or freed out of order or elsewhere")       \
  X(kQueueLeak, "queue_leak", "a queue tensor is still held at Reset or at the end")             \
  X(kDataType, "data_type", "Atlas A2 has no such instruction for this data type")               \
  X(kRepeatLimit, "repeat_limit", "repeat count out of range")                                   \
  X(kStrideLimit, "stride_limit", "block or repeat stride out of range")                         \
  X(kMaskLimit, "mask_limit", "mask out of range, or the mask mode does not fit")                \
  X(kCountLimit, "count_limit", "element count breaks the instruction's rule")                   \
  X(kDataCopyRounding, "data_copy_rounding", "DataCopy drops the bytes past a 32-byte multiple") \
  X(kDataCopyLimit, "data_copy_limit", "block count, length, stride or padding out of range")    \
  X(kHazardRaw, "hazard_raw", "a read is not ordered after the write it needs")                  \
  X(kHazardWar, "hazard_war", "a write is not ordered after a read of the old value")            \
  X(kHazardWaw, "hazard_waw", "two writes of the same bytes are not ordered")                    \
  X(kEventDoubleSet, "event_double_set", "a flag is set that is already set")                    \
  X(kEventWaitUnset, "event_wait_unset", "a wait for a flag that was never set")                 \
  X(kEventLeftover, "event_leftover", "a flag is still set at the end of the kernel")            \
  X(kEventReserved, "event_reserved", "an event id that is reserved or out of range")            \
  X(kEventExhausted, "event_exhausted", "no event id is left for this pair of pipes")            \
  X(kGmOutOfRange, "gm_out_of_range", "an access passes the end of a tensor in GM")              \
  X(kGmUnknown, "gm_unknown", "a GM address that belongs to no tensor of the launch")            \
  X(kGmReadOnly, "gm_read_only", "an input tensor is written")                                   \
  X(kGmUninitialised, "gm_uninitialised", "GM bytes are read that were never written")           \
  X(kGmUnaligned, "gm_unaligned", "a GM address breaks the element alignment")                   \
  X(kGmHazard, "gm_hazard", "accesses of one core to the same GM bytes are not ordered")         \
  X(kCrossCoreRace, "cross_core_race", "two cores touch the same GM bytes between SyncAlls")     \
  X(kStaleScalar, "stale_scalar", "a scalar GM read returns a stale data cache line")            \
  X(kSyncAllMissed, "sync_all_missed", "a core ended while others wait in SyncAll")              \
  X(kTooManyBlocks, "too_many_blocks", "SyncAll with more blocks than vector cores")             \
  X(kKernelType, "kernel_type", "SyncAll needs MIX_AIV_1_0, and that kind a workspace")          \
  X(kScheduleMode, "schedule_mode", "SyncAll without batch mode (SetScheduleMode(1))")           \
  X(kTilingSize, "tiling_size", "the tiling bytes do not have the size of the struct")           \
  X(kOutputUnwritten, "output_unwritten", "bytes of an output were never written")

enum class Fault : int {
#define TWIN_ENUM(id, name, meaning) id,
  TWIN_FAULTS(TWIN_ENUM)
#undef TWIN_ENUM
      kCount
};

// Thrown through the kernel when going on makes no sense (it would hang on the device).
struct Abort {};

// Records a fault of the running core. The first of each (fault, api, what) keeps its text and its
// place in the kernel; the others are only counted.
void Report(Fault fault, const char* api, const char* what, const char* format, ...)
    __attribute__((format(printf, 4, 5)));
[[noreturn]] void ReportFatal(Fault fault, const char* api, const char* what);

}  // namespace twin

#endif  // TWIN_MODEL_FAULT_H_
