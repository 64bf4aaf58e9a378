//! The colours of the program: one per role, one per design, a few neutrals.
//!
//! Hues follow the colour-blind-safe set of Okabe and Ito (sky blue, blue, vermilion, bluish green, reddish purple),
//! moved in lightness until each has a contrast of at least 3:1 with its background (WCAG 2.1, 1.4.11) and every pair
//! stays apart under simulated protanopia, deuteranopia and tritanopia; the tests measure both. Designs are in
//! addition apart in grey, and carry a dash and a marker, so a black-and-white print still tells them from one another.

use super::figure::{Dash, Marker};

/// An opaque sRGB colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Rgb(pub u8, pub u8, pub u8);

/// One meaning in two lightnesses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tone {
    /// On white paper and in the light theme.
    pub on_light: Rgb,
    /// On [`DARK`] and in the dark theme.
    pub on_dark: Rgb,
}

const fn tone(on_light: Rgb, on_dark: Rgb) -> Tone {
    Tone { on_light, on_dark }
}

/// A GPU that both prefills and decodes.
pub const CO_LOCATED: Tone = tone(Rgb(0x12, 0x9B, 0xE6), Rgb(0x2D, 0xCD, 0xFF));
/// A GPU that only prefills.
pub const PREFILL: Tone = tone(Rgb(0x00, 0x44, 0x9A), Rgb(0x3B, 0x7A, 0xF7));
/// A GPU that only decodes.
pub const DECODE: Tone = tone(Rgb(0xDD, 0x64, 0x00), Rgb(0xE8, 0x83, 0x2B));
/// A GPU that runs the attention half of each layer.
pub const ATTENTION: Tone = tone(Rgb(0x11, 0x7D, 0x42), Rgb(0x7D, 0xBE, 0x8E));
/// A GPU that runs the feed-forward (expert) half of each layer.
pub const FFN: Tone = tone(Rgb(0x86, 0x4C, 0x84), Rgb(0xC6, 0x7A, 0xC0));
/// A GPU in no pool.
pub const IDLE: Tone = tone(Rgb(0x89, 0x8F, 0x91), Rgb(0x84, 0x89, 0x89));

/// The role colours with their names, in the order legends list them.
pub const ROLES: [(&str, Tone); 6] = [
    ("co-located", CO_LOCATED),
    ("prefill", PREFILL),
    ("decode", DECODE),
    ("attention", ATTENTION),
    ("ffn", FFN),
    ("idle", IDLE),
];

/// Paper.
pub const PAPER: Rgb = Rgb(0xFF, 0xFF, 0xFF);
/// The dark theme's background.
pub const DARK: Rgb = Rgb(0x1B, 0x1F, 0x24);
/// Titles and headings on paper.
pub const INK: Rgb = Rgb(0x1C, 0x21, 0x28);
/// Tick labels, captions and footnotes on paper (contrast above 4.5:1).
pub const SOFT_INK: Rgb = Rgb(0x57, 0x60, 0x6A);
/// Axis lines and tick marks on paper.
pub const AXIS: Rgb = Rgb(0x8C, 0x95, 0x9F);
/// Grid lines on paper.
pub const GRID: Rgb = Rgb(0xE6, 0xE9, 0xED);
/// Candidates that were not chosen: present, but behind everything else.
pub const CANDIDATE: Rgb = Rgb(0xB0, 0xB7, 0xBE);
/// A limit that must be met, such as an SLO line.
pub const LIMIT: Tone = tone(Rgb(0xB4, 0x23, 0x2C), Rgb(0xFF, 0x8A, 0x80));

/// Errors, from small to large: up to which share a class goes, and its colour. Blue is good and
/// orange bad, with the middle pale, so that it reads the same for colour-blind readers; cells say
/// the number too. The bounds are those the calibrations are held to.
pub const ERROR_SCALE: [(f64, Tone); 6] = [
    (0.03, tone(Rgb(0x1F, 0x5F, 0xA8), Rgb(0x3D, 0x8F, 0xE0))),
    (0.06, tone(Rgb(0x6F, 0xA8, 0xDC), Rgb(0x2A, 0x62, 0x9C))),
    (0.10, tone(Rgb(0xC4, 0xDB, 0xEF), Rgb(0x2B, 0x45, 0x60))),
    (0.15, tone(Rgb(0xFB, 0xE0, 0xC0), Rgb(0x5C, 0x47, 0x2E))),
    (0.25, tone(Rgb(0xF2, 0xA9, 0x5C), Rgb(0x9A, 0x62, 0x22))),
    (
        f64::INFINITY,
        tone(Rgb(0xC2, 0x55, 0x0A), Rgb(0xEE, 0x8A, 0x35)),
    ),
];

