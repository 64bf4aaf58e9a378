//! Boosting of regression trees on binned features. Trees grow leaf by leaf: the leaf whose best
//! question lowers the error most is asked next.
//!
//! Measured tables have rows that are off by half, mostly upwards. Questions are chosen on clipped
//! residuals (Huber's loss) and a leaf answers with the mean of its middle rows, which is near the
//! median: on noisy tables the held-out median falls by a sixth to a third, and with it the bias.

use crate::cost::calibrated::{Family, Features, Forest, Node, Tree, step_of};

/// Most bins of a feature.
const BINS: usize = 64;
/// No row is farther off than this log ratio.
const CLIP: f64 = 1.5;
/// Questions count residuals up to this log ratio.
const HUBER: f64 = 0.15;
/// Share of a leaf's rows that its answer leaves out, below and above.
const TRIM: f64 = 0.2;
/// Rows' worth of zero residual added to every answer.
const SHRINK: f64 = 2.0;
/// A question must lower the squared error by so many rows' worth of the mean square left: what
/// chance alone gives is noise that bytes should not remember.
const WORTH: f64 = 4.0;

/// How much is boosted.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Boosting {
    trees: usize,
    leaves: usize,
    least_rows: u32,
    worth: f64,
    rate: f64,
}

impl Boosting {
    /// As much as a table of so many rows carries and the family is given.
    pub(super) fn for_rows(rows: usize, family: Family) -> Self {
        let answers = family.answers().min(rows / family.rows_per_answer());
        // Somewhat fewer trees than leaves: 960 answers are 19 trees of 48.
        let leaves = (answers * 5 / 2).isqrt().clamp(2, 64);
        let trees = (answers / leaves).max(1);
        // Timings that repeat to a percent: chance has no part in what two rows have in common.
        let (least_rows, worth) = match (family.rows_per_answer(), rows) {
            (1, _) => (2, 1.0),
            (_, ..1000) => (4, WORTH),
            _ => (8, WORTH),
        };
        #[expect(clippy::cast_precision_loss, reason = "at most a few hundred")]
        let rate = (6.0 / trees as f64).clamp(0.25, 0.8);
        Self {
            trees,
            leaves,
            least_rows,
            worth,
            rate,
        }
    }
}

/// Rows by bin of every feature.
struct Binned {
    /// Thresholds of a feature: a row's bin is how many it is at or above.
    edges: Vec<Vec<u16>>,
    /// Row after row, the bins of its features.
    bins: Vec<u8>,
    width: usize,
}

/// Sum of residuals and rows, by feature and bin.
struct Histogram(Vec<(f64, u32)>);

impl Histogram {
    fn without(mut self, other: &Self) -> Self {
        for (own, other) in self.0.iter_mut().zip(&other.0) {
            own.0 -= other.0;
            own.1 -= other.1;
        }
        self
    }
}

/// A leaf that may still be asked.
struct Leaf {
    node: usize,
    rows: Vec<u32>,
    histogram: Histogram,
    split: Option<Split>,
}

#[derive(Debug, Clone, Copy)]
struct Split {
    gain: f64,
    feature: usize,
    /// Rows of this bin and above go above.
    bin: usize,
}

/// Nodes while a tree grows: branches by index, in order of growth.
#[derive(Debug, Clone, Copy)]
enum Grown {
    Question {
        feature: usize,
        threshold: u16,
        below: usize,
        above: usize,
    },
    Answer(f64),
}

/// A forest for these residuals.
pub(super) fn boost(features: &[&Features], residuals: &[f64], how: Boosting) -> Forest {
    let binned = Binned::of(features);
    let mut left: Vec<f64> = residuals.iter().map(|r| r.clamp(-CLIP, CLIP)).collect();
    let mut grown = Vec::new();
    for _ in 0..how.trees {
        let tree = grow(&binned, &mut left, how);
        if tree.len() < 2 {
            break;
        }
        grown.push(tree);
    }
    let answers = grown.iter().flatten().filter_map(|node| match node {
        Grown::Answer(answer) => Some(answer.abs()),
        Grown::Question { .. } => None,
    });
    let largest = answers.fold(0.0, f64::max);
    // As a file keeps it, so that what is fitted is what is read. The largest answer is 63: finer
    // steps would say what no measurement knows.
    let scale = format!("{:.5e}", largest / 63.0)
        .parse::<f64>()
        .unwrap_or(0.0);
    Forest {
        scale,
        trees: grown
            .iter()
            .map(|nodes| Tree(preorder(nodes, scale)))
            .collect(),
    }
}

