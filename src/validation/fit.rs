//! Fits engines' overheads to measured deployments.
//!
//! Six numbers a class of versions ([`Overheads`]), none of a model, a GPU or a layout. Predictions are
//! simulations; how they move with each number is measured by moving it. Around a point the logarithm
//! of a prediction is taken as linear: the change with the least absolute error of TPOT and TTFT (which
//! counts two thirds) is found by [`robust`](super::robust), most of it is taken, and simulations say where
//! that leads. Configuration groups weigh by the root of their rows.
//!
//! What was left out is held out by the same line: the numbers are solved again without a fifth of the
//! groups, without each model and without each GPU, and the rows left out are predicted by the line
//! from the fitted point to there.

use super::predict::{Predicted, Predictor};
use super::read::Rows;
use super::robust::{Line, solve};
use super::score::{Errors, Scores};
use crate::plan::{EngineKind, Overheads};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

const N: usize = Overheads::COUNT;
/// By how much each number is moved to see what it does, and what a plausible change of it is.
const MOVES: [f64; N] = [5e-6, 1e-3, 5e-6, 15e-3, 2e-6, 0.3];
/// How much of a solution is taken.
const TAKEN: f64 = 0.8;
/// Weight of an error of TTFT beside one of TPOT.
const TTFT: f64 = 0.7;
/// Parts of the groups held out one after another.
const FOLDS: u64 = 5;

/// Errors of co-located rows that a fit has not seen.
#[derive(Debug, Clone, PartialEq)]
pub struct LeftOut {
    /// What was left out: `a fifth of the groups`, a model, a GPU.
    pub what: String,
    /// Errors of its rows by the fit with them.
    pub with: Scores,
    /// Errors of its rows by the fit without them.
    pub without: Scores,
}

/// A fit.
#[derive(Debug, Clone, PartialEq)]
pub struct Fitted {
    /// The classes' numbers.
    pub classes: Vec<Overheads>,
    /// Errors of co-located rows, simulated.
    pub scores: Scores,
    /// Held out: groups, then models, then GPUs.
    pub left_out: Vec<LeftOut>,
}

/// A row as the fit sees it.
struct Point {
    /// Its line in the file.
    line: u64,
    class: usize,
    group: String,
    model: String,
    system: String,
    weight: f64,
    /// Measured and predicted TPOT and TTFT, s.
    measured: [f64; 2],
    predicted: [f64; 2],
    /// Change of their logarithms with each number.
    slopes: [[f64; N]; 2],
}

/// Fits, starting from `classes`, in so many rounds of simulations. `say` is told what goes on. None if
/// cancelled.
pub fn fit_overheads(
    predictor: &Predictor,
    rows: &Rows,
    classes: &[Overheads],
    rounds: usize,
    say: &(dyn Fn(&str) + Sync),
    cancel: &AtomicBool,
) -> Option<Fitted> {
    let mut classes = classes.to_vec();
    let mut points = Vec::new();
    let mut scores = Scores::default();
    for round in 0..=rounds {
        say(&format!("round {round} of {rounds}"));
        let base = simulate(predictor, rows, &classes, cancel)?;
        scores = Scores::of(base.iter());
        if round == rounds {
            // The last point is simulated; its slopes are those of the one before.
            if points.is_empty() {
                points = slopes(predictor, rows, &classes, &base, cancel)?;
            } else {
                retake(&mut points, &base);
            }
            break;
        }
        points = slopes(predictor, rows, &classes, &base, cancel)?;
        for (index, class) in classes.iter_mut().enumerate() {
            let change = change(&points, index, class, |_| true);
            let mut values = class.values();
            for (value, change) in values.iter_mut().zip(change) {
                *value += TAKEN * change;
            }
            *class = class.with(values);
        }
    }
    let left_out = hold_out(&points, &classes);
    Some(Fitted {
        classes,
        scores,
        left_out,
    })
}

