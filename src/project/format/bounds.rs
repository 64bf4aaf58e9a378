//! Bounds a document must keep, checked while it is read: a list that is too long or a number
//! that is none is refused at its line, before it takes memory.

use serde::de::{self, Deserialize, Deserializer, SeqAccess, Visitor};
use std::fmt;
use std::marker::PhantomData;

/// Most designs of a project.
pub(super) const MAX_DESIGNS: usize = 64;
/// Most pools, services or feeds of a design.
pub(super) const MAX_POOLS: usize = 1024;
/// Most ranges of GPUs of a pool.
pub(super) const MAX_RANGES: usize = 16_384;
/// Most runs of equal layers of a model.
pub(super) const MAX_LAYER_RUNS: usize = 1024;
/// Most loads of a curve.
pub(super) const MAX_LOADS: usize = 1024;
/// Longest name, bytes.
pub(super) const MAX_NAME: usize = 1024;
/// Longest story or path, bytes.
pub(super) const MAX_TEXT: usize = 65_536;
/// Most parts of a model beside its layers.
pub(super) const MAX_EXTRAS: usize = 64;
/// Farthest a thing may be from the canvas's origin, points.
const FARTHEST: f32 = 1e7;

/// What a field is worth where an older file does not have it, and whether it can be left out.
pub(super) const fn one() -> u32 {
    1
}

pub(super) const fn is_one(value: &u32) -> bool {
    *value == 1
}

pub(super) const fn is_none_of(value: &u32) -> bool {
    *value == 0
}

pub(super) const fn two() -> u64 {
    2
}

pub(super) const fn is_two(value: &u64) -> bool {
    *value == 2
}

pub(super) const fn is_zero(value: &u64) -> bool {
    *value == 0
}

pub(super) const fn yes() -> bool {
    true
}

pub(super) const fn is_yes(value: &bool) -> bool {
    *value
}

pub(super) const fn no(value: &bool) -> bool {
    !*value
}

/// A list of at most `MOST`.
pub(super) fn at_most<'de, D, T, const MOST: usize>(deserializer: D) -> Result<Vec<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    struct Bounded<T, const MOST: usize>(PhantomData<T>);

    impl<'de, T: Deserialize<'de>, const MOST: usize> Visitor<'de> for Bounded<T, MOST> {
        type Value = Vec<T>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            write!(f, "a list of at most {MOST}")
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Vec<T>, A::Error> {
            let mut items = Vec::new();
            while let Some(item) = seq.next_element()? {
                if items.len() == MOST {
                    return Err(de::Error::custom(format_args!(
                        "more than {MOST} in this list"
                    )));
                }
                items.push(item);
            }
            Ok(items)
        }
    }

    deserializer.deserialize_seq(Bounded::<T, MOST>(PhantomData))
}

/// A text of at most `MOST` bytes.
pub(super) fn text<'de, D: Deserializer<'de>, const MOST: usize>(
    deserializer: D,
) -> Result<String, D::Error> {
    let text = String::deserialize(deserializer)?;
    if text.len() > MOST {
        return Err(de::Error::custom(format_args!(
            "a text of {} bytes: at most {MOST} are kept here",
            text.len()
        )));
    }
    Ok(text)
}

/// A list of at most `MOST` texts of at most `LONG` bytes each.
pub(super) fn texts<'de, D, const MOST: usize, const LONG: usize>(
    deserializer: D,
) -> Result<Vec<String>, D::Error>
where
    D: Deserializer<'de>,
{
    let texts = at_most::<D, String, MOST>(deserializer)?;
    match texts.iter().find(|text| text.len() > LONG) {
        Some(text) => Err(de::Error::custom(format_args!(
            "a text of {} bytes: at most {LONG} are kept here",
            text.len()
        ))),
        None => Ok(texts),
    }
}

/// A name, if there is one.
pub(super) fn maybe_name<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<String>, D::Error> {
    let name = Option::<String>::deserialize(deserializer)?;
    if name.as_ref().is_some_and(|name| name.len() > MAX_NAME) {
        return Err(de::Error::custom(format_args!(
            "a name of more than {MAX_NAME} bytes"
        )));
    }
    Ok(name)
}

/// A coordinate: finite and on the canvas.
pub(super) fn coordinate<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f32, D::Error> {
    let value = f32::deserialize(deserializer)?;
    if value.is_finite() && value.abs() <= FARTHEST {
        Ok(value)
    } else {
        Err(de::Error::custom(format_args!(
            "{value} is no place on the canvas: positions are from -{FARTHEST} to {FARTHEST}"
        )))
    }
}

/// The nearest coordinate a document can hold: a tenth of a point, on the canvas.
pub(super) fn kept_coordinate(value: f32) -> f32 {
    if !value.is_finite() {
        return 0.0;
    }
    let tenths = (f64::from(value.clamp(-FARTHEST, FARTHEST)) * 10.0).round();
    #[expect(clippy::cast_possible_truncation, reason = "within ±10^7")]
    let kept = (tenths / 10.0) as f32;
    // No “-0.0”.
    kept + 0.0
}

/// A number that is one.
pub(super) fn finite<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    let value = f64::deserialize(deserializer)?;
    if value.is_finite() {
        Ok(value)
    } else {
        Err(de::Error::custom(format_args!(
            "{value} is not a finite number"
        )))
    }
}

/// A number from 0 to `MOST`.
pub(super) fn up_to<'de, D: Deserializer<'de>, const MOST: u32>(
    deserializer: D,
) -> Result<f64, D::Error> {
    let value = f64::deserialize(deserializer)?;
    if (0.0..=f64::from(MOST)).contains(&value) {
        Ok(value)
    } else {
        Err(de::Error::custom(format_args!(
            "{value} is not a number from 0 to {MOST}"
        )))
    }
}

/// Loads of a curve: finite and above 0.
pub(super) fn loads<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<f64>, D::Error> {
    let loads = at_most::<D, f64, MAX_LOADS>(deserializer)?;
    match loads
        .iter()
        .find(|load| !(load.is_finite() && **load > 0.0))
    {
        Some(load) => Err(de::Error::custom(format_args!(
            "{load} is no load: expected finite numbers above 0"
        ))),
        None => Ok(loads),
    }
}

/// Shares of one: each finite, from 0 to 1.
pub(super) fn shares<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<f64>, D::Error> {
    let shares = at_most::<D, f64, MAX_LOADS>(deserializer)?;
    match shares.iter().find(|share| !(0.0..=1.0).contains(*share)) {
        Some(share) => Err(de::Error::custom(format_args!(
            "{share} is no share: expected numbers from 0 to 1"
        ))),
        None => Ok(shares),
    }
}
