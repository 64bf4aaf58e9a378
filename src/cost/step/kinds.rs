//! The kinds of layers of a stage: what their attention costs, as far as it is the same for every
//! batch.

use super::LaneShape;
use super::curve::{Curve, Grid, Priced};
use super::line::{Line, SHARES, Seen};
use crate::cost::layer::{AttentionShape, PrefillShape, reductions};
use crate::cost::operator::{Class, Operator, Prices};
use crate::cost::reach::Reach;
use crate::cost::roofline::RooflineOn;
use crate::model::{Ffn, Model, Precision};
use crate::plan::{Layout, StageRun};
use crate::units::real;

/// Rows of a tile of FlashAttention 2 that a decode has to itself. Measured with vLLM 0.19: 32, 64 and 128
/// sequences of 1,024 tokens beside 16 of a prompt take what 64 rows each take of a prompt, within 25 %,
/// on RTX 4090 and RTX PRO 6000, with four query heads a key head and with eight.
const TILE: f64 = 64.0;
/// Tokens of a chunk whose pace tiles have.
const PACE: u64 = 1024;

/// One kind of layer of a stage.
pub(super) struct LayerKind {
    pub(super) run: usize,
    pub(super) count: f64,
    pub(super) attention: AttentionShape,
    pub(super) moe: bool,
    /// All-reduces of a hidden vector per token.
    pub(super) reductions: f64,
    /// What the entries are: index into the model's reaches (none: the whole context), entries per
    /// token.
    entries: Box<Entries>,
    /// Decode attention over entries per sequence, by tokens of each beside the first, by sequences.
    attend: Vec<Vec<Option<Curve>>>,
    /// An indexer's scores over entries scored per sequence, likewise.
    score: Vec<Vec<Option<Curve>>>,
    /// Prefill attention and the products around it, to the roofline.
    prefill: Grid,
}

/// Curves by tokens and sequences, made when first asked.
fn curve(curves: &mut Vec<Vec<Option<Curve>>>, queries: u32, sequences: u32) -> &mut Curve {
    let queries = queries.saturating_sub(1) as usize;
    if curves.len() <= queries {
        curves.resize_with(queries + 1, Vec::new);
    }
    let (curves, index) = (&mut curves[queries], sequences as usize);
    if curves.len() <= index {
        curves.resize(index + 1, None);
    }
    curves[index].get_or_insert_with(Curve::new)
}

/// One sort of kernel of all `layers` of a kind: `tokens` of each sequence, `per` entries per sequence
/// for what is seen.
fn attended(
    (curves, sequences): (&mut Vec<Vec<Option<Curve>>>, u32),
    (queries, more): (u32, f64),
    (layers, per): (f64, [f64; SHARES]),
    along: &Along,
    price: impl Fn(u32, f64) -> Priced,
    then: &mut impl FnMut(Attended<'_>),
) {
    if more == 0.0 {
        let own = curve(curves, queries, sequences);
        let line = own.line(along.value, layers, per, |each| price(queries, each));
        then(Attended::Line(line, *along));
    } else {
        let own = between((queries, more), |queries| {
            let own = curve(curves, queries, sequences);
            own.at(along.value, |each| price(queries, each))
        });
        then(Attended::Between(own.times(layers)));
    }
}

/// Decodes whose numbers of tokens differ lie between two whole numbers.
fn between((queries, more): (u32, f64), mut at: impl FnMut(u32) -> Priced) -> Priced {
    let own = at(queries);
    if more == 0.0 {
        return own;
    }
    Priced {
        seconds: own.seconds + (at(queries + 1).seconds - own.seconds) * more,
        ..own
    }
}

/// By how much a lane's contexts grow from one step to the next.
#[derive(Debug, Clone, Copy, Default)]
pub struct Growth<'a> {
    /// [`LaneShape::context`].
    pub context: u64,
    /// [`LaneShape::reached`].
    pub reached: &'a [u64],
}

