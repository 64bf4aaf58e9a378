//! What a figure comes down to: lines, shapes and texts with places, before any file format.

use super::figure::{Dash, Marker};
use super::fonts::{CAP_HEIGHT, DESCENT};
use super::palette::Rgb;
use super::text::Font;

/// A point: right, down.
pub(super) type Point = [f64; 2];

/// A drawing of a given size.
#[derive(Clone, Debug, Default)]
pub(super) struct Scene {
    pub(super) width: f64,
    pub(super) height: f64,
    /// Areas that items may be clipped to.
    pub(super) clips: Vec<Area>,
    /// In the order they are painted.
    pub(super) items: Vec<Item>,
}

/// An upright rectangle.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Area {
    pub(super) left: f64,
    pub(super) top: f64,
    pub(super) width: f64,
    pub(super) height: f64,
}

impl Area {
    pub(super) fn right(&self) -> f64 {
        self.left + self.width
    }

    pub(super) fn bottom(&self) -> f64 {
        self.top + self.height
    }

    pub(super) fn overlaps(&self, other: &Self) -> bool {
        self.left < other.right()
            && other.left < self.right()
            && self.top < other.bottom()
            && other.top < self.bottom()
    }

    pub(super) fn contains(&self, [x, y]: Point) -> bool {
        x >= self.left && x <= self.right() && y >= self.top && y <= self.bottom()
    }

    /// The area with `by` more on every side.
    pub(super) fn grown(&self, by: f64) -> Self {
        Self {
            left: self.left - by,
            top: self.top - by,
            width: self.width + 2.0 * by,
            height: self.height + 2.0 * by,
        }
    }

    /// Whether `other` lies wholly inside.
    #[cfg(test)]
    pub(super) fn holds(&self, other: &Self) -> bool {
        self.left <= other.left
            && self.top <= other.top
            && self.right() >= other.right()
            && self.bottom() >= other.bottom()
    }
}

/// A line's look.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Pen {
    pub(super) color: Rgb,
    pub(super) width: f64,
    pub(super) dash: Dash,
    /// 0 to 1.
    pub(super) opacity: f64,
}

impl Pen {
    pub(super) fn solid(color: Rgb, width: f64) -> Self {
        Self {
            color,
            width,
            dash: Dash::Solid,
            opacity: 1.0,
        }
    }
}

/// One thing painted.
#[derive(Clone, Debug)]
pub(super) enum Item {
    /// A filled rectangle.
    Fill {
        area: Area,
        color: Rgb,
        opacity: f64,
    },
    /// Joined straight lines; `clip` is an index into [`Scene::clips`].
    Path {
        points: Vec<Point>,
        pen: Pen,
        clip: Option<usize>,
    },
    /// A filled outline.
    Polygon {
        points: Vec<Point>,
        color: Rgb,
        opacity: f64,
        clip: Option<usize>,
    },
    /// A marker; hollow ones show paper inside.
    Marker {
        at: Point,
        marker: Marker,
        radius: f64,
        color: Rgb,
        hollow: bool,
        /// Paper around a filled marker.
        halo: bool,
    },
    /// A text.
    Text(Label),
}

/// Which end of a text its place is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}

/// A line of text.
#[derive(Clone, Debug)]
pub(super) struct Label {
    /// On the baseline, at the anchor.
    pub(super) at: Point,
    pub(super) anchor: Anchor,
    pub(super) font: Font,
    pub(super) color: Rgb,
    /// Paper around the letters, for text over lines.
    pub(super) halo: bool,
    pub(super) text: String,
}

impl Label {
    /// The box of the text, from capital height to descent.
    pub(super) fn area(&self) -> Area {
        let width = self.font.width(&self.text);
        let left = match self.anchor {
            Anchor::Start => self.at[0],
            Anchor::Middle => self.at[0] - width / 2.0,
            Anchor::End => self.at[0] - width,
        };
        let top = self.at[1] - CAP_HEIGHT * self.font.size;
        Area {
            left,
            top,
            width,
            height: (CAP_HEIGHT + DESCENT) * self.font.size,
        }
    }
}

impl Scene {
    /// Paints a straight line.
    pub(super) fn line(&mut self, from: Point, to: Point, pen: Pen) {
        self.items.push(Item::Path {
            points: vec![from, to],
            pen,
            clip: None,
        });
    }

    /// Paints a text unless it is empty.
    pub(super) fn text(&mut self, label: Label) {
        if !label.text.is_empty() {
            self.items.push(Item::Text(label));
        }
    }

    /// All texts.
    #[cfg(test)]
    pub(super) fn labels(&self) -> impl Iterator<Item = &Label> {
        self.items.iter().filter_map(|item| {
            if let Item::Text(label) = item {
                Some(label)
            } else {
                None
            }
        })
    }
}
