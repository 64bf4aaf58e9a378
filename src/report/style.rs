//! How large a figure is, and the sizes that follow.

use super::fonts::Weight;
use super::palette::AXIS;
use super::scene::Pen;
use super::text::Font;

/// Size of a drawing on paper.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Style {
    /// Width in CSS pixels (96 to the inch).
    pub width: f64,
    /// Least height in CSS pixels; the drawing grows where texts need more.
    pub height: f64,
    /// Size of headings and legend; ticks and footnotes are smaller, the title larger.
    pub font_size: f64,
}

impl Style {
    /// A wide figure for a screen or a report.
    pub const WIDE: Self = Self {
        width: 1000.0,
        height: 380.0,
        font_size: 13.0,
    };
    /// One column of a two-column paper: 86 mm wide, texts of 7.5 pt.
    pub const PAPER_COLUMN: Self = Self {
        width: 325.0,
        height: 240.0,
        font_size: 10.0,
    };
    /// Both columns of a two-column paper: 178 mm wide, texts of 7.5 pt.
    pub const PAPER_PAGE: Self = Self {
        width: 673.0,
        height: 220.0,
        font_size: 10.0,
    };
    /// A slide of 16:9.
    pub const SLIDE: Self = Self {
        width: 1280.0,
        height: 720.0,
        font_size: 20.0,
    };

    /// The nearest style that can be drawn: finite, no side beyond 16,384, and at least 18 em wide.
    pub(super) fn sane(self) -> Self {
        let or = |value: f64, default: f64| if value.is_finite() { value } else { default };
        let font_size = or(self.font_size, Self::WIDE.font_size).clamp(4.0, 200.0);
        Self {
            width: or(self.width, Self::WIDE.width).clamp(18.0 * font_size, 16_384.0),
            height: or(self.height, Self::WIDE.height).clamp(font_size, 16_384.0),
            font_size,
        }
    }
}

impl Default for Style {
    fn default() -> Self {
        Self::WIDE
    }
}

/// Sizes that follow from the font size.
#[derive(Clone, Copy, Debug)]
pub(super) struct Measures {
    pub(super) em: f64,
    pub(super) title: Font,
    pub(super) caption: Font,
    pub(super) heading: Font,
    pub(super) tick: Font,
    pub(super) note: Font,
    pub(super) foot: Font,
    pub(super) curve: f64,
    pub(super) hairline: f64,
    pub(super) radius: f64,
}

impl Measures {
    pub(super) fn new(em: f64) -> Self {
        let font = |weight, size: f64| Font {
            weight,
            size: size * em,
        };
        Self {
            em,
            title: font(Weight::SemiBold, 1.3),
            caption: font(Weight::Regular, 1.0),
            heading: font(Weight::Medium, 1.0),
            tick: font(Weight::Regular, 0.88),
            note: font(Weight::Medium, 0.85),
            foot: font(Weight::Regular, 0.8),
            curve: 0.14 * em,
            hairline: 0.065 * em,
            radius: 0.3 * em,
        }
    }
}

/// The pen of axis lines.
pub(super) fn axis_pen(m: &Measures) -> Pen {
    Pen::solid(AXIS, m.hairline)
}