/// What the layers of a kind take for a lane's contexts.
pub(super) enum Attended<'a> {
    /// A line and where on it.
    Line(&'a Line, Along),
    /// Decodes that differ in their tokens: between two lines.
    Between(Priced),
}

/// What is seen, and by how much that grows; also as entries per sequence.
#[derive(Debug, Clone, Copy)]
pub(super) struct Along {
    pub(super) seen: Seen,
    pub(super) more: Seen,
    pub(super) value: f64,
    pub(super) rise: f64,
}

/// Entries by share: which of the lane's sums (none: the whole contexts), entries per token.
type Entries = [(Option<usize>, f64)];

/// What a lane's sequences see by share, of its sums over contexts.
fn seen(entries: &Entries, context: u64, reached: &[u64]) -> Seen {
    let mut seen = [0; SHARES];
    for (own, (slot, _)) in seen.iter_mut().zip(entries) {
        let reached = slot.and_then(|slot| reached.get(slot));
        *own = reached.copied().unwrap_or(context);
    }
    seen
}

/// Entries of so much seen.
fn entries_of(entries: &Entries, seen: &Seen) -> f64 {
    let shares = entries.iter().zip(seen);
    shares.map(|((_, per), seen)| per * real(*seen)).sum()
}

impl LayerKind {
    /// The decode attention of all layers of the kind over the contexts of a lane, then their
    /// indexer's scores. `sequences` has those of padding, which see nothing.
    pub(super) fn over_contexts(
        &mut self,
        (lane, growth): (&LaneShape<'_>, Growth<'_>),
        sequences: u32,
        prices: &dyn Prices,
        mut then: impl FnMut(Attended<'_>),
    ) {
        let count = f64::from(sequences);
        let (attention, entries, layers) = (&self.attention, &*self.entries, self.count);
        let tokens = lane.queries();
        if attention.core.is_some() {
            let seen = |context, reached| seen(entries, context, reached);
            let (now, more) = (
                seen(lane.context, lane.reached),
                seen(growth.context, growth.reached),
            );
            let along = Along {
                seen: now,
                more,
                value: entries_of(entries, &now) / count,
                rise: entries_of(entries, &more) / count,
            };
            let mut per = [0.0; SHARES];
            for (per, (_, own)) in per.iter_mut().zip(entries) {
                *per = own / count;
            }
            let price = |queries: u32, each: f64| {
                attention
                    .attend_each(count, f64::from(queries), each * count)
                    .map_or(Priced::NOTHING, |operator| {
                        Priced::of(&prices.price(&operator))
                    })
            };
            let curves = (&mut self.attend, sequences);
            attended(curves, tokens, (layers, per), &along, price, &mut then);
        }
        if let Some(own) = attention.scoring {
            let along = Along {
                seen: [lane.context, 0],
                more: [growth.context, 0],
                value: own.per * real(lane.context) / count,
                rise: own.per * real(growth.context) / count,
            };
            let price = |queries: u32, each: f64| {
                let (keys, queries) = (each * count, f64::from(queries));
                Priced::of(&prices.price(&own.operator(count * queries, keys * queries, keys)))
            };
            let per = [own.per / count, 0.0];
            let curves = (&mut self.score, sequences);
            attended(curves, tokens, (layers, per), &along, price, &mut then);
        }
    }

    /// One layer's decode attention in the kernel of the prompts that share the step
    /// ([`Engine::decodes_as_prompts`](crate::plan::Engine::decodes_as_prompts)): every query head of
    /// every sequence fills a tile of rows with its one token, at the pace of a long chunk. Nothing
    /// where keys and values are not such a kernel's.
    pub(super) fn in_tiles(
        &mut self,
        lane: &LaneShape<'_>,
        prices: &dyn Prices,
        roofline: &RooflineOn,
    ) -> Priced {
        let grouped = self
            .attention
            .core
            .is_some_and(|core| core.is_grouped_bf16());
        if lane.decodes == 0 || !grouped || prices.quick() {
            return Priced::NOTHING;
        }
        let seen = seen(&self.entries, lane.context, lane.reached);
        let entries = entries_of(&self.entries, &seen);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "entries of a context"
        )]
        let chunk = PrefillShape {
            tokens: PACE,
            context: (entries / f64::from(lane.decodes)) as u64,
        };
        let mut pairs = 0.0;
        self.attention.prefill(chunk, |_, operator| {
            if let Operator::Prefill { pairs: own, .. } = operator {
                pairs += own;
            }
        });
        if pairs <= 0.0 {
            return Priced::NOTHING;
        }
        let [attention, _] = self.over_chunk(chunk, prices, roofline);
        attention.times(TILE * entries / pairs)
    }

    /// One layer's prefill attention of a chunk, and the products around it.
    pub(super) fn over_chunk(
        &mut self,
        chunk: PrefillShape,
        prices: &dyn Prices,
        roofline: &RooflineOn,
    ) -> [Priced; 2] {
        let attention = &self.attention;
        if prices.quick() {
            return sums(attention, chunk, prices);
        }
        let base = sums(attention, chunk, roofline);
        let ratios = self.prefill.at(
            real(chunk.tokens),
            real(chunk.context),
            |tokens, context| {
                #[expect(
                    clippy::cast_possible_truncation,
                    clippy::cast_sign_loss,
                    reason = "knots up to 2³⁰"
                )]
                let chunk = PrefillShape {
                    tokens: tokens.max(1.0) as u64,
                    context: context as u64,
                };
                let (own, base) = (
                    sums(attention, chunk, prices),
                    sums(attention, chunk, roofline),
                );
                std::array::from_fn(|class| Priced {
                    seconds: if base[class].seconds > 0.0 {
                        own[class].seconds / base[class].seconds
                    } else {
                        1.0
                    },
                    ..own[class]
                })
            },
        );
        std::array::from_fn(|class| ratios[class].times(base[class].seconds))
    }
}

