//! Painting in screen space: world places and sizes go through the camera, text is laid out at
//! its final size, so it is crisp at every zoom.

use super::camera::Camera;
use crate::app::theme::Theme;
use eframe::egui::text::{LayoutJob, TextFormat, TextWrapping};
use eframe::egui::{
    Align2, Color32, CornerRadius, FontFamily, FontId, Mesh, Painter, Pos2, Rect, Shape, Stroke,
    StrokeKind, Vec2, vec2,
};

/// Smaller text can't be read; it is left out.
const SMALLEST: f32 = 6.5;
/// Larger text is a waste of glyph atlas.
const LARGEST: f32 = 48.0;
/// Grid of the canvas, world points; things snap to it.
pub const SNAP: f32 = 8.0;
/// Dots are this many snaps apart.
const DOT_STEP: f32 = 3.0;
/// Least room between dots on screen.
const DOT_ROOM: f32 = 16.0;

/// How much is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Detail {
    /// A rectangle with its role mix.
    Far,
    /// Title and flat tiles.
    Middle,
    /// Everything.
    Near,
}

impl Detail {
    pub fn at(zoom: f32) -> Self {
        if zoom < 0.2 {
            Self::Far
        } else if zoom < 0.5 {
            Self::Middle
        } else {
            Self::Near
        }
    }
}

/// What painting needs everywhere.
pub struct Pen<'a> {
    pub painter: Painter,
    pub canvas: Rect,
    pub camera: Camera,
    pub theme: &'a Theme,
    pub detail: Detail,
    /// Family of titles.
    pub strong: FontFamily,
}

/// The family of titles, where the window has installed it.
pub fn strong(painter: &Painter) -> FontFamily {
    let semibold = FontFamily::Name("Inter SemiBold".into());
    let there = painter.fonts(|fonts| fonts.families().contains(&semibold));
    if there {
        semibold
    } else {
        FontFamily::Proportional
    }
}

impl Pen<'_> {
    pub fn rect(&self, world: Rect) -> Rect {
        self.camera.rect(self.canvas, world)
    }

    pub fn pos(&self, world: Pos2) -> Pos2 {
        self.camera.to_screen(self.canvas, world)
    }

    /// A world length on screen.
    pub fn len(&self, world: f32) -> f32 {
        world * self.camera.zoom
    }

    /// A corner radius that never exceeds the shape it is for.
    pub fn radius(&self, world: f32) -> CornerRadius {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a few points, and float casts saturate"
        )]
        CornerRadius::same(self.len(world).round().clamp(0.0, 24.0) as u8)
    }

    /// The font for a world size, in half points, never wider than asked.
    pub fn font(&self, size: f32) -> Option<FontId> {
        let size = (self.len(size) * 2.0).floor() / 2.0;
        (size >= SMALLEST).then(|| FontId::proportional(size.min(LARGEST)))
    }

    /// One line of text at a screen place, cut with “…” to a screen width. Returns where it is.
    pub fn text(
        &self,
        at: Pos2,
        anchor: Align2,
        text: &str,
        size: f32,
        color: Color32,
        width: f32,
    ) -> Rect {
        match self.font(size) {
            Some(font) => self.text_font(at, anchor, text, font, color, width),
            None => Rect::from_min_size(at, Vec2::ZERO),
        }
    }

    /// The same with a font of screen size.
    pub fn text_font(
        &self,
        at: Pos2,
        anchor: Align2,
        text: &str,
        font: FontId,
        color: Color32,
        width: f32,
    ) -> Rect {
        let job = LayoutJob::single_section(text.to_owned(), TextFormat::simple(font, color));
        self.job(at, anchor, job, width)
    }

    /// Text of several colours.
    pub fn job(&self, at: Pos2, anchor: Align2, mut job: LayoutJob, width: f32) -> Rect {
        if width < 8.0 {
            return Rect::from_min_size(at, Vec2::ZERO);
        }
        job.wrap = TextWrapping {
            max_width: width,
            max_rows: 1,
            break_anywhere: true,
            overflow_character: Some('…'),
        };
        let galley = self.painter.layout_job(job);
        let place = anchor.anchor_size(at, galley.size());
        self.painter.galley(place.min, galley, self.theme.text);
        place
    }

    /// A rectangle filled and framed.
    pub fn frame(&self, rect: Rect, radius: CornerRadius, fill: Color32, stroke: Stroke) {
        self.painter
            .rect(rect, radius, fill, stroke, StrokeKind::Inside);
    }

    /// A label on a pill of its own, so that no line runs through it.
    pub fn pill(
        &self,
        middle: Pos2,
        text: &str,
        font: FontId,
        ink: Color32,
        edge: Color32,
    ) -> Rect {
        let line = font.size;
        let mut job = LayoutJob::single_section(text.to_owned(), TextFormat::simple(font, ink));
        job.halign = eframe::egui::Align::Center;
        let galley = self.painter.layout_job(job);
        let rect = Rect::from_center_size(
            middle,
            galley.size()
                + vec2(
                    line * 1.2,
                    5.0 + (galley.size().y - line * 1.5).max(0.0) * 0.25,
                ),
        );
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "half a line of text"
        )]
        let radius =
            CornerRadius::same((rect.height() / 2.0).min(line).round().clamp(0.0, 32.0) as u8);
        self.frame(rect, radius, self.theme.card, Stroke::new(1.0, edge));
        self.painter
            .galley(rect.center() - galley.rect.center().to_vec2(), galley, ink);
        rect
    }

    /// The dots things snap to, as one mesh.
    pub fn grid(&self) {
        let mut step = SNAP * DOT_STEP;
        while self.len(step) < DOT_ROOM {
            step *= 2.0;
        }
        let view = self.camera.view(self.canvas);
        let pixel = 1.0 / self.painter.pixels_per_point();
        let half = if self.painter.pixels_per_point() < 1.5 {
            pixel
        } else {
            pixel * 1.5
        };
        let mut mesh = Mesh::default();
        let mut y = (view.top() / step).floor() * step;
        while y <= view.bottom() {
            let mut x = (view.left() / step).floor() * step;
            while x <= view.right() {
                let dot = self.pos(Pos2::new(x, y));
                mesh.add_colored_rect(
                    Rect::from_center_size(dot, Vec2::splat(2.0 * half)),
                    self.theme.grid,
                );
                x += step;
            }
            y += step;
        }
        self.painter.add(Shape::mesh(mesh));
    }
}

/// `over` laid on `under` with some opacity.
pub fn blend(under: Color32, over: Color32, opacity: f32) -> Color32 {
    under.lerp_to_gamma(over, opacity)
}
