//! What each replica and link did over time, in memory that no run can outgrow.
//!
//! A series has up to 1,024 bins, whose width doubles when they are full, so that a run of any
//! length ends with 512 to 1,024. With more than 256 replicas (or links that carried something)
//! each gets fewer, 2¹⁸ in all and no fewer than 16: none is left out, and a pool's is the sum of
//! its replicas'.

use super::series::Series;
use crate::sim::queue::Nanos;
use crate::sim::replica::ReplicaState;
use serde::Serialize;
use std::collections::BTreeMap;

/// Most bins of a series.
const MOST_BINS: usize = 1024;
/// Fewest it is cut down to.
const FEWEST_BINS: usize = 16;
/// Bins of all series of a kind, until they are cut down to the fewest.
const ALL_BINS: usize = 1 << 18;
/// Shares are kept in thousandths.
const WHOLE: u64 = 1000;
/// Rates of links are kept in 2⁻³⁰ bytes a nanosecond (about a byte a second).
const RATE_BITS: u32 = 30;

/// What a step carried, as it is coloured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum StepKind {
    /// Prompts only.
    Prefill,
    /// Decodes only.
    Decode,
    /// Both.
    Mixed,
}

impl StepKind {
    /// Its word.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Prefill => "prefill",
            Self::Decode => "decode",
            Self::Mixed => "mixed",
        }
    }
}

/// One bin of a replica. What has a level (requests, share) is summed over time: divide by the bin's
/// width for its mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct ReplicaBin {
    /// Busy with prompts, ns, all stages together.
    pub prefill_ns: u64,
    /// Busy with decodes.
    pub decode_ns: u64,
    /// Busy with both.
    pub mixed_ns: u64,
    /// Requests running, times ns.
    pub running_ns: u64,
    /// Requests waiting, times ns.
    pub waiting_ns: u64,
    /// Thousandths of the KV memory in use, times ns.
    pub kv_permille_ns: u64,
    /// Tokens produced.
    pub tokens: u64,
}

const RUNNING: usize = 3;
const WAITING: usize = 4;
const KV: usize = 5;
const TOKENS: usize = 6;
const SUMS: usize = 7;

impl ReplicaBin {
    const fn of(sums: [u64; SUMS]) -> Self {
        Self {
            prefill_ns: sums[StepKind::Prefill as usize],
            decode_ns: sums[StepKind::Decode as usize],
            mixed_ns: sums[StepKind::Mixed as usize],
            running_ns: sums[RUNNING],
            waiting_ns: sums[WAITING],
            kv_permille_ns: sums[KV],
            tokens: sums[TOKENS],
        }
    }

    /// Busy, ns of all stages together.
    #[must_use]
    pub const fn busy_ns(&self) -> u64 {
        self.prefill_ns
            .saturating_add(self.decode_ns)
            .saturating_add(self.mixed_ns)
    }
}

/// A replica over time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ReplicaLine {
    /// Index of its pool in the plan.
    pub pool: usize,
    /// Index of the replica in the pool.
    pub index: usize,
    /// Its stages: busy time is at most so many times the width.
    pub stages: usize,
    /// From the run's start.
    pub bins: Vec<ReplicaBin>,
}

/// One direction of a drawn link over time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LinkLine {
    /// Channel of the plan's topology.
    pub channel: u32,
    /// Bytes moved, bin by bin, from the run's start.
    pub bytes: Vec<u64>,
}

/// A run over time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Timeline {
    /// When the run ended.
    pub end_ns: u64,
    /// Width of a replica's bin.
    pub bin_ns: u64,
    /// Width of a link's bin.
    pub link_bin_ns: u64,
    /// All replicas.
    pub replicas: Vec<ReplicaLine>,
    /// The links that carried something, by channel.
    pub links: Vec<LinkLine>,
}

/// A replica while the run goes on.
struct Replica {
    series: Series<SUMS>,
    /// Since when its levels are what they are.
    since: Nanos,
    levels: [u64; SUMS],
}

/// A link while the run goes on.
struct Link {
    series: Series<1>,
    since: Nanos,
    /// In 2⁻³⁰ bytes a nanosecond.
    rate: u64,
    /// What has been moved but is not a whole byte yet, in the same unit.
    rest: u64,
}

/// Makes a [`Timeline`].
pub(super) struct Timelines {
    replicas: Vec<Replica>,
    links: BTreeMap<u32, Link>,
    link_bins: usize,
}