/// Attention of a chunk and the products around it: summed, with origin and band of the longest.
fn sums(attention: &AttentionShape, chunk: PrefillShape, prices: &dyn Prices) -> [Priced; 2] {
    let mut out = [Priced::NOTHING; 2];
    let mut longest = [0.0; 2];
    attention.prefill(chunk, |class, operator| {
        let own = Priced::of(&prices.price(operator));
        let index = usize::from(class != Class::Attention);
        let seconds = out[index].seconds + own.seconds;
        if own.seconds >= longest[index] {
            longest[index] = own.seconds;
            out[index] = own;
        }
        out[index].seconds = seconds;
    });
    out
}

/// The distinct kinds of these runs, in order, and how many layers are of each. `known`: the reaches
/// a lane has sums for.
pub(super) fn kinds(
    model: &Model,
    runs: &[StageRun],
    layout: Layout,
    precision: Precision,
    known: &[Reach],
) -> Vec<LayerKind> {
    let mut kinds: Vec<LayerKind> = Vec::new();
    for run in runs {
        let layer = &model.layers[run.run];
        // Runs of equal layers count as one kind.
        if let Some(same) = kinds.iter_mut().find(|kind| {
            let other = &model.layers[kind.run];
            other.attention == layer.attention
                && other.ffn == layer.ffn
                && other.norms == layer.norms
                && other.kept == layer.kept
        }) {
            same.count += f64::from(run.count);
            continue;
        }
        let attention = AttentionShape::of(model, run.run, layout, precision);
        let entries = attention
            .shares
            .iter()
            .map(|share| {
                let slot = known.iter().position(|reach| *reach == share.reach);
                (slot, share.per)
            })
            .collect();
        kinds.push(LayerKind {
            run: run.run,
            count: f64::from(run.count),
            attention,
            moe: matches!(layer.ffn, Ffn::Moe(_)),
            reductions: reductions(layer),
            entries,
            attend: Vec::new(),
            score: Vec::new(),
            prefill: Grid::new(),
        });
    }
    kinds
}
