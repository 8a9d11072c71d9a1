// SPDX-License-Identifier: Apache-2.0
// The faults of a launch, as the report lists them.
#ifndef TWIN_MODEL_FAULT_LIST_H_
#define TWIN_MODEL_FAULT_LIST_H_

#include <string>
#include <vector>

#include "model/fault.h"

namespace twin {

struct FaultRecord {
  Fault fault;
  std::string api, what, detail;
  int core = -1;
  int phase = 0;
  long count = 1;
  std::vector<void*> frames;  // return addresses, innermost first
};

const char* FaultName(Fault fault);
const std::vector<FaultRecord>& FaultRecords();

}  // namespace twin

#endif  // TWIN_MODEL_FAULT_LIST_H_