/// One tree; its answers are taken off the residuals.
fn grow(binned: &Binned, residuals: &mut [f64], how: Boosting) -> Vec<Grown> {
    let rows = u32::try_from(residuals.len()).unwrap_or(u32::MAX);
    let left: Vec<f64> = residuals.iter().map(|r| r.clamp(-HUBER, HUBER)).collect();
    let all: Vec<u32> = (0..rows).collect();
    let square: f64 = left.iter().map(|r| r * r).sum::<f64>() / f64::from(rows.max(1));
    let worth = how.worth * square;
    let histogram = binned.histogram(&all, &left);
    let split = binned.best(&histogram, how.least_rows, worth);
    let mut nodes = vec![Grown::Answer(0.0)];
    let mut leaves = vec![Leaf {
        node: 0,
        rows: all,
        histogram,
        split,
    }];
    while leaves.len() < how.leaves {
        let best = leaves
            .iter()
            .enumerate()
            .filter_map(|(index, leaf)| leaf.split.map(|split| (split.gain, index)))
            .fold(None, |best: Option<(f64, usize)>, own| {
                if best.is_some_and(|b| b.0 >= own.0) {
                    best
                } else {
                    Some(own)
                }
            });
        let Some((_, index)) = best else {
            break;
        };
        let Leaf {
            node,
            rows,
            histogram,
            split: Some(Split { feature, bin, .. }),
        } = leaves.swap_remove(index)
        else {
            break;
        };
        let (below, above): (Vec<u32>, Vec<u32>) = rows
            .iter()
            .partition(|row| binned.bin(**row, feature) < bin);
        // The smaller side is counted, the larger is what remains.
        let below_is_small = below.len() <= above.len();
        let small = binned.histogram(if below_is_small { &below } else { &above }, &left);
        let large = histogram.without(&small);
        let (below_histogram, above_histogram) = if below_is_small {
            (small, large)
        } else {
            (large, small)
        };
        let first = nodes.len();
        nodes[node] = Grown::Question {
            feature,
            threshold: binned.edges[feature][bin - 1],
            below: first,
            above: first + 1,
        };
        for (node, (rows, histogram)) in [
            (first, (below, below_histogram)),
            (first + 1, (above, above_histogram)),
        ] {
            nodes.push(Grown::Answer(0.0));
            let split = binned.best(&histogram, how.least_rows, worth);
            leaves.push(Leaf {
                node,
                rows,
                histogram,
                split,
            });
        }
    }
    for leaf in &leaves {
        let own: Vec<f64> = leaf
            .rows
            .iter()
            .map(|row| residuals[*row as usize])
            .collect();
        let answer = how.rate * middle(own);
        nodes[leaf.node] = Grown::Answer(answer);
        for row in &leaf.rows {
            residuals[*row as usize] -= answer;
        }
    }
    nodes
}

/// Mean of the middle of some values, shrunk towards zero.
fn middle(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "a count"
    )]
    let trimmed = (values.len() as f64 * TRIM) as usize;
    let kept = &values[trimmed..values.len() - trimmed];
    #[expect(clippy::cast_precision_loss, reason = "counts of rows")]
    let (all, some) = (values.len() as f64, kept.len() as f64);
    kept.iter().sum::<f64>() / some.max(1.0) * all / (all + SHRINK)
}