/// How a design's curve looks: colour never alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SeriesLook {
    /// Colour.
    pub tone: Tone,
    /// Dash of its line.
    pub dash: Dash,
    /// Marker of its points.
    pub marker: Marker,
}

const fn look(on_light: Rgb, on_dark: Rgb, dash: Dash, marker: Marker) -> SeriesLook {
    SeriesLook {
        tone: tone(on_light, on_dark),
        dash,
        marker,
    }
}

/// Designs A to F.
pub const SERIES: [SeriesLook; 6] = [
    look(
        Rgb(0x2A, 0x57, 0xA3),
        Rgb(0x35, 0x8C, 0xE8),
        Dash::Solid,
        Marker::Circle,
    ),
    look(
        Rgb(0xC0, 0x69, 0x0C),
        Rgb(0xF9, 0x83, 0x21),
        Dash::Dashed,
        Marker::Square,
    ),
    look(
        Rgb(0x00, 0x7C, 0x4B),
        Rgb(0x5D, 0xF2, 0x9D),
        Dash::DashDot,
        Marker::Triangle,
    ),
    look(
        Rgb(0x7E, 0x1E, 0x5F),
        Rgb(0x99, 0x5F, 0x88),
        Dash::Dotted,
        Marker::Diamond,
    ),
    look(
        Rgb(0x32, 0x9C, 0xD8),
        Rgb(0x9C, 0xC1, 0xE0),
        Dash::Solid,
        Marker::Square,
    ),
    look(
        Rgb(0x1C, 0x26, 0x32),
        Rgb(0xF6, 0xF3, 0xE8),
        Dash::Dashed,
        Marker::Circle,
    ),
];

