//! What a step costs a replica: the plan's compiled prices, or in tests a given rule.

use crate::cost::{Class, Growth, LaneShape, Series, SplitPricer, SplitUse, StepPrice, StepPricer};

/// Prices of a pool's steps.
pub(super) enum Pricer {
    /// Compiled from the plan.
    Plan(Box<StepPricer>),
    /// The same of a split.
    Split(Box<SplitPricer>),
    /// A rule by what the lanes do, ps.
    #[cfg(test)]
    Given(fn(&[LaneShape<'_>]) -> u64),
}

impl Pricer {
    /// See [`StepPricer::farthest`].
    pub(super) fn farthest(&self) -> Option<(f64, Class)> {
        match self {
            Self::Plan(own) => own.farthest(),
            Self::Split(own) => own.farthest(),
            #[cfg(test)]
            Self::Given(_) => None,
        }
    }

    /// How the step priced last used the halves of a split.
    pub(super) fn split_use(&self) -> Option<SplitUse> {
        match self {
            Self::Split(own) => Some(own.used()),
            Self::Plan(_) => None,
            #[cfg(test)]
            Self::Given(_) => None,
        }
    }

    /// The layers of a split's fullest step of decodes so far.
    pub(super) fn split_step(&self) -> Vec<crate::cost::Run> {
        match self {
            Self::Split(own) => own.fullest().to_vec(),
            Self::Plan(_) => Vec::new(),
            #[cfg(test)]
            Self::Given(_) => Vec::new(),
        }
    }

    /// The price of one stage of a step.
    pub(super) fn stage(&mut self, stage: usize, lanes: &[LaneShape<'_>]) -> StepPrice {
        match self {
            Self::Plan(own) => own.stage(stage, lanes),
            Self::Split(own) => own.step(lanes),
            #[cfg(test)]
            Self::Given(rule) => StepPrice {
                total: rule(lanes).saturating_mul(1000),
                ..StepPrice::default()
            },
        }
    }

    /// The prices of this step and those after it, if they can be told in advance.
    pub(super) fn series(
        &mut self,
        lanes: &[(LaneShape<'_>, Growth<'_>)],
        first: StepPrice,
        overlap: bool,
    ) -> Option<Series> {
        match self {
            Self::Plan(own) => own.series(lanes, first, overlap),
            Self::Split(_) => None,
            #[cfg(test)]
            Self::Given(_) => None,
        }
    }
}
