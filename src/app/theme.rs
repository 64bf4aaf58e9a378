//! Design tokens: every colour, space and size of the window, for the light and the dark theme.
//! UI code names tokens, never colours.

use crate::plan::Role;
use crate::report::{Rgb, palette};
use eframe::egui::Color32;

/// Spacing scale, points.
pub mod space {
    /// Between an icon and its word.
    pub const XS: f32 = 4.0;
    /// Between rows.
    pub const S: f32 = 8.0;
    /// Between groups.
    pub const M: f32 = 12.0;
    /// Around panels.
    pub const L: f32 = 16.0;
}

/// Type scale, points.
pub mod text {
    /// Units, footnotes.
    pub const SMALL: f32 = 11.0;
    /// Body.
    pub const BODY: f32 = 13.0;
    /// Headings of sections.
    pub const HEADING: f32 = 15.0;
    /// Title of the selection.
    pub const TITLE: f32 = 18.0;
}

/// Corner radius of cards and buttons, points.
pub const RADIUS: u8 = 6;

/// The colours of one theme.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Theme {
    /// Dark or light.
    pub dark: bool,
    /// Behind the drawing.
    pub canvas: Color32,
    /// Dots of the grid.
    pub grid: Color32,
    /// Panels.
    pub panel: Color32,
    /// Cards: nodes, rows, inputs.
    pub card: Color32,
    /// A card under the pointer.
    pub card_hover: Color32,
    /// Hairlines.
    pub line: Color32,
    /// Text.
    pub text: Color32,
    /// Text that matters less.
    pub text_muted: Color32,
    /// What can be clicked and what is selected.
    pub accent: Color32,
    /// Text on accent.
    pub on_accent: Color32,
    /// Selected rows.
    pub accent_soft: Color32,
    /// Errors.
    pub error: Color32,
    /// Warnings.
    pub warning: Color32,
    /// All well.
    pub good: Color32,
    /// Drawn links.
    pub link: Color32,
}

impl Theme {
    /// The light theme.
    #[must_use]
    pub const fn light() -> Self {
        Self {
            dark: false,
            canvas: Color32::from_rgb(0xF5, 0xF7, 0xF9),
            grid: Color32::from_rgb(0xDD, 0xE2, 0xE8),
            panel: Color32::from_rgb(0xFF, 0xFF, 0xFF),
            card: Color32::from_rgb(0xFF, 0xFF, 0xFF),
            card_hover: Color32::from_rgb(0xF0, 0xF4, 0xFA),
            line: Color32::from_rgb(0xD5, 0xDA, 0xE1),
            text: Color32::from_rgb(0x17, 0x20, 0x2B),
            text_muted: Color32::from_rgb(0x5A, 0x66, 0x75),
            accent: Color32::from_rgb(0x1F, 0x5F, 0xD6),
            on_accent: Color32::from_rgb(0xFF, 0xFF, 0xFF),
            accent_soft: Color32::from_rgb(0xE3, 0xEC, 0xFB),
            error: Color32::from_rgb(0xB3, 0x26, 0x1E),
            warning: Color32::from_rgb(0x9A, 0x5B, 0x00),
            good: Color32::from_rgb(0x1B, 0x7F, 0x3B),
            link: Color32::from_rgb(0x7C, 0x8A, 0x9C),
        }
    }

    /// The dark theme.
    #[must_use]
    pub const fn dark() -> Self {
        Self {
            dark: true,
            canvas: Color32::from_rgb(0x16, 0x1A, 0x20),
            grid: Color32::from_rgb(0x2A, 0x31, 0x3B),
            panel: Color32::from_rgb(0x1D, 0x22, 0x2A),
            card: Color32::from_rgb(0x26, 0x2C, 0x36),
            card_hover: Color32::from_rgb(0x30, 0x38, 0x44),
            line: Color32::from_rgb(0x3A, 0x43, 0x50),
            text: Color32::from_rgb(0xE8, 0xEC, 0xF2),
            text_muted: Color32::from_rgb(0x9D, 0xA9, 0xB8),
            accent: Color32::from_rgb(0x6E, 0xA8, 0xFF),
            on_accent: Color32::from_rgb(0x0E, 0x16, 0x22),
            accent_soft: Color32::from_rgb(0x25, 0x38, 0x57),
            error: Color32::from_rgb(0xFF, 0x8A, 0x80),
            warning: Color32::from_rgb(0xF2, 0xB8, 0x4B),
            good: Color32::from_rgb(0x6F, 0xD0, 0x8C),
            link: Color32::from_rgb(0x8B, 0x99, 0xAC),
        }
    }

