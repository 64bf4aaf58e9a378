//! One value of a trace: a time or a number of tokens. Errors say what is wrong with the value;
//! the caller adds where.

use super::TimeUnit;
use crate::workload::MAX_TOKENS;

/// A point in time, ns from some origin of the file's.
#[derive(Debug, PartialEq)]
pub(super) struct Moment(pub(super) i128);

/// Largest number of seconds read: year 33,658 of the Unix clock.
const MAX_SECONDS: f64 = 1e12;

/// Reads a number of tokens: a whole number, `118` or, as data frames write it, `118.0`.
pub(super) fn tokens(text: &str, what: &str) -> Result<u64, String> {
    let digits = text.strip_suffix(".0").unwrap_or(text);
    match digits.parse::<u64>() {
        Ok(count) if count <= MAX_TOKENS => Ok(count),
        Ok(count) => Err(format!(
            "{what} of {count} tokens: the most is {MAX_TOKENS}"
        )),
        Err(_) => {
            let value = number(text, "128")?;
            Err(if value.fract() == 0.0 {
                format!("{what} of {text} tokens: the most is {MAX_TOKENS}")
            } else {
                format!("“{text}” is not a whole number of tokens")
            })
        }
    }
}

/// Reads a priority: a whole number of either sign.
pub(super) fn priority(text: &str) -> Result<i32, String> {
    let digits = text.strip_suffix(".0").unwrap_or(text);
    digits.parse().map_err(|_| {
        format!(
            "“{}” is not a priority: expected a whole number such as 0 or -1",
            cut(text)
        )
    })
}

/// Reads a time: a number of `unit`, or a wall-clock date and time.
pub(super) fn moment(text: &str, unit: TimeUnit) -> Result<Moment, String> {
    if let Some(ns) = decimal(text, unit) {
        return Ok(Moment(ns));
    }
    // Anything with a colon means a time of day; numbers have none.
    if text.contains(':') {
        return wall_clock(text).ok_or_else(|| {
            format!(
                "“{}” is not a date and time: expected one such as 2023-11-16 18:17:03.97996",
                cut(text)
            )
        });
    }
    let scale = unit.nanoseconds();
    #[expect(clippy::cast_precision_loss, reason = "at most 10^9")]
    let ns = number(text, "12.5")? * scale as f64;
    if ns > MAX_SECONDS * 1e9 {
        return Err(format!("“{}” is too far in the future", cut(text)));
    }
    #[expect(clippy::cast_possible_truncation, reason = "bounded on the line above")]
    Ok(Moment(ns.round() as i128))
}

/// A plain decimal number of `unit` as whole nanoseconds, exactly; none if it is not one (the
/// caller finds out why) or too large.
fn decimal(text: &str, unit: TimeUnit) -> Option<i128> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || whole.len() > 21 || fraction.len() > 18 {
        return None;
    }
    if !digits(whole) || !digits(fraction) {
        return None;
    }
    let scale = i128::from(unit.nanoseconds());
    let mut ns = whole.parse::<i128>().ok()?.checked_mul(scale)?;
    if !fraction.is_empty() {
        let power = 10_i128.pow(u32::try_from(fraction.len()).ok()?);
        // Half up: a nanosecond's fraction is nobody's measurement.
        ns += (fraction.parse::<i128>().ok()? * scale + power / 2) / power;
    }
    (ns <= 1_000_000_000_000 * 1_000_000_000).then_some(ns)
}

/// A finite number that is not negative.
fn number(text: &str, example: &str) -> Result<f64, String> {
    let shown = cut(text);
    if text.is_empty() {
        return Err(format!("empty: expected a number such as {example}"));
    }
    if text.contains(',') {
        return Err(format!(
            "“{shown}” has a comma: write a decimal point (“{}”) and no thousands separators",
            shown.replacen(',', ".", 1)
        ));
    }
    let value: f64 = text
        .parse()
        .map_err(|_| format!("“{shown}” is not a number: expected one such as {example}"))?;
    if !value.is_finite() {
        return Err(format!("“{shown}” is not a finite number"));
    }
    if value < 0.0 {
        return Err(format!("“{shown}” is negative: expected zero or more"));
    }
    Ok(value)
}

/// `YYYY-MM-DD HH:MM:SS[.fraction][Z|±HH:MM]` (or a `T` between) as ns from 1970; without a zone
/// all rows are taken to be of the same one.
fn wall_clock(text: &str) -> Option<Moment> {
    let (date, time) = text.split_once([' ', 'T'])?;
    let time = time.trim();
    let (time, zone_minutes) = zone(time)?;
    let mut parts = date.splitn(3, '-').map(|part| whole(part, 4));
    let (year, month, day) = (parts.next()??, parts.next()??, parts.next()??);
    let (clock, fraction) = time.split_once('.').unwrap_or((time, ""));
    let mut parts = clock.splitn(3, ':').map(|part| whole(part, 2));
    let (hour, minute, second) = (parts.next()??, parts.next()??, parts.next()??);
    // 60: a leap second.
    if hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    let days = days_from_1970(year, month, day)?;
    let seconds = ((days * 24 + hour) * 60 + minute - zone_minutes) * 60 + second;
    let ns = if fraction.is_empty() {
        0
    } else {
        decimal(&format!("0.{fraction}"), TimeUnit::Seconds)?
    };
    Some(Moment(i128::from(seconds) * 1_000_000_000 + ns))
}

