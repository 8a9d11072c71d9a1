// SPDX-License-Identifier: Apache-2.0
// What must hold for a problem; a Failure if it does not.
#ifndef MINDSPORE_RNNT_CPU_FUZZ_CHECKS_H_
#define MINDSPORE_RNNT_CPU_FUZZ_CHECKS_H_

#include "problem.h"

namespace fuzz {

void Near(double got, double expected, double limit, const char* what);

// Of legal problems. All forms of the loss against the oracle, and bit for bit against each other.
void CheckLoss(const Problem& p);
void CheckRowLabels(const Problem& p);
void CheckAlign(const Problem& p);
void CheckTdt(const Problem& p, Random& random);
// Of legal values and of any, on up to 5000 rows: the kernel divides them among threads.
void CheckDurationHead(Random& random);
// Of legal values, in a part of which the product underflows, and of any.
void CheckSimpleJoiner(Random& random);
// One axis of one tensor is off by one: refused, and no memory beside it is touched.
void CheckShapes(const Problem& p, Random& random);

// Nothing to compare: guards, canaries, sanitizers and written outputs are the checks.
void CheckIllegal(const Problem& p, Random& random);

}  // namespace fuzz

#endif  // MINDSPORE_RNNT_CPU_FUZZ_CHECKS_H_
