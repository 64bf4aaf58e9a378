//! A figure as data: what is drawn, not how.
//!
//! One figure holds one to four panels over a common x axis, for instance TTFT, TPOT and throughput against the
//! request rate. The same value is drawn on screen by the window and on paper by [`super::to_svg`].

use super::palette::Rgb;

/// Most panels one figure draws; further ones are left out.
pub const MAX_PANELS: usize = 4;

/// A figure.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// Headline; empty for none.
    pub title: String,
    /// Caption under the headline.
    pub subtitle: Option<String>,
    /// The axis all panels share.
    pub x: Axis,
    /// One to [`MAX_PANELS`] panels.
    pub panels: Vec<Panel>,
    /// How panels are put together.
    pub arrangement: Arrangement,
    /// Where series are named.
    pub legend: Legend,
    /// What a muted (hollow) point means, for the legend: "saturated".
    pub muted_means: Option<String>,
    /// Provenance and remarks, one line each.
    pub footnote: Vec<String>,
}

impl Figure {
    /// A figure with panels arranged by the space there is and a legend above them.
    pub fn new(title: impl Into<String>, x: Axis, panels: Vec<Panel>) -> Self {
        Self {
            title: title.into(),
            subtitle: None,
            x,
            panels,
            arrangement: Arrangement::Auto,
            legend: Legend::Above,
            muted_means: None,
            footnote: Vec::new(),
        }
    }
}

/// How panels are put together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Arrangement {
    /// Side by side where the width allows it, else stacked.
    #[default]
    Auto,
    /// Side by side.
    Row,
    /// Stacked.
    Column,
}

/// Where series are named.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Legend {
    /// In rows above the panels.
    #[default]
    Above,
    /// At the right end of each curve, for a single panel; as [`Legend::Above`] where the names do not fit.
    Direct,
    /// Nowhere.
    Off,
}

/// An axis.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    /// What is measured: "TTFT p95".
    pub label: String,
    /// Its unit: "ms"; empty for none.
    pub unit: String,
    /// Linear or logarithmic.
    pub scale: Scale,
    /// Lowest and highest value shown; `None` takes them from the data. A range that the scale cannot show (not
    /// finite, empty, or not positive on a log axis) counts as `None`.
    pub range: Option<[f64; 2]>,
}

impl Axis {
    /// A linear axis that takes its range from the data.
    pub fn linear(label: impl Into<String>, unit: impl Into<String>) -> Self {
        Self {
            label: label.into(),
            unit: unit.into(),
            scale: Scale::Linear,
            range: None,
        }
    }

    /// A decimal logarithmic axis that takes its range from the data.
    pub fn log10(label: impl Into<String>, unit: impl Into<String>) -> Self {
        Self {
            scale: Scale::Log10,
            ..Self::linear(label, unit)
        }
    }

    /// The axis' full title: "TTFT p95 (ms)".
    pub fn title(&self) -> String {
        match (self.label.is_empty(), self.unit.is_empty()) {
            (_, true) => self.label.clone(),
            (true, false) => self.unit.clone(),
            (false, false) => format!("{} ({})", self.label, self.unit),
        }
    }
}

/// How values map to distance along an axis.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scale {
    /// In proportion.
    #[default]
    Linear,
    /// By decimal logarithm; values that are not positive are left out.
    Log10,
}

/// One plot of a figure.
#[derive(Clone, Debug, PartialEq)]
pub struct Panel {
    /// The panel's own axis; its title heads the panel.
    pub y: Axis,
    /// Curves and point clouds, drawn in this order.
    pub series: Vec<Series>,
    /// Shaded regions, behind everything.
    pub bands: Vec<Band>,
    /// Lines and notes.
    pub marks: Vec<Mark>,
}

impl Panel {
    /// A panel with nothing but series.
    pub fn new(y: Axis, series: Vec<Series>) -> Self {
        Self {
            y,
            series,
            bands: Vec::new(),
            marks: Vec::new(),
        }
    }
}

