//! The end of a run: books that must balance, and the summary.

use super::{Engine, Scenario, SimError};
use crate::cluster::ChannelId;
use crate::cost::{Class, Origin};
use crate::sim::breakdown::breakdown;
use crate::sim::pricer::Pricer;
use crate::sim::split::splits;
use crate::sim::summary::{Extrapolated, Provenance, Reuse, Summary};
use crate::sim::verdict::{Facts, verdict};

impl Engine<'_> {
    /// Every request ended in one state, every byte of KV memory is free, every token asked for was delivered,
    /// every byte sent arrived.
    pub(super) fn check(&self) -> Result<(), SimError> {
        let counts = self.metrics.counts;
        if self.requests.alive() > 0 {
            return Err(self.stall("nothing is left to happen"));
        }
        let broken = |what: String| Err(SimError::Conservation { what });
        if counts.arrived != counts.completed + counts.failed {
            return broken(format!(
                "{} requests arrived, {} completed, {} failed",
                counts.arrived, counts.completed, counts.failed
            ));
        }
        if self.metrics.delivered() != self.tokens_asked {
            return broken(format!(
                "{} tokens asked for, {} delivered",
                self.tokens_asked,
                self.metrics.delivered()
            ));
        }
        for replica in &self.replicas {
            for lane in &replica.lanes {
                let memory = lane.memory();
                if !memory.is_idle() || lane.running() != 0 || lane.outstanding != 0 {
                    return broken(format!(
                        "{} of {} KV bytes free, {} requests running",
                        memory.available(),
                        memory.capacity,
                        lane.running()
                    ));
                }
            }
        }
        let difference = (self.wires.network.sent - self.wires.network.received).abs();
        if !self.wires.network.is_idle() || difference > self.wires.network.sent * 1e-9 + 1.0 {
            return broken(format!(
                "{} bytes sent, {} received",
                self.wires.network.sent, self.wires.network.received
            ));
        }
        Ok(())
    }

    /// A run that can't go on, and where its requests are.
    pub(super) fn stall(&self, why: &str) -> SimError {
        let in_schedulers: u32 = self
            .replicas
            .iter()
            .flat_map(|r| r.lanes.iter().map(|lane| lane.outstanding))
            .sum();
        SimError::Stall {
            #[expect(clippy::cast_precision_loss, reason = "for people")]
            at_s: self.now as f64 * 1e-9,
            in_flight: self.requests.alive() as u64,
            detail: format!("{why}; {in_schedulers} of them in schedulers"),
        }
    }

    #[expect(clippy::cast_precision_loss, reason = "shares and rates for people")]
    pub(super) fn summary(&self, scenario: &Scenario) -> Summary {
        let plan = self.plan;
        let measured = self.metrics.measure(self.now, !self.closed);
        let mut work = self.work;
        work.events = self.events;
        let mut by_class = [0u128; Class::COUNT];
        let mut by_origin = [0u128; Origin::COUNT];
        let mut off = [0u128; 2];
        for replica in &self.replicas {
            work.steps += replica.steps;
            work.request_steps += replica.request_steps;
            work.preemptions += replica.lanes.iter().map(|l| l.preemptions).sum::<u64>();
            let ledger = &replica.ledger;
            let own = ledger.by_class();
            let sums = by_class.iter_mut().chain(&mut by_origin).chain(&mut off);
            let parts = own.iter().chain(&ledger.by_origin).chain(&ledger.off);
            for (sum, part) in sums.zip(parts) {
                *sum += part;
            }
        }
        let device: u128 = by_class.iter().sum();
        let share = |part: u128| part as f64 / device.max(1) as f64;
        let origins = Origin::ALL
            .iter()
            .map(|origin| (origin.name(), share(by_origin[*origin as usize])))
            .filter(|(_, share)| *share > 0.0)
            .collect();
        let mut time_shares: Vec<(&'static str, f64)> = Class::ALL
            .iter()
            .map(|class| (class.name(), share(by_class[*class as usize])))
            .filter(|(_, share)| *share > 0.0)
            .collect();
        time_shares.sort_by(|a, b| b.1.total_cmp(&a.1));
        let kv_peak: Vec<(String, f64)> = plan
            .pools
            .iter()
            .enumerate()
            .map(|(index, pool)| {
                let peak = self
                    .replicas
                    .iter()
                    .filter(|replica| replica.pool == index)
                    .flat_map(|replica| &replica.lanes)
                    .map(|lane| lane.memory())
                    .map(|memory| memory.peak as f64 / memory.capacity.max(1) as f64)
                    .fold(0.0, f64::max);
                (pool.name.clone(), peak)
            })
            .collect();
        let seconds = self.now as f64 * 1e-9;
        let carried = self.wires.network.carried(self.now);
        let busiest = carried
            .zip(plan.topology.channels())
            .enumerate()
            .filter(|(_, (done, _))| done.bytes > 0.0)
            .map(|(index, (done, channel))| {
                let share = done.bytes / (channel.rate.get() * seconds);
                (index, share, done.full as f64 * 1e-9 / seconds)
            })
            .max_by(|a, b| a.1.total_cmp(&b.1));
        let busiest_link = busiest.map(|(index, share, _)| {
            let id = ChannelId(u32::try_from(index).unwrap_or(0));
            (plan.topology.channel_name(id), share)
        });
        let pools = breakdown(plan, &self.replicas, self.now);
        let halves = splits(plan, &self.replicas, |pool| {
            let own = self.pricers[pool].as_ref();
            own.map(Pricer::split_step).unwrap_or_default()
        });
        let limits = verdict(&Facts {
            plan,
            splits: &halves,
            pools: &pools,
            kv_peak: &kv_peak,
            busiest_link: busiest_link.as_ref(),
            requests: self.metrics.counts.arrived,
        });
        let mut engines: Vec<String> = plan
            .services
            .iter()
            .map(|service| &plan.pools[service.pool].engine)
            .map(|engine| format!("{} {}", engine.kind.name(), engine.version))
            .collect();
        engines.dedup();
        Summary {
            requests: self.metrics.counts,
            ttft_s: measured.ttft,
            tpot_s: measured.tpot,
            itl_s: measured.itl,
            e2e_s: measured.e2e,
            hidden: measured.hidden,
            requests_per_s: measured.requests_per_s,
            output_tokens_per_s: measured.output_tokens_per_s,
            output_tokens_per_s_per_gpu: measured.output_tokens_per_s / f64::from(plan.gpus.max(1)),
            input_tokens_per_s: measured.input_tokens_per_s,
            window: measured.window,
            saturated: measured.saturated,
            busiest_link,
            busiest_link_full: busiest.map_or(0.0, |(_, _, full)| full),
            kv_peak,
            breakdown: pools,
            splits: halves,
            limits,
            reuse: self.reuse(),
            provenance: Provenance {
                fidelity: scenario.fidelity.name(),
                engines,
                routing: plan.routing,
                band: (-share(off[0]), share(off[1])),
                origins,
                extrapolated: self.extrapolated(|origin| share(by_origin[origin as usize])),
                time_shares,
                seed: scenario.workload.seed,
            },
            work,
        }
    }

    /// How much of the time was priced outside what was measured, and how far.
    fn extrapolated(&self, share: impl Fn(Origin) -> f64) -> Option<Extrapolated> {
        let farthest = self.pricers.iter().flatten().filter_map(Pricer::farthest);
        let (factor, class) = farthest.max_by(|a, b| a.0.total_cmp(&b.0))?;
        let share = share(Origin::Extrapolated) + share(Origin::RelativeExtrapolated);
        (share > 0.0).then_some(Extrapolated {
            share,
            factor,
            class: class.name(),
        })
    }

    /// What the lanes' prefix caches saved, in all.
    fn reuse(&self) -> Option<Reuse> {
        let lanes = self.replicas.iter().flat_map(|own| &own.lanes);
        let caches: Vec<_> = lanes
            .filter_map(|own| own.memory().cache.as_ref())
            .collect();
        if caches.is_empty() {
            return None;
        }
        let mut sum = Reuse::default();
        for cache in caches {
            let counts = cache.counts();
            sum.prompt_tokens += counts.queries;
            sum.hit_tokens += counts.hits;
            sum.loaded_tokens += counts.below;
            sum.evicted_bytes += counts.evicted;
            for (index, (read, written)) in cache.traffic().enumerate() {
                if sum.tier_bytes.len() <= index {
                    sum.tier_bytes.push((0, 0));
                }
                sum.tier_bytes[index].0 += read;
                sum.tier_bytes[index].1 += written;
            }
        }
        Some(sum)
    }
}
