//! A stack of layers at work: a pipeline stage, or what drafts. It prices what a step asks of it as a
//! sum over its kinds of layers and its ends, from tables filled as counts occur.

use super::curve::Priced;
use super::exchange::{Exchange, Groups};
use super::kinds::{Attended, Growth, LayerKind};
use super::launches::Launches;
use super::noting::Noting;
use super::price::{Issued, StepPrice, femtos};
use super::series::{Grown, Racer, Slope, slowest};
use super::shape::LaneShape;
use crate::cost::collective::{CommGroup, all_gather, all_reduce};
use crate::cost::layer::{
    Kernels, PrefillShape, brought, by_tokens, embedding, experts, fusion, head, inner_reduction,
    router, shared_experts,
};
use crate::cost::operator::{Brought, Class, OpCost, Operator, Prices};
use crate::cost::roofline::RooflineOn;
use crate::model::{Model, Precision};
use crate::plan::{Engine, Joined, Layout};
use crate::units::real;
use std::sync::Arc;

/// What all towers of a replica share: how its ranks lie and what they charge.
pub(super) struct Ranks {
    pub(super) layout: Layout,
    pub(super) prices: Arc<Noting>,
    pub(super) roofline: RooflineOn,
    pub(super) tp: CommGroup,
    pub(super) dp: CommGroup,
    pub(super) cp: CommGroup,
    /// All that share a layer's experts, and how they are joined.
    pub(super) all: CommGroup,
    pub(super) joined: Joined,
    pub(super) engine: Engine,
    /// See [`Engine::decodes_as_prompts`].
    pub(super) decodes_as_prompts: bool,
}

impl Ranks {
    const fn groups(&self) -> Groups<'_> {
        Groups {
            tp: &self.tp,
            dp: &self.dp,
            all: &self.all,
        }
    }
}

/// How a pass runs: in which graph, and to what size it is padded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Pass {
    pub(super) issued: Issued,
    /// Tokens of each lane, padding included; 0: as many as it has.
    pub(super) tokens: u32,
    /// Decoding sequences of each lane in a whole graph, padding included; 0: as many as it has.
    pub(super) sequences: u32,
    /// The head is part of a whole graph: it works on padding too.
    pub(super) head_inside: bool,
    /// The head works on one token of each sequence that goes on, not on those drafted too.
    pub(super) one_each: bool,
}

/// What a stack of layers is made of.
pub(super) struct Parts {
    pub(super) model: Arc<Model>,
    pub(super) precision: Precision,
    pub(super) kinds: Vec<LayerKind>,
    /// The embedding is here.
    pub(super) first: bool,
    /// The head is here.
    pub(super) last: bool,
    /// It starts from the target's hidden states and the embedding, brought together (MTP, EAGLE).
    pub(super) fuses: bool,
    /// Its FFNs are served apart from attention: how their tokens come. Routers are attention's then.
    pub(super) apart: Option<Brought>,
}

/// A stack of layers and its tables.
pub(super) struct Tower {
    parts: Parts,
    exchange: Exchange,
    moe: bool,
    /// Decodes have kernels by tokens beside attention; recurrences have steps.
    by_decode: bool,
    recurs: bool,
    launches: Launches,
    tables: [Vec<Option<StepPrice>>; TABLES],
    /// A list for lanes that wait for each other.
    racers: Vec<Racer>,
    /// The last price of a count that is not remembered.
    beyond: Option<StepPrice>,
    /// Recurrences' steps by tokens of each sequence beside the first, by sequences.
    steps: Vec<Vec<Option<StepPrice>>>,
}

/// What a table is by.
#[derive(Clone, Copy)]
enum Table {
    /// A lane's tokens.
    Lane,
    /// Its decodes' tokens: attention but for its contexts.
    Decode,
    /// Tokens of all lanes, in steps of decodes.
    Experts,
    /// The same in steps with prompts, where they may be brought otherwise.
    PromptExperts,
    /// Tokens the lanes exchange, in steps of decodes.
    Exchange,
    /// The same in steps with prompts, where the exchange may be another one.
    PromptExchange,
    /// Sampled tokens of a lane.
    Head,
    /// Tokens of its chunks: what CP ranks tell each other.
    Gather,
}