/// Splits a time of day from its zone, in minutes ahead of UTC.
fn zone(time: &str) -> Option<(&str, i64)> {
    if let Some(time) = time.strip_suffix('Z') {
        return Some((time, 0));
    }
    let Some(at) = time.find(['+', '-']) else {
        return Some((time, 0));
    };
    let (clock, zone) = time.split_at(at);
    let (sign, zone) = match zone.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, zone.strip_prefix('+')?),
    };
    let (hours, minutes) = zone.split_once(':').unwrap_or((zone, "0"));
    let (hours, minutes) = (whole(hours, 2)?, whole(minutes, 2)?);
    (hours <= 18 && minutes < 60).then_some((clock.trim_end(), sign * (hours * 60 + minutes)))
}

fn whole(text: &str, most_digits: usize) -> Option<i64> {
    let fits = !text.is_empty() && text.len() <= most_digits;
    (fits && text.bytes().all(|byte| byte.is_ascii_digit())).then(|| text.parse().ok())?
}

/// Days from 1970-01-01 in the Gregorian calendar, by counting leap years.
fn days_from_1970(year: i64, month: i64, day: i64) -> Option<i64> {
    const BEFORE: [i64; 12] = [0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334];
    let leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    let month_ix = usize::try_from(month - 1).ok()?;
    let before = BEFORE.get(month_ix)?;
    let length = BEFORE.get(month_ix + 1).unwrap_or(&365) - before + i64::from(leap && month == 2);
    if !(1..=length).contains(&day) {
        return None;
    }
    let leaps_until = |year: i64| year / 4 - year / 100 + year / 400;
    let years = (year - 1970) * 365 + leaps_until(year - 1) - leaps_until(1969);
    Some(years + before + i64::from(leap && month > 2) + day - 1)
}

/// Cut to what a message holds.
fn cut(text: &str) -> String {
    text.chars().take(40).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_those_of_the_calendar() {
        assert_eq!(days_from_1970(1970, 1, 1), Some(0));
        assert_eq!(days_from_1970(2000, 2, 29), Some(11_016));
        assert_eq!(days_from_1970(2000, 3, 1), Some(11_017));
        assert_eq!(days_from_1970(2023, 11, 16), Some(19_677));
        assert_eq!(days_from_1970(2023, 12, 31), Some(19_722));
        for (year, month, day) in [
            (2023, 2, 29),
            (1900, 2, 29),
            (2023, 0, 1),
            (2023, 13, 1),
            (2023, 4, 31),
        ] {
            assert_eq!(days_from_1970(year, month, day), None);
        }
    }

    #[test]
    fn times_are_exact_to_the_nanosecond() {
        let seconds = |text| moment(text, TimeUnit::Seconds).unwrap().0;
        assert_eq!(seconds("1700158623.979960123"), 1_700_158_623_979_960_123);
        assert_eq!(
            seconds("2023-11-16 18:17:03.9799600"),
            1_700_158_623_979_960_000
        );
        assert_eq!(
            seconds("2023-11-16T18:17:03.97996Z"),
            1_700_158_623_979_960_000
        );
        assert_eq!(
            seconds("2023-11-16T19:17:03.97996+01:00"),
            1_700_158_623_979_960_000
        );
        assert_eq!(seconds("1.5e1"), 15_000_000_000);
        assert_eq!(
            moment("2999", TimeUnit::Milliseconds).unwrap().0,
            2_999_000_000
        );
        assert_eq!(
            moment("2999.5", TimeUnit::Microseconds).unwrap().0,
            2_999_500
        );
    }

    #[test]
    fn wrong_values_are_refused_in_words() {
        for (text, says) in [
            ("", "empty"),
            ("0,5", "decimal point"),
            ("NaN", "finite"),
            ("inf", "finite"),
            ("-5", "negative"),
            ("soon", "not a number"),
            ("1e300", "future"),
            ("18:17:03", "date and time"),
            ("2023-02-30 00:00:00", "date and time"),
            ("2023-02-03 25:00:00", "date and time"),
            ("2023-02-03 00:00:00é", "date and time"),
        ] {
            let message = moment(text, TimeUnit::Seconds).unwrap_err();
            assert!(message.contains(says), "{text}: {message}");
        }
        for (text, says) in [
            ("", "empty"),
            ("1,234", "comma"),
            ("nan", "finite"),
            ("-5", "negative"),
            ("1.5", "whole"),
            ("99999999", "most"),
            ("1e99", "most"),
        ] {
            let message = tokens(text, "prompt").unwrap_err();
            assert!(message.contains(says), "{text}: {message}");
        }
        assert_eq!(tokens("118.0", "prompt"), Ok(118));
    }
}
