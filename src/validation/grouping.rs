//! What conditions are put together by.

use super::predict::Predicted;
use super::score::{Group, grouped};

/// By what.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum By {
    /// Engine, GPU, model, precision and who does what: one setup at all its loads and layouts.
    #[default]
    Setup,
    /// GPU.
    Gpu,
    /// Engine.
    Engine,
    /// Engine with its version.
    Version,
    /// Model.
    Model,
    /// Precision of the weights.
    Precision,
    /// Requests in flight, in powers of four.
    Concurrency,
    /// Nominal lengths.
    Lengths,
    /// GPUs and layout of a replica.
    Layout,
}

impl By {
    /// All, in the order offered.
    pub const ALL: [Self; 9] = [
        Self::Setup,
        Self::Gpu,
        Self::Engine,
        Self::Version,
        Self::Model,
        Self::Precision,
        Self::Concurrency,
        Self::Lengths,
        Self::Layout,
    ];

    /// Its word.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Setup => "Setup",
            Self::Gpu => "GPU",
            Self::Engine => "Engine",
            Self::Version => "Version",
            Self::Model => "Model",
            Self::Precision => "Precision",
            Self::Concurrency => "Concurrency",
            Self::Lengths => "Lengths",
            Self::Layout => "Layout",
        }
    }

    /// The group a condition is in.
    #[must_use]
    pub fn group(self, own: &Predicted) -> String {
        let c = &own.measured.condition;
        match self {
            Self::Setup => {
                let mode = if c.deployment.is_colocated() {
                    ""
                } else {
                    " disaggregated"
                };
                let engine = c.engine.name();
                let (system, model, precision) = (&c.system, &c.model, &c.precision);
                format!("{engine} {system} {model} {precision}{mode}")
            }
            Self::Gpu => c.system.clone(),
            Self::Engine => c.engine.name().to_owned(),
            Self::Version if c.version.is_empty() => format!("{} not said", c.engine.name()),
            Self::Version => format!("{} {}", c.engine.name(), c.version),
            Self::Model => c.model.clone(),
            Self::Precision => c.precision.clone(),
            Self::Concurrency => {
                let mut from = 1_u32;
                while from.saturating_mul(4) <= c.concurrency {
                    from = from.saturating_mul(4);
                }
                format!("{from} to {}", from.saturating_mul(4).saturating_sub(1))
            }
            Self::Lengths => format!("{} × {}", c.isl, c.osl),
            Self::Layout => {
                let s = c.sharding();
                format!("TP{} PP{} DP{} EP{}", s.tp, s.pp, s.dp, s.ep)
            }
        }
    }

    /// Errors of all groups, the worst median TPOT error first.
    #[must_use]
    pub fn groups(self, predicted: &[Predicted]) -> Vec<Group> {
        let mut groups = grouped(predicted, |own| self.group(own));
        groups.sort_by(|a, b| {
            let error = |own: &Group| own.scores.tpot.median_ape;
            error(b).total_cmp(&error(a))
        });
        groups
    }
}
