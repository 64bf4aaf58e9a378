//! The step of one copy of a split model.
//!
//! The batch of every lane is dealt into micro-batches, sequences evenly and every prompt's chunk by its
//! tokens. Of a micro-batch the slowest lane's attention counts (all wait for the FFN together), all lanes'
//! tokens meet in the FFN, whose slowest rank counts, and both ways take what the drawn links give. A
//! step of decodes follows the one before without draining, so it takes the pipeline's period; one with
//! prompts fills and drains.
//!
//! The slowest lane is the one whose whole batch takes longest; its micro-batches stand for the others'.

use super::links::Way;
use super::pipeline::{AfdStep, LayerTimes, Micro, Resource, Run, STAGES};
use super::traffic::FanOut;
use crate::catalog::Dtype;
use crate::cluster::{ChannelId, GpuIx, Router};
use crate::cost::calibrated::distinct;
use crate::cost::operator::{Brought, Class, Fidelity};
use crate::cost::step::{Chunk, Femtos, HalfPricer, LaneShape, StepPrice, femtos};
use crate::model::Ffn;
use crate::plan::{Plan, PlannedService, PlannedSplit, Split};
use crate::units::real;
use std::collections::BTreeMap;
use std::sync::Arc;

/// How a step used its resources.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SplitUse {
    /// Work of each [`Resource`].
    pub busy: [Femtos; STAGES],
    /// The step's time on the devices.
    pub took: Femtos,
}

/// Prices steps of a copy of a split service.
pub struct SplitPricer {
    /// A list of prices for each attention pool, and each lane's pool.
    halves: Vec<HalfPricer>,
    of_lane: Vec<usize>,
    ffn: HalfPricer,
    ways: [Way; 2],
    how: Split,
    hidden: f64,
    /// Groups of FFN ranks a token goes to, by distinct layer, and all of them.
    reached: Vec<f64>,
    groups: f64,
    host: Femtos,
    host_per_sequence: Femtos,
    launch: Femtos,
    gap: Femtos,
    runs: Vec<Run>,
    used: SplitUse,
    /// Tokens of the fullest step of decodes so far, and its layers.
    fullest: u32,
    kept: Vec<Run>,
    /// Layers of each distinct kind.
    counts: Vec<u32>,
    /// Ways inside groups of FFN ranks, by distinct layer and tokens.
    shared: BTreeMap<(usize, u32), [f64; 2]>,
    // Lists of a step.
    times: Vec<[Micro; 4]>,
    reach: Vec<u64>,
    chunks: Vec<Chunk>,
}

/// Most ways remembered.
const SHARED: usize = 1 << 16;

/// Bytes of a value on its way: FP8 with a scale of 32 bits for every 128 (DeepEP's), or BF16.
fn value_bytes(format: Dtype) -> f64 {
    match format {
        Dtype::Fp8 => 1.0 + 4.0 / 128.0,
        _ => 2.0,
    }
}

impl SplitPricer {
    /// Of a split service's first copy; the others are placed alike. Nothing for other services.
    #[must_use]
    pub fn new(
        plan: &Plan,
        service: &PlannedService,
        fidelity: &Arc<dyn Fidelity>,
    ) -> Option<Self> {
        let split: &PlannedSplit = service.split.as_ref()?;
        let brought = if split.how.broadcast {
            Brought::Gathered
        } else {
            Brought::Listed
        };
        let half = |pool: usize| {
            HalfPricer::new(
                &plan.topology,
                &plan.model,
                &plan.pools[pool],
                fidelity,
                brought,
            )
        };
        let lanes: Vec<(usize, &[GpuIx])> = plan
            .shares(service, 0)
            .map(|(pool, replica)| {
                let at = split.attention.iter().position(|own| *own == pool);
                let ranks = plan.pools[pool].replicas[replica].ranks.as_slice();
                (at.unwrap_or(0), ranks)
            })
            .collect();
        let ranks: Vec<&[GpuIx]> = lanes.iter().map(|(_, ranks)| *ranks).collect();
        let pool = &plan.pools[split.ffn];
        let mut router = Router::new(&plan.topology);
        let ffn_ranks = &pool.replicas[0].ranks;
        let ways =
            [false, true].map(|back| Way::of(&plan.topology, &mut router, &ranks, ffn_ranks, back));
        let ffn = half(split.ffn);
        let groups = f64::from(pool.layout.ep);
        let reached = reached(plan, &ffn, split.how, groups);
        let mut counts = vec![0; ffn.kinds()];
        for (kind, count) in ffn.runs() {
            counts[kind] += count;
        }
        let engine = &plan.pools[service.pool].engine;
        Some(Self {
            halves: split.attention.iter().map(|own| half(*own)).collect(),
            of_lane: lanes.iter().map(|(at, _)| *at).collect(),
            ffn,
            ways,
            how: split.how,
            hidden: real(plan.model.hidden),
            reached,
            groups,
            host: femtos(engine.host_step_time.get()),
            host_per_sequence: femtos(engine.host.per_sequence.get()),
            launch: femtos(engine.host.launch.get()),
            gap: femtos(engine.host.gap.get()),
            runs: Vec::new(),
            used: SplitUse::default(),
            fullest: 0,
            kept: Vec::new(),
            counts,
            shared: BTreeMap::new(),
            times: Vec::new(),
            reach: Vec::new(),
            chunks: Vec::new(),
        })
    }