/// The nodes as a tree keeps them.
fn preorder(nodes: &[Grown], scale: f64) -> Vec<Node> {
    let mut out: Vec<Node> = Vec::with_capacity(nodes.len());
    // A node to put next, and the question whose branch above it is.
    let mut open: Vec<(usize, Option<usize>)> = vec![(0, None)];
    while let Some((index, question)) = open.pop() {
        let next = u16::try_from(out.len()).unwrap_or(u16::MAX);
        if let Some(Node::Question { above, .. }) = question.and_then(|at| out.get_mut(at)) {
            *above = next;
        }
        match nodes[index] {
            Grown::Question {
                feature,
                threshold,
                below,
                above,
            } => {
                open.push((above, Some(out.len())));
                open.push((below, None));
                out.push(Node::Question {
                    feature: u8::try_from(feature).unwrap_or(u8::MAX),
                    threshold,
                    above: 0,
                });
            }
            Grown::Answer(answer) => {
                #[expect(
                    clippy::cast_possible_truncation,
                    reason = "rounded, and float casts saturate"
                )]
                out.push(Node::Answer(if scale > 0.0 {
                    libm::round(answer / scale) as i8
                } else {
                    0
                }));
            }
        }
    }
    out
}

impl Binned {
    fn of(features: &[&Features]) -> Self {
        let width = features.first().map_or(0, |own| own.values().len());
        let mut bins = vec![0; width * features.len()];
        let edges = (0..width)
            .map(|feature| {
                let values: Vec<u16> = features
                    .iter()
                    .map(|own| step_of(own.values().get(feature).copied().unwrap_or(0.0)))
                    .collect();
                let edges = edges(&values);
                for (row, value) in values.iter().enumerate() {
                    let bin = edges.partition_point(|edge| edge <= value);
                    bins[row * width + feature] = u8::try_from(bin).unwrap_or(u8::MAX);
                }
                edges
            })
            .collect();
        Self { edges, bins, width }
    }

    fn bin(&self, row: u32, feature: usize) -> usize {
        usize::from(self.bins[row as usize * self.width + feature])
    }

    fn histogram(&self, rows: &[u32], left: &[f64]) -> Histogram {
        let mut sums = vec![(0.0, 0); self.width * BINS];
        for row in rows {
            let residual = left[*row as usize];
            let own = &self.bins[*row as usize * self.width..][..self.width];
            for (sums, bin) in sums.chunks_exact_mut(BINS).zip(own) {
                let sum: &mut (f64, u32) = &mut sums[usize::from(*bin)];
                sum.0 += residual;
                sum.1 += 1;
            }
        }
        Histogram(sums)
    }

    /// The question that lowers the squared error most, if it is worth asking.
    fn best(&self, histogram: &Histogram, least_rows: u32, worth: f64) -> Option<Split> {
        let mut best: Option<Split> = None;
        let score = |(sum, rows): (f64, u32)| sum * sum / (f64::from(rows) + SHRINK);
        for (feature, (bins, edges)) in histogram.0.chunks_exact(BINS).zip(&self.edges).enumerate()
        {
            let whole = bins
                .iter()
                .fold((0.0, 0), |all, own| (all.0 + own.0, all.1 + own.1));
            let mut below = (0.0, 0);
            for bin in 1..=edges.len() {
                below = (below.0 + bins[bin - 1].0, below.1 + bins[bin - 1].1);
                let above = (whole.0 - below.0, whole.1 - below.1);
                if below.1 < least_rows || above.1 < least_rows {
                    continue;
                }
                let gain = score(below) + score(above) - score(whole);
                if gain > worth && best.is_none_or(|own| gain > own.gain) {
                    best = Some(Split { gain, feature, bin });
                }
            }
        }
        best
    }
}

/// Thresholds of a feature: between all neighbours, or between equal shares of the rows.
fn edges(values: &[u16]) -> Vec<u16> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable();
    let mut distinct = sorted.clone();
    distinct.dedup();
    let between = |pair: &[u16]| roundest(pair[0], pair[1]);
    if distinct.len() <= BINS {
        return distinct.windows(2).map(between).collect();
    }
    let mut above: Vec<usize> = (1..BINS)
        .map(|bin| distinct.partition_point(|own| *own < sorted[bin * sorted.len() / BINS]))
        .filter(|index| *index > 0)
        .collect();
    above.dedup();
    above
        .into_iter()
        .map(|index| between(&distinct[index - 1..=index]))
        .collect()
}

/// The number above one and up to another that ends in most zeros: as good a threshold between
/// them as any, and short in a file.
const fn roundest(from: u16, to: u16) -> u16 {
    let mut step = 1_u16 << 15;
    while step > 1 && to / step * step <= from {
        step /= 2;
    }
    to / step * step
}
