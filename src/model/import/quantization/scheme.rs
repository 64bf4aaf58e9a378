//! What every kind of quantisation section comes to: formats, and rules which modules have them.

use super::super::ImportError;
use super::names::{Matcher, Names};
use crate::catalog::Dtype;
use crate::model::Scale;

/// How linears are stored and multiplied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Format {
    /// Format of the weights.
    pub(super) weights: Dtype,
    /// Format of their inputs.
    pub(super) activations: Dtype,
    /// Scales, where they are not the format's usual ones.
    pub(super) scale: Option<Scale>,
    /// Side of a square block that shares a scale.
    pub(super) block: Option<u64>,
}

impl Format {
    /// One with its usual scales.
    pub(super) const fn new(weights: Dtype, activations: Dtype) -> Self {
        Self {
            weights,
            activations,
            scale: None,
            block: None,
        }
    }

    /// The same with `bits` of scale per `per` weights.
    pub(super) const fn scaled(self, bits: u64, per: u64) -> Self {
        Self {
            scale: Some(Scale { bits, per }),
            ..self
        }
    }
}

/// Modules and their format; none: not quantised.
#[derive(Debug)]
struct Rule {
    names: Matcher,
    format: Option<Format>,
}

/// A section read: the first rule that names a module decides, else `default`.
#[derive(Debug)]
pub(super) struct Scheme {
    rules: Vec<Rule>,
    /// Format of linears that no rule names.
    pub(super) default: Option<Format>,
    /// Format of a layer's linears that aren't converted; none: BF16.
    pub(super) released: Option<Format>,
    /// `default` holds for the LM head too.
    pub(super) default_head: bool,
    /// Format of the KV cache.
    pub(super) kv: Dtype,
}

impl Scheme {
    /// All linears in one format, or none of them.
    pub(super) const fn new(default: Option<Format>) -> Self {
        Self {
            rules: Vec::new(),
            default,
            released: None,
            default_head: false,
            kv: Dtype::Bf16,
        }
    }

    /// Adds a rule after those there are.
    pub(super) fn rule(
        &mut self,
        names: Names,
        format: Option<Format>,
        path: &str,
        at: &mut Context<'_>,
    ) -> Result<(), ImportError> {
        if !names.is_empty() {
            self.rules.push(Rule {
                names: names.finish(path, at.experts, at.notes)?,
                format,
            });
        }
        Ok(())
    }

    /// What the rules say of a module known by several names; none: nothing.
    pub(super) fn stated(&self, names: &[String]) -> Option<Option<Format>> {
        self.rules
            .iter()
            .find(|rule| names.iter().any(|name| rule.names.matches(name)))
            .map(|rule| rule.format)
    }

    /// The format of the LM head, known by several names.
    pub(super) fn head(&self, names: &[String]) -> Option<Format> {
        let otherwise = self.default.filter(|_| self.default_head);
        self.stated(names).unwrap_or(otherwise)
    }

    /// The format of a layer's module known by several names.
    pub(super) fn format(&self, names: &[String]) -> Option<Format> {
        self.stated(names).unwrap_or(self.default).or(self.released)
    }
}

/// What readers of sections need to know of the model, and where they say what they assumed.
pub(super) struct Context<'a> {
    /// Width of the residual stream: inputs of a weight's row, about.
    pub(super) hidden: u64,
    /// Routed experts of a layer; 0: none.
    pub(super) experts: u64,
    /// Assumptions.
    pub(super) notes: &'a mut Vec<String>,
}
