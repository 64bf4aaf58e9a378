//! What came of a file of measured rows: predicted conditions, refused rows, and the errors in all.

use super::predict::{Predicted, Predictor};
use super::read::{Refused, Rows};
use super::score::Scores;
use std::sync::atomic::AtomicBool;

/// What came of a file.
#[derive(Debug, Clone, Default)]
pub struct Outcome {
    /// What the file has.
    pub rows: Rows,
    /// Conditions that were predicted, in their order.
    pub predicted: Vec<Predicted>,
    /// Rows that were not, with their reasons.
    pub refused: Vec<Refused>,
}

/// Errors of one class of deployments.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Headline {
    /// Co-located, or disaggregated.
    pub colocated: bool,
    /// Of models with experts, without, or (none) of all.
    pub experts: Option<bool>,
    /// Rows predicted.
    pub rows: usize,
    /// Errors of the conditions behind them.
    pub scores: Scores,
}

impl Headline {
    /// `co-located`, `co-located, dense`.
    #[must_use]
    pub fn name(&self) -> String {
        let mode = if self.colocated {
            "co-located"
        } else {
            "disaggregated"
        };
        match self.experts {
            None => mode.to_owned(),
            Some(false) => format!("{mode}, dense"),
            Some(true) => format!("{mode}, MoE"),
        }
    }
}

impl Predictor {
    /// Predicts all of a file.
    #[must_use]
    pub fn validate(&self, rows: Rows, done: &(dyn Fn() + Sync), cancel: &AtomicBool) -> Outcome {
        let (predicted, refused) = self.predict_all(&rows, done, cancel);
        Outcome {
            rows,
            predicted,
            refused,
        }
    }
}

impl Outcome {
    /// Rows and conditions of the file that can be used, of one mode.
    #[must_use]
    pub fn measured(&self, colocated: bool) -> (usize, usize) {
        let own = self.rows.measured.iter();
        own.filter(|own| own.condition.deployment.is_colocated() == colocated)
            .fold((0, 0), |(rows, count), own| {
                (rows + own.ids.len(), count + 1)
            })
    }

    /// Rows predicted.
    #[must_use]
    pub fn predicted_rows(&self) -> usize {
        self.predicted
            .iter()
            .map(|own| own.measured.ids.len())
            .sum()
    }

    /// Rows that say enough to be predicted.
    #[must_use]
    pub fn usable_rows(&self) -> usize {
        let measured = self.rows.measured.iter().map(|own| own.ids.len());
        measured.sum::<usize>() + self.rows.refused.iter().filter(|own| own.usable).count()
    }

    /// Errors of one class.
    #[must_use]
    pub fn headline(&self, colocated: bool, experts: Option<bool>) -> Headline {
        let own = || {
            self.predicted.iter().filter(move |own| {
                own.measured.condition.deployment.is_colocated() == colocated
                    && experts.is_none_or(|experts| own.prediction.kind.experts == experts)
            })
        };
        Headline {
            colocated,
            experts,
            rows: own().map(|own| own.measured.ids.len()).sum(),
            scores: Scores::of(own()),
        }
    }

    /// Errors of all classes that have rows.
    #[must_use]
    pub fn headlines(&self) -> Vec<Headline> {
        let classes = [None, Some(false), Some(true)];
        let all = [true, false]
            .into_iter()
            .flat_map(|colocated| classes.map(|class| (colocated, class)));
        all.map(|(colocated, class)| self.headline(colocated, class))
            .filter(|own| own.rows > 0)
            .collect()
    }
}
