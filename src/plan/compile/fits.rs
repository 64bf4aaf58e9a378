//! Whether a pool's model fits its GPUs, and what would: the smallest legal layouts, other number
//! formats.
//!
//! The search goes through legal TP × PP, with EP as the pool has it, and for a model with latents
//! and experts DP-attention with EP too (TP can't divide a latent). It leaves out at once what
//! could not even hold its share of the weights, so it can run while a layout is dragged.

use super::super::engine::Engine;
use super::super::finding::{Change, Finding, Place};
use super::super::legality::{self, Degree, Facts};
use super::super::memory::{BlockSource, MemoryBudget, Sizer};
use super::super::pool::{Layout, Pool, Role};
use super::Compiling;
use crate::catalog::{Dtype, Gpu};
use crate::model::{Attention, Model, Precision};

/// Largest replica looked for, GPUs.
const MOST: u32 = 1024;
/// Widest TP and DP looked for.
const WIDEST: u32 = 64;
/// Layouts named.
const NAMED: usize = 3;

/// The search for what fits.
struct Search<'a> {
    model: &'a Model,
    engine: &'a Engine,
    gpu: &'a Gpu,
    sizer: Sizer<'a>,
    like: Layout,
    longest: u64,
}

impl Compiling<'_> {
    /// Says so where one request of the workload does not fit.
    pub(super) fn fits(
        &mut self,
        model: &Model,
        pool: &Pool,
        gpu: &Gpu,
        draft: Option<&Model>,
        (layout, count): (Layout, u32),
        memory: &MemoryBudget,
    ) {
        let longest = match pool.role {
            Role::Ffn => 0,
            _ => self.demand.longest_context.max(1),
        };
        if memory.shortfall.is_none() && memory.kv_tokens >= longest {
            return;
        }
        let cause = cause(model, gpu, layout, memory, longest);
        if matches!(pool.role, Role::Attention | Role::Ffn) {
            let place = Place::Pool(pool.id.clone());
            self.findings.push(Finding::error(place, cause));
            return;
        }
        let search = Search {
            model: self.model,
            engine: &pool.engine,
            gpu,
            sizer: Sizer::new(self.model, gpu, draft),
            like: layout,
            longest,
        };
        let finding = search.finding(pool, count, cause);
        self.findings.push(finding);
    }
}

fn cause(model: &Model, gpu: &Gpu, layout: Layout, memory: &MemoryBudget, longest: u64) -> String {
    match memory.shortfall {
        Some(missing) if memory.source == BlockSource::Measured => format!(
            "num_gpu_blocks is {}: weights and so many blocks take {:.1} GiB more than the {:.1} GiB of each {}",
            memory.blocks,
            missing.gib(),
            memory.capacity.gib(),
            gpu.name
        ),
        Some(missing) => format!(
            "{} does not fit {} GPUs at TP {} · PP {} · EP {}: it takes {:.1} GiB more than the {:.1} GiB of each",
            model.name,
            gpu.name,
            layout.tp,
            layout.pp,
            layout.ep,
            missing.gib(),
            memory.capacity.gib()
        ),
        None => format!(
            "{:.2} GiB are left for KV on each {}: {} tokens, but one request of the workload needs {longest}",
            memory.kv.gib(),
            gpu.name,
            memory.kv_tokens
        ),
    }
}

