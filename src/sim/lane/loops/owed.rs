//! What the decodes of a cohort still have to say, each up to a clip: what SGLang reckons with when it
//! admits another request.
//!
//! A decode with `r` tokens left when it joins at step `j` has `r − (s − j)` left at step `s`; those
//! with more than the clip count as the clip until they have no more. So the sum is affine in the
//! step but for crossings, and when each crosses is known when it joins.

use crate::sim::request::{Arena, ReqId};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// SGLang counts no more than this of a request's answer (`CLIP_MAX_NEW_TOKENS`,
/// `srt/managers/schedule_policy.py`, 0.5).
pub(in crate::sim::lane) const CLIP: u32 = 4096;

/// The sum, as of a step.
#[derive(Debug, Default)]
pub(in crate::sim::lane) struct Owed {
    /// Decodes below the clip, and the sum of what each has left plus its step.
    below: u64,
    origin: u64,
    /// Decodes at the clip, and when each falls below: (step, request, life).
    clipped: u64,
    falls: BinaryHeap<Reverse<(u64, ReqId, u32)>>,
}

impl Owed {
    pub(in crate::sim::lane) fn join(&mut self, step: u64, rest: u32, id: ReqId, life: u32) {
        if rest > CLIP {
            self.clipped += 1;
            let falls = step + u64::from(rest - CLIP);
            self.falls.push(Reverse((falls, id, life)));
        } else {
            self.below += 1;
            self.origin += u64::from(rest) + step;
        }
    }

    pub(in crate::sim::lane) fn leave(&mut self, now: u64, join: u64, rest: u32) {
        if rest > CLIP && join + u64::from(rest - CLIP) > now {
            self.clipped -= 1;
        } else {
            self.below -= 1;
            self.origin -= u64::from(rest) + join;
        }
    }

    /// The step is now `now`.
    pub(in crate::sim::lane) fn advance(&mut self, requests: &Arena, now: u64) {
        while let Some(Reverse((step, id, life))) = self.falls.peek().copied() {
            if step > now {
                break;
            }
            self.falls.pop();
            if requests[id].life == life {
                self.clipped -= 1;
                self.below += 1;
                self.origin += u64::from(CLIP) + step;
            }
        }
    }

    /// Tokens at step `now`.
    pub(in crate::sim::lane) fn tokens(&self, now: u64) -> u64 {
        (self.origin + self.clipped * u64::from(CLIP)).saturating_sub(self.below * now)
    }
}
