//! What the ranks of a MoE layer tell each other, as a list of collectives: the one list prices and
//! launches are made of, so that nothing is counted twice.
//!
//! After attention and its all-reduce every TP rank of a lane has the lane's tokens. Then:
//!
//! - one lane: each rank computes its experts, and an all-reduce over TP sums their results;
//! - gathered: tokens of all lanes come to every rank and results are reduced and scattered, over the
//!   lanes' peers of each TP rank (and summed over TP), or over all ranks, each with its part of the
//!   lane's tokens, which TP ranks then gather;
//! - sent to the experts' ranks: each TP rank sends its part of the lane's tokens, gets it back, and TP
//!   ranks gather.
//!
//! SGLang leaves attention's all-reduce out where tokens are parted: it reduces and scatters, or sums
//! with the exchange of prompts. Lanes are taken as level.

use super::kinds::LayerKind;
use crate::catalog::Dtype;
use crate::cost::calibrated::Way;
use crate::cost::collective::{CommGroup, all_gather, all_reduce, reduce_scatter};
use crate::cost::layer::{Sent, sent};
use crate::cost::operator::{Brought, OpCost, Prices};
use crate::cost::routed::{Routed, RoutedBy, routed};
use crate::model::{Model, Precision};
use crate::plan::{Carrier, Engine, EngineKind, Joined, Layout, low_latency_tokens};

/// How a replica's ranks exchange tokens of experts.
#[derive(Debug, Clone)]
pub(super) struct Exchange {
    /// In steps of decodes alone, and with prompts.
    carriers: [Carrier; 2],
    engine: EngineKind,
    layout: Layout,
    precision: Precision,
    /// Nothing is exchanged: see [`Exchange::apart`].
    apart: bool,
}

/// Ranks that exchange, by what they split.
#[derive(Clone, Copy)]
pub(super) struct Groups<'a> {
    pub(super) tp: &'a CommGroup,
    pub(super) dp: &'a CommGroup,
    /// All that share the experts.
    pub(super) all: &'a CommGroup,
}

