//! Stages, and lanes of DP-attention.

use super::{Degree, Rule};

pub(super) const RULES: &[Rule] = &[Rule {
    degree: Degree::Pp,
    engines: &[],
    broken: |case| {
        let (pp, layers) = (case.layout.pp, case.facts.layers);
        (pp > layers.max(1)).then(|| format!("PP {pp} is more than the model's {layers} layers"))
    },
    source: "a stage has a layer at least",
}];
