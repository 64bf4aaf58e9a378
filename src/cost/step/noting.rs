//! How far outside what was measured a plan's prices reach: noted where prices are made, which is
//! when tables are filled, so that steps cost nothing more.

use crate::cost::operator::{Class, Joint, MEASURED_UP_TO, OpCost, Operator, Prices};
use crate::cost::routed::Routed;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Prices that remember the farthest of them.
pub(super) struct Noting {
    inner: Arc<dyn Prices>,
    /// The factor's bits over the class's index: factors are positive, so more bits are a larger
    /// factor. 0: none.
    farthest: AtomicU64,
}

impl Noting {
    pub(super) fn new(inner: Arc<dyn Prices>) -> Self {
        Self {
            inner,
            farthest: AtomicU64::new(0),
        }
    }

    /// The largest factor by which a size of a priced operator lies outside what was measured, and
    /// what the operator is for; none: all lie inside.
    pub(super) fn farthest(&self) -> Option<(f64, Class)> {
        let noted = self.farthest.load(Ordering::Relaxed);
        let factor = f32::from_bits(u32::try_from(noted >> 32).unwrap_or(0));
        let class = Class::ALL.get((noted & 0xff) as usize)?;
        (factor > 0.0).then_some((f64::from(factor), *class))
    }

    #[expect(clippy::cast_possible_truncation, reason = "a few digits are enough")]
    fn note(&self, cost: OpCost, class: Class) -> OpCost {
        if cost.beyond > MEASURED_UP_TO && cost.seconds > 0.0 {
            let factor = u64::from((cost.beyond as f32).to_bits());
            self.farthest
                .fetch_max(factor << 32 | class as u64, Ordering::Relaxed);
        }
        cost
    }
}

/// What an operator is for, as far as it says.
const fn class(operator: &Operator) -> Class {
    match operator {
        Operator::Linear { .. } | Operator::HeadProduct { .. } => Class::Linear,
        Operator::Experts { .. } => Class::Experts,
        Operator::Prefill { .. }
        | Operator::Decode { .. }
        | Operator::Scores { .. }
        | Operator::Step { .. }
        | Operator::Scan { .. } => Class::Attention,
        Operator::Convolution { .. } | Operator::Rows { .. } => Class::Elementwise,
    }
}

impl Prices for Noting {
    fn price(&self, operator: &Operator) -> OpCost {
        self.note(self.inner.price(operator), class(operator))
    }

    fn collective(&self, asked: &Joint) -> Option<OpCost> {
        let cost = self.inner.collective(asked)?;
        Some(self.note(cost, Class::Communication))
    }

    fn routed(&self, asked: &Routed) -> Option<OpCost> {
        let cost = self.inner.routed(asked)?;
        Some(self.note(cost, Class::Communication))
    }

    fn quick(&self) -> bool {
        self.inner.quick()
    }
}
