//! Where an axis is labelled and what the labels say.
//!
//! Linear ticks fall on multiples of 1, 2 or 5 times a power of ten; logarithmic ones on decades and, where there is
//! room, on 2 and 5 times a decade. Labels of one linear axis share their number of decimals and their suffix, so a
//! column of them reads at a glance: 0.0, 0.5, 1.0 or 0, 20k, 40k.

/// Most ticks an axis gets, whatever is asked for.
const MAX_TICKS: usize = 40;

/// A labelled tick.
#[derive(Clone, Debug, PartialEq)]
pub struct Tick {
    /// Its place on the axis.
    pub value: f64,
    /// What is written there.
    pub label: String,
}

/// The step out of 1, 2, 5 × 10ᵏ that cuts `span` into about `count` parts, never more than `count` + 1 ticks.
pub fn nice_step(span: f64, count: usize) -> f64 {
    let raw = span / count.max(1) as f64;
    if !(raw.is_finite() && raw > 0.0) {
        return 1.0;
    }
    let exponent = libm::floor(libm::log10(raw)) as i32;
    // The small excess keeps a raw step of 1.9999999 from becoming 5.
    let fraction = raw / decade(exponent) * (1.0 - 1e-9);
    let (digit, exponent) = match fraction {
        f if f <= 1.0 => (1.0, exponent),
        f if f <= 2.0 => (2.0, exponent),
        f if f <= 5.0 => (5.0, exponent),
        _ => (1.0, exponent + 1),
    };
    digit * decade(exponent)
}

/// Ticks of a linear axis from `low` to `high`, at most `count` + 1 of them.
pub fn linear(low: f64, high: f64, count: usize) -> Vec<Tick> {
    let count = count.clamp(1, MAX_TICKS - 1);
    let step = nice_step(high - low, count);
    // Ends that miss a tick by rounding only still get it.
    let slack = 1e-9;
    let first = libm::ceil(low / step - slack);
    let last = libm::floor(high / step + slack);
    if !(0.0..MAX_TICKS as f64).contains(&(last - first)) {
        return Vec::new();
    }
    let values: Vec<f64> = (0..=(last - first) as usize)
        .map(|i| (first + i as f64) * step)
        .collect();
    let labels = linear_labels(&values, step);
    let mut ticks: Vec<Tick> = Vec::with_capacity(values.len());
    for (value, label) in values.into_iter().zip(labels) {
        // A span far below the magnitude of its ends runs out of decimals; say each value once.
        if ticks.last().is_none_or(|previous| previous.label != label) {
            ticks.push(Tick { value, label });
        }
    }
    ticks
}

/// Labels of equally spaced values, with as many decimals as `step` needs.
fn linear_labels(values: &[f64], step: f64) -> Vec<String> {
    let largest = values.iter().fold(0.0_f64, |most, v| most.max(v.abs()));
    let (divisor, suffix) = suffix_of(largest, 1e4);
    let step = step / divisor;
    if largest >= 1e15 || (largest > 0.0 && largest < 1e-3) {
        return values.iter().map(|&v| scientific(v)).collect();
    }
    let decimals = (0..=9).find(|&d| is_whole(step * decade(d))).unwrap_or(9) as usize;
    values
        .iter()
        .map(|&v| {
            if is_zero(v, step * divisor) {
                zero(decimals, suffix)
            } else {
                fixed(v / divisor, decimals, suffix)
            }
        })
        .collect()
}

fn is_zero(value: f64, step: f64) -> bool {
    value.abs() < step * 1e-6
}

fn zero(decimals: usize, suffix: &str) -> String {
    if suffix.is_empty() {
        fixed(0.0, decimals, "")
    } else {
        "0".into()
    }
}

fn is_whole(value: f64) -> bool {
    (value - libm::round(value)).abs() < 1e-6 * value.abs().max(1.0)
}

