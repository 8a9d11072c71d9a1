// SPDX-License-Identifier: Apache-2.0
// The launch: what the C ABI asks of the machine and of the report.
#ifndef TWIN_MODEL_RUN_H_
#define TWIN_MODEL_RUN_H_

#include <string>

namespace twin {

void RunAllCores(void (*entry)());

void ClearFaults();
int FaultCount();

// Faults, counters and traffic as JSON; driver.py turns it into Python objects.
std::string MakeReport();

}  // namespace twin

#endif  // TWIN_MODEL_RUN_H_
