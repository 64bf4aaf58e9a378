//! What predictions are known to be off by: errors of validated deployments by their kind, kept in a
//! file (`presets/validation/errors.ron`) that `frontier validate --rows FILE --keep` writes.
//!
//! It keeps aggregates alone: counts, medians and quantiles of groups of at least [`LEAST`]
//! conditions, never what one row measured.

use super::kind::{Kind, Mode};
use super::outcome::Outcome;
use super::predict::Predicted;
use super::score::Errors;
use crate::catalog::{CatalogError, preset_files};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::Path;
use thiserror::Error;

/// The file's name without its ending; others of its folder are recipes.
pub(super) const FILE: &str = "errors";
/// Fewest conditions of a group that is kept: of fewer, quantiles would tell single rows.
pub const LEAST: usize = 5;
/// Most groups of a file.
const MOST: usize = 10_000;

/// Why known errors can't be read.
#[derive(Debug, Error)]
pub enum KnownError {
    /// The folder can't be read.
    #[error(transparent)]
    Files(#[from] CatalogError),
    /// The file is none.
    #[error("{origin}: {message}")]
    File {
        /// Which file.
        origin: String,
        /// Why.
        message: String,
    },
}

/// How far off predictions of one latency are.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spread {
    /// Median of |predicted / measured − 1|.
    pub median: f64,
    /// 10th percentile of ln(predicted / measured).
    pub p10: f64,
    /// 90th percentile of it.
    pub p90: f64,
}

impl Spread {
    /// Of measured and predicted pairs.
    fn of(pairs: impl Iterator<Item = (f64, f64)> + Clone) -> Self {
        let mut logs: Vec<f64> = pairs
            .clone()
            .map(|(measured, predicted)| libm::log(predicted / measured))
            .filter(|own| own.is_finite())
            .collect();
        logs.sort_by(f64::total_cmp);
        // Four digits: a file that is written again differs where errors do.
        let rounded = |value: f64| (value * 1e4).round() / 1e4;
        Self {
            median: rounded(Errors::of(pairs).median_ape),
            p10: rounded(quantile(&logs, 0.1)),
            p90: rounded(quantile(&logs, 0.9)),
        }
    }

    fn is_sound(&self) -> bool {
        let all = [self.median, self.p10, self.p90];
        all.iter()
            .all(|value| value.is_finite() && value.abs() < 20.0)
            && self.p10 <= self.p90
    }

    /// Where the truth is, as factors of a prediction: four of five times.
    #[must_use]
    pub fn band(&self) -> (f64, f64) {
        (libm::exp(-self.p90), libm::exp(-self.p10))
    }
}

/// A quantile of sorted values, between neighbours in proportion.
fn quantile(sorted: &[f64], share: f64) -> f64 {
    let Some(last) = sorted.len().checked_sub(1) else {
        return 0.0;
    };
    #[expect(clippy::cast_precision_loss, reason = "a count of rows")]
    let at = last as f64 * share;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a place among the values"
    )]
    let below = at.floor() as usize;
    let above = (below + 1).min(last);
    let rest = at - at.floor();
    sorted[below] * (1.0 - rest) + sorted[above] * rest
}

/// Errors of one kind of deployments.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KnownGroup {
    /// Which.
    pub kind: Kind,
    /// Conditions measured.
    pub conditions: usize,
    /// Most GPUs of a replica among them.
    pub gpus: u32,
    /// Longest prompt and answer together, tokens.
    pub context: u32,
    /// Of the time per output token.
    pub tpot: Spread,
    /// Of the time to first token.
    pub ttft: Spread,
}

impl KnownGroup {
    fn of(kind: Kind, own: &[&Predicted]) -> Self {
        let most = |of: fn(&Predicted) -> u32| own.iter().map(|one| of(one)).max().unwrap_or(0);
        let tpot = own
            .iter()
            .map(|own| (own.measured.tpot, own.prediction.tpot));
        let ttft = own
            .iter()
            .map(|own| (own.measured.ttft, own.prediction.ttft));
        Self {
            kind,
            conditions: own.len(),
            gpus: most(|own| own.measured.condition.sharding().gpus()),
            context: most(|own| {
                let c = &own.measured.condition;
                c.isl.saturating_add(c.osl)
            }),
            tpot: Spread::of(tpot),
            ttft: Spread::of(ttft),
        }
    }
}

