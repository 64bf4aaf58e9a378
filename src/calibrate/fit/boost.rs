//! Boosting of oblivious trees on squared error with clipped residuals, on binned features.

use crate::cost::calibrated::{Family, Features, Forest, Tree, step_of};

/// Bins of a feature.
const BINS: usize = 48;
/// Residuals count up to this log ratio: a broken row does not bend a tree.
const CLIP: f64 = 0.7;
/// Rows' worth of zero residual added to every answer.
const SHRINK: f64 = 4.0;

/// How much is boosted.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Boosting {
    trees: usize,
    depth: usize,
    rate: f64,
}

impl Boosting {
    /// As much as a table of so many rows carries and the family is given.
    pub(super) fn for_rows(rows: usize, family: Family) -> Self {
        let (trees, depth) = family.trees();
        let mut own = Self { trees, depth, rate: 0.0 };
        let grain = family.grain();
        while own.depth > 2 && rows < (grain * 5 / 3) << own.depth {
            own.depth -= 1;
        }
        own.trees = own.trees.min(rows / grain);
        #[expect(clippy::cast_precision_loss, reason = "a few hundred")]
        let trees = own.trees.max(1) as f64;
        own.rate = (10.0 / trees).clamp(0.05, 0.3);
        own
    }
}

/// A forest for these residuals.
pub(super) fn boost(features: &[&Features], residuals: &[f64], how: Boosting) -> Forest {
    let rows = features.len();
    let width = features.first().map_or(0, |own| own.values().len());
    let columns: Vec<(Vec<u16>, Vec<u8>)> = (0..width).map(|index| binned(features, index)).collect();
    let mut left: Vec<f64> = residuals.iter().map(|r| r.clamp(-CLIP, CLIP)).collect();
    let mut grown: Vec<(Vec<(u8, u16)>, Vec<f64>)> = Vec::new();
    let mut cells = vec![0_u8; rows];
    for _ in 0..how.trees {
        cells.fill(0);
        let mut splits = Vec::new();
        for depth in 0..how.depth {
            let Some((feature, bin)) = best_split(&columns, &left, &cells, 1 << depth) else {
                break;
            };
            let (edges, bins) = &columns[feature];
            for (cell, own) in cells.iter_mut().zip(bins) {
                *cell = *cell << 1 | u8::from(*own >= bin);
            }
            splits.push((u8::try_from(feature).unwrap_or(u8::MAX), edges[usize::from(bin) - 1]));
        }
        if splits.is_empty() {
            break;
        }
        let mut sums = vec![(0.0, 0.0); 1 << splits.len()];
        for (cell, residual) in cells.iter().zip(&left) {
            let sum = &mut sums[usize::from(*cell)];
            *sum = (sum.0 + residual, sum.1 + 1.0);
        }
        let answers: Vec<f64> = sums.iter().map(|(sum, n)| how.rate * sum / (n + SHRINK)).collect();
        for (cell, residual) in cells.iter().zip(&mut left) {
            *residual -= answers[usize::from(*cell)];
        }
        grown.push((splits, answers));
    }
    let largest = grown.iter().flat_map(|(_, answers)| answers).fold(0.0_f64, |most, own| most.max(own.abs()));
    // As a file keeps it, so that what is fitted is what is read.
    let scale = format!("{:.5e}", largest / 127.0).parse::<f64>().unwrap_or(0.0);
    #[expect(clippy::cast_possible_truncation, reason = "rounded, and float casts saturate")]
    let quantised = |answer: &f64| if scale > 0.0 { libm::round(answer / scale) as i8 } else { 0 };
    let trees = grown
        .iter()
        .map(|(splits, answers)| Tree { splits: splits.clone(), leaves: answers.iter().map(quantised).collect() })
        .collect();
    Forest { scale, trees }
}

/// A feature's thresholds and each row's bin: how many thresholds it is at or above.
fn binned(features: &[&Features], index: usize) -> (Vec<u16>, Vec<u8>) {
    let values: Vec<u16> = features
        .iter()
        .map(|own| step_of(own.values().get(index).copied().unwrap_or(0.0)))
        .collect();
    let mut sorted = values.clone();
    sorted.sort_unstable();
    let mut distinct = sorted.clone();
    distinct.dedup();
    let edges: Vec<u16> = if distinct.len() <= BINS {
        // Half way between neighbours.
        distinct.windows(2).map(|pair| pair[0] + (pair[1] - pair[0]).div_ceil(2)).collect()
    } else {
        let mut edges: Vec<u16> = (1..BINS).map(|bin| sorted[bin * sorted.len() / BINS]).collect();
        edges.dedup();
        edges.retain(|edge| *edge > sorted[0]);
        edges
    };
    let bins = values
        .iter()
        .map(|value| u8::try_from(edges.partition_point(|edge| edge <= value)).unwrap_or(u8::MAX))
        .collect();
    (edges, bins)
}

/// The question that lowers the squared error most, asked in every cell.
fn best_split(columns: &[(Vec<u16>, Vec<u8>)], left: &[f64], cells: &[u8], count: usize) -> Option<(usize, u8)> {
    let mut best: Option<(f64, usize, u8)> = None;
    let mut sums = vec![(0.0_f64, 0.0_f64); count * BINS];
    for (feature, (edges, bins)) in columns.iter().enumerate() {
        if edges.is_empty() {
            continue;
        }
        sums.fill((0.0, 0.0));
        for ((cell, bin), residual) in cells.iter().zip(bins).zip(left) {
            let sum = &mut sums[usize::from(*cell) * BINS + usize::from(*bin)];
            sum.0 += residual;
            sum.1 += 1.0;
        }
        let mut gains = vec![0.0; edges.len() + 1];
        for cell in sums.chunks_exact(BINS) {
            let (whole, rows) = cell.iter().fold((0.0, 0.0), |(s, n), own| (s + own.0, n + own.1));
            let (mut below, mut below_rows) = (0.0, 0.0);
            for bin in 1..=edges.len() {
                below += cell[bin - 1].0;
                below_rows += cell[bin - 1].1;
                let (above, above_rows) = (whole - below, rows - below_rows);
                gains[bin] += below * below / (below_rows + SHRINK) + above * above / (above_rows + SHRINK)
                    - whole * whole / (rows + SHRINK);
            }
        }
        for (bin, gain) in gains.iter().enumerate().skip(1) {
            if *gain > 1e-9 && best.is_none_or(|(most, _, _)| *gain > most) {
                best = Some((*gain, feature, u8::try_from(bin).unwrap_or(u8::MAX)));
            }
        }
    }
    best.map(|(_, feature, bin)| (feature, bin))
}
