//! Arithmetic that is shown: a number and how it was worked out are one thing, so that the words
//! can't say something else than the value.

use super::text::grouped;
use std::fmt;

/// A sum of products of whole numbers, some of them named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Expr {
    /// A number and what it counts, in the plural; or nothing.
    Number(u64, &'static str),
    /// A term with a word before it: `Q 7,168 × 1,536`.
    Named(&'static str, Box<Self>),
    /// Factors.
    Product(Vec<Self>),
    /// Terms.
    Sum(Vec<Self>),
}

/// A bare number.
pub(super) const fn n(value: u64) -> Expr {
    Expr::Number(value, "")
}

/// A number of things, named in the plural.
pub(super) const fn of(value: u64, things: &'static str) -> Expr {
    Expr::Number(value, things)
}

/// So many layers.
pub(super) const fn layers(count: u64) -> Expr {
    of(count, "layers")
}

/// A product.
pub(super) fn times<const N: usize>(factors: [Expr; N]) -> Expr {
    Expr::Product(factors.into())
}

/// A product of bare numbers.
pub(super) fn product<const N: usize>(factors: [u64; N]) -> Expr {
    Expr::Product(factors.into_iter().map(n).collect())
}

/// A sum.
pub(super) fn plus<const N: usize>(terms: [Expr; N]) -> Expr {
    Expr::Sum(terms.into())
}

/// A term with a word before it.
pub(super) fn named(word: &'static str, term: Expr) -> Expr {
    Expr::Named(word, Box::new(term))
}

/// Nothing.
pub(super) const ZERO: Expr = n(0);

impl Expr {
    /// What it comes to; saturates.
    pub(super) fn value(&self) -> u64 {
        match self {
            Self::Number(value, _) => *value,
            Self::Named(_, term) => term.value(),
            Self::Product(factors) => factors
                .iter()
                .fold(1, |so_far: u64, next| so_far.saturating_mul(next.value())),
            Self::Sum(terms) => terms
                .iter()
                .fold(0, |so_far: u64, next| so_far.saturating_add(next.value())),
        }
    }

    /// The same without terms of nothing, factors of one and sums of one term.
    fn plain(&self) -> Self {
        match self {
            Self::Number(..) => self.clone(),
            Self::Named(word, term) => Self::Named(word, Box::new(term.plain())),
            Self::Product(factors) => {
                if self.value() == 0 {
                    return ZERO;
                }
                let mut kept: Vec<Self> = Vec::new();
                for factor in factors.iter().map(Self::plain) {
                    match factor {
                        Self::Number(1, "") => {}
                        Self::Product(inner) => kept.extend(inner),
                        other => kept.push(other),
                    }
                }
                match kept.len() {
                    0 => n(1),
                    1 => kept.remove(0),
                    _ => Self::Product(kept),
                }
            }
            Self::Sum(terms) => {
                let mut kept: Vec<Self> = Vec::new();
                for term in terms.iter().filter(|term| term.value() > 0) {
                    match term.plain() {
                        Self::Sum(inner) => kept.extend(inner),
                        other => kept.push(other),
                    }
                }
                match kept.len() {
                    0 => ZERO,
                    1 => kept.remove(0),
                    _ => Self::Sum(kept),
                }
            }
        }
    }

    fn write(&self, f: &mut fmt::Formatter<'_>, inside: bool) -> fmt::Result {
        match self {
            Self::Number(value, "") => f.write_str(&grouped(*value)),
            Self::Number(1, things) => {
                write!(f, "1 {}", things.strip_suffix('s').unwrap_or(things))
            }
            Self::Number(value, things) => write!(f, "{} {things}", grouped(*value)),
            Self::Named(word, term) => {
                write!(f, "{word} ")?;
                term.write(f, true)
            }
            Self::Product(factors) => list(f, factors, " × ", true),
            Self::Sum(terms) if inside => {
                f.write_str("(")?;
                list(f, terms, " + ", false)?;
                f.write_str(")")
            }
            Self::Sum(terms) => list(f, terms, " + ", false),
        }
    }
}

fn list(f: &mut fmt::Formatter<'_>, items: &[Expr], between: &str, inside: bool) -> fmt::Result {
    for (index, item) in items.iter().enumerate() {
        if index > 0 {
            f.write_str(between)?;
        }
        item.write(f, inside)?;
    }
    Ok(())
}

impl fmt::Display for Expr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.plain().write(f, false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_says_nothing_is_left_out() {
        let kv = times([layers(61), plus([n(512), n(64), n(0)]), of(2, "B")]);
        assert_eq!(kv.to_string(), "61 layers × (512 + 64) × 2 B");
        assert_eq!(kv.value(), 70_272);
        assert_eq!(times([layers(1), n(1), n(5)]).to_string(), "1 layer × 5");
        assert_eq!(plus([n(0), product([2, 3])]).to_string(), "2 × 3");
        assert_eq!(plus([]).to_string(), "0");
        assert_eq!(
            plus([named("Q", product([7168, 1536])), named("O", n(8))]).to_string(),
            "Q 7,168 × 1,536 + O 8"
        );
    }
}
