//! Each part of the analysis as a figure.

use crate::report::palette::{self, LIMIT, SOFT_INK};
use crate::report::{Axis, Dash, Direction, Figure, MAX_PANELS, Mark, Marker, Panel, Series};
use crate::study::theory::{
    CostTable, Hardware, ModelCosts, Pipeline, Split, SplitTraffic, Terms, TheoryError, micro_batch,
};
use crate::units::real;

/// Most curves one panel shows apart.
pub const MAX_SERIES: usize = 8;
/// Shortest and longest context of a sweep, where nothing further is asked for.
const SWEEP: [u64; 2] = [1024, 131_072];

/// The same models and GPUs over contexts a factor of two apart, from 1K to 128K or as far as the
/// contexts asked for.
///
/// # Errors
/// As [`CostTable::new`].
pub fn sweep(
    models: &[&crate::model::Model],
    hardware: Vec<Hardware>,
    asked: &[u64],
    terms: Terms,
    pipeline: Pipeline,
) -> Result<CostTable, TheoryError> {
    let first = asked.iter().copied().fold(SWEEP[0], u64::min).max(1);
    let last = asked.iter().copied().fold(SWEEP[1], u64::max);
    let mut contexts = vec![first];
    while let Some(next) = contexts.last().map(|c| c.saturating_mul(2))
        && next <= last
    {
        contexts.push(next);
    }
    CostTable::new(models, hardware, contexts, terms, pipeline)
}

/// What all figures say of their terms.
fn footnote(table: &CostTable) -> Vec<String> {
    vec![format!(
        "Step-3’s analysis (arXiv 2507.19427): {} KV, {} GEMMs where the GPU has them, FLOPs counted as {}; a floor: weights’ traffic amortised, network free",
        table.terms.kv.name(),
        table.terms.gemm.name(),
        table.terms.convention.name(),
    )]
}

fn contexts_axis(table: &CostTable) -> Axis {
    let mut axis = Axis::log10("Context", "tokens");
    if let (Some(first), Some(last)) = (table.contexts.first(), table.contexts.last()) {
        axis.range = Some([real(*first), real(*last)]);
    }
    axis
}

fn shown(table: &CostTable) -> impl Iterator<Item = (usize, &ModelCosts)> {
    table.models.iter().enumerate().take(MAX_SERIES)
}

/// Points of a curve over the contexts.
fn over_contexts(table: &CostTable, value: impl Fn(usize) -> Option<f64>) -> Vec<[f64; 2]> {
    let points = table.contexts.iter().enumerate();
    points
        .filter_map(|(at, context)| Some([real(*context), value(at)?]))
        .collect()
}

/// Cost of both halves against context: first the cheapest deployment, then each GPU alone, as far
/// as there are panels.
#[must_use]
pub fn cost_figure(table: &CostTable) -> Figure {
    let cheapest = shown(table)
        .map(|(index, model)| {
            let points = over_contexts(table, |at| Some(model.best[at].cost.get()));
            Series::of_design(index, model.name.clone(), points)
        })
        .collect();
    let mut panels = vec![Panel::new(
        Axis::log10("Cheapest, halves apart", "$/M tokens"),
        cheapest,
    )];
    for (gpu, hardware) in table.hardware.iter().enumerate().take(MAX_PANELS - 1) {
        let alone = shown(table)
            .map(|(index, model)| {
                let points = over_contexts(table, |at| Some(model.costs[at][gpu].total().get()));
                Series::of_design(index, model.name.clone(), points)
            })
            .collect();
        panels.push(Panel::new(
            Axis::log10(hardware.name.clone(), "$/M tokens"),
            alone,
        ));
    }
    share_range(&mut panels);
    let mut figure = Figure::new("Cost of decoding", contexts_axis(table), panels);
    figure.footnote = footnote(table);
    figure
}

/// One vertical range for all panels: they are there to be compared.
fn share_range(panels: &mut [Panel]) {
    let values: Vec<f64> = panels
        .iter()
        .flat_map(|panel| &panel.series)
        .flat_map(|series| &series.points)
        .map(|point| point[1])
        .filter(|value| *value > 0.0 && value.is_finite())
        .collect();
    let low = values.iter().copied().fold(f64::INFINITY, f64::min);
    let high = values.iter().copied().fold(0.0, f64::max);
    if low <= high {
        for panel in panels {
            panel.y.range = Some([low * 0.85, high * 1.15]);
        }
    }
}

