//! Tokens on their way to the ranks that hold their experts, and results back, by kernels that know
//! which ranks want which token (DeepEP, TensorRT-LLM's exchange over NVLink).
//!
//! A calibration prices one where there is one. Else α–β over the drawn links: a token goes once to
//! every rank of the domain that wants it and once to every other domain, or, in low latency, once to
//! every expert; links inside a domain and NICs work at the same time. Where routing is limited to some
//! groups of experts (DeepSeek-V3: 4 of 8), a token is wanted by fewer.

use super::calibrated::{Way, distinct};
use super::collective::{BASE, CommGroup, LINK_EFFICIENCY, cost};
use super::operator::{OpCost, Prices};
use crate::units::real;

/// Whose kernel moves the tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RoutedBy {
    /// DeepEP.
    Deepep {
        /// Its low-latency mode, which sends a copy to every expert.
        low_latency: bool,
    },
    /// TensorRT-LLM's over NVLink, which FlashInfer has too.
    Nvlink {
        /// Later than the one both sides take part in.
        one_sided: bool,
    },
    /// A kernel nobody measured, that sends a copy to every expert.
    Direct,
}

/// One way of an exchange.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Routed {
    /// Whose kernel.
    pub by: RoutedBy,
    /// Which way.
    pub way: Way,
    /// Tokens of each rank.
    pub tokens: f64,
    /// Values of a token.
    pub hidden: f64,
    /// Bytes of a value as sent, scales included; 0: only a token's destinations are.
    pub value_bytes: f64,
    /// Experts of a token.
    pub topk: f64,
    /// Experts in all.
    pub experts: f64,
    /// Groups of neighbouring experts, and those of them a token's experts are in; 0: not limited.
    pub groups: [u64; 2],
    /// Ranks in all.
    pub ranks: u32,
    /// Scale-up domains they are in.
    pub domains: u32,
    /// Bytes per second of a rank inside its domain, as drawn.
    pub rate: f64,
    /// Bytes per second of a rank's path out of it, as drawn.
    pub nic: f64,
}

impl Routed {
    /// Of `owners` with equal shares of neighbouring experts, how many hold one of a token's. With
    /// groups, any choice of them is as likely as any other, and so are experts in the chosen ones: an
    /// owner of `g` groups has `j` chosen ones by the hypergeometric law, an owner of part of a group
    /// is asked as often as its group. Owners that cut groups unevenly are taken as not limited.
    fn wanted(&self, owners: f64) -> f64 {
        let [groups, chosen] = self.groups.map(real);
        let free = distinct(self.topk, self.experts, owners);
        if chosen < 1.0 || chosen >= groups {
            return free;
        }
        let group = self.experts / groups;
        let pool = chosen * group;
        // The chance that an owner of `own` experts of the pool holds one of a token's.
        let asked = |own: f64| distinct(self.topk, pool, pool / own) * own / pool;
        let of_owner = groups / owners;
        if of_owner <= 1.0 {
            if libm::fmod(owners, groups) != 0.0 {
                return free;
            }
            return owners * (chosen / groups) * asked(self.experts / owners);
        }
        if libm::fmod(groups, owners) != 0.0 {
            return free;
        }
        let mut sum = 0.0;
        let mut own = 1.0;
        while own <= of_owner.min(chosen) {
            let chance = ways(of_owner, own) * ways(groups - of_owner, chosen - own);
            sum += chance / ways(groups, chosen) * asked(own * group);
            own += 1.0;
        }
        owners * sum
    }

    /// Bytes a rank sends inside its domain and out of it.
    fn bytes(&self) -> (f64, f64) {
        let bytes = self.tokens * self.hidden * self.value_bytes;
        let (ranks, domains) = (f64::from(self.ranks), f64::from(self.domains));
        let elsewhere = 1.0 - 1.0 / domains;
        match self.by {
            RoutedBy::Deepep { low_latency: true } | RoutedBy::Direct => (
                bytes * self.topk * (ranks / domains - 1.0) / ranks,
                bytes * self.topk * elsewhere,
            ),
            RoutedBy::Deepep { low_latency: false } | RoutedBy::Nvlink { .. } => (
                bytes * self.wanted(ranks) * (1.0 - 1.0 / ranks),
                bytes * self.wanted(domains) * elsewhere,
            ),
        }
    }
}

/// Ways to choose `some` of `all`, whole numbers.
fn ways(all: f64, some: f64) -> f64 {
    let (mut ways, mut drawn) = (1.0, 0.0);
    while drawn < some {
        ways *= ((all - drawn) / (some - drawn)).max(0.0);
        drawn += 1.0;
    }
    ways
}

/// The time of one way among the ranks of a group.
#[must_use]
pub fn routed(group: &CommGroup, asked: &Routed, prices: &dyn Prices) -> OpCost {
    if group.ranks < 2 {
        return cost(0.0, 0.0);
    }
    prices.routed(asked).unwrap_or_else(|| {
        let (inside, across) = asked.bytes();
        let inside = inside / (group.intra_rate * LINK_EFFICIENCY);
        let across = across / (group.inter_rate * LINK_EFFICIENCY);
        let steps = group.intra_step + group.inter_step;
        cost(inside.max(across) + steps, BASE)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(topk: f64, experts: f64, groups: [u64; 2]) -> Routed {
        Routed {
            by: RoutedBy::Deepep { low_latency: false },
            way: Way::Dispatch,
            tokens: 1.0,
            hidden: 1.0,
            value_bytes: 1.0,
            topk,
            experts,
            groups,
            ranks: 8,
            domains: 8,
            rate: 1.0,
            nic: 1.0,
        }
    }

    // Two experts of one of two groups of two: one domain where a domain is a group, two where it is
    // an expert, and one of one that has all.
    #[test]
    fn small_groups_by_hand() {
        let own = asked(2.0, 4.0, [2, 1]);
        for (owners, wanted) in [(1.0, 1.0), (2.0, 1.0), (4.0, 2.0)] {
            assert!((own.wanted(owners) - wanted).abs() < 1e-12, "{owners}");
        }
        // Two of four groups of one expert, on two domains: the same one in 2 of 6 choices.
        let own = asked(2.0, 4.0, [4, 2]);
        assert!((own.wanted(2.0) - (2.0 * 4.0 + 2.0) / 6.0).abs() < 1e-12);
    }

    // Every choice of groups and of experts in them, counted one by one.
    #[test]
    fn as_enumerated() {
        let own = asked(3.0, 16.0, [4, 2]);
        assert!((own.wanted(2.0) - 11.0 / 7.0).abs() < 1e-12);
        assert!((own.wanted(8.0) - 18.0 / 7.0).abs() < 1e-12);
    }

    // DeepSeek-V3 on 8 nodes: at most 4, which without the limit would be 5.3.
    #[test]
    fn deepseek_v3_goes_to_four_nodes_at_most() {
        let own = asked(8.0, 256.0, [8, 4]);
        let free = asked(8.0, 256.0, [0, 0]).wanted(8.0);
        let limited = own.wanted(8.0);
        assert!((3.6..4.0).contains(&limited), "{limited}");
        assert!((5.2..5.4).contains(&free), "{free}");
        assert!(own.bytes().1 < asked(8.0, 256.0, [8, 8]).bytes().1);
    }
}