/// Candidate tick sets of a logarithmic axis over `[low, high]`, densest first; the caller takes the first that fits.
pub fn log_candidates(low: f64, high: f64) -> Vec<Vec<Tick>> {
    if !(low > 0.0 && high >= low && high.is_finite()) {
        return vec![Vec::new()];
    }
    let (first, last) = (
        libm::floor(libm::log10(low)) as i32,
        libm::ceil(libm::log10(high)) as i32,
    );
    let inside = |v: f64| v >= low * (1.0 - 1e-9) && v <= high * (1.0 + 1e-9);
    let of = |digits: &[f64], stride: i32| -> Vec<Tick> {
        (first..=last)
            .filter(|k| k.rem_euclid(stride) == 0)
            .flat_map(|k| digits.iter().map(move |d| d * decade(k)))
            .filter(|&v| inside(v))
            .map(|value| Tick {
                value,
                label: single(value),
            })
            .collect()
    };
    let mut sets = vec![of(&[1.0, 2.0, 5.0], 1), of(&[1.0, 3.0], 1), of(&[1.0], 1)];
    sets.extend([2, 3, 5, 10, 20, 50, 100, 200].map(|stride| of(&[1.0], stride)));
    let enough = |set: &Vec<Tick>| set.len() >= 2;
    if sets.first().is_some_and(enough) {
        sets.retain(enough);
    } else {
        // Less than a factor of about two: the axis is as good as linear.
        sets = (1..=6)
            .rev()
            .map(|count| linear(low, high, count))
            .collect();
    }
    sets
}

/// Unlabelled ticks of a logarithmic axis: 2…9 times each decade; none over many decades.
pub fn log_minor(low: f64, high: f64) -> Vec<f64> {
    if !(low > 0.0 && high >= low && high.is_finite()) {
        return Vec::new();
    }
    let (first, last) = (
        libm::floor(libm::log10(low)) as i32,
        libm::ceil(libm::log10(high)) as i32,
    );
    if last - first > 8 {
        return Vec::new();
    }
    (first..=last)
        .flat_map(|k| (2..=9).map(move |d| f64::from(d) * decade(k)))
        .filter(|&v| v >= low && v <= high)
        .collect()
}

/// One value by itself: "0.5", "2000", "20k", "10M", "10⁻⁵".
pub fn single(value: f64) -> String {
    let size = value.abs();
    if size >= 1e15 || (size > 0.0 && size < 1e-3) {
        return scientific(value);
    }
    let (divisor, suffix) = suffix_of(size, 1e4);
    let scaled = value / divisor;
    let decimals = (0..=6).find(|&d| is_whole(scaled * decade(d))).unwrap_or(3) as usize;
    fixed(scaled, decimals, suffix)
}

/// Divisor and suffix for a largest value; below `from` there is none.
fn suffix_of(largest: f64, from: f64) -> (f64, &'static str) {
    match largest * (1.0 + 1e-12) {
        v if v < from => (1.0, ""),
        v if v >= 1e12 => (1e12, "T"),
        v if v >= 1e9 => (1e9, "G"),
        v if v >= 1e6 => (1e6, "M"),
        _ => (1e3, "k"),
    }
}

/// Fixed decimals with a true minus sign and no negative zero.
fn fixed(value: f64, decimals: usize, suffix: &str) -> String {
    let digits = format!("{:.decimals$}", value.abs());
    let negative = value < 0.0 && digits.bytes().any(|b| (b'1'..=b'9').contains(&b));
    format!("{}{digits}{suffix}", if negative { "−" } else { "" })
}

/// "3×10⁻⁷", "10²⁰".
fn scientific(value: f64) -> String {
    if value == 0.0 {
        return "0".into();
    }
    let text = format!("{:.3e}", value.abs());
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let mantissa = mantissa.trim_end_matches('0').trim_end_matches('.');
    let raised: String = exponent
        .chars()
        .map(|c| match c {
            '-' => '⁻',
            '1' => '¹',
            '2' => '²',
            '3' => '³',
            '4'..='9' => char::from_u32(0x2070 + (c as u32 - 0x30)).unwrap_or(c),
            _ => '⁰',
        })
        .collect();
    let sign = if value < 0.0 { "−" } else { "" };
    if mantissa == "1" {
        format!("{sign}10{raised}")
    } else {
        format!("{sign}{mantissa}×10{raised}")
    }
}

