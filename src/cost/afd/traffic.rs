//! Activations between attention and FFN GPUs: bytes of each NIC for one micro-batch of one layer.
//!
//! The FFN's ranks are groups of tensor parallelism, among which experts are dealt. A token goes once
//! to each group that wants it; inside the group its ranks take a share each over their own NICs and
//! all-gather over the scale-up links (and reduce-scatter before the way back, so that each sends its
//! share of the sums). What all attention GPUs send meets at the FFN's NICs: incast is in the bytes.
//! Step-3 (arXiv 2507.19427, §4–5) sends every token to every group, FP8 out and BF16 back.

use crate::cost::calibrated::distinct;
use crate::units::real;

/// To which groups a token goes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum FanOut {
    /// All.
    Broadcast,
    /// Those of its experts, which are as likely in each group.
    Experts {
        /// Experts of a token.
        top_k: u32,
        /// Experts in all.
        experts: u32,
    },
}

/// One micro-batch's exchange in one layer.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ActivationTraffic {
    /// Tokens of each attention GPU that sends.
    pub tokens: f64,
    /// Attention GPUs that send.
    pub attention: u32,
    /// Groups of FFN ranks.
    pub groups: u32,
    /// Ranks of a group.
    pub tp: u32,
    /// Values of a token.
    pub hidden: u64,
    /// Bytes of a value on the way out, scales included.
    pub dispatch: f64,
    /// Bytes of a value on the way back.
    pub combine: f64,
    /// To which groups.
    pub fan_out: FanOut,
}

/// Bytes of one GPU's NICs on both ways.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct HalfBytes {
    /// To the FFN.
    pub dispatch: f64,
    /// Back.
    pub combine: f64,
}

impl HalfBytes {
    /// Bits per second that move both in `seconds`.
    #[must_use]
    pub fn needs(self, seconds: f64) -> f64 {
        (self.dispatch + self.combine) * 8.0 / seconds
    }
}

impl ActivationTraffic {
    /// Groups a token goes to, on average.
    #[must_use]
    pub fn reached(&self) -> f64 {
        let groups = f64::from(self.groups);
        match self.fan_out {
            FanOut::Broadcast => groups,
            FanOut::Experts { top_k, experts } => {
                distinct(f64::from(top_k), f64::from(experts), groups)
            }
        }
    }

    /// Of an attention GPU.
    #[must_use]
    pub fn attention_nic(&self) -> HalfBytes {
        let values = self.tokens * real(self.hidden) * self.reached();
        HalfBytes {
            dispatch: values * self.dispatch,
            combine: values * self.combine,
        }
    }

    /// Of an FFN GPU.
    #[must_use]
    pub fn ffn_nic(&self) -> HalfBytes {
        let own = self.attention_nic();
        let each = f64::from(self.attention) / (f64::from(self.groups) * f64::from(self.tp));
        HalfBytes {
            dispatch: own.dispatch * each,
            combine: own.combine * each,
        }
    }
}
