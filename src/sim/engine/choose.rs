//! Who of several lanes takes a request, by the rules of `plan::Rule`. Chance has a stream of its
//! own for each place where there is a choice, so a rule at one place never shifts another.
//!
//! A place keeps its lanes' loads in a tree ([`Loads`]), so that the least loaded of thousands is found
//! in a few steps. Only the least KV memory is looked up lane by lane: it changes with every step.

mod loads;
mod prefixes;

use crate::plan::{PrefixGuard, Routing, Rule};
use crate::sim::lane::Lane;
use crate::sim::replica::ReplicaState;
use crate::workload::rng::Stream;
use loads::Loads;
use prefixes::Prefixes;

/// A place where one of several lanes is chosen: the router, or the hand-over of a service.
pub(super) struct Place {
    rule: Rule,
    guard: PrefixGuard,
    /// Its lanes: replica and lane.
    pub(super) lanes: Vec<(u32, u32)>,
    loads: Loads,
    /// Who took the last one.
    last: Option<usize>,
    /// Whether ties go round from there; else the first of the best takes it.
    ties_go_round: bool,
    stream: Stream,
    /// Who had a conversation's last turn, by conversation (sticky).
    homes: Vec<u32>,
    /// Who was sent which beginnings (prefix-aware).
    prefixes: Prefixes,
}

/// A request as a place sees it.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Asking<'a> {
    /// The conversation it is of.
    pub(super) session: Option<u32>,
    /// What its prompt is made of, if that is known: names and tokens.
    pub(super) text: &'a [crate::workload::Segment],
    /// Tokens of its prompt.
    pub(super) prompt: u32,
}

impl Place {
    /// The router before the replicas is place 0, the hand-over of service `n` place `n + 1`.
    pub(super) fn new(
        rule: Rule,
        routing: &Routing,
        lanes: Vec<(u32, u32)>,
        seed: u64,
        place: u64,
    ) -> Self {
        Self {
            rule,
            guard: routing.prefix,
            loads: Loads::new(lanes.len()),
            lanes,
            last: None,
            ties_go_round: place == 0,
            stream: Stream::new(seed, "routing", place),
            homes: Vec::new(),
            prefixes: Prefixes::default(),
        }
    }

    /// Whether its rule asks how much KV memory lanes hold.
    pub(super) const fn asks_kv(&self) -> bool {
        matches!(self.rule, Rule::LeastKv)
    }

    /// Lane `index` has so many requests outstanding, with so many prompt tokens.
    pub(super) fn note(&mut self, index: u32, requests: u32, tokens: u64) {
        let load = match self.rule {
            Rule::LeastTokens => tokens,
            _ => u64::from(requests),
        };
        self.loads.set(index as usize, load);
    }

    /// A lane that `fits`; none if none does.
    pub(super) fn choose(
        &mut self,
        asking: Asking<'_>,
        replicas: &[ReplicaState],
        fits: impl Fn(&Lane) -> bool,
    ) -> Option<(u32, u32)> {
        let lanes = std::mem::take(&mut self.lanes);
        let lane = |index: usize| {
            let (replica, lane) = lanes[index];
            &replicas[replica as usize].lanes[lane as usize]
        };
        let held = |index| {
            let memory = lane(index).memory();
            memory.capacity - memory.available()
        };
        let chosen = self.pick(asking, lanes.len(), |index| fits(lane(index)), held);
        let place = chosen.map(|index| lanes[index]);
        self.lanes = lanes;
        if let Some(index) = chosen {
            self.keep(asking.session, index);
        }
        place
    }

    /// The index of one of `count` lanes that `fits`; none if none does. `kv`: bytes a lane holds.
    fn pick(
        &mut self,
        asking: Asking<'_>,
        count: usize,
        fits: impl Fn(usize) -> bool,
        kv: impl Fn(usize) -> u64,
    ) -> Option<usize> {
        if count == 0 {
            return None;
        }
        let next = self.last.map_or(0, |last| (last + 1) % count);
        let from = |start: usize| {
            (0..count)
                .map(move |offset| (start + offset) % count)
                .find(|index| fits(*index))
        };
        let first = if self.ties_go_round { next } else { 0 };
        let chosen = match self.rule {
            Rule::LeastRequests | Rule::LeastTokens => self.least(first, count, &fits),
            Rule::LeastKv => (0..count)
                .map(|offset| (first + offset) % count)
                .filter(|index| fits(*index))
                .min_by_key(|index| kv(*index)),
            Rule::RoundRobin => from(next),
            Rule::Random => from(self.draw(count)),
            Rule::PowerOfTwo => {
                let one = from(self.draw(count))?;
                // The second of the others, so that two lanes are always compared.
                let other = match count {
                    1 => one,
                    _ => from((one + 1 + self.draw(count - 1)) % count)?,
                };
                let fewer = self.loads.of(other) < self.loads.of(one);
                Some(if fewer { other } else { one })
            }
            Rule::Sticky => {
                let home = asking.session.and_then(|own| self.homes.get(own as usize));
                home.map(|index| *index as usize)
                    .filter(|index| *index < count && fits(*index))
                    .or_else(|| self.least(first, count, &fits))
            }
            Rule::PrefixAware => {
                let (fewest, most) = self.loads.extremes();
                let share = f64::from(asking.prompt) * self.guard.cache_threshold;
                let known = self.prefixes.longest(asking.text);
                known
                    .filter(|_| !self.guard.is_uneven(most, fewest))
                    .filter(|(tokens, _)| f64::from(*tokens) > share)
                    .map(|(_, index)| index as usize)
                    .filter(|index| fits(*index))
                    .or_else(|| self.least(first, count, &fits))
            }
        }?;
        self.last = Some(chosen);
        if self.rule == Rule::PrefixAware {
            let index = u32::try_from(chosen).unwrap_or(0);
            self.prefixes.sent(asking.text, index);
        }
        Some(chosen)
    }