const TABLES: usize = 8;
/// Counts above are priced anew each time: no engine goes there, and a table would fill the memory.
const REMEMBERED: usize = 1 << 20;

impl Tower {
    pub(super) fn new(parts: Parts, ranks: &Ranks) -> Self {
        let kinds = &parts.kinds;
        let exchange = Exchange::of(
            &parts.model,
            &ranks.engine,
            (ranks.layout, parts.precision),
            ranks.joined,
        );
        let exchange = if parts.apart.is_some() {
            exchange.apart()
        } else {
            exchange
        };
        let launches = Launches::of(
            &parts.model,
            kinds,
            (ranks.layout, parts.precision),
            (parts.first, parts.last),
            (ranks.groups(), &ranks.cp),
            &exchange,
        );
        let fused = if parts.fuses {
            u32::try_from(fusion(&parts.model, 1.0).len()).unwrap_or(0)
        } else {
            0
        };
        Self {
            moe: kinds.iter().any(|kind| kind.moe),
            by_decode: kinds
                .iter()
                .any(|kind| !kind.attention.decode(1.0).is_empty()),
            recurs: kinds.iter().any(|kind| kind.attention.recurrence.is_some()),
            launches: launches.with(fused),
            exchange,
            parts,
            tables: [const { Vec::new() }; TABLES],
            racers: Vec::new(),
            beyond: None,
            steps: Vec::new(),
        }
    }

    /// Whether the head is here.
    pub(super) const fn is_last(&self) -> bool {
        self.parts.last
    }

    /// Whether the embedding is here.
    pub(super) const fn is_first(&self) -> bool {
        self.parts.first
    }

    /// The model whose layers these are.
    pub(super) fn model(&self) -> &Model {
        &self.parts.model
    }

