//! A scene as SVG text.
//!
//! Written by hand so that the same figure gives the same bytes everywhere: fixed decimals, fixed order, no ids but
//! counted ones. Text stays text, in Inter with common fallbacks.

use super::figure::{Dash, Figure, Marker};
use super::fonts;
use super::layout::compose;
use super::palette::{PAPER, Rgb};
use super::scene::{Anchor, Item, Label, Pen, Point, Scene};
use super::style::Style;

/// The figure as an SVG document, in the unit of `style` (CSS pixels, 96 to the inch). The drawing is taller than
/// [`Style::height`] where the texts would otherwise leave the panels too little room.
pub fn to_svg(figure: &Figure, style: &Style) -> String {
    write(&compose(figure, style), &figure.title)
}

pub(super) fn write(scene: &Scene, title: &str) -> String {
    let (width, height) = (number(scene.width), number(scene.height));
    let mut out = String::with_capacity(16_384);
    out.push_str(&format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
         viewBox=\"0 0 {width} {height}\" role=\"img\" font-family=\"{}\">\n",
        fonts::FAMILY
    ));
    if !title.is_empty() {
        out.push_str(&format!("<title>{}</title>\n", escape(title)));
    }
    if !scene.clips.is_empty() {
        out.push_str("<defs>\n");
        for (i, clip) in scene.clips.iter().enumerate() {
            out.push_str(&format!(
                "<clipPath id=\"plot{i}\"><rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/></clipPath>\n",
                number(clip.left),
                number(clip.top),
                number(clip.width),
                number(clip.height)
            ));
        }
        out.push_str("</defs>\n");
    }
    out.push_str(&format!(
        "<rect width=\"{width}\" height=\"{height}\" fill=\"{}\"/>\n",
        hex(PAPER)
    ));
    for item in &scene.items {
        match item {
            Item::Fill {
                area,
                color,
                opacity,
            } => out.push_str(&format!(
                "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"{}\"{}/>\n",
                number(area.left),
                number(area.top),
                number(area.width),
                number(area.height),
                hex(*color),
                opacity_of("fill-opacity", *opacity)
            )),
            Item::Path { points, pen, clip } => path(&mut out, points, pen, *clip),
            Item::Polygon {
                points,
                color,
                opacity,
                clip,
            } => out.push_str(&format!(
                "<path d=\"{}Z\" fill=\"{}\"{}{}/>\n",
                outline(points),
                hex(*color),
                opacity_of("fill-opacity", *opacity),
                clip_of(*clip)
            )),
            Item::Marker {
                at,
                marker,
                radius,
                color,
                hollow,
                halo,
            } => {
                let stroke = radius * 0.36;
                // Paper around filled markers keeps crossing curves readable; hollow ones are as large by their line.
                let (fill, line) = match (hollow, halo) {
                    (true, _) => (PAPER, Some((*color, stroke))),
                    (false, true) => (*color, Some((PAPER, stroke * 0.6))),
                    (false, false) => (*color, None),
                };
                mark(&mut out, *at, *marker, *radius, &paint(fill, line));
            }
            Item::Text(label) => text(&mut out, label),
        }
    }
    out.push_str("</svg>\n");
    out
}

fn path(out: &mut String, points: &[Point], pen: &Pen, clip: Option<usize>) {
    let Some(dashes) = dashes(pen) else { return };
    out.push_str(&format!(
        "<path d=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"{}\" stroke-linejoin=\"round\"{dashes}{}{}/>\n",
        outline(points),
        hex(pen.color),
        number(pen.width),
        opacity_of("stroke-opacity", pen.opacity),
        clip_of(clip)
    ));
}

/// The dash attribute; `None` for a hidden line.
fn dashes(pen: &Pen) -> Option<String> {
    let pattern: &[f64] = match pen.dash {
        Dash::Hidden => return None,
        Dash::Solid => return Some(String::new()),
        Dash::Dashed => &[4.2, 2.2],
        Dash::Dotted => &[1.3, 1.7],
        Dash::DashDot => &[5.0, 1.8, 1.3, 1.8],
    };
    let lengths: Vec<String> = pattern.iter().map(|l| number(l * pen.width)).collect();
    Some(format!(" stroke-dasharray=\"{}\"", lengths.join(" ")))
}

fn paint(fill: Rgb, line: Option<(Rgb, f64)>) -> String {
    let line = line.map(|(color, width)| {
        format!(
            " stroke=\"{}\" stroke-width=\"{}\"",
            hex(color),
            number(width)
        )
    });
    format!("fill=\"{}\"{}", hex(fill), line.unwrap_or_default())
}