    /// The layers of the step priced last, for its Gantt.
    #[must_use]
    pub fn runs(&self) -> &[Run] {
        &self.runs
    }

    /// The layers of the fullest step of decodes priced so far.
    #[must_use]
    pub fn fullest(&self) -> &[Run] {
        &self.kept
    }

    /// How the step priced last used its resources.
    #[must_use]
    pub const fn used(&self) -> SplitUse {
        self.used
    }

    /// The channel that carries most on the way to the FFN, and back.
    #[must_use]
    pub fn worst_channels(&self) -> [Option<ChannelId>; 2] {
        [self.ways[0].worst, self.ways[1].worst]
    }

    /// See [`crate::cost::StepPricer::farthest`].
    #[must_use]
    pub fn farthest(&self) -> Option<(f64, Class)> {
        let all = self.halves.iter().chain(std::iter::once(&self.ffn));
        all.filter_map(HalfPricer::farthest)
            .max_by(|a, b| a.0.total_cmp(&b.0))
    }

    /// The price of a step; lanes in the order of [`Plan::shares`].
    pub fn step(&mut self, lanes: &[LaneShape<'_>]) -> StepPrice {
        let micros = self.how.micro_batches.max(1);
        let Some((slowest, mut price)) = self.slowest(lanes) else {
            return StepPrice::default();
        };
        self.runs.clear();
        let kinds = self.ffn.kinds();
        let mut times = std::mem::take(&mut self.times);
        times.clear();
        times.resize(kinds, [Micro::default(); 4]);
        let mut ends = [0; 4];
        let mut ffn_price = StepPrice::default();
        for micro in 0..micros {
            let (mut most, mut all) = (0, 0);
            for lane in lanes {
                let own = tokens_of(lane, micro, micros);
                most = own.max(most);
                all += own;
            }
            let mean = f64::from(all) / f64::from(u32::try_from(lanes.len()).unwrap_or(1).max(1));
            let lane = &lanes[slowest];
            let half = &mut self.halves[self.of_lane[slowest]];
            let own = cut(lane, micro, micros, &mut self.reach, &mut self.chunks);
            let index = micro as usize;
            ends[index] = half.ends(&own).total;
            for (kind, times) in times.iter_mut().enumerate() {
                let attention = half.attention(kind, &own).total;
                let ffn = self.ffn.ffn(kind, all);
                let formats = [self.how.dispatch, self.how.combine].map(value_bytes);
                let bytes = self.hidden * self.reached[kind];
                let of_group = bytes / self.groups * f64::from(all);
                let shared = match self.shared.get(&(kind, all)) {
                    Some(known) => *known,
                    None => {
                        let own = self.ffn.shared_ways(kind, of_group, formats);
                        if self.shared.len() < SHARED {
                            self.shared.insert((kind, all), own);
                        }
                        own
                    }
                };
                let [out, back] = std::array::from_fn(|way| {
                    let bytes = bytes * formats[way];
                    let network = self.ways[way].seconds(bytes, f64::from(most), mean);
                    femtos(network + shared[way])
                });
                times[index] = [attention, out, ffn.total, back];
                ffn_price.add_all(&ffn.times(self.counts[kind]));
            }
        }
        let count = micros as usize;
        let mut first = Some(ends);
        for (kind, layers) in self.ffn.runs() {
            let mut own = times[kind];
            let mut left = layers;
            if let Some(ends) = first.take() {
                for (micro, end) in own.iter_mut().zip(ends) {
                    micro[Resource::Attention as usize] += end;
                }
                self.runs
                    .extend(LayerTimes::new(&own[..count]).map(|layer| Run { layer, count: 1 }));
                own = times[kind];
                left -= 1;
            }
            self.runs
                .extend(LayerTimes::new(&own[..count]).map(|layer| Run { layer, count: left }));
        }
        self.times = times;
        let decodes = lanes.iter().all(|lane| lane.chunks.is_empty());
        let took = if decodes {
            AfdStep::steady(&self.runs)
        } else {
            AfdStep::of(&self.runs).took
        };
        let tokens = lanes.iter().map(LaneShape::tokens).sum();
        if decodes && tokens > self.fullest {
            self.fullest = tokens;
            self.kept.clone_from(&self.runs);
        }
        self.used = SplitUse {
            busy: AfdStep::work(&self.runs),
            took,
        };
        settle(&mut price, &ffn_price, took);
        let sequences = lanes.iter().map(|lane| lane.decodes).max().unwrap_or(0);
        price.host = self
            .host
            .saturating_add(self.host_per_sequence.saturating_mul(u64::from(sequences)));
        if self.halves.iter().all(HalfPricer::is_captured) && decodes {
            price.launches = micros;
        }
        price.launch = self.launch;
        price.gap = self.gap;
        price
    }

    /// The lane whose attention takes longest, and that of all layers; none: nobody has work.
    fn slowest(&mut self, lanes: &[LaneShape<'_>]) -> Option<(usize, StepPrice)> {
        let mut slowest: Option<(usize, StepPrice)> = None;
        for (index, lane) in lanes.iter().enumerate() {
            if lane.tokens() == 0 {
                continue;
            }
            let half = &mut self.halves[self.of_lane[index]];
            let mut price = half.ends(lane);
            for kind in 0..half.kinds() {
                let count = self.counts[kind];
                price.add_all(&half.attention(kind, lane).times(count));
            }
            if slowest.is_none_or(|(_, other)| price.total > other.total) {
                slowest = Some((index, price));
            }
        }
        slowest
    }
}

/// Groups of FFN ranks a token goes to in each distinct layer.
fn reached(plan: &Plan, ffn: &HalfPricer, how: Split, groups: f64) -> Vec<f64> {
    let mut reached = vec![1.0; ffn.kinds()];
    for ((kind, _), run) in ffn.runs().zip(&plan.model.layers) {
        if let Ffn::Moe(moe) = &run.ffn {
            let fan = if how.broadcast {
                FanOut::Broadcast
            } else {
                FanOut::Experts {
                    top_k: u32::try_from(moe.top_k).unwrap_or(u32::MAX),
                    experts: u32::try_from(moe.experts).unwrap_or(u32::MAX),
                }
            };
            reached[kind] = match fan {
                FanOut::Broadcast => groups,
                FanOut::Experts { top_k, experts } => {
                    distinct(f64::from(top_k), f64::from(experts), groups)
                }
            };
        }
    }
    reached
}

/// Part `index` of `count`: whole, even, the first ones larger.
const fn part(whole: u32, index: u32, count: u32) -> u32 {
    whole / count + if index < whole % count { 1 } else { 0 }
}

/// Tokens of a lane in a micro-batch.
fn tokens_of(lane: &LaneShape<'_>, micro: u32, micros: u32) -> u32 {
    let prompts: u32 = lane
        .chunks
        .iter()
        .map(|own| part(own.tokens, micro, micros))
        .sum();
    part(lane.decodes, micro, micros) + prompts
}

/// A micro-batch of a lane.
fn cut<'a>(
    lane: &LaneShape<'_>,
    micro: u32,
    micros: u32,
    reach: &'a mut Vec<u64>,
    chunks: &'a mut Vec<Chunk>,
) -> LaneShape<'a> {
    let decodes = part(lane.decodes, micro, micros);
    let share = |all: u64| match lane.decodes {
        0 => 0,
        n => {
            let own = u128::from(all) * u128::from(decodes) / u128::from(n);
            u64::try_from(own).unwrap_or(u64::MAX)
        }
    };
    reach.clear();
    reach.extend(lane.reached.iter().map(|own| share(*own)));
    chunks.clear();
    for chunk in lane.chunks {
        let before: u32 = (0..micro).map(|own| part(chunk.tokens, own, micros)).sum();
        let tokens = part(chunk.tokens, micro, micros);
        if tokens > 0 {
            chunks.push(Chunk {
                tokens,
                context: chunk.context + before,
            });
        }
    }
    let ended = lane.sampled.saturating_sub(lane.decodes);
    LaneShape {
        decodes,
        drafted: 0,
        context: share(lane.context),
        reached: reach,
        chunks,
        sampled: decodes + if micro + 1 == micros { ended } else { 0 },
    }
}