    /// One pass over what the lanes have. Lanes without work still wait for the others.
    pub(super) fn pass<'a>(
        &mut self,
        ranks: &Ranks,
        lanes: impl Iterator<Item = LaneShape<'a>>,
        pass: Pass,
    ) -> StepPrice {
        let (mut all, mut least, mut launches, mut prompts) = (0_u32, u32::MAX, 0, false);
        let mut slowest = StepPrice::default();
        for lane in lanes {
            let own = lane.on_rank(ranks.layout.cp);
            let tokens = own.max(pass.tokens);
            all = all.saturating_add(tokens);
            least = least.min(tokens);
            if own == 0 {
                continue;
            }
            prompts |= !lane.chunks.is_empty();
            let price = self.lane(ranks, &lane, tokens, pass);
            launches = launches.max(price.launches);
            if price.total > slowest.total {
                slowest = price;
            }
        }
        if self.moe {
            let (experts, exchange) = if prompts && self.exchange.differs() {
                (Table::PromptExperts, Table::PromptExchange)
            } else {
                (Table::Experts, Table::Exchange)
            };
            slowest.add_all(self.lookup(ranks, experts, all));
            let exchanged = exchanged(all, least.min(all), ranks.layout.dp);
            slowest.add_all(self.lookup(ranks, exchange, exchanged));
        }
        slowest.launches = launches;
        slowest.issued = pass.issued;
        slowest
    }

    fn lane(&mut self, ranks: &Ranks, lane: &LaneShape<'_>, tokens: u32, pass: Pass) -> StepPrice {
        let mut price = *self.lookup(ranks, Table::Lane, tokens);
        if lane.decodes > 0 {
            let padded = pass.issued == Issued::Whole;
            let sequences = lane.decodes.max(pass.sequences);
            if self.by_decode {
                let decoding = if padded {
                    tokens
                } else {
                    lane.decodes + lane.drafted
                };
                price.add_all(self.lookup(ranks, Table::Decode, decoding));
            }
            if self.recurs {
                // Ragged drafts are padded to the longest.
                let queries = (lane.decodes + lane.drafted).div_ceil(lane.decodes);
                price.add_all(self.step(ranks, queries, sequences));
            }
            let tiled = ranks.decodes_as_prompts && !lane.chunks.is_empty();
            for kind in &mut self.parts.kinds {
                // In the prompts' kernel, where that takes them longer.
                let mut tiles = tiled.then(|| {
                    let own = kind.in_tiles(lane, &*ranks.prices, &ranks.roofline);
                    own.times(kind.count)
                });
                let state = (lane, Growth::default());
                kind.over_contexts(state, sequences, &*ranks.prices, |own| {
                    let tiles = tiles.take();
                    match (own, tiles.filter(|own| own.seconds > 0.0)) {
                        (Attended::Line(line, along), Some(tiles))
                            if femtos(tiles.seconds) <= line.time.at(&along.seen) =>
                        {
                            price.add_line(line, &along.seen);
                        }
                        (Attended::Between(own), Some(tiles)) if tiles.seconds <= own.seconds => {
                            price.add(Class::Attention, own);
                        }
                        (_, Some(tiles)) => price.add(Class::Attention, tiles),
                        (Attended::Line(line, along), None) => price.add_line(line, &along.seen),
                        (Attended::Between(own), None) => price.add(Class::Attention, own),
                    }
                });
            }
        }
        for chunk in lane.chunks {
            let chunk = PrefillShape {
                tokens: u64::from(chunk.tokens),
                context: u64::from(chunk.context),
            }
            .of_rank(ranks.layout.cp);
            for kind in &mut self.parts.kinds {
                let [attention, linear] = kind.over_chunk(chunk, &*ranks.prices, &ranks.roofline);
                price.add(Class::Attention, attention.times(kind.count));
                price.add(Class::Linear, linear.times(kind.count));
            }
        }
        if ranks.layout.cp > 1 && !lane.chunks.is_empty() {
            price.add_all(self.lookup(ranks, Table::Gather, lane.prompt_tokens()));
        }
        let samples = lane.sampled > 0;
        if self.parts.last && samples {
            let padded = pass.head_inside && pass.issued == Issued::Whole;
            let sampled = match (padded, pass.one_each) {
                (true, true) => pass.sequences,
                (true, false) => tokens,
                (false, true) => lane.going_on(),
                (false, false) => lane.sampled,
            };
            price.add_all(self.lookup(ranks, Table::Head, sampled));
        }
        price.launches = self.launches.step(
            pass.issued,
            [lane.decodes > 0, !lane.chunks.is_empty(), samples],
            pass.head_inside,
        );
        price
    }

    /// By how much the slowest lane's price grows with each step, and for how many steps more; what
    /// the lanes do is the same in all of them.
    pub(super) fn slope(
        &mut self,
        ranks: &Ranks,
        lanes: &[Grown<'_>],
        pass: Pass,
    ) -> Option<(Slope, u64)> {
        let mut racers = std::mem::take(&mut self.racers);
        racers.clear();
        let mut steps = u64::MAX;
        for (lane, growth) in lanes.iter().filter(|(lane, _)| lane.decodes > 0) {
            let total = if lanes.len() > 1 {
                let tokens = lane.on_rank(ranks.layout.cp).max(pass.tokens);
                self.lane(ranks, lane, tokens, pass).total
            } else {
                0
            };
            let mut slope = Slope::default();
            let sequences = lane.decodes.max(pass.sequences);
            for kind in &mut self.parts.kinds {
                let state = (lane, *growth);
                kind.over_contexts(state, sequences, &*ranks.prices, |own| match own {
                    Attended::Line(line, along) => steps = steps.min(slope.add(line, &along)),
                    Attended::Between(_) => steps = 0,
                });
            }
            racers.push(Racer { total, slope });
        }
        let slow = slowest(&racers);
        let own = slow.map(|(winner, until)| (racers[winner].slope, steps.min(until)));
        self.racers = racers;
        own
    }

    fn lookup(&mut self, ranks: &Ranks, table: Table, key: u32) -> &StepPrice {
        let index = key as usize;
        let known = self.tables[table as usize].get(index);
        if !known.is_some_and(Option::is_some) {
            let price = self.price_of(ranks, table, key);
            if index > REMEMBERED {
                return self.beyond.insert(price);
            }
            put(&mut self.tables[table as usize], index, price);
        }
        let table = &mut self.tables[table as usize];
        table[index].get_or_insert_default()
    }

    fn step(&mut self, ranks: &Ranks, queries: u32, sequences: u32) -> &StepPrice {
        let (more, index) = (queries.saturating_sub(1) as usize, sequences as usize);
        if self.steps.len() <= more {
            self.steps.resize_with(more + 1, Vec::new);
        }
        if !self.steps[more].get(index).is_some_and(Option::is_some) {
            let mut price = StepPrice::default();
            for kind in &self.parts.kinds {
                let step = kind
                    .attention
                    .step(f64::from(sequences), f64::from(queries));
                let step = step.map(|operator| (Class::Attention, operator));
                add_kernels(&mut price, &*ranks.prices, step.into_iter(), kind.count);
            }
            put(&mut self.steps[more], index, price);
        }
        self.steps[more][index].get_or_insert_default()
    }

    fn price_of(&self, ranks: &Ranks, table: Table, key: u32) -> StepPrice {
        let n = f64::from(key);
        let mut price = StepPrice::default();
        match table {
            Table::Lane => self.by_lane(&mut price, ranks, n),
            Table::Decode => {
                for kind in &self.parts.kinds {
                    let kernels = kind.attention.decode(n);
                    add(&mut price, ranks, &kernels, kind.count);
                }
            }
            Table::Experts => self.by_all(&mut price, ranks, n, false),
            Table::PromptExperts => self.by_all(&mut price, ranks, n, true),
            Table::Exchange => self.by_exchange(&mut price, ranks, n, false),
            Table::PromptExchange => self.by_exchange(&mut price, ranks, n, true),
            Table::Head => {
                let Parts {
                    model, precision, ..
                } = &self.parts;
                add(
                    &mut price,
                    ranks,
                    &head(model, ranks.layout, *precision, n),
                    1.0,
                );
                let logits = n * real(model.vocab) * 2.0;
                add_cost(
                    &mut price,
                    &all_gather(&ranks.tp, logits, &*ranks.prices),
                    1.0,
                );
            }
            Table::Gather => {
                // Keys and values of the chunk's tokens, before each layer's attention.
                for kind in &self.parts.kinds {
                    let Some(core) = kind.attention.core else {
                        continue;
                    };
                    let bytes = n * core.kv_bytes;
                    let gather = all_gather(&ranks.cp, bytes, &*ranks.prices);
                    add_cost(&mut price, &gather, kind.count);
                }
            }
        }
        price
    }

    fn by_lane(&self, price: &mut StepPrice, ranks: &Ranks, n: f64) {
        let Parts {
            model,
            precision,
            kinds,
            first,
            fuses,
            ..
        } = &self.parts;
        for kind in kinds {
            let kernels = by_tokens(model, kind.run, ranks.layout, *precision, n);
            add(price, ranks, &kernels, kind.count);
        }
        if *first {
            add(price, ranks, &embedding(model, n), 1.0);
        }
        if *fuses {
            add(price, ranks, &fusion(model, n), 1.0);
        }
        // All-reduces of the layers; TP splits the embedding's rows, so its look-up ends in one too.
        let reduce = all_reduce(&ranks.tp, n * real(model.hidden) * 2.0, &*ranks.prices);
        let times: f64 = kinds
            .iter()
            .map(|kind| self.exchange.reductions(kind) * kind.count)
            .sum::<f64>()
            + if *first { 1.0 } else { 0.0 };
        add_cost(price, &reduce, times);
        for kind in kinds {
            let inner = inner_reduction(&model.layers[kind.run]);
            let reduce = all_reduce(&ranks.tp, n * inner * 2.0, &*ranks.prices);
            add_cost(price, &reduce, kind.count);
        }
    }

    fn by_all(&self, price: &mut StepPrice, ranks: &Ranks, n: f64, prompts: bool) {
        let Parts {
            model, precision, ..
        } = &self.parts;
        // Router and shared experts by lane, lanes taken as level.
        let lane = n / f64::from(ranks.layout.dp);
        for kind in self.parts.kinds.iter().filter(|kind| kind.moe) {
            let kernels = experts(model, kind.run, ranks.layout, *precision, lane, n);
            let kernels = match self.parts.apart {
                Some(how) => {
                    let router = router(model, kind.run, lane).len();
                    brought(kernels[router..].to_vec(), how)
                }
                None => brought(kernels, self.exchange.brought(prompts)),
            };
            add(price, ranks, &kernels, kind.count);
            let shared = shared_experts(model, kind.run, ranks.layout, *precision, lane);
            let beside = lane <= f64::from(ranks.engine.shared_experts_beside());
            let left = if beside {
                left(&kernels, &shared, ranks)
            } else {
                1.0
            };
            add(price, ranks, &shared, left * kind.count);
        }
    }

    fn by_exchange(&self, price: &mut StepPrice, ranks: &Ranks, n: f64, prompts: bool) {
        let model = &self.parts.model;
        let tokens = (prompts, n / f64::from(ranks.layout.dp), n);
        for kind in self.parts.kinds.iter().filter(|kind| kind.moe) {
            let costs =
                self.exchange
                    .costs(model, kind.run, ranks.groups(), tokens, &*ranks.prices);
            for (cost, times) in costs {
                add_cost(price, &cost, times * kind.count);
            }
        }
    }
}