/// Bins for each of so many series.
fn bins_for(series: usize) -> usize {
    let each = (ALL_BINS / series.max(1)).clamp(FEWEST_BINS, MOST_BINS);
    // A power of two at or below.
    1 << each.ilog2()
}

impl Timelines {
    pub(super) fn new(replicas: usize) -> Self {
        let most = bins_for(replicas);
        let replica = || Replica {
            series: Series::new(most),
            since: 0,
            levels: [0; SUMS],
        };
        Self {
            replicas: (0..replicas).map(|_| replica()).collect(),
            links: BTreeMap::new(),
            link_bins: MOST_BINS,
        }
    }

    /// A replica's levels as they are from now on.
    pub(super) fn level(&mut self, now: Nanos, replica: u32, state: &ReplicaState) {
        let line = &mut self.replicas[replica as usize];
        line.series.add_rates(line.since, now, &line.levels);
        line.since = now;
        let levels = state.levels();
        line.levels[RUNNING] = levels.running;
        line.levels[WAITING] = levels.waiting;
        line.levels[KV] = levels.held.saturating_mul(WHOLE) / levels.capacity.max(1);
    }

    /// A step of a replica is in its stages for these spans.
    pub(super) fn step(&mut self, replica: u32, kind: StepKind, spans: &[(Nanos, Nanos)]) {
        let series = &mut self.replicas[replica as usize].series;
        for (from, to) in spans {
            series.add_over(kind as usize, *from, *to, |span| span);
        }
    }

    /// A replica has produced tokens.
    pub(super) fn tokens(&mut self, now: Nanos, replica: u32, count: u64) {
        let series = &mut self.replicas[replica as usize].series;
        series.add_at(TOKENS, now, count);
    }

    /// A link moves so many bytes a second from now on.
    pub(super) fn link(&mut self, now: Nanos, channel: u32, rate: f64) {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "float casts saturate"
        )]
        let rate = (rate * 1e-9 * f64::from(1_u32 << RATE_BITS)).round() as u64;
        if !self.links.contains_key(&channel) {
            if rate == 0 {
                return;
            }
            let most = bins_for(self.links.len() + 1);
            while self.link_bins > most {
                self.link_bins /= 2;
                self.links.values_mut().for_each(|l| l.series.halve());
            }
            let link = Link {
                series: Series::new(self.link_bins),
                since: now,
                rate: 0,
                rest: 0,
            };
            self.links.insert(channel, link);
        }
        if let Some(link) = self.links.get_mut(&channel) {
            link.until(now);
            link.rate = rate;
        }
    }

    /// The run has ended.
    pub(super) fn finished(mut self, now: Nanos, states: &[ReplicaState]) -> Timeline {
        let (mut bin_ns, mut link_bin_ns) = (0, 0);
        let replicas = self
            .replicas
            .into_iter()
            .zip(states)
            .map(|(mut line, state)| {
                line.series.add_rates(line.since, now, &line.levels);
                let (bins, shift) = line.series.finished(now);
                bin_ns = 1 << shift;
                ReplicaLine {
                    pool: state.pool,
                    index: state.index,
                    stages: state.spans.len(),
                    bins: bins.into_iter().map(ReplicaBin::of).collect(),
                }
            })
            .collect();
        self.links.values_mut().for_each(|link| link.until(now));
        let links = self
            .links
            .into_iter()
            .map(|(channel, link)| {
                let (bins, shift) = link.series.finished(now);
                link_bin_ns = 1 << shift;
                LinkLine {
                    channel,
                    bytes: bins.into_iter().map(|[bytes]| bytes).collect(),
                }
            })
            .collect();
        Timeline {
            end_ns: now,
            bin_ns,
            link_bin_ns,
            replicas,
            links,
        }
    }
}

impl Link {
    /// Moves what it moves until now.
    fn until(&mut self, now: Nanos) {
        let (rate, rest) = (u128::from(self.rate), u128::from(self.rest));
        if rate > 0 {
            let moved = |span: Nanos| {
                let bytes = (rate * u128::from(span) + rest) >> RATE_BITS;
                u64::try_from(bytes).unwrap_or(u64::MAX)
            };
            self.series.add_over(0, self.since, now, moved);
            let whole = (1 << RATE_BITS) - 1;
            let span = u128::from(now - self.since);
            self.rest = u64::try_from((rate * span + rest) & whole).unwrap_or(0);
        }
        self.since = now;
    }
}