fn mark(out: &mut String, at: Point, marker: Marker, radius: f64, paint: &str) {
    let [x, y] = at;
    let corners = |points: &[Point]| -> String {
        let placed: Vec<Point> = points
            .iter()
            .map(|p| [x + p[0] * radius, y + p[1] * radius])
            .collect();
        format!("<path d=\"{}Z\" {paint}/>\n", outline(&placed))
    };
    // Sizes give the shapes about the same area.
    out.push_str(&match marker {
        Marker::None => String::new(),
        Marker::Circle => {
            format!(
                "<circle cx=\"{}\" cy=\"{}\" r=\"{}\" {paint}/>\n",
                number(x),
                number(y),
                number(radius)
            )
        }
        Marker::Square => corners(&[[-0.89, -0.89], [0.89, -0.89], [0.89, 0.89], [-0.89, 0.89]]),
        Marker::Triangle => corners(&[[0.0, -1.26], [1.16, 0.84], [-1.16, 0.84]]),
        Marker::Diamond => corners(&[[0.0, -1.28], [1.28, 0.0], [0.0, 1.28], [-1.28, 0.0]]),
        Marker::Star => corners(&STAR),
    });
}

/// A five-pointed star of outer radius 1.9 and inner radius 0.8.
const STAR: [Point; 10] = [
    [0.0, -1.9],
    [0.4702, -0.6472],
    [1.807, -0.5871],
    [0.7608, 0.2472],
    [1.1168, 1.5371],
    [0.0, 0.8],
    [-1.1168, 1.5371],
    [-0.7608, 0.2472],
    [-1.807, -0.5871],
    [-0.4702, -0.6472],
];

fn text(out: &mut String, label: &Label) {
    let anchor = match label.anchor {
        Anchor::Start => "",
        Anchor::Middle => " text-anchor=\"middle\"",
        Anchor::End => " text-anchor=\"end\"",
    };
    let halo = if label.halo {
        format!(
            " stroke=\"{}\" stroke-width=\"{}\" stroke-linejoin=\"round\" paint-order=\"stroke\"",
            hex(PAPER),
            number(label.font.size * 0.28)
        )
    } else {
        String::new()
    };
    out.push_str(&format!(
        "<text x=\"{}\" y=\"{}\"{anchor} font-size=\"{}\" font-weight=\"{}\" fill=\"{}\"{halo}>{}</text>\n",
        number(label.at[0]),
        number(label.at[1]),
        number(label.font.size),
        label.font.weight.css(),
        hex(label.color),
        escape(&label.text)
    ));
}

fn outline(points: &[Point]) -> String {
    let mut d = String::with_capacity(points.len() * 14);
    for (i, [x, y]) in points.iter().enumerate() {
        d.push_str(if i == 0 { "M" } else { "L" });
        d.push_str(&number(*x));
        d.push(' ');
        d.push_str(&number(*y));
    }
    d
}

fn clip_of(clip: Option<usize>) -> String {
    clip.map(|i| format!(" clip-path=\"url(#plot{i})\""))
        .unwrap_or_default()
}

fn opacity_of(attribute: &str, opacity: f64) -> String {
    if opacity >= 1.0 {
        String::new()
    } else {
        format!(" {attribute}=\"{}\"", number(opacity))
    }
}

/// At most two decimals, no trailing zeros, no negative zero.
fn number(value: f64) -> String {
    let mut text = format!("{value:.2}");
    text.truncate(text.trim_end_matches('0').trim_end_matches('.').len());
    if text == "-0" { "0".into() } else { text }
}

fn hex(Rgb(r, g, b): Rgb) -> String {
    format!("#{r:02x}{g:02x}{b:02x}")
}

/// Text as XML character data; what XML 1.0 cannot hold is left out.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c if c.is_control() => out.push(' '),
            '\u{FFFE}' | '\u{FFFF}' => {}
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short_and_stable() {
        for (value, text) in [
            (1.0, "1"),
            (1.5, "1.5"),
            (0.126, "0.13"),
            (-0.001, "0"),
            (100.0, "100"),
            (-2.25, "-2.25"),
        ] {
            assert_eq!(number(value), text);
        }
    }

    #[test]
    fn text_cannot_break_out_of_its_element() {
        assert_eq!(
            escape("a<b>&\"c\"\u{0}'"),
            "a&lt;b&gt;&amp;&quot;c&quot; &#39;"
        );
    }
}
