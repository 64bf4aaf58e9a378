//! The embedded typeface and its advances.
//!
//! One family, Inter, in three weights, so that a figure looks the same on every machine and text can be measured
//! before it is drawn. See `assets/README.md` for where the files come from.

use std::sync::OnceLock;

use ttf_parser::Face;

/// Inter Regular (400), a TrueType file.
pub const INTER_REGULAR: &[u8] = include_bytes!("../../assets/fonts/Inter-Regular.ttf");
/// Inter Medium (500), a TrueType file.
pub const INTER_MEDIUM: &[u8] = include_bytes!("../../assets/fonts/Inter-Medium.ttf");
/// Inter SemiBold (600), a TrueType file.
pub const INTER_SEMIBOLD: &[u8] = include_bytes!("../../assets/fonts/Inter-SemiBold.ttf");

/// Family names for a document that is opened elsewhere. Inter is wider than the fallbacks, so text set in one of
/// them still fits where it was placed.
pub const FAMILY: &str = "Inter, Helvetica, Arial, sans-serif";

/// Height of a capital letter, in em (`OS/2.sCapHeight`: 1490 of 2048 units).
pub(super) const CAP_HEIGHT: f64 = 1490.0 / 2048.0;
/// How far letters go below the baseline, in em (`hhea.descent`: 494 of 2048 units).
pub(super) const DESCENT: f64 = 494.0 / 2048.0;

/// Advance assumed for a character the font lacks, in em.
const UNKNOWN_ADVANCE: f64 = 0.75;

/// A weight of the embedded family.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weight {
    /// 400.
    Regular,
    /// 500.
    Medium,
    /// 600.
    SemiBold,
}

impl Weight {
    /// All weights, lightest first.
    pub const ALL: [Self; 3] = [Self::Regular, Self::Medium, Self::SemiBold];

    /// The weight as CSS counts it.
    pub fn css(self) -> u16 {
        match self {
            Self::Regular => 400,
            Self::Medium => 500,
            Self::SemiBold => 600,
        }
    }

    /// The font file.
    pub fn bytes(self) -> &'static [u8] {
        match self {
            Self::Regular => INTER_REGULAR,
            Self::Medium => INTER_MEDIUM,
            Self::SemiBold => INTER_SEMIBOLD,
        }
    }

    fn face(self) -> Option<&'static Face<'static>> {
        static FACES: [OnceLock<Option<Face<'static>>>; 3] = [const { OnceLock::new() }; 3];
        let slot = match self {
            Self::Regular => &FACES[0],
            Self::Medium => &FACES[1],
            Self::SemiBold => &FACES[2],
        };
        slot.get_or_init(|| Face::parse(self.bytes(), 0).ok())
            .as_ref()
    }
}

/// Width of `text` set at `size`, in the unit of `size`.
///
/// The sum of advances, without kerning: Inter's kerning only ever takes away, so this is an upper bound in practice.
pub fn text_width(text: &str, weight: Weight, size: f64) -> f64 {
    let face = weight.face();
    let em = |c: char| -> f64 {
        let Some(face) = face else {
            return UNKNOWN_ADVANCE;
        };
        let advance = face
            .glyph_index(c)
            .and_then(|glyph| face.glyph_hor_advance(glyph));
        match advance {
            Some(advance) => f64::from(advance) / f64::from(face.units_per_em()),
            None => UNKNOWN_ADVANCE,
        }
    };
    text.chars().map(em).sum::<f64>() * size
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_weight_parses_and_holds_the_characters_the_program_draws() {
        for weight in Weight::ALL {
            let face = weight.face().expect("font parses");
            for c in "AZaz09éłŐµΔπ←↑→↓↔⇄≤≥×÷±≈∞√·●■▲◆★○□△◇☆✓✕⚠⁰¹²³⁴⁻₂€$–—−…“”".chars()
            {
                assert!(face.glyph_index(c).is_some(), "{weight:?} lacks {c}");
            }
            assert_eq!(face.units_per_em(), 2048);
            assert!(weight.bytes().len() < 120_000);
        }
    }

    #[test]
    fn figures_are_tabular_and_bolder_is_wider() {
        for weight in Weight::ALL {
            let zero = text_width("0", weight, 100.0);
            for digit in '1'..='9' {
                assert_eq!(text_width(&digit.to_string(), weight, 100.0), zero);
            }
        }
        let text = "Output tokens";
        assert!(text_width(text, Weight::SemiBold, 12.0) > text_width(text, Weight::Regular, 12.0));
        assert_eq!(text_width("", Weight::Regular, 12.0), 0.0);
    }
}
