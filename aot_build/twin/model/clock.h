// SPDX-License-Identifier: Apache-2.0
// Happens-before between the pipes of one core, as vector clocks.
//
// Instruction n of pipe p has finished before an instruction on q starts if and only if
// known[q][p] >= n. The scalar pipe dispatches in program order, so whatever it waited for holds
// for all that it dispatches later; its own UB and GM stores are posted and need a flag.
// Inside V, MTE2 and MTE3 instructions overlap: only a barrier or a flag orders them.
#ifndef TWIN_MODEL_CLOCK_H_
#define TWIN_MODEL_CLOCK_H_

#include <cstdint>

namespace twin {

enum Pipe : uint8_t { kPipeS, kPipeV, kPipeMte2, kPipeMte3, kPipeCount };

using Clock = uint32_t;
struct VectorClock {
  Clock at[kPipeCount] = {};
};

// What one instruction knows when it starts.
struct Stamp {
  Pipe pipe;
  Clock now;
  VectorClock known;
};

class Clocks {
 public:
  // The compiler's automatic synchronisation: V to V barriers, and S against everything.
  bool auto_sync = false;

  Stamp Issue(Pipe pipe) {
    Stamp stamp{pipe, ++issued_.at[pipe], known_[pipe]};
    JoinDispatch(&stamp.known);
    if (pipe == kPipeS) stamp.known.at[kPipeS] = stamp.now;
    if (auto_sync) {
      if (pipe == kPipeV) stamp.known.at[kPipeV] = stamp.now - 1;
      if (pipe == kPipeS) stamp.known = issued_;
      stamp.known.at[kPipeS] = issued_.at[kPipeS];
    }
    return stamp;
  }

  // SetFlag on `pipe`: everything issued to it so far has finished when the flag is seen.
  VectorClock Publish(Pipe pipe) const {
    VectorClock clock = known_[pipe];
    JoinDispatch(&clock);
    clock.at[pipe] = issued_.at[pipe];
    return clock;
  }

  void Join(Pipe pipe, const VectorClock& clock) { Merge(&known_[pipe], clock); }

  void Barrier(Pipe pipe) { known_[pipe].at[pipe] = issued_.at[pipe]; }

  void BarrierAll() {
    for (auto& known : known_) known = issued_;
  }

 private:
  static void Merge(VectorClock* into, const VectorClock& other) {
    for (int p = 0; p < kPipeCount; ++p) {
      if (other.at[p] > into->at[p]) into->at[p] = other.at[p];
    }
  }

  void JoinDispatch(VectorClock* clock) const {
    const Clock own_stores = clock->at[kPipeS];
    Merge(clock, known_[kPipeS]);
    clock->at[kPipeS] = own_stores;
  }

  VectorClock issued_;
  VectorClock known_[kPipeCount];
};

}  // namespace twin

#endif  // TWIN_MODEL_CLOCK_H_