/// What of the step's time which class of kernels is: the slowest lane's attention as it is; of what it
/// waits, the FFN's kernels first, then the links.
fn settle(price: &mut StepPrice, ffn: &StepPrice, took: Femtos) {
    let own = price.total;
    if took <= own || own == 0 {
        // Cut into micro-batches attention is no faster; rounding may say so.
        scale(price, took, own.max(1));
        return;
    }
    let waits = took - own;
    let of_ffn = waits.min(ffn.total);
    let mut rest = *ffn;
    if ffn.total > 0 {
        scale(&mut rest, of_ffn, ffn.total);
    }
    price.add_all(&rest);
    let left = took.saturating_sub(price.total);
    price.total = price.total.saturating_add(left);
    price.by_class[Class::Communication as usize] += left;
    price.by_origin[crate::cost::operator::Origin::Roofline as usize] += left;
}

/// Each part of a price times `to / from`, the total exact.
fn scale(price: &mut StepPrice, to: Femtos, from: Femtos) {
    let of = |own: Femtos| {
        let own = u128::from(own) * u128::from(to) / u128::from(from.max(1));
        u64::try_from(own).unwrap_or(u64::MAX)
    };
    price.by_class = price.by_class.map(of);
    price.by_origin = price.by_origin.map(of);
    price.off = price.off.map(of);
    price.total = price.by_class.iter().sum();
    let left = to.saturating_sub(price.total);
    price.total += left;
    price.by_class[Class::Elementwise as usize] += left;
    let origin: Femtos = price.by_origin.iter().sum();
    price.by_origin[crate::cost::operator::Origin::Roofline as usize] += to.saturating_sub(origin);
}
