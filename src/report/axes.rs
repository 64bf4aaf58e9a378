//! The ranges of a figure's axes and the ticks there is room for.

use super::figure::{Direction, Figure, Mark, Panel, Scale};
use super::scale::{Domain, Rounding};
use super::style::Measures;
use super::ticks::Tick;

/// What a mark adds to the values along an axis.
fn hints(panel: &Panel, direction: Direction) -> impl Iterator<Item = f64> + '_ {
    let marks = panel.marks.iter().filter_map(move |mark| match mark {
        Mark::Line { along, at, .. } => (*along == direction).then_some(*at),
        Mark::Note { at, .. } => Some(at[usize::from(direction == Direction::Y)]),
    });
    let bands = panel
        .bands
        .iter()
        .filter(move |band| band.along == direction)
        .flat_map(|band| [band.from, band.to]);
    marks.chain(bands)
}

/// The x range of all panels.
pub(super) fn x_domain(figure: &Figure, panels: &[&Panel]) -> Option<Domain> {
    let shown = |panel: &Panel, y: f64| Domain::shows(panel.y.scale, y);
    let values = panels.iter().flat_map(|panel| {
        let points = panel.series.iter().flat_map(|s| &s.points);
        points.filter(|p| shown(panel, p[1])).map(|p| p[0])
    });
    let hints = panels.iter().flat_map(|panel| hints(panel, Direction::X));
    Domain::of(&figure.x, values, hints, Rounding::Pad)
}

/// The y range of the points that the x axis shows.
pub(super) fn y_domain(
    panel: &Panel,
    x: Option<&Domain>,
    figure: &Figure,
    height: f64,
    em: f64,
) -> Option<Domain> {
    let visible = |at: f64| match (x, figure.x.range) {
        (Some(x), Some(_)) => x
            .fraction(at)
            .is_some_and(|f| (-1e-9..=1.0 + 1e-9).contains(&f)),
        _ => Domain::shows(figure.x.scale, at),
    };
    let points = panel
        .series
        .iter()
        .flat_map(|s| &s.points)
        .filter(|p| visible(p[0]))
        .map(|p| p[1]);
    let bands = panel
        .series
        .iter()
        .flat_map(|s| s.band.iter().flatten())
        .filter(|b| visible(b[0]));
    let values = points.chain(bands.flat_map(|b| [b[1], b[2]]));
    Domain::of(
        &panel.y,
        values,
        hints(panel, Direction::Y),
        Rounding::ToTick(vertical_count(height, em)),
    )
}

/// Ticks that a y axis of `height` has room for.
fn vertical_count(height: f64, em: f64) -> usize {
    (height / (2.1 * em)).clamp(2.0, 8.0) as usize
}

/// Ticks of a y axis of `height`, their labels apart.
pub(super) fn vertical_ticks(domain: Option<&Domain>, height: f64, m: &Measures) -> Vec<Tick> {
    let Some(domain) = domain else {
        return Vec::new();
    };
    let apart = |set: &[Tick]| {
        let places: Vec<f64> = set
            .iter()
            .filter_map(|t| domain.fraction(t.value))
            .map(|f| f * height)
            .collect();
        places
            .windows(2)
            .all(|pair| pair[1] - pair[0] >= 1.35 * m.tick.size)
    };
    let count = match domain.scale() {
        // One more than the range was rounded for: the check below has the last word.
        Scale::Linear => vertical_count(height, m.em) + 1,
        Scale::Log10 => 12,
    };
    domain.ticks(count, apart)
}

/// Ticks of an x axis of `width`, their labels apart.
pub(super) fn horizontal_ticks(domain: Option<&Domain>, width: f64, m: &Measures) -> Vec<Tick> {
    let Some(domain) = domain else {
        return Vec::new();
    };
    let apart = |set: &[Tick]| {
        let mut end = f64::NEG_INFINITY;
        set.iter().all(|tick| {
            let half = m.tick.width(&tick.label) / 2.0;
            let middle = domain.fraction(tick.value).unwrap_or(0.0) * width;
            let free = middle - half >= end + 0.8 * m.tick.size;
            end = middle + half;
            free
        })
    };
    let count = (width / (2.4 * m.em)).clamp(2.0, 12.0) as usize;
    domain.ticks(
        if domain.scale() == Scale::Linear {
            count
        } else {
            16
        },
        apart,
    )
}