/// The look of the design at `index`. After six the colours repeat with the next dash and marker; all pairs of
/// colour, dash and marker differ among the first twenty-four.
pub fn series(index: usize) -> SeriesLook {
    const DASHES: [Dash; 4] = [Dash::Solid, Dash::Dashed, Dash::DashDot, Dash::Dotted];
    const MARKERS: [Marker; 4] = [
        Marker::Circle,
        Marker::Square,
        Marker::Triangle,
        Marker::Diamond,
    ];
    let base = SERIES[index % SERIES.len()];
    let lap = index / SERIES.len();
    let turn = |position: Option<usize>| (position.unwrap_or(0) + lap) % 4;
    SeriesLook {
        tone: base.tone,
        dash: DASHES[turn(DASHES.iter().position(|&d| d == base.dash))],
        marker: MARKERS[turn(MARKERS.iter().position(|&m| m == base.marker))],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type V = [f64; 3];

    /// Machado, Oliveira and Fernandes 2009, severity 1.0, on linear RGB.
    const SIGHT: [(&str, [V; 3]); 4] = [
        (
            "normal",
            [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]],
        ),
        (
            "protanopia",
            [
                [0.152286, 1.052583, -0.204868],
                [0.114503, 0.786281, 0.099216],
                [-0.003882, -0.048116, 1.051998],
            ],
        ),
        (
            "deuteranopia",
            [
                [0.367322, 0.860646, -0.227968],
                [0.280085, 0.672501, 0.047413],
                [-0.011820, 0.042940, 0.968881],
            ],
        ),
        (
            "tritanopia",
            [
                [1.255528, -0.076749, -0.178779],
                [-0.078411, 0.930809, 0.147602],
                [0.004733, 0.691367, 0.303900],
            ],
        ),
    ];

    fn linear(c: Rgb) -> V {
        [c.0, c.1, c.2].map(|x| {
            let x = f64::from(x) / 255.0;
            if x <= 0.04045 {
                x / 12.92
            } else {
                libm::pow((x + 0.055) / 1.055, 2.4)
            }
        })
    }

    fn luminance(c: Rgb) -> f64 {
        let [r, g, b] = linear(c);
        0.2126 * r + 0.7152 * g + 0.0722 * b
    }

    fn contrast(a: Rgb, b: Rgb) -> f64 {
        let (a, b) = (luminance(a), luminance(b));
        (a.max(b) + 0.05) / (a.min(b) + 0.05)
    }

    /// CIELAB under D65.
    fn lab([r, g, b]: V) -> V {
        let f = |t: f64| {
            if t > 216.0 / 24389.0 {
                libm::cbrt(t)
            } else {
                (24389.0 / 27.0 * t + 16.0) / 116.0
            }
        };
        let x = f((0.4124564 * r + 0.3575761 * g + 0.1804375 * b) / 0.95047);
        let y = f(0.2126729 * r + 0.7151522 * g + 0.0721750 * b);
        let z = f((0.0193339 * r + 0.1191920 * g + 0.9503041 * b) / 1.08883);
        [116.0 * y - 16.0, 500.0 * (x - y), 200.0 * (y - z)]
    }

    fn seen(c: Rgb, sight: &[V; 3]) -> V {
        let c = linear(c);
        lab(sight.map(|row| (row[0] * c[0] + row[1] * c[1] + row[2] * c[2]).clamp(0.0, 1.0)))
    }

    fn sets() -> [(&'static str, Rgb, Vec<Rgb>); 4] {
        let roles = ROLES.map(|(_, tone)| tone);
        [
            (
                "roles on paper",
                PAPER,
                roles.iter().map(|t| t.on_light).collect(),
            ),
            (
                "roles on dark",
                DARK,
                roles.iter().map(|t| t.on_dark).collect(),
            ),
            (
                "designs on paper",
                PAPER,
                SERIES.iter().map(|s| s.tone.on_light).collect(),
            ),
            (
                "designs on dark",
                DARK,
                SERIES.iter().map(|s| s.tone.on_dark).collect(),
            ),
        ]
    }

    #[test]
    fn every_colour_stands_out_from_its_background() {
        for (set, background, colours) in sets() {
            for c in colours {
                assert!(
                    contrast(c, background) >= 3.0,
                    "{set}: {c:?} has {:.2}",
                    contrast(c, background)
                );
            }
        }
        assert!(contrast(LIMIT.on_light, PAPER) >= 4.5 && contrast(LIMIT.on_dark, DARK) >= 4.5);
        assert!(contrast(INK, PAPER) >= 7.0 && contrast(SOFT_INK, PAPER) >= 4.5);
    }

    #[test]
    fn pairs_stay_apart_for_every_kind_of_sight() {
        for (set, _, colours) in sets() {
            for (kind, sight) in &SIGHT {
                for (i, &a) in colours.iter().enumerate() {
                    for &b in &colours[i + 1..] {
                        let (p, q) = (seen(a, sight), seen(b, sight));
                        let distance =
                            libm::sqrt((0..3).map(|k| (p[k] - q[k]) * (p[k] - q[k])).sum());
                        assert!(
                            distance > 16.0,
                            "{set}, {kind}: {a:?} and {b:?} are {distance:.1} apart"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn designs_stay_apart_in_grey() {
        for on_dark in [false, true] {
            let mut grey: Vec<f64> = SERIES
                .iter()
                .map(|s| {
                    lab(linear(if on_dark {
                        s.tone.on_dark
                    } else {
                        s.tone.on_light
                    }))[0]
                })
                .collect();
            grey.sort_by(f64::total_cmp);
            for pair in grey.windows(2) {
                assert!(pair[1] - pair[0] > 5.0, "lightnesses {grey:?}");
            }
        }
    }

    #[test]
    fn no_two_of_the_first_designs_look_alike() {
        let looks: Vec<_> = (0..24).map(series).collect();
        for (i, a) in looks.iter().enumerate() {
            assert!(
                looks[i + 1..].iter().all(|b| a != b),
                "design {i} is repeated"
            );
        }
        for (i, a) in SERIES.iter().enumerate() {
            assert!(
                SERIES[i + 1..]
                    .iter()
                    .all(|b| (a.dash, a.marker) != (b.dash, b.marker))
            );
        }
    }
}