/// The errors that are known.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KnownErrors {
    /// Whose prices were validated: `calibrated`.
    pub fidelity: String,
    /// By kind, in its order.
    pub groups: Vec<KnownGroup>,
}

impl KnownErrors {
    /// Ours, or a user's in their place.
    ///
    /// # Errors
    /// The file can't be read.
    pub fn load(user_dir: Option<&Path>) -> Result<Self, KnownError> {
        let files = preset_files("validation", user_dir)?;
        let Some(file) = files.into_iter().find(|file| file.name == FILE) else {
            return Ok(Self::default());
        };
        Self::read(&file.text).map_err(|message| KnownError::File {
            origin: file.origin.to_string(),
            message,
        })
    }

    fn read(text: &str) -> Result<Self, String> {
        let own: Self = ron::from_str(text).map_err(|error| error.to_string())?;
        if own.groups.len() > MOST {
            return Err(format!("more than {MOST} groups"));
        }
        let bad = own
            .groups
            .iter()
            .find(|group| !(group.tpot.is_sound() && group.ttft.is_sound()));
        match bad {
            Some(group) => Err(format!("errors of “{}” are no errors", group.kind.words())),
            None => Ok(own),
        }
    }

    /// Of rows that were predicted; groups of fewer than [`LEAST`] conditions are left out.
    #[must_use]
    pub fn of(outcome: &Outcome, fidelity: &str) -> Self {
        let mut kinds: BTreeMap<&Kind, Vec<&Predicted>> = BTreeMap::new();
        for own in &outcome.predicted {
            kinds.entry(&own.prediction.kind).or_default().push(own);
        }
        Self {
            fidelity: fidelity.to_owned(),
            groups: kinds
                .into_iter()
                .filter(|(kind, own)| own.len() >= LEAST && kind.mode != Mode::AttentionFfn)
                .map(|(kind, own)| KnownGroup::of(kind.clone(), &own))
                .collect(),
        }
    }

    /// As a file, a group a line.
    ///
    /// # Errors
    /// None that values of these types cause.
    pub fn to_text(&self) -> Result<String, ron::Error> {
        let mut text = "// What predictions of measured deployments are off by, by kind: counts, medians and quantiles alone.\n// Written by `frontier validate --rows FILE --keep FILE`; not edited by hand.\n(\n".to_owned();
        text.push_str(&format!(
            "    fidelity: {:?},\n    groups: [\n",
            self.fidelity
        ));
        for group in &self.groups {
            text.push_str(&format!("        {},\n", ron::to_string(group)?));
        }
        text.push_str("    ],\n)\n");
        Ok(text)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::group;
    use super::*;

    #[test]
    fn a_file_is_read_as_it_was_written() {
        let own = KnownErrors {
            fidelity: "calibrated".to_owned(),
            groups: vec![group("h100-sxm", 12), group("h200-sxm", 57)],
        };
        let text = own.to_text().unwrap();
        assert_eq!(KnownErrors::read(&text).unwrap(), own, "{text}");
        let broken = text.replace("p90:0.08", "p90:-0.9");
        assert!(KnownErrors::read(&broken).unwrap_err().contains("H100"));
        let ours = KnownErrors::load(None).unwrap();
        assert!(ours.groups.iter().all(|own| own.conditions >= LEAST));
    }

    #[test]
    fn quantiles_and_bands_are_those_of_ratios() {
        let sorted = [0.0, 1.0, 2.0, 3.0, 4.0];
        assert!((quantile(&sorted, 0.1) - 0.4).abs() < 1e-12);
        assert!((quantile(&sorted, 0.9) - 3.6).abs() < 1e-12);
        assert_eq!(quantile(&[], 0.5), 0.0);
        // Predictions from 10 % below to 20 % above: the truth is from 1/1.2 to 1/0.9 of one.
        let spread = Spread {
            median: 0.1,
            p10: libm::log(0.9),
            p90: libm::log(1.2),
        };
        let (low, high) = spread.band();
        assert!((low - 1.0 / 1.2).abs() < 1e-12 && (high - 1.0 / 0.9).abs() < 1e-12);
    }
}