impl Search<'_> {
    fn fits(&self, layout: Layout, precision: Precision) -> bool {
        if self.sizer.least_weights(precision, layout.gpus()) > self.gpu.memory {
            return false;
        }
        let memory = self.sizer.budget(self.engine, precision, layout);
        memory.shortfall.is_none() && memory.kv_tokens >= self.longest
    }

    /// The smallest layouts that fit, as many GPUs each; at most so many GPUs.
    fn smallest(&self, precision: Precision, most: u32) -> Vec<Layout> {
        let mut found: Vec<Layout> = Vec::new();
        for layout in self.layouts(precision, most) {
            let larger = found
                .first()
                .is_some_and(|first| layout.gpus() > first.gpus());
            if larger || found.len() == NAMED {
                break;
            }
            if self.fits(layout, precision) {
                found.push(layout);
            }
        }
        found
    }

    /// Legal layouts, fewest GPUs first; TP inside a scale-up domain before PP.
    fn layouts(&self, precision: Precision, most: u32) -> Vec<Layout> {
        let facts = Facts::of(self.model, precision.weights);
        let powers = || (0..7).map(|power| 1_u32 << power);
        let latent = self
            .model
            .layers
            .iter()
            .any(|run| matches!(run.attention, Attention::Mla(_) | Attention::Compressed(_)));
        let moe = self.model.moe().is_some();
        let mut layouts = Vec::new();
        for tp in legality::legal_tps(&facts, WIDEST.min(most)) {
            for dp in powers().take_while(|dp| *dp == 1 || (latent && moe)) {
                let ranks = tp.saturating_mul(dp);
                for pp in powers().take_while(|pp| *pp <= self.model.layer_count().max(1)) {
                    if ranks.saturating_mul(pp) > most {
                        break;
                    }
                    let dealt = moe && (self.like.ep > 1 || dp > 1);
                    for ep in [if dealt { ranks } else { 1 }, 1] {
                        let layout = Layout {
                            tp,
                            pp,
                            dp,
                            ep,
                            ..Layout::SINGLE
                        };
                        if legality::keeps_all(&facts, self.engine.kind, layout) {
                            layouts.push(layout);
                            break;
                        }
                    }
                }
            }
        }
        let domain = self.gpu.scale_up_domain.max(1);
        layouts.sort_by_key(|layout| (layout.gpus(), layout.tp > domain, layout.dp > 1, layout.pp));
        layouts
    }

    /// The finding: what fits by layout, then by number formats, within the pool's GPUs where that
    /// can be had.
    fn finding(&self, pool: &Pool, count: u32, cause: String) -> Finding {
        let precision = pool.precision;
        let place = Place::Pool(pool.id.clone());
        if pool.engine.num_gpu_blocks.is_some() {
            return Finding::error(
                place,
                format!("{cause}. Measure it again, or let it be worked out from memory"),
            )
            .with_repair("Work it out", Change::Blocks(pool.id.clone(), None));
        }
        let smallest = self.smallest(precision, MOST);
        let mut finding = match smallest.first() {
            Some(first) => {
                let names: Vec<String> = smallest.iter().map(|l| words(*l)).collect();
                let which = match names.split_last() {
                    Some((last, [])) => format!("The smallest layout that fits is {last}"),
                    Some((last, rest)) => format!(
                        "The smallest layouts that fit are {} and {last}",
                        rest.join(", ")
                    ),
                    None => String::new(),
                };
                Finding::error(place, format!("{cause}. {which} ({} GPUs)", first.gpus()))
            }
            None => Finding::error(place, format!("{cause}. No layout up to {MOST} GPUs fits")),
        };
        for layout in smallest.iter().filter(|layout| layout.gpus() <= count) {
            finding = finding.with_repair(
                format!("Use {}", words(*layout)),
                Change::Layout(pool.id.clone(), *layout),
            );
        }
        for (label, other) in self.narrower(precision) {
            let layout = if self.fits(self.like, other) {
                Some(pool.layout)
            } else {
                self.smallest(other, count).first().copied()
            };
            if let Some(layout) = layout {
                let at = if layout == pool.layout {
                    String::new()
                } else {
                    format!(", {}", words(layout))
                };
                finding = finding.with_repair(
                    format!("{label}{at}"),
                    Change::Fit(pool.id.clone(), layout, other),
                );
            }
        }
        finding
    }

    /// Narrower formats worth offering on this GPU.
    fn narrower(&self, precision: Precision) -> Vec<(&'static str, Precision)> {
        if !self.gpu.peaks.has(Dtype::Fp8) {
            return Vec::new();
        }
        let mut offers = Vec::new();
        if precision.weights == Dtype::Bf16 {
            offers.push((
                "FP8 weights",
                Precision {
                    weights: Dtype::Fp8,
                    activations: Dtype::Fp8,
                    ..precision
                },
            ));
        }
        if precision.kv == Dtype::Bf16 {
            offers.push((
                "FP8 KV",
                Precision {
                    kv: Dtype::Fp8,
                    ..precision
                },
            ));
        }
        offers
    }
}

/// `TP 8 · PP 2 · EP 8`.
fn words(layout: Layout) -> String {
    let shown = |degree: &Degree| {
        matches!(degree, Degree::Tp | Degree::Pp | Degree::Ep) || degree.of(layout) > 1
    };
    let parts: Vec<String> = [Degree::Tp, Degree::Pp, Degree::Dp, Degree::Ep]
        .iter()
        .filter(|degree| shown(degree))
        .map(|degree| format!("{} {}", degree.name(), degree.of(layout)))
        .collect();
    parts.join(" · ")
}
