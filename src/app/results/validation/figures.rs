//! Parity plots of measured and predicted latencies, as figures and as numbers.

use crate::plan::EngineKind;
use crate::report::palette::SOFT_INK;
use crate::report::{Axis, Cell, Column, Dash, Figure, Marker, Panel, ReportError, Series, Table};
use crate::validation::Predicted;

/// One of the two latencies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::app) enum Latency {
    Tpot,
    Ttft,
}

impl Latency {
    pub(in crate::app) const ALL: [Self; 2] = [Self::Tpot, Self::Ttft];

    pub(in crate::app) const fn name(self) -> &'static str {
        match self {
            Self::Tpot => "TPOT",
            Self::Ttft => "TTFT",
        }
    }

    /// Measured and predicted, s.
    pub(in crate::app) fn of(self, own: &Predicted) -> [f64; 2] {
        match self {
            Self::Tpot => [own.measured.tpot, own.prediction.tpot],
            Self::Ttft => [own.measured.ttft, own.prediction.ttft],
        }
    }

    /// Predicted / measured − 1.
    pub(in crate::app) fn error(self, own: &Predicted) -> f64 {
        let [measured, predicted] = self.of(own);
        predicted / measured - 1.0
    }
}

/// Conditions of one engine: the same places in the same series of both plots.
#[derive(Debug, Clone, PartialEq)]
pub struct Cloud {
    /// Its engine.
    pub engine: EngineKind,
    /// Places among the predicted.
    pub of: Vec<usize>,
    /// Measured and predicted TPOT and TTFT, ms.
    points: [Vec<[f64; 2]>; 2],
}

/// The conditions by engine.
pub(in crate::app) fn parity_clouds(predicted: &[Predicted]) -> Vec<Cloud> {
    EngineKind::ALL
        .into_iter()
        .map(|engine| {
            let of: Vec<usize> = (0..predicted.len())
                .filter(|index| predicted[*index].measured.condition.engine == engine)
                .collect();
            let points = Latency::ALL.map(|latency| {
                let ms = |index: &usize| latency.of(&predicted[*index]).map(|s| s * 1e3);
                of.iter().map(ms).collect()
            });
            Cloud { engine, of, points }
        })
        .filter(|cloud| !cloud.of.is_empty())
        .collect()
}

/// Lines of what is exact and what is 10 and 20 % off.
const LINES: [(&str, f64, Dash); 5] = [
    ("exact", 1.0, Dash::Solid),
    ("±10 %", 1.1, Dash::Dashed),
    ("±10 %", 0.9, Dash::Dashed),
    ("±20 %", 1.2, Dash::Dotted),
    ("±20 %", 0.8, Dash::Dotted),
];

/// Where the clouds' series start among a figure's.
pub(super) const FIRST_CLOUD: usize = LINES.len();

/// A latency's plot; none: there is nothing to show.
pub(super) fn parity_figure(latency: Latency, clouds: &[Cloud]) -> Option<Figure> {
    let range = range(clouds, &[latency])?;
    let mut x = Axis::log10("Measured", "ms");
    x.range = Some(range);
    let panel = panel(latency, clouds, range, latency.name().to_owned());
    Some(Figure::new(latency.name(), x, vec![panel]))
}

/// Both plots as one figure, over one axis.
pub(super) fn exported(title: &str, clouds: &[Cloud]) -> Option<Figure> {
    let range = range(clouds, &Latency::ALL)?;
    let mut x = Axis::log10("Measured", "ms");
    x.range = Some(range);
    let panels = Latency::ALL.map(|latency| {
        let name = format!("{} predicted", latency.name());
        panel(latency, clouds, range, name)
    });
    Some(Figure::new(title, x, panels.into()))
}

/// From below the lowest to above the highest value.
fn range(clouds: &[Cloud], of: &[Latency]) -> Option<[f64; 2]> {
    let all = || {
        let points = clouds.iter().flat_map(|cloud| {
            of.iter()
                .flat_map(|latency| &cloud.points[*latency as usize])
        });
        points.flatten().copied().filter(|value| *value > 0.0)
    };
    let low = all().fold(f64::INFINITY, f64::min) / 1.3;
    let high = all().filter(|v| v.is_finite()).fold(0.0, f64::max) * 1.3;
    (low < high).then_some([low, high])
}

fn panel(latency: Latency, clouds: &[Cloud], [low, high]: [f64; 2], name: String) -> Panel {
    let lines = LINES.iter().map(|(name, factor, dash)| Series {
        name: (*name).to_owned(),
        color: SOFT_INK,
        dash: *dash,
        marker: Marker::None,
        points: vec![[low, low * factor], [high, high * factor]],
        band: None,
        muted: Vec::new(),
    });
    let dots = clouds.iter().map(|cloud| {
        let place = EngineKind::ALL.iter().position(|own| *own == cloud.engine);
        let points = cloud.points[latency as usize].clone();
        let mut series =
            Series::of_design(place.unwrap_or(0), cloud.engine.name().to_owned(), points);
        series.dash = Dash::Hidden;
        series
    });
    let mut y = Axis::log10(name, "ms");
    y.range = Some([low, high]);
    Panel::new(y, lines.chain(dots).collect())
}

/// Every condition as numbers.
///
/// # Errors
/// A row does not fit its columns, which no input causes.
pub(super) fn conditions_table(predicted: &[Predicted]) -> Result<Table, ReportError> {
    let mut columns: Vec<Column> = [
        "id",
        "engine",
        "version",
        "gpu",
        "model",
        "precision",
        "prompt",
        "answer",
        "in flight",
    ]
    .map(|name| Column::new(name, ""))
    .into();
    columns.extend(
        [
            "measured TPOT",
            "predicted TPOT",
            "measured TTFT",
            "predicted TTFT",
        ]
        .map(|name| Column::new(name, "ms")),
    );
    let mut table = Table::new(columns);
    for own in predicted {
        let c = &own.measured.condition;
        let mut row: Vec<Cell> = vec![
            own.measured.ids.join(" ").into(),
            c.engine.name().to_owned().into(),
            c.version.clone().into(),
            c.system.clone().into(),
            c.model.clone().into(),
            c.precision.clone().into(),
            Cell::Count(c.isl.into()),
            Cell::Count(c.osl.into()),
            Cell::Count(c.concurrency.into()),
        ];
        let latencies = Latency::ALL.into_iter().flat_map(|latency| latency.of(own));
        row.extend(latencies.map(|seconds| Cell::Number(seconds * 1e3)));
        table.push(row)?;
    }
    Ok(table)
}