/// A curve or a cloud of points.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// Name in the legend. Series of the same name in several panels are one legend entry; empty for no entry.
    pub name: String,
    /// Colour on paper.
    pub color: Rgb,
    /// Dash of the line.
    pub dash: Dash,
    /// Marker of the points.
    pub marker: Marker,
    /// Points `[x, y]`, joined in this order. A point that is not finite is left out and breaks the line.
    pub points: Vec<[f64; 2]>,
    /// Uncertainty: `[x, low, high]` in order of x.
    pub band: Option<Vec<[f64; 3]>>,
    /// Per point: drawn hollow and its line faint, for instance because the system was saturated there. Missing
    /// entries count as `false`.
    pub muted: Vec<bool>,
}

impl Series {
    /// The curve of the design at `index` in the look that [`super::palette::series`] gives it.
    pub fn of_design(index: usize, name: impl Into<String>, points: Vec<[f64; 2]>) -> Self {
        let look = super::palette::series(index);
        Self {
            name: name.into(),
            color: look.tone.on_light,
            dash: look.dash,
            marker: look.marker,
            points,
            band: None,
            muted: Vec::new(),
        }
    }

    /// Whether the point at `index` is muted.
    pub fn is_muted(&self, index: usize) -> bool {
        self.muted.get(index).copied().unwrap_or(false)
    }
}

/// How a line is broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Dash {
    /// Unbroken.
    Solid,
    /// Long dashes.
    Dashed,
    /// Dots.
    Dotted,
    /// Dash, dot.
    DashDot,
    /// No line: points only.
    Hidden,
}

/// The shape at a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Marker {
    /// A disc.
    Circle,
    /// A square.
    Square,
    /// A triangle, point up.
    Triangle,
    /// A square on its corner.
    Diamond,
    /// A five-pointed star, larger than the others: the best of a set.
    Star,
    /// Nothing.
    None,
}

/// A shaded region between two values of one axis; an infinite end goes to the edge of the plot.
#[derive(Clone, Debug, PartialEq)]
pub struct Band {
    /// The axis `from` and `to` are on.
    pub along: Direction,
    /// One end.
    pub from: f64,
    /// The other end.
    pub to: f64,
    /// Colour; drawn at a low opacity.
    pub color: Rgb,
    /// Text inside the region.
    pub label: Option<String>,
}

/// One of the two axes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// The horizontal axis.
    X,
    /// The vertical axis.
    Y,
}

/// A line across the plot, or a note at a point.
#[derive(Clone, Debug, PartialEq)]
pub enum Mark {
    /// A straight line at one value of an axis: at a y value it is horizontal, at an x value vertical. A value just
    /// outside the data widens the plot; one far outside is named at the edge with an arrow.
    Line {
        /// The axis `at` is on.
        along: Direction,
        /// Where.
        at: f64,
        /// Text beside the line.
        label: Option<String>,
        /// Colour of line and text.
        color: Rgb,
        /// Dash.
        dash: Dash,
    },
    /// A text with an optional marker at a point.
    Note {
        /// `[x, y]`.
        at: [f64; 2],
        /// The text.
        text: String,
        /// Colour of marker and text.
        color: Rgb,
        /// The marker.
        marker: Marker,
    },
}

impl Mark {
    /// A horizontal limit, such as an SLO.
    pub fn limit(at: f64, label: impl Into<String>) -> Self {
        Self::Line {
            along: Direction::Y,
            at,
            label: Some(label.into()),
            color: super::palette::LIMIT.on_light,
            dash: Dash::Dashed,
        }
    }

    /// The best of a set: starred and named.
    pub fn best(at: [f64; 2], text: impl Into<String>, color: Rgb) -> Self {
        Self::Note {
            at,
            text: text.into(),
            color,
            marker: Marker::Star,
        }
    }
}