/// One collective.
enum Leg<'a> {
    AllReduce(&'a CommGroup, f64),
    AllGather(&'a CommGroup, f64),
    ReduceScatter(&'a CommGroup, f64),
    Routed(&'a CommGroup, Routed),
}

impl Leg<'_> {
    fn cost(&self, prices: &dyn Prices) -> OpCost {
        match self {
            Self::AllReduce(group, bytes) => all_reduce(group, *bytes, prices),
            Self::AllGather(group, bytes) => all_gather(group, *bytes, prices),
            Self::ReduceScatter(group, bytes) => reduce_scatter(group, *bytes, prices),
            Self::Routed(group, asked) => routed(group, asked, prices),
        }
    }

    fn kernels(&self) -> f64 {
        match self {
            Self::AllReduce(group, _)
            | Self::AllGather(group, _)
            | Self::ReduceScatter(group, _) => group.kernels(),
            // DeepEP's normal mode counts a dispatch's tokens and tells the peers first.
            Self::Routed(_, own) => match (own.by, own.way) {
                (RoutedBy::Deepep { low_latency: false }, Way::Dispatch) => 3.0,
                _ => 1.0,
            },
        }
    }
}

/// Bytes of a value as DeepEP sends it: FP8 with a scale per 128 values, or BF16.
const DEEPEP_FP8: f64 = 1.0 + 4.0 / 128.0;
const BF16: f64 = 2.0;

/// Bytes of a value of activations that were quantised for the experts.
const fn quantised(gemm: Dtype) -> f64 {
    match gemm {
        Dtype::Fp8 | Dtype::Int8 => 1.0,
        // Half a byte and a scale per 16 values.
        Dtype::Fp4 | Dtype::Mxfp4 => 0.5625,
        _ => BF16,
    }
}

impl Exchange {
    /// Of a model's experts in a pool.
    pub(super) fn of(
        model: &Model,
        engine: &Engine,
        (layout, precision): (Layout, Precision),
        joined: Joined,
    ) -> Self {
        let top_k = model.moe().map_or(0, |moe| moe.top_k);
        Self {
            carriers: engine.carriers(layout, top_k, joined),
            engine: engine.kind,
            layout,
            precision,
            apart: false,
        }
    }

    /// Of FFN GPUs that attention GPUs send to: nothing is exchanged among them.
    pub(super) const fn apart(mut self) -> Self {
        self.carriers = [Carrier::None; 2];
        self.apart = true;
        self
    }

    /// Whether steps with prompts differ from those of decodes alone.
    pub(super) fn differs(&self) -> bool {
        self.carriers[0] != self.carriers[1]
    }

    /// How tokens come to their experts, in steps with prompts or without.
    pub(super) fn brought(&self, prompts: bool) -> Brought {
        match self.carriers[usize::from(prompts)] {
            Carrier::None | Carrier::Gather { .. } | Carrier::Sum | Carrier::Broadcast => {
                Brought::Gathered
            }
            _ if self.engine == EngineKind::TensorRtLlm => Brought::Slots,
            Carrier::Deepep { low_latency: true } => Brought::Masked,
            Carrier::Deepep { .. } | Carrier::Nvlink { .. } | Carrier::Direct => Brought::Listed,
        }
    }

    /// All-reduces of hidden vectors of a layer beside those here: attention's is SGLang's to make
    /// part of the exchange.
    pub(super) fn reductions(&self, kind: &LayerKind) -> f64 {
        if kind.moe && self.takes_attentions() {
            (kind.reductions - 1.0).max(0.0)
        } else {
            kind.reductions
        }
    }

    fn takes_attentions(&self) -> bool {
        self.engine == EngineKind::Sglang && self.carriers[0] != Carrier::None
    }

    /// Seconds of a MoE layer's collectives, each, for `lane` tokens of a lane and `all` tokens of all.
    pub(super) fn costs(
        &self,
        model: &Model,
        run: usize,
        groups: Groups<'_>,
        (prompts, lane, all): (bool, f64, f64),
        prices: &dyn Prices,
    ) -> Vec<(OpCost, f64)> {
        let Some(own) = sent(model, run, self.precision) else {
            return Vec::new();
        };
        self.legs(&own, groups, prompts, lane, all)
            .into_iter()
            .map(|(leg, times)| (leg.cost(prices), times))
            .collect()
    }

    /// Kernels of a MoE layer's collectives in a step with prompts, which is what may run eager.
    pub(super) fn kernels(&self, model: &Model, run: usize, groups: Groups<'_>) -> f64 {
        let Some(own) = sent(model, run, self.precision) else {
            return 0.0;
        };
        let legs = self.legs(&own, groups, true, 1.0, f64::from(self.layout.dp));
        legs.iter().map(|(leg, times)| leg.kernels() * times).sum()
    }

    fn legs<'a>(
        &self,
        own: &Sent,
        Groups { tp, dp, all: ranks }: Groups<'a>,
        prompts: bool,
        lane: f64,
        all: f64,
    ) -> Vec<(Leg<'a>, f64)> {
        let results = all * own.width * BF16;
        let of_lane = lane * own.hidden * BF16;
        let mut legs = Vec::with_capacity(4);
        if self.apart {
            return legs;
        }
        let mut add = |leg| legs.push((leg, 1.0));
        let carrier = self.carriers[usize::from(prompts)];
        // Attention's sum leaves each TP rank with its part.
        let parted = !matches!(carrier, Carrier::None | Carrier::Sum | Carrier::Broadcast);
        if self.takes_attentions() && parted {
            add(Leg::ReduceScatter(tp, of_lane));
        }
        match carrier {
            Carrier::None => add(Leg::AllReduce(tp, of_lane)),
            Carrier::Sum => {
                add(Leg::AllReduce(ranks, results));
                add(Leg::AllReduce(ranks, results));
            }
            Carrier::Broadcast => {
                // One after another; each moves a lane's part.
                let each = Leg::AllGather(dp, results / f64::from(self.layout.dp));
                add(Leg::AllReduce(dp, results));
                add(Leg::AllReduce(tp, of_lane));
                legs.push((each, f64::from(self.layout.dp)));
            }
            Carrier::Gather {
                split,
                quantised: q,
            } => {
                // Quantised tokens go with their choices, others with the router's logits.
                let token = if q {
                    own.width * quantised(own.gemm) + own.topk * 8.0
                } else if self.engine == EngineKind::Vllm {
                    (own.width + own.choices) * BF16
                } else {
                    own.width * BF16
                };
                let group = if split { ranks } else { dp };
                add(Leg::AllGather(group, all * token));
                add(Leg::ReduceScatter(group, results));
                add(if split {
                    Leg::AllGather(tp, of_lane)
                } else {
                    Leg::AllReduce(tp, of_lane)
                });
            }
            Carrier::Deepep { .. } | Carrier::Nvlink { .. } | Carrier::Direct => {
                let tokens = (lane / f64::from(self.layout.tp)).max(1.0);
                self.routes(own, ranks, carrier, tokens, &mut legs);
                legs.push((Leg::AllGather(tp, of_lane), 1.0));
            }
        }
        legs
    }

    fn routes<'a>(
        &self,
        own: &Sent,
        ranks: &'a CommGroup,
        carrier: Carrier,
        tokens: f64,
        legs: &mut Vec<(Leg<'a>, f64)>,
    ) {
        let (by, there) = match carrier {
            Carrier::Nvlink { one_sided } => (RoutedBy::Nvlink { one_sided }, quantised(own.gemm)),
            Carrier::Deepep { low_latency } => (
                RoutedBy::Deepep { low_latency },
                if own.gemm == Dtype::Fp8 {
                    DEEPEP_FP8
                } else {
                    BF16
                },
            ),
            _ => (RoutedBy::Direct, quantised(own.gemm)),
        };
        let low = matches!(by, RoutedBy::Deepep { low_latency: true });
        // vLLM's low-latency kernels take so many tokens at once.
        let pieces = match low_latency_tokens(self.engine) {
            Some(most) if low && self.engine == EngineKind::Vllm => {
                libm::ceil(tokens / f64::from(most))
            }
            _ => 1.0,
        };
        let mut add = |way, value_bytes| {
            let asked = Routed {
                by,
                way,
                tokens: tokens / pieces,
                hidden: own.width,
                value_bytes,
                topk: own.topk,
                experts: own.experts,
                groups: own.groups,
                ranks: ranks.ranks,
                domains: ranks.domains(),
                rate: ranks.intra_rate,
                nic: ranks.inter_rate,
            };
            legs.push((Leg::Routed(ranks, asked), pieces));
        };
        if by == (RoutedBy::Nvlink { one_sided: false }) {
            add(Way::Dispatch, 0.0);
        }
        add(Way::Dispatch, there);
        add(Way::Combine, BF16);
    }
}