/// Co-located predictions with these overheads.
fn simulate(
    predictor: &Predictor,
    rows: &Rows,
    classes: &[Overheads],
    cancel: &AtomicBool,
) -> Option<Vec<Predicted>> {
    let recipes = (*predictor.recipes)
        .clone()
        .with_overheads(classes.to_vec());
    let own = Predictor {
        recipes: Arc::new(recipes),
        ..predictor.clone()
    };
    let colocated = Rows {
        measured: rows
            .measured
            .iter()
            .filter(|own| own.condition.deployment.is_colocated())
            .cloned()
            .collect(),
        ..Rows::default()
    };
    let (predicted, _) = own.predict_all(&colocated, &|| (), cancel);
    (!cancel.load(Ordering::Relaxed)).then_some(predicted)
}

fn class_of(own: &Predicted, classes: &[Overheads]) -> Option<usize> {
    let mut engine = crate::plan::Engine::tensorrt_llm();
    engine.kind = own.measured.condition.engine;
    engine.version.clone_from(&own.prediction.version);
    let class = Overheads::of(&engine, classes)?;
    classes.iter().position(|own| own == class)
}

fn slopes(
    predictor: &Predictor,
    rows: &Rows,
    classes: &[Overheads],
    base: &[Predicted],
    cancel: &AtomicBool,
) -> Option<Vec<Point>> {
    let mut moved: Vec<BTreeMap<u64, [f64; 2]>> = Vec::new();
    for number in 0..N {
        let others: Vec<Overheads> = classes
            .iter()
            .map(|class| {
                let mut values = class.values();
                values[number] += MOVES[number];
                class.with(values)
            })
            .collect();
        let predicted = simulate(predictor, rows, &others, cancel)?;
        let by_line = predicted.iter().map(|own| {
            (
                own.measured.line,
                [own.prediction.tpot, own.prediction.ttft],
            )
        });
        moved.push(by_line.collect());
    }
    let mut of_group: BTreeMap<&str, f64> = BTreeMap::new();
    for own in base {
        *of_group.entry(&own.measured.condition.group).or_default() += 1.0;
    }
    let point = |own: &Predicted| -> Option<Point> {
        let predicted = [own.prediction.tpot, own.prediction.ttft];
        let mut slopes = [[0.0; N]; 2];
        for (number, moved) in moved.iter().enumerate() {
            let other = moved.get(&own.measured.line)?;
            for which in 0..2 {
                slopes[which][number] = libm::log(other[which] / predicted[which]) / MOVES[number];
            }
        }
        let condition = &own.measured.condition;
        let rows = of_group
            .get(condition.group.as_str())
            .copied()
            .unwrap_or(1.0);
        Some(Point {
            line: own.measured.line,
            class: class_of(own, classes)?,
            group: condition.group.clone(),
            model: condition.model.clone(),
            system: condition.system.clone(),
            weight: 1.0 / libm::sqrt(rows),
            measured: [own.measured.tpot, own.measured.ttft],
            predicted,
            slopes,
        })
    };
    Some(base.iter().filter_map(point).collect())
}

/// The points with what was simulated last.
fn retake(points: &mut Vec<Point>, base: &[Predicted]) {
    let simulated: BTreeMap<u64, [f64; 2]> = base
        .iter()
        .map(|own| {
            (
                own.measured.line,
                [own.prediction.tpot, own.prediction.ttft],
            )
        })
        .collect();
    points.retain_mut(|point| {
        let known = simulated.get(&point.line);
        if let Some(known) = known {
            point.predicted = *known;
        }
        known.is_some()
    });
}

/// The change of a class's numbers that fits the points that `may` be seen best.
fn change(
    points: &[Point],
    class: usize,
    at: &Overheads,
    may: impl Fn(&Point) -> bool,
) -> [f64; N] {
    let lines: Vec<Line<N>> = points
        .iter()
        .filter(|point| point.class == class && may(point))
        .flat_map(|point| {
            (0..2).map(move |which| Line {
                slopes: point.slopes[which],
                left: libm::log(point.measured[which] / point.predicted[which]),
                weight: point.weight * if which == 0 { 1.0 } else { TTFT },
            })
        })
        .collect();
    let now = at.values();
    let bounds = std::array::from_fn(|i| (-now[i], (Overheads::MOST[i] - now[i]).max(0.0)));
    solve(&lines, bounds, MOVES)
}

