// SPDX-License-Identifier: Apache-2.0
// platform_ascendc::PlatformAscendC: the sizes of the chip.
#ifndef TWIN_HOST_PLATFORM_ASCENDC_H_
#define TWIN_HOST_PLATFORM_ASCENDC_H_

#include <cstdint>

#include "exe_graph/runtime/context.h"

namespace platform_ascendc {

enum class CoreMemType { L0_A = 0, L0_B = 1, L0_C = 2, L1 = 3, L2 = 4, UB = 5, HBM = 6 };

class PlatformAscendC {
 public:
  PlatformAscendC() = delete;
  explicit PlatformAscendC(fe::PlatFormInfos* platformInfo) : platform_info_(platformInfo) {}

  uint32_t GetCoreNum(void) const { return platform_info_->vector_cores; }
  uint32_t GetCoreNumAic(void) const { return platform_info_->vector_cores / 2; }
  uint32_t GetCoreNumAiv(void) const { return platform_info_->vector_cores; }
  // What the framework keeps for itself at the start of every workspace.
  uint32_t GetLibApiWorkSpaceSize(void) const { return 16 * 1024 * 1024; }
  void GetCoreMemSize(const CoreMemType& memType, uint64_t& size) const {
    size = memType == CoreMemType::UB   ? platform_info_->ub_bytes
           : memType == CoreMemType::L2 ? platform_info_->l2_bytes
                                        : 0;
  }

 private:
  fe::PlatFormInfos* platform_info_;
};

}  // namespace platform_ascendc

#endif  // TWIN_HOST_PLATFORM_ASCENDC_H_