/// Tokens of level lanes that exchange as long as these: who has the fewest tokens must get those of
/// all others, and sends as many results back. Of two lanes, one with a prompt, the prompt goes one way
/// while the other way idles.
fn exchanged(all: u32, least: u32, lanes: u32) -> u32 {
    if lanes < 2 {
        return all;
    }
    let (lanes, others) = (u64::from(lanes), u64::from(all - least));
    u32::try_from((others * lanes).div_ceil(lanes - 1)).unwrap_or(u32::MAX)
}

/// Share of its shared experts' time that a layer waits for where they run beside the routed ones: their
/// launches and waits hide behind those, their bytes and FLOPs do not.
fn left(routed: &Kernels, shared: &Kernels, ranks: &Ranks) -> f64 {
    let sum = |kernels: &Kernels, prices: &dyn Prices| -> f64 {
        let each = kernels.iter().map(|(_, own)| prices.price(own).seconds);
        each.sum()
    };
    let own = sum(shared, &*ranks.prices);
    let hidden = (own - sum(shared, &ranks.roofline)).clamp(0.0, sum(routed, &*ranks.prices));
    if own > 0.0 { 1.0 - hidden / own } else { 1.0 }
}

fn put(rows: &mut Vec<Option<StepPrice>>, index: usize, price: StepPrice) {
    if rows.len() <= index {
        rows.resize(index + 1, None);
    }
    rows[index] = Some(price);
}

/// A collective, so many times.
pub(super) fn add_cost(price: &mut StepPrice, cost: &OpCost, times: f64) {
    price.add(Class::Communication, Priced::of(cost).times(times));
}

pub(super) fn add(price: &mut StepPrice, ranks: &Ranks, kernels: &Kernels, times: f64) {
    add_kernels(price, &*ranks.prices, kernels.iter().copied(), times);
}

fn add_kernels(
    price: &mut StepPrice,
    prices: &dyn Prices,
    kernels: impl Iterator<Item = (Class, Operator)>,
    times: f64,
) {
    for (class, operator) in kernels {
        price.add(class, Priced::of(&prices.price(&operator)).times(times));
    }
}

#[cfg(test)]
mod tests {
    use super::exchanged;

    #[test]
    fn the_lane_with_least_waits_for_all_others() {
        // Level lanes: what there is.
        assert_eq!(exchanged(1200, 300, 4), 1200);
        assert_eq!(exchanged(300, 300, 1), 300);
        // A prompt of 1,000 beside 100 decodes: it goes one way.
        assert_eq!(exchanged(1100, 100, 2), 2000);
        // Of many lanes one more or less is little.
        assert_eq!(exchanged(3200, 0, 32), 3304);
    }
}