/// Errors with and without parts of the rows.
fn hold_out(points: &[Point], classes: &[Overheads]) -> Vec<LeftOut> {
    let full: Vec<[f64; N]> = classes
        .iter()
        .enumerate()
        .map(|(index, class)| change(points, index, class, |_| true))
        .collect();
    let all = |name: &str, of: &dyn Fn(&Point) -> String| {
        let parts: BTreeSet<String> = points.iter().map(of).collect();
        let mut pairs = [Vec::new(), Vec::new(), Vec::new(), Vec::new()];
        let mut each = Vec::new();
        for part in parts {
            let mut own = [Vec::new(), Vec::new(), Vec::new(), Vec::new()];
            for (index, class) in classes.iter().enumerate() {
                let without = change(points, index, class, |point| of(point) != part);
                for point in points
                    .iter()
                    .filter(|point| point.class == index && of(point) == part)
                {
                    for which in 0..2 {
                        // From the fit with all to the fit without: the point itself is of the first.
                        let moved: f64 = (0..N)
                            .map(|i| point.slopes[which][i] * (without[i] - full[index][i]))
                            .sum();
                        let predicted = point.predicted[which];
                        own[which].push((point.measured[which], predicted));
                        own[2 + which].push((point.measured[which], predicted * libm::exp(moved)));
                    }
                }
            }
            each.push(left_out(&format!("{name} {part}"), &own));
            for (all, own) in pairs.iter_mut().zip(own) {
                all.extend(own);
            }
        }
        (left_out(name, &pairs), each)
    };
    let folds = all("a fifth of the groups", &|point| {
        (hash(&point.group) % FOLDS).to_string()
    });
    let models = all("model", &|point| point.model.clone());
    let systems = all("GPU", &|point| point.system.clone());
    let mut found = vec![folds.0, models.0, systems.0];
    found.extend(models.1);
    found.extend(systems.1);
    found
}

fn left_out(what: &str, pairs: &[Vec<(f64, f64)>; 4]) -> LeftOut {
    let errors = |which: usize| Errors::of(pairs[which].iter().copied());
    LeftOut {
        what: what.to_owned(),
        with: Scores {
            tpot: errors(0),
            ttft: errors(1),
        },
        without: Scores {
            tpot: errors(2),
            ttft: errors(3),
        },
    }
}

/// FNV-1a of a text: the same parts on every machine.
fn hash(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |sum, byte| {
        (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// The classes a fit starts from where there are none: one an engine, with what its server is known to do.
#[must_use]
pub fn start() -> Vec<Overheads> {
    let class = |engine, since: &str, values| {
        Overheads {
            engine,
            since: since.to_owned(),
            per_sequence: crate::units::Seconds::ZERO,
            request: crate::units::Seconds::ZERO,
            output: crate::units::Seconds::ZERO,
            network: crate::units::Seconds::ZERO,
            gap: crate::units::Seconds::ZERO,
            sustained: 0.0,
            source: "start of a fit".to_owned(),
        }
        .with(values)
    };
    vec![
        class(
            EngineKind::Vllm,
            "0",
            [7e-6, 0.2e-3, 1e-6, 13e-3, 5e-6, 0.25],
        ),
        // Its detokeniser passes some 20,000 tokens a second.
        class(
            EngineKind::Sglang,
            "0",
            [0.0, 2e-3, 40e-6, 20e-3, 9e-6, 0.1],
        ),
        class(
            EngineKind::TensorRtLlm,
            "0",
            [0.0, 0.5e-3, 2e-6, 5e-3, 14e-6, 0.2],
        ),
        class(
            EngineKind::TensorRtLlm,
            "1.1",
            [0.0, 0.0, 5e-6, 15e-3, 12e-6, 0.05],
        ),
    ]
}
