// SPDX-License-Identifier: Apache-2.0
// What must hold for a problem; a Failure if it does not.
#ifndef MINDSPORE_RNNT_CPU_FUZZ_CHECKS_H_
#define MINDSPORE_RNNT_CPU_FUZZ_CHECKS_H_

#include "problem.h"

namespace fuzz {

void Near(double got, double expected, double limit, const char* what);
// What rounding to a dtype may do to a gradient.
double LimitOf(const std::string& dtype);

// Of legal problems. All forms of the loss against the oracle, and value for value against each
// other, with random options and with logits that are not finite.
void CheckLoss(Problem p, Random& random);
void CheckRowLabels(const Problem& p);
void CheckAlign(const Problem& p);
void CheckArcPosteriors(const Problem& p);
// With a teacher of another type and number of classes, and logits that are not finite.
void CheckDistillation(Problem p, Random& random);
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
