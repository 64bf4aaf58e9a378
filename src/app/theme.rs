//! Design tokens: every colour, space and size of the window, for the light and the dark theme.
//! UI code names tokens, never colours.

use crate::plan::Role;
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

    /// The colour of a role; none: idle. The same in drawing, plots, tables and exports, from a
    /// palette that the common colour-blindnesses keep apart (Okabe and Ito 2008), shifted in
    /// lightness for contrast with the theme.
    #[must_use]
    pub const fn role(&self, role: Option<Role>) -> Color32 {
        let (light, dark) = match role {
            Some(Role::Prefill) => (
                Color32::from_rgb(0x00, 0x72, 0xB2),
                Color32::from_rgb(0x4F, 0xA8, 0xE0),
            ),
            Some(Role::Decode) => (
                Color32::from_rgb(0xC4, 0x6A, 0x00),
                Color32::from_rgb(0xE9, 0x9A, 0x2C),
            ),
            Some(Role::Attention) => (
                Color32::from_rgb(0x00, 0x85, 0x62),
                Color32::from_rgb(0x2F, 0xBF, 0x98),
            ),
            Some(Role::Ffn) => (
                Color32::from_rgb(0xA8, 0x4A, 0x82),
                Color32::from_rgb(0xDB, 0x8D, 0xBA),
            ),
            Some(Role::Colocated) => (
                Color32::from_rgb(0x2B, 0x8F, 0xC9),
                Color32::from_rgb(0x7C, 0xC6, 0xF2),
            ),
            None => (
                Color32::from_rgb(0x8A, 0x94, 0xA1),
                Color32::from_rgb(0x7B, 0x87, 0x96),
            ),
        };
        if self.dark { dark } else { light }
    }
}
