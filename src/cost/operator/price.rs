//! What pricing an operator returns: its parts, where it comes from, how far it may be off.

/// Where a price comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Origin {
    /// Interpolated in a user's own measurements.
    Measured,
    /// A fit of measurements on this GPU.
    Calibrated,
    /// A fit, asked outside the range that was measured.
    Extrapolated,
    /// A relative's fit, scaled by the physics.
    Relative,
    /// The same, asked outside the range that was measured.
    RelativeExtrapolated,
    /// Datasheet peaks and one efficiency per class.
    Roofline,
    /// Given by the design (host time).
    Given,
}

impl Origin {
    /// All, in index order.
    pub const ALL: [Self; 7] = [
        Self::Measured,
        Self::Calibrated,
        Self::Extrapolated,
        Self::Relative,
        Self::RelativeExtrapolated,
        Self::Roofline,
        Self::Given,
    ];
    /// How many.
    pub const COUNT: usize = Self::ALL.len();

    /// Its words, after “so much of the time”.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Measured => "measured",
            Self::Calibrated => "calibrated",
            Self::Extrapolated => "calibrated, extrapolated",
            Self::Relative => "a relative's calibration",
            Self::RelativeExtrapolated => "a relative's calibration, extrapolated",
            Self::Roofline => "roofline",
            Self::Given => "given by the design",
        }
    }
}

/// How far a price may be off: shares below and above, `(0.3, 0.5)` meaning −30 % … +50 %.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Band {
    /// The true time may be this share below.
    pub below: f64,
    /// The true time may be this share above.
    pub above: f64,
}

/// So little outside what was measured is not called extrapolated.
pub const MEASURED_UP_TO: f64 = 1.05;

/// The price of one operator and its parts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OpCost {
    /// Seconds the arithmetic takes.
    pub compute: f64,
    /// Seconds the memory takes.
    pub memory: f64,
    /// Seconds links take.
    pub link: f64,
    /// Seconds of launch and ramp that nothing hides.
    pub launch: f64,
    /// Seconds in all: arithmetic and memory overlap inside a kernel.
    pub seconds: f64,
    /// Kernels launched.
    pub kernels: u32,
    /// Where it comes from.
    pub origin: Origin,
    /// How far it may be off.
    pub band: Band,
    /// How far outside what was measured the shape lies: a factor on the farthest size, 1 inside.
    pub beyond: f64,
}

impl OpCost {
    /// Where it comes from, in words: `calibrated, extrapolated ×80`.
    #[must_use]
    pub fn label(&self) -> String {
        let name = self.origin.name();
        if self.beyond <= MEASURED_UP_TO {
            return name.to_owned();
        }
        let factor = if self.beyond < 10.0 {
            format!("{:.1}", self.beyond)
        } else {
            format!("{:.0}", self.beyond)
        };
        match self.origin {
            Origin::Extrapolated | Origin::RelativeExtrapolated => format!("{name} ×{factor}"),
            _ => format!("{name}, extrapolated ×{factor}"),
        }
    }

    /// Arithmetic and memory overlap whole; launch and links do not.
    #[must_use]
    pub fn roofline(
        compute: f64,
        memory: f64,
        link: f64,
        launch: f64,
        kernels: u32,
        band: Band,
    ) -> Self {
        Self {
            compute,
            memory,
            link,
            launch,
            seconds: compute.max(memory) + link + launch,
            kernels,
            origin: Origin::Roofline,
            band,
            beyond: 1.0,
        }
    }

    /// Seconds in all.
    #[must_use]
    pub const fn seconds(&self) -> f64 {
        self.seconds
    }

    /// This and then another. Comes from where the longer one does; the bands add up.
    #[must_use]
    pub fn then(&self, other: &Self) -> Self {
        let seconds = self.seconds + other.seconds;
        let off = |own: fn(&Band) -> f64| {
            if seconds > 0.0 {
                (own(&self.band) * self.seconds + own(&other.band) * other.seconds) / seconds
            } else {
                0.0
            }
        };
        Self {
            compute: self.compute + other.compute,
            memory: self.memory + other.memory,
            link: self.link + other.link,
            launch: self.launch + other.launch,
            seconds,
            kernels: self.kernels + other.kernels,
            origin: if self.seconds < other.seconds {
                other.origin
            } else {
                self.origin
            },
            band: Band {
                below: off(|band| band.below),
                above: off(|band| band.above),
            },
            beyond: self.beyond.max(other.beyond),
        }
    }
}
