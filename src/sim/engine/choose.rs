//! Who of several lanes takes a request, by the rules of `plan::Rule`. Chance has a stream of its
//! own for each place where there is a choice, so a rule at one place never shifts another.

use crate::plan::Rule;
use crate::workload::rng::Stream;

/// A rule and where it is in its turn.
pub(super) struct Chooser {
    rule: Rule,
    /// Who took the last one.
    last: Option<usize>,
    /// Whether ties go round from there; else the first of the best takes it.
    ties_go_round: bool,
    stream: Stream,
}

impl Chooser {
    /// The router before the replicas is place 0, the hand-over of service `n` place `n + 1`.
    pub(super) fn new(rule: Rule, seed: u64, place: u64) -> Self {
        Self {
            rule,
            last: None,
            ties_go_round: place == 0,
            stream: Stream::new(seed, "routing", place),
        }
    }

    /// One of `count` lanes that `fits`; none if none does. Least outstanding looks at all of them,
    /// the others at one or two as long as these fit.
    pub(super) fn choose(
        &mut self,
        count: usize,
        fits: impl Fn(usize) -> bool,
        load: impl Fn(usize) -> u32,
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
        match self.rule {
            Rule::LeastRequests => {
                let start = if self.ties_go_round { next } else { 0 };
                (0..count)
                    .map(|offset| (start + offset) % count)
                    .filter(|index| fits(*index))
                    .min_by_key(|index| load(*index))
            }
            Rule::RoundRobin => from(next),
            Rule::Random => from(self.draw(count)),
            Rule::PowerOfTwo => {
                let one = from(self.draw(count))?;
                // The second of the others, so that two lanes are always compared.
                let other = match count {
                    1 => one,
                    _ => from((one + 1 + self.draw(count - 1)) % count)?,
                };
                Some(if load(other) < load(one) { other } else { one })
            }
        }
    }

    /// That one took it.
    pub(super) fn took(&mut self, index: usize) {
        self.last = Some(index);
    }

    fn draw(&mut self, count: usize) -> usize {
        usize::try_from(self.stream.below(count as u64)).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spread(rule: Rule, count: usize, requests: u32) -> Vec<u32> {
        let mut chooser = Chooser::new(rule, 7, 0);
        let mut loads = vec![0_u32; count];
        for _ in 0..requests {
            let index = chooser.choose(count, |_| true, |i| loads[i]).unwrap();
            chooser.took(index);
            loads[index] += 1;
        }
        loads
    }

    #[test]
    fn two_choices_even_out_what_chance_leaves_uneven() {
        let most = |rule| *spread(rule, 64, 6400).iter().max().unwrap();
        assert_eq!(most(Rule::RoundRobin), 100);
        assert_eq!(most(Rule::LeastRequests), 100);
        // The fullest of 64 at random is some 2.5 standard deviations of 10 above the mean; of two
        // choices it is a handful (log log n).
        assert!(most(Rule::Random) > 115, "{}", most(Rule::Random));
        assert!(most(Rule::PowerOfTwo) < 106, "{}", most(Rule::PowerOfTwo));
    }

    #[test]
    fn a_lane_that_does_not_fit_is_never_chosen() {
        for rule in Rule::ALL {
            let mut chooser = Chooser::new(rule, 1, 3);
            for _ in 0..100 {
                let index = chooser.choose(5, |i| i == 3, |_| 0);
                assert_eq!(index, Some(3), "{rule:?}");
                chooser.took(3);
            }
            assert_eq!(chooser.choose(5, |_| false, |_| 0), None);
            assert_eq!(chooser.choose(0, |_| true, |_| 0), None);
        }
    }
}