    /// The colour of a role; none: idle. The one set of [`palette`], so that drawing, plots, tables
    /// and exports agree, in the tone that stands out from this theme's ground.
    #[must_use]
    pub const fn role(&self, role: Option<Role>) -> Color32 {
        let tone = match role {
            Some(Role::Prefill) => palette::PREFILL,
            Some(Role::Decode) => palette::DECODE,
            Some(Role::Attention) => palette::ATTENTION,
            Some(Role::Ffn) => palette::FFN,
            Some(Role::Colocated) => palette::CO_LOCATED,
            None => palette::IDLE,
        };
        let Rgb(r, g, b) = if self.dark {
            tone.on_dark
        } else {
            tone.on_light
        };
        Color32::from_rgb(r, g, b)
    }

    /// The same for words: nearer to the text's colour, for the contrast that small type needs.
    #[must_use]
    pub fn role_ink(&self, role: Option<Role>) -> Color32 {
        self.role(role).lerp_to_gamma(self.text, 0.4)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn luminance(color: Color32) -> f64 {
        let part = |x: u8| {
            let x = f64::from(x) / 255.0;
            if x <= 0.04045 {
                x / 12.92
            } else {
                libm::pow((x + 0.055) / 1.055, 2.4)
            }
        };
        0.2126 * part(color.r()) + 0.7152 * part(color.g()) + 0.0722 * part(color.b())
    }

    /// WCAG 2.1.
    fn contrast(a: Color32, b: Color32) -> f64 {
        let (a, b) = (luminance(a), luminance(b));
        (a.max(b) + 0.05) / (a.min(b) + 0.05)
    }

    fn roles() -> impl Iterator<Item = Option<Role>> {
        Role::ALL.into_iter().map(Some).chain([None])
    }

    // How far the tones are from each other, for every kind of sight, is tested where they are.
    #[test]
    fn roles_have_the_colours_of_exports() {
        for theme in [Theme::light(), Theme::dark()] {
            let mut seen: Vec<Color32> = roles().map(|role| theme.role(role)).collect();
            let exported: Vec<Color32> = palette::ROLES
                .iter()
                .map(|(_, tone)| {
                    if theme.dark {
                        tone.on_dark
                    } else {
                        tone.on_light
                    }
                })
                .map(|Rgb(r, g, b)| Color32::from_rgb(r, g, b))
                .collect();
            assert!(seen.iter().all(|color| exported.contains(color)));
            seen.sort_by_key(|c| c.to_array());
            seen.dedup();
            assert_eq!(seen.len(), palette::ROLES.len());
        }
    }

    #[test]
    fn colours_stand_out_from_every_ground_of_the_theme() {
        for theme in [Theme::light(), Theme::dark()] {
            for ground in [theme.canvas, theme.panel, theme.card] {
                for role in roles() {
                    let (color, ink) = (theme.role(role), theme.role_ink(role));
                    assert!(
                        contrast(color, ground) >= 2.7,
                        "{role:?} on {ground:?}: {}",
                        contrast(color, ground)
                    );
                    assert!(
                        contrast(ink, ground) >= 4.5,
                        "{role:?} as words on {ground:?}: {}",
                        contrast(ink, ground)
                    );
                }
                for ink in [
                    theme.text,
                    theme.text_muted,
                    theme.error,
                    theme.warning,
                    theme.good,
                    theme.accent,
                ] {
                    assert!(
                        contrast(ink, ground) >= 4.5,
                        "{ink:?} on {ground:?}: {}",
                        contrast(ink, ground)
                    );
                }
            }
            assert!(contrast(theme.on_accent, theme.accent) >= 4.5);
        }
    }
}
