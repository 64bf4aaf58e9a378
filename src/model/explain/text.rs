//! Numbers as people read them.

/// 131072 as `131,072`.
#[must_use]
pub fn grouped(value: u64) -> String {
    let digits = value.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// Three digits and a unit of thousands: `671 B`, `37.4 B`.
pub(super) fn scaled(value: u64, step: f64, units: &[&str]) -> String {
    #[expect(clippy::cast_precision_loss, reason = "only shown")]
    let mut value = value as f64;
    let mut unit = 0;
    while value >= step && unit + 1 < units.len() {
        value /= step;
        unit += 1;
    }
    // One digit fewer would be needed where rounding reaches the next power.
    let number = match value {
        _ if unit == 0 => format!("{value:.0}"),
        v if v < 9.995 => format!("{v:.2}"),
        v if v < 99.95 => format!("{v:.1}"),
        v => format!("{v:.0}"),
    };
    format!("{number} {}", units[unit]).trim_end().to_owned()
}

/// A ratio to three digits.
pub(super) fn ratio(value: f64) -> String {
    match value {
        v if v < 9.995 => format!("{v:.2}"),
        v if v < 99.95 => format!("{v:.1}"),
        v => format!("{v:.0}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_three_digits_or_all_of_them() {
        assert_eq!(grouped(0), "0");
        assert_eq!(grouped(999), "999");
        assert_eq!(grouped(671_026_419_200), "671,026,419,200");
        let bytes = ["B", "KiB", "MiB"];
        assert_eq!(scaled(1000, 1024.0, &bytes), "1000 B");
        assert_eq!(scaled(70_272, 1024.0, &bytes), "68.6 KiB");
        assert_eq!(scaled(1 << 40, 1024.0, &bytes), "1048576 MiB");
    }
}
