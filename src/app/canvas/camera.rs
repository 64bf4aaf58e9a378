//! The view of the drawing: which world point is at the canvas's corner, and how large.

use eframe::egui::{Pos2, Rect, Vec2};

/// Least and most zoom.
const RANGE: (f32, f32) = (0.04, 4.0);
/// Fitting never enlarges beyond this: a lone node should look like one.
const LARGEST_FIT: f32 = 1.5;

/// Pan and zoom.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Camera {
    /// World point at the canvas's top left.
    pub origin: Pos2,
    /// Points on screen per world point.
    pub zoom: f32,
}

impl Default for Camera {
    fn default() -> Self {
        Self {
            origin: Pos2::ZERO,
            zoom: 1.0,
        }
    }
}

impl Camera {
    /// World to screen, on a canvas at that place.
    #[must_use]
    pub fn to_screen(&self, canvas: Rect, world: Pos2) -> Pos2 {
        canvas.min + (world - self.origin) * self.zoom
    }

    /// Screen to world.
    #[must_use]
    pub fn to_world(&self, canvas: Rect, screen: Pos2) -> Pos2 {
        self.origin + (screen - canvas.min) / self.zoom
    }

    /// A world rectangle on screen.
    #[must_use]
    pub fn rect(&self, canvas: Rect, world: Rect) -> Rect {
        Rect::from_min_max(
            self.to_screen(canvas, world.min),
            self.to_screen(canvas, world.max),
        )
    }

    /// The part of the world in view.
    #[must_use]
    pub fn view(&self, canvas: Rect) -> Rect {
        Rect::from_min_max(
            self.to_world(canvas, canvas.min),
            self.to_world(canvas, canvas.max),
        )
    }

    /// Moves the drawing with the pointer.
    pub fn pan(&mut self, screen: Vec2) {
        if screen.is_finite() {
            self.origin -= screen / self.zoom;
        }
    }

    /// Zooms, what is at `anchor` on screen staying there.
    pub fn zoom_at(&mut self, canvas: Rect, anchor: Pos2, factor: f32) {
        let zoom = (self.zoom * factor).clamp(RANGE.0, RANGE.1);
        if !zoom.is_finite() || !anchor.x.is_finite() || !anchor.y.is_finite() {
            return;
        }
        let fixed = self.to_world(canvas, anchor);
        self.zoom = zoom;
        self.origin = fixed - (anchor - canvas.min) / zoom;
    }

    /// Shows all of a world rectangle, centred in the part of the canvas that nothing floats over.
    pub fn fit(&mut self, canvas: Rect, world: Rect) {
        if !world.is_finite()
            || !canvas.is_finite()
            || canvas.width() < 1.0
            || canvas.height() < 1.0
        {
            return;
        }
        let room = Vec2::new(
            (canvas.width() - 64.0).max(32.0),
            (canvas.height() - 128.0).max(32.0),
        );
        let size = world.size().max(Vec2::splat(1.0));
        self.zoom = (room / size).min_elem().clamp(RANGE.0, LARGEST_FIT);
        let middle = canvas.center() - Vec2::new(0.0, 6.0);
        self.origin = world.center() - (middle - canvas.min) / self.zoom;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use eframe::egui::pos2;

    const CANVAS: Rect = Rect {
        min: pos2(180.0, 40.0),
        max: pos2(1180.0, 740.0),
    };

    #[test]
    fn there_and_back() {
        let camera = Camera {
            origin: pos2(-40.0, 12.0),
            zoom: 1.7,
        };
        let world = pos2(123.0, -45.0);
        let back = camera.to_world(CANVAS, camera.to_screen(CANVAS, world));
        assert!((back - world).length() < 1e-3);
    }

    #[test]
    fn what_is_under_the_pointer_stays_there() {
        let mut camera = Camera::default();
        let pointer = pos2(500.0, 300.0);
        let before = camera.to_world(CANVAS, pointer);
        for factor in [1.3, 0.2, 7.0, 1e9, 1e-9] {
            camera.zoom_at(CANVAS, pointer, factor);
            assert!((camera.to_world(CANVAS, pointer) - before).length() < 0.05);
            assert!((RANGE.0..=RANGE.1).contains(&camera.zoom));
        }
        camera.zoom_at(CANVAS, pointer, f32::NAN);
        assert!(camera.zoom.is_finite());
    }

    #[test]
    fn fitting_shows_everything() {
        let mut camera = Camera::default();
        for world in [
            Rect::from_min_max(pos2(-5000.0, 10.0), pos2(9000.0, 400.0)),
            Rect::from_min_max(pos2(10.0, 10.0), pos2(60.0, 40.0)),
        ] {
            camera.fit(CANVAS, world);
            assert!(CANVAS.contains_rect(camera.rect(CANVAS, world)));
        }
        let before = camera;
        camera.fit(CANVAS, Rect::NOTHING);
        assert_eq!(camera, before);
    }
}