/// 10ᵏ, correctly rounded (a product of tens is not, below 1).
fn decade(k: i32) -> f64 {
    format!("1e{k}").parse().unwrap_or(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(ticks: &[Tick]) -> Vec<&str> {
        ticks.iter().map(|t| t.label.as_str()).collect()
    }

    #[test]
    fn linear_ticks_are_round_and_say_no_more_than_needed() {
        assert_eq!(
            labels(&linear(0.0, 10.0, 5)),
            ["0", "2", "4", "6", "8", "10"]
        );
        assert_eq!(
            labels(&linear(0.0, 1.0, 5)),
            ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]
        );
        assert_eq!(
            labels(&linear(0.0, 2400.0, 5)),
            ["0", "500", "1000", "1500", "2000"]
        );
        assert_eq!(
            labels(&linear(0.0, 61_000.0, 4)),
            ["0", "20k", "40k", "60k"]
        );
        assert_eq!(
            labels(&linear(9_000.0, 11_000.0, 4)),
            ["9.0k", "9.5k", "10.0k", "10.5k", "11.0k"]
        );
        assert_eq!(labels(&linear(-1.0, 1.0, 2)), ["−1", "0", "1"]);
        assert_eq!(
            labels(&linear(0.0, 3e-7, 3)),
            ["0", "10⁻⁷", "2×10⁻⁷", "3×10⁻⁷"]
        );
    }

    #[test]
    fn log_ticks_thin_out_as_decades_grow() {
        let sets = log_candidates(1.0, 1000.0);
        assert_eq!(
            labels(&sets[0]),
            ["1", "2", "5", "10", "20", "50", "100", "200", "500", "1000"]
        );
        assert_eq!(labels(&sets[2]), ["1", "10", "100", "1000"]);
        assert_eq!(
            labels(&log_candidates(0.001, 0.1)[2]),
            ["0.001", "0.01", "0.1"]
        );
        assert!(
            log_candidates(1e-300, 1e300)
                .last()
                .is_some_and(|set| set.len() <= 4)
        );
        assert_eq!(
            labels(&log_candidates(10.0, 12.0)[2]),
            ["10.0", "10.5", "11.0", "11.5", "12.0"]
        );
        assert_eq!(
            log_minor(1.0, 10.0),
            [2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0]
        );
    }

    #[test]
    fn single_values_read_as_people_write_them() {
        for (value, text) in [
            (0.5, "0.5"),
            (1200.0, "1200"),
            (12_500.0, "12.5k"),
            (2e6, "2M"),
            (1e-5, "10⁻⁵"),
            (0.0, "0"),
            (-40.0, "−40"),
            (999.0, "999"),
        ] {
            assert_eq!(single(value), text);
        }
    }

    #[test]
    fn hopeless_ranges_give_few_ticks_and_no_panic() {
        let hopeless = [
            f64::NAN,
            f64::INFINITY,
            f64::NEG_INFINITY,
            0.0,
            -1.0,
            1e-320,
            1e300,
            1e15,
            1e15 + 1.0,
        ];
        for low in hopeless {
            for high in hopeless {
                for count in [0, 1, 7, 10_000] {
                    assert!(linear(low, high, count).len() <= MAX_TICKS);
                }
                assert!(
                    log_candidates(low, high)
                        .iter()
                        .all(|set| set.len() < 3_000)
                );
                assert!(log_minor(low, high).len() < 100);
            }
        }
    }

    proptest::proptest! {
        #[test]
        fn linear_ticks_lie_inside_and_rise(low in -1e9..1e9_f64, span in 1e-6..1e9_f64, count in 1..12_usize) {
            let high = low + span;
            let ticks = linear(low, high, count);
            proptest::prop_assert!(ticks.len() <= count + 1);
            for pair in ticks.windows(2) {
                proptest::prop_assert!(pair[0].value < pair[1].value);
            }
            for tick in &ticks {
                proptest::prop_assert!(tick.value >= low - span * 1e-6 && tick.value <= high + span * 1e-6);
            }
        }
    }
}
