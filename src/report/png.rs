//! A figure as pixels, or as an SVG whose text is outlines; both through resvg with the embedded font alone.

use std::sync::{Arc, OnceLock};

use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::{self, fontdb};

use super::error::ReportError;
use super::figure::Figure;
use super::fonts::Weight;
use super::style::Style;
use super::svg::to_svg;

/// Most pixels a side.
pub const MAX_SIDE: u32 = 16_384;

/// Most pixels altogether: 100 million are 400 MB while drawing.
const MAX_PIXELS: f64 = 1e8;

/// The figure as a PNG file of `scale` pixels per unit of `style`. The same figure gives the same bytes.
pub fn to_png(figure: &Figure, style: &Style, scale: f32) -> Result<Vec<u8>, ReportError> {
    if !(scale.is_finite() && scale > 0.0) {
        return Err(ReportError::Scale { scale });
    }
    let tree = parse(&to_svg(figure, style))?;
    let side = |length: f32| (f64::from(length) * f64::from(scale)).round().max(1.0);
    let (width, height) = (side(tree.size().width()), side(tree.size().height()));
    let max = MAX_SIDE;
    if width > f64::from(max) || height > f64::from(max) || width * height > MAX_PIXELS {
        return Err(ReportError::TooLarge { width, height, max });
    }
    let mut pixels = Pixmap::new(width as u32, height as u32).ok_or(ReportError::TooLarge {
        width,
        height,
        max,
    })?;
    // Rounded sizes: stretch by less than half a pixel rather than leave a transparent edge.
    let transform = Transform::from_scale(
        width as f32 / tree.size().width(),
        height as f32 / tree.size().height(),
    );
    resvg::render(&tree, transform, &mut pixels.as_mut());
    pixels.encode_png().map_err(|cause| ReportError::Image {
        cause: cause.to_string(),
    })
}

/// The figure as an SVG whose text is outlines: the same look where Inter is not installed, but no longer text.
pub fn to_outlined_svg(figure: &Figure, style: &Style) -> Result<String, ReportError> {
    Ok(parse(&to_svg(figure, style))?.to_string(&usvg::WriteOptions::default()))
}

fn parse(svg: &str) -> Result<usvg::Tree, ReportError> {
    static FONTS: OnceLock<Arc<fontdb::Database>> = OnceLock::new();
    let fonts = FONTS.get_or_init(|| {
        let mut fonts = fontdb::Database::new();
        for weight in Weight::ALL {
            fonts.load_font_source(fontdb::Source::Binary(Arc::new(weight.bytes())));
        }
        fonts.set_sans_serif_family("Inter");
        Arc::new(fonts)
    });
    let options = usvg::Options {
        fontdb: Arc::clone(fonts),
        font_family: "Inter".into(),
        ..usvg::Options::default()
    };
    usvg::Tree::from_str(svg, &options).map_err(|cause| ReportError::Image {
        cause: cause.to_string(),
    })
}
