//! The quantities themselves. Each is a number in base units behind a type.

use super::parse::{Unit, UnitError, in_base, number_and_scale, print};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use std::fmt;
use std::ops::{Add, AddAssign, Div, Mul, Sub};
use std::str::FromStr;

const fn unit(word: &'static str, scale: f64) -> Unit {
    Unit {
        word,
        scale,
        prints: true,
    }
}

const fn alias(word: &'static str, scale: f64) -> Unit {
    Unit {
        word,
        scale,
        prints: false,
    }
}

/// The serde half every quantity shares: its text form.
macro_rules! text_form {
    ($name:ident) => {
        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = std::borrow::Cow::<'_, str>::deserialize(deserializer)?;
                text.parse().map_err(de::Error::custom)
            }
        }
    };
}

/// A non-negative, finite real quantity.
macro_rules! real_quantity {
    ($(#[$doc:meta])* $name:ident, example $example:literal, bare $bare:literal, [$($unit:expr),* $(,)?]) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Default)]
        pub struct $name(f64);

        impl $name {
            const UNITS: &'static [Unit] = &[$($unit),*];

            /// Zero.
            pub const ZERO: Self = Self(0.0);

            /// From a number of base units. NaN, infinities and negatives become zero: they can't
            /// come from text, and arithmetic that makes one is a bug its caller's tests must see.
            #[must_use]
            pub const fn new(base_units: f64) -> Self {
                if base_units.is_finite() && base_units > 0.0 { Self(base_units) } else { Self(0.0) }
            }

            /// The number of base units.
            #[must_use]
            pub const fn get(self) -> f64 {
                self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(&print(self.0, Self::UNITS))
            }
        }

        impl FromStr for $name {
            type Err = UnitError;

            fn from_str(text: &str) -> Result<Self, UnitError> {
                let (number, scale) = number_and_scale(text, Self::UNITS, $bare, $example)?;
                let value = in_base(number, scale);
                if value.is_finite() {
                    Ok(Self(value))
                } else {
                    Err(UnitError::OutOfRange { text: text.trim().to_owned() })
                }
            }
        }

        impl Add for $name {
            type Output = Self;
            fn add(self, other: Self) -> Self {
                Self::new(self.0 + other.0)
            }
        }

        impl Mul<f64> for $name {
            type Output = Self;
            fn mul(self, factor: f64) -> Self {
                Self::new(self.0 * factor)
            }
        }

        impl Div<$name> for $name {
            /// The ratio of two like quantities has no unit.
            type Output = f64;
            fn div(self, other: Self) -> f64 {
                self.0 / other.0
            }
        }

        text_form!($name);
    };
}

real_quantity!(
    /// Bytes per second, one direction. `Gb/s` is 10⁹ *bits*, as links are sold; `400G` is the
    /// network engineer's word for `400 Gb/s`.
    ByteRate, example "400 Gb/s", bare false, [
        unit("B/s", 1.0), unit("kB/s", 1e3), unit("MB/s", 1e6), unit("GB/s", 1e9), unit("TB/s", 1e12),
        unit("Gb/s", 1e9 / 8.0),
        alias("Mb/s", 1e6 / 8.0), alias("Tb/s", 1e12 / 8.0), alias("KB/s", 1e3),
        alias("G", 1e9 / 8.0), alias("Gbps", 1e9 / 8.0), alias("Gbit/s", 1e9 / 8.0), alias("Tbps", 1e12 / 8.0),
        alias("GiB/s", 1_073_741_824.0),
    ]
);

real_quantity!(
    /// Floating-point (or integer) operations per second; a multiply-add counts as two.
    FlopRate, example "989 TFLOPS", bare false, [
        unit("FLOPS", 1.0), unit("GFLOPS", 1e9), unit("TFLOPS", 1e12), alias("PFLOPS", 1e15),
        alias("TOPS", 1e12), alias("POPS", 1e15), alias("TFLOP/s", 1e12), alias("PFLOP/s", 1e15),
    ]
);

real_quantity!(
    /// A span of time in seconds, where a real number will do. Inside the simulator time is an
    /// integer (see `sim::time`).
    Seconds, example "50 ms", bare false, [
        unit("s", 1.0), unit("ms", 1e-3), unit("us", 1e-6), unit("ns", 1e-9),
        alias("µs", 1e-6), alias("μs", 1e-6), alias("min", 60.0), alias("h", 3600.0), alias("d", 86_400.0),
    ]
);

real_quantity!(
    /// Electric power.
    Watts, example "700 W", bare false, [unit("W", 1.0), unit("kW", 1e3), unit("MW", 1e6), alias("mW", 1e-3)]
);

real_quantity!(
    /// Money, US dollars.
    Dollars, example "$2.00", bare true, [unit("$", 1.0), alias("USD", 1.0)]
);

real_quantity!(
    /// Price of renting or owning something, US dollars per hour.
    DollarsPerHour, example "2 $/h", bare true, [
        unit("$/h", 1.0), alias("/h", 1.0), alias("USD/h", 1.0), alias("$/hr", 1.0), alias("/hr", 1.0),
    ]
);

impl Seconds {
    /// From milliseconds.
    #[must_use]
    pub const fn from_ms(ms: f64) -> Self {
        Self::new(ms / 1e3)
    }

    /// From microseconds.
    #[must_use]
    pub const fn from_us(us: f64) -> Self {
        Self::new(us / 1e6)
    }
}

impl ByteRate {
    /// From a number of 10⁹ bytes per second.
    #[must_use]
    pub const fn from_gb_per_s(gb: f64) -> Self {
        Self::new(gb * 1e9)
    }
}

/// A whole-number quantity.
macro_rules! whole_quantity {
    ($(#[$doc:meta])* $name:ident, what $what:literal, example $example:literal, bare $bare:literal, [$($unit:expr),* $(,)?]) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
        pub struct $name(u64);

        impl $name {
            const UNITS: &'static [Unit] = &[$($unit),*];

            /// Zero.
            pub const ZERO: Self = Self(0);

            /// From a count.
            #[must_use]
            pub const fn new(count: u64) -> Self {
                Self(count)
            }

            /// The count.
            #[must_use]
            pub const fn get(self) -> u64 {
                self.0
            }

            /// The count as a real number, for arithmetic with rates.
            #[must_use]
            #[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^53")]
            pub const fn as_f64(self) -> f64 {
                self.0 as f64
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(&print(self.as_f64(), Self::UNITS))
            }
        }

        impl FromStr for $name {
            type Err = UnitError;

            fn from_str(text: &str) -> Result<Self, UnitError> {
                // Largest count an f64 holds exactly: 2^53.
                const LARGEST: f64 = 9_007_199_254_740_992.0;
                let (number, scale) = number_and_scale(text, Self::UNITS, $bare, $example)?;
                let value = number * scale;
                if !(0.0..=LARGEST).contains(&value) {
                    return Err(UnitError::OutOfRange { text: text.trim().to_owned() });
                }
                // `0.3 GB` is 299999999.99999994 in binary: take the whole number it means.
                let whole = value.round();
                if (value - whole).abs() > whole.max(1.0) * 1e-12 {
                    return Err(UnitError::NotWhole { text: text.trim().to_owned(), what: $what });
                }
                #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked above")]
                Ok(Self(whole as u64))
            }
        }

        impl Add for $name {
            type Output = Self;
            fn add(self, other: Self) -> Self {
                Self(self.0.saturating_add(other.0))
            }
        }

        impl AddAssign for $name {
            fn add_assign(&mut self, other: Self) {
                *self = *self + other;
            }
        }

        impl Sub for $name {
            type Output = Self;
            /// Saturates at zero.
            fn sub(self, other: Self) -> Self {
                Self(self.0.saturating_sub(other.0))
            }
        }

        impl Mul<u64> for $name {
            type Output = Self;
            fn mul(self, factor: u64) -> Self {
                Self(self.0.saturating_mul(factor))
            }
        }

        impl std::iter::Sum for $name {
            fn sum<I: Iterator<Item = Self>>(items: I) -> Self {
                items.fold(Self::ZERO, Add::add)
            }
        }

        text_form!($name);
    };
}

whole_quantity!(
    /// A number of bytes. `GB` is 10⁹ (datasheets, links), `GiB` 2³⁰ (allocators).
    Bytes, what "bytes", example "80 GB", bare false, [
        unit("B", 1.0), unit("kB", 1e3), unit("MB", 1e6), unit("GB", 1e9), unit("TB", 1e12), unit("PB", 1e15),
        alias("KB", 1e3),
        unit("KiB", 1024.0), unit("MiB", 1_048_576.0), unit("GiB", 1_073_741_824.0), unit("TiB", 1_099_511_627_776.0),
    ]
);

whole_quantity!(
    /// A number of tokens.
    Tokens, what "tokens", example "2048", bare true, [unit("", 1.0), alias("tokens", 1.0), alias("k", 1e3), alias("K", 1024.0)]
);

impl Bytes {
    /// 2³⁰ bytes times `count`.
    #[must_use]
    pub const fn from_gib(count: u64) -> Self {
        Self(count * 1_073_741_824)
    }

    /// 10⁹ bytes times `count`.
    #[must_use]
    pub const fn from_gb(count: u64) -> Self {
        Self(count * 1_000_000_000)
    }

    /// Rounds a real number of bytes up; negative and NaN become zero.
    #[must_use]
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "float casts saturate"
    )]
    pub fn from_f64_ceil(bytes: f64) -> Self {
        Self(bytes.ceil() as u64)
    }

    /// In GiB, for people.
    #[must_use]
    pub fn gib(self) -> f64 {
        self.as_f64() / 1_073_741_824.0
    }
}

impl Div<ByteRate> for Bytes {
    type Output = Seconds;
    /// How long the bytes take at the rate. At rate zero, which no legal plan has, zero.
    fn div(self, rate: ByteRate) -> Seconds {
        Seconds::new(self.as_f64() / rate.get())
    }
}
