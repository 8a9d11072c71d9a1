// SPDX-License-Identifier: Apache-2.0
// Random calls of all operators at all SIMD levels and thread counts, for the sanitizers and for
// cross-compiled builds under an emulator (make fuzz): kernel_fuzz [seconds [seed]]
//
// Legal problems must give what the oracle says; illegal ones must touch no memory but their own and
// write all outputs. The first failure ends the run with the seed of its problem, also where a guard
// page is touched.
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>

#include "checks.h"

namespace fuzz {
namespace {

void RunOne(uint32_t seed, const std::vector<std::string>& levels,
            std::map<std::string, int64_t>& counts) {
  Random random(seed);
  const std::string level = levels[random.Below(static_cast<int64_t>(levels.size()))];
  MindsporeRnntSelectCpuLevel(level.c_str());
  MindsporeRnntSetThreads(static_cast<int>(1 + random.Below(4)));
  const bool legal = random.Coin();
  const Problem p = legal ? LegalProblem(random) : IllegalProblem(random);
  const int64_t kind = random.Below(8);
  if (!legal) {
    CheckIllegal(p, random);
  } else if (kind == 0) {
    CheckAlign(p);
    CheckArcPosteriors(p);
  } else if (kind == 1) {
    CheckTdt(p, random);
  } else if (kind == 2) {
    CheckShapes(p, random);
  } else if (kind == 3) {
    CheckRowLabels(p);
  } else if (kind == 4) {
    CheckDurationHead(random);
  } else if (kind == 5) {
    CheckSimpleJoiner(random);
  } else if (kind == 6) {
    CheckDistillation(p, random);
  } else {
    CheckLoss(p, random);
  }
  static const char* const kKinds[] = {"alignments",    "TDT lattices",   "wrong shapes",
                                       "row labels",    "duration heads", "simple joiners",
                                       "distillations", "losses"};
  ++counts[level + ", " + (legal ? kKinds[kind] : "illegal values")];
}

volatile uint32_t g_seed;
struct sigaction g_default_action;

// Says the seed, and lets the same access fail again as it would without this handler.
void OnAccessViolation(int signal) {
  char text[64];
  const int size = snprintf(text, sizeof(text), "FAILED with seed %u: bad access\n", g_seed);
  (void)!write(STDOUT_FILENO, text, size);
  sigaction(signal, &g_default_action, nullptr);
}

std::vector<std::string> Levels() {
  std::vector<std::string> levels(1);
  for (const char* c = MindsporeRnntCpuLevels(); *c != '\0'; ++c) {
    if (*c == ',') {
      levels.emplace_back();
    } else {
      levels.back() += *c;
    }
  }
  return levels;
}

}  // namespace
}  // namespace fuzz

int main(int argc, char** argv) {
  const double seconds = argc > 1 ? std::atof(argv[1]) : 10.0;
  uint32_t seed = static_cast<uint32_t>(argc > 2 ? std::atol(argv[2]) : 1);
  struct sigaction action = {};
  action.sa_handler = fuzz::OnAccessViolation;
  sigaction(SIGSEGV, &action, &fuzz::g_default_action);
  const std::vector<std::string> levels = fuzz::Levels();
  std::map<std::string, int64_t> counts;
  const auto begin = std::chrono::steady_clock::now();
  do {
    fuzz::g_seed = seed;
    try {
      fuzz::RunOne(seed, levels, counts);
    } catch (const std::exception& failure) {
      printf("FAILED with seed %u: %s\n", seed, failure.what());
      return 1;
    }
    ++seed;
  } while (std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() <
           seconds);
  for (const auto& [what, count] : counts) {
    printf("%8lld %s\n", static_cast<long long>(count), what.c_str());
  }
  return 0;
}