/// Intensities of attention at the table's last context as uprights, GPUs as rooflines.
#[must_use]
pub fn roofline_figure(table: &CostTable) -> Figure {
    let mut intensities: Vec<(f64, String)> = Vec::new();
    for (_, model) in shown(table) {
        let Some(intensity) = model.work.last().and_then(|work| work.intensity()) else {
            continue;
        };
        match intensities
            .iter_mut()
            .find(|(other, _)| (other / intensity - 1.0).abs() < 0.02)
        {
            Some((_, names)) => *names = format!("{names}, {}", model.name),
            None => intensities.push((intensity, model.name.clone())),
        }
    }
    intensities.sort_by(|a, b| a.0.total_cmp(&b.0));
    let ridges = table.hardware.iter().map(|gpu| gpu.ridge(table.terms));
    let all = || intensities.iter().map(|(x, _)| *x).chain(ridges.clone());
    let low = all().fold(f64::INFINITY, f64::min) / 2.5;
    let high = all().fold(1.0, f64::max) * 2.5;
    let range = [low.min(high / 2.0), high];
    let series = table
        .hardware
        .iter()
        .take(MAX_SERIES)
        .enumerate()
        .map(|(index, gpu)| {
            let at = |x: f64| {
                let flops = (x * gpu.bandwidth.get()).min(gpu.core_peak(table.terms).get());
                [x, flops / 1e12]
            };
            let ridge = gpu.ridge(table.terms);
            let mut roof = Series::of_design(
                index,
                format!("{} ({ridge:.0})", gpu.name),
                vec![at(range[0]), at(ridge), at(range[1])],
            );
            roof.marker = Marker::None;
            roof
        })
        .collect();
    let mut panel = Panel::new(Axis::log10("Attention at best", "TFLOP/s"), series);
    panel.marks = intensities
        .into_iter()
        .map(|(at, names)| Mark::Line {
            along: Direction::X,
            at,
            label: Some(names),
            color: SOFT_INK,
            dash: Dash::Dotted,
        })
        .collect();
    let mut x = Axis::log10("Arithmetic intensity", "FLOP per byte of KV");
    x.range = Some(range);
    let mut figure = Figure::new("Attention against rooflines", x, vec![panel]);
    let context = table.contexts.last().copied().unwrap_or_default();
    figure.footnote = footnote(table);
    figure.footnote.push(format!(
        "At {context} tokens; left of its bend a GPU waits for memory, right of it for its units"
    ));
    figure
}

/// The smallest sparsity against the rate of a server's NICs, for one model; its own as a line.
#[must_use]
pub fn sparsity_figure(table: &CostTable, model: usize) -> Option<Figure> {
    let row = table.models.get(model)?;
    let servers: Vec<(&Hardware, f64, f64)> = table
        .hardware
        .iter()
        .zip(&row.floors)
        .take(MAX_SERIES)
        .filter_map(|(gpu, floor)| Some((gpu, gpu.network?.get() / 1e9, floor.as_ref()?.0)))
        .collect();
    let rates = || servers.iter().map(|(_, rate, _)| *rate);
    let range = [
        rates().fold(f64::INFINITY, f64::min) / 4.0,
        rates().fold(0.0, f64::max) * 4.0,
    ];
    if servers.is_empty() {
        return None;
    }
    let mut panel = Panel::new(Axis::log10("Sparsity", ""), Vec::new());
    for (index, (gpu, rate, floor)) in servers.into_iter().enumerate() {
        let at = |x: f64| [x, floor * rate / x];
        let mut line = Series::of_design(
            index,
            gpu.name.clone(),
            vec![at(range[0]), at(rate), at(range[1])],
        );
        line.marker = Marker::None;
        panel.marks.push(Mark::Note {
            at: [rate, floor],
            text: format!("{floor:.3}"),
            color: line.color,
            marker: palette::series(index).marker,
        });
        panel.series.push(line);
    }
    if let Some(own) = row.sparsity {
        panel.marks.push(Mark::Line {
            along: Direction::Y,
            at: own,
            label: Some(format!("{} {own:.3}", row.name)),
            color: LIMIT.on_light,
            dash: Dash::Dashed,
        });
    }
    let mut x = Axis::log10("NICs of a server", "GB/s");
    x.range = Some(range);
    let mut figure = Figure::new("Smallest sparsity a network allows", x, vec![panel]);
    figure.subtitle = Some(format!(
        "{}: hidden {}, {} layers, TPOT {}",
        row.name, row.hidden, row.layers, table.pipeline.tpot
    ));
    figure.footnote = footnote(table);
    Some(figure)
}

/// The rate an FFN GPU of a split needs against context, attention on one GPU of the table.
#[must_use]
pub fn network_figure(
    table: &CostTable,
    gpu: usize,
    (attention, ffn): (u32, u32),
) -> Option<Figure> {
    let hardware = table.hardware.get(gpu)?;
    let series = shown(table)
        .map(|(index, model)| {
            let time = table.pipeline.layer(model.layers);
            let rate = |at: usize| {
                let tokens = micro_batch(&model.work[at], hardware, table.terms, &table.pipeline)?;
                let split = Split {
                    attention,
                    ffn,
                    tokens,
                };
                let traffic = SplitTraffic::of(model.hidden, split, &table.pipeline, time);
                Some(traffic.ffn_gpu.get() * 8e-9)
            };
            Series::of_design(index, model.name.clone(), over_contexts(table, rate))
        })
        .collect();
    let title = format!("{attention}A{ffn}F, attention on {}", hardware.name);
    let heading = format!("Each FFN GPU, attention on {}", hardware.name);
    let panel = Panel::new(Axis::log10(heading, "Gb/s"), series);
    let mut figure = Figure::new(
        "Network an AFD split needs",
        contexts_axis(table),
        vec![panel],
    );
    figure.subtitle = Some(title);
    figure.footnote = footnote(table);
    Some(figure)
}
