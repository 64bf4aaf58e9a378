//! Reading a quantity: a decimal number and a unit word, with refusals that say what to type.

use thiserror::Error;

/// Why a text is not the quantity it should be. Each message says what would be right.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum UnitError {
    /// Nothing was typed.
    #[error("empty: expected a number and a unit such as “{example}”")]
    Empty {
        /// A text that would be right.
        example: &'static str,
    },
    /// `0,5`: a comma is a decimal sign to some and a thousands sign to others.
    #[error(
        "“{text}” has a comma: write a decimal point (“{suggestion}”) and no thousands separators"
    )]
    DecimalComma {
        /// What was typed.
        text: String,
        /// The same with a point.
        suggestion: String,
    },
    /// The text does not start with a number.
    #[error("“{text}” does not start with a number: expected something like “{example}”")]
    NotANumber {
        /// What was typed.
        text: String,
        /// A text that would be right.
        example: &'static str,
    },
    /// The unit word is none of the ones known for this quantity.
    #[error("unknown unit “{unit}”: expected one of {expected}")]
    UnknownUnit {
        /// The word found.
        unit: String,
        /// The words understood.
        expected: String,
    },
    /// A number without a unit.
    #[error("“{text}” has no unit: expected one of {expected}")]
    MissingUnit {
        /// What was typed.
        text: String,
        /// The words understood.
        expected: String,
    },
    /// Below zero.
    #[error("“{text}” is negative: expected zero or more")]
    Negative {
        /// What was typed.
        text: String,
    },
    /// NaN, infinite, or beyond what the type holds.
    #[error("“{text}” is not a finite number in range")]
    OutOfRange {
        /// What was typed.
        text: String,
    },
    /// A fraction where whole things are counted.
    #[error("“{text}” is not a whole number of {what}")]
    NotWhole {
        /// What was typed.
        text: String,
        /// What is counted.
        what: &'static str,
    },
}

/// One unit word and how many base units it is worth.
pub(super) struct Unit {
    pub(super) word: &'static str,
    pub(super) scale: f64,
    /// Whether printing may choose it (aliases only parse).
    pub(super) prints: bool,
}

/// Splits `text` into its number and the factor of its unit.
pub(super) fn number_and_scale(
    text: &str,
    units: &[Unit],
    bare_ok: bool,
    example: &'static str,
) -> Result<(f64, f64), UnitError> {
    // Longest quantity anyone writes; longer input is somebody's accident or attack.
    const LONGEST: usize = 64;
    let trimmed = text.trim();
    if trimmed.is_empty() {
        return Err(UnitError::Empty { example });
    }
    let shown = || trimmed.chars().take(LONGEST).collect::<String>();
    if trimmed.len() > LONGEST {
        return Err(UnitError::OutOfRange { text: shown() });
    }
    if trimmed.contains(',') {
        return Err(UnitError::DecimalComma {
            text: shown(),
            suggestion: trimmed.replacen(',', ".", 1),
        });
    }
    let body = trimmed.strip_prefix('$').unwrap_or(trimmed).trim_start();
    let end = number_end(body);
    let (number, unit) = body.split_at(end);
    let value: f64 = number.parse().map_err(|_| {
        if body.to_ascii_lowercase().starts_with("nan") || body.to_ascii_lowercase().contains("inf")
        {
            UnitError::OutOfRange { text: shown() }
        } else {
            UnitError::NotANumber {
                text: shown(),
                example,
            }
        }
    })?;
    if value.is_sign_negative() && value != 0.0 {
        return Err(UnitError::Negative { text: shown() });
    }
    if !value.is_finite() {
        return Err(UnitError::OutOfRange { text: shown() });
    }
    let unit = unit.trim();
    if unit.is_empty() {
        return if bare_ok {
            Ok((value, 1.0))
        } else {
            Err(UnitError::MissingUnit {
                text: shown(),
                expected: words(units),
            })
        };
    }
    units
        .iter()
        .find(|candidate| candidate.word == unit)
        .map(|candidate| (value, candidate.scale))
        .ok_or_else(|| UnitError::UnknownUnit {
            unit: unit.to_owned(),
            expected: words(units),
        })
}

/// Where the number ends: sign, digits, point, and an exponent only if digits follow the `e`.
fn number_end(text: &str) -> usize {
    let bytes = text.as_bytes();
    let mut end = 0;
    while end < bytes.len()
        && (bytes[end].is_ascii_digit()
            || bytes[end] == b'.'
            || (end == 0 && (bytes[end] == b'-' || bytes[end] == b'+')))
    {
        end += 1;
    }
    if end > 0 && end < bytes.len() && (bytes[end] == b'e' || bytes[end] == b'E') {
        let mut exponent = end + 1;
        if exponent < bytes.len() && (bytes[exponent] == b'-' || bytes[exponent] == b'+') {
            exponent += 1;
        }
        let digits = exponent;
        while exponent < bytes.len() && bytes[exponent].is_ascii_digit() {
            exponent += 1;
        }
        if exponent > digits {
            end = exponent;
        }
    }
    end
}

fn words(units: &[Unit]) -> String {
    units
        .iter()
        .filter(|unit| unit.prints)
        .map(|unit| unit.word)
        .collect::<Vec<_>>()
        .join(", ")
}

/// A number of a unit in base units. A thousandth is not a number of bits, a thousand is: so 0.1 ms and
/// 100 us are the same.
pub(super) fn in_base(number: f64, scale: f64) -> f64 {
    if scale < 1.0 {
        number / (1.0 / scale).round()
    } else {
        number * scale
    }
}

/// The shortest number of `unit` that reads back to exactly `value`; none: no number does.
fn number_in(value: f64, unit: &Unit) -> Option<String> {
    let exact = if unit.scale < 1.0 {
        value * (1.0 / unit.scale).round()
    } else {
        value / unit.scale
    };
    // Division may end next to the number that was typed: 500 ns / 1 ns is 500.00000000000006.
    let typed = format!("{exact:.14e}").parse().unwrap_or(exact);
    [typed, exact]
        .into_iter()
        .find(|number| in_base(*number, unit.scale) == value)
        .map(|number| format!("{number}"))
}

/// Prints `value` (in base units) in the largest unit that keeps it at least 1 and reads back to
/// the same value.
pub(super) fn print(value: f64, units: &[Unit]) -> String {
    let by_size = |unit: &&Unit| unit.prints && value >= unit.scale;
    let mut fitting: Vec<&Unit> = units.iter().filter(by_size).collect();
    fitting.sort_by(|a, b| b.scale.total_cmp(&a.scale));
    let shortest = fitting
        .iter()
        .filter_map(|unit| Some((number_in(value, unit)?, *unit)))
        .min_by_key(|(number, _)| number.len().max(6));
    if let Some((number, unit)) = shortest {
        return format!("{number} {}", unit.word).trim_end().to_owned();
    }
    let base = units
        .iter()
        .find(|unit| unit.prints && unit.scale == 1.0)
        .map_or("", |unit| unit.word);
    format!("{value} {base}").trim_end().to_owned()
}