    /// A conversation begins: whoever had one of its number has it no more.
    pub(super) fn forget(&mut self, session: u32) {
        if let Some(home) = self.homes.get_mut(session as usize) {
            *home = u32::MAX;
        }
    }

    /// Notes that a lane has the conversation.
    fn keep(&mut self, session: Option<u32>, index: usize) {
        let Some(session) = session.filter(|_| self.rule == Rule::Sticky) else {
            return;
        };
        let session = session as usize;
        if self.homes.len() <= session {
            self.homes.resize(session + 1, u32::MAX);
        }
        self.homes[session] = u32::try_from(index).unwrap_or(u32::MAX);
    }

    /// The least loaded that fits, of equal ones the first from `first` on.
    fn least(&self, first: usize, count: usize, fits: &impl Fn(usize) -> bool) -> Option<usize> {
        let best = self.loads.least(first);
        if fits(best) {
            return Some(best);
        }
        (0..count)
            .map(|offset| (first + offset) % count)
            .filter(|index| fits(*index))
            .min_by_key(|index| self.loads.of(*index))
    }

    fn draw(&mut self, count: usize) -> usize {
        usize::try_from(self.stream.below(count as u64)).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::Segment;

    fn place(rule: Rule, count: u32, place: u64) -> Place {
        let lanes = (0..count).map(|lane| (lane, 0)).collect();
        Place::new(rule, &Routing::default(), lanes, 7, place)
    }

    fn spread(rule: Rule, count: u32, requests: u32) -> Vec<u32> {
        let mut place = place(rule, count, 0);
        let mut loads = vec![0_u32; count as usize];
        for _ in 0..requests {
            let asking = Asking::default();
            let index = place
                .pick(asking, place.lanes.len(), |_| true, |_| 0)
                .unwrap();
            loads[index] += 1;
            let own = loads[index];
            place.note(index as u32, own, u64::from(own));
        }
        loads
    }

    #[test]
    fn two_choices_even_out_what_chance_leaves_uneven() {
        let most = |rule| *spread(rule, 64, 6400).iter().max().unwrap();
        assert_eq!(most(Rule::RoundRobin), 100);
        assert_eq!(most(Rule::LeastRequests), 100);
        assert_eq!(most(Rule::LeastTokens), 100);
        // The fullest of 64 at random is some 2.5 standard deviations of 10 above the mean; of two
        // choices it is a handful (log log n).
        assert!(most(Rule::Random) > 115, "{}", most(Rule::Random));
        assert!(most(Rule::PowerOfTwo) < 106, "{}", most(Rule::PowerOfTwo));
    }

    #[test]
    fn a_lane_that_does_not_fit_is_never_chosen() {
        for rule in Rule::ALL {
            let mut some = place(rule, 5, 3);
            for _ in 0..100 {
                let index = some.pick(Asking::default(), 5, |i| i == 3, |_| 0);
                assert_eq!(index, Some(3), "{rule:?}");
            }
            assert_eq!(some.pick(Asking::default(), 5, |_| false, |_| 0), None);
            let mut none = place(rule, 0, 3);
            assert_eq!(none.pick(Asking::default(), 0, |_| true, |_| 0), None);
        }
    }

    #[test]
    fn least_kv_looks_at_memory_only() {
        let mut place = place(Rule::LeastKv, 4, 1);
        place.note(2, 100, 100);
        let held = [5, 4, 3, 9];
        assert_eq!(
            place.pick(Asking::default(), 4, |_| true, |i| held[i]),
            Some(2)
        );
    }

    #[test]
    fn a_conversation_stays_where_it_is() {
        let mut place = place(Rule::Sticky, 4, 0);
        let first = place.pick(Asking::default(), 4, |_| true, |_| 0).unwrap();
        place.keep(Some(7), first);
        place.note(first as u32, 50, 0);
        let next = Asking {
            session: Some(7),
            ..Asking::default()
        };
        assert_eq!(place.pick(next, 4, |_| true, |_| 0), Some(first));
        let other = place.pick(Asking::default(), 4, |_| true, |_| 0);
        assert_ne!(other, Some(first));
    }

    #[test]
    fn a_beginning_is_followed_until_the_load_is_uneven() {
        let mut place = place(Rule::PrefixAware, 4, 0);
        let text = |own| {
            [
                Segment { id: 1, tokens: 400 },
                Segment {
                    id: own,
                    tokens: 600,
                },
            ]
        };
        let ask = |place: &mut Place, own| {
            let asking = Asking {
                session: None,
                text: &text(own),
                prompt: 1000,
            };
            place.pick(asking, place.lanes.len(), |_| true, |_| 0)
        };
        let first = ask(&mut place, 10).unwrap();
        // 40 % of it was sent there, which is more than the threshold of 30 %.
        place.note(first as u32, 60, 0);
        assert_eq!(ask(&mut place, 11), Some(first));
        place.note(first as u32, 65, 0);
        assert_ne!(ask(&mut place, 12), Some(first));
    }
}
