//! Experts that are not equally popular: a published router, conservation, the busiest rank.

use super::super::{Choices, Load};
use proptest::prelude::*;

fn choices(tokens: f64, spread: f64) -> Choices {
    Choices {
        tokens,
        each: 8.0,
        experts: 128.0,
        ranks: 1.0,
        spread,
        balanced: false,
    }
}

// LLMServingSim's notes on Qwen3-30B-A3B's router on real text (bench/core/gate_stats.py): 47.6 of 128
// experts visited by 8 tokens, 120.6 by 128, and 0.87 of equally popular ones half way.
#[test]
fn a_trained_router_visits_as_many_experts_as_was_counted() {
    let spread = crate::model::ROUTING_SPREAD;
    let visited = |tokens| choices(tokens, spread).load().visited;
    assert!((visited(8.0) / 47.6 - 1.0).abs() < 0.05, "{}", visited(8.0));
    assert!((visited(128.0) / 120.6 - 1.0).abs() < 0.04);
    for tokens in [16.0, 32.0] {
        let share = visited(tokens) / choices(tokens, 0.0).load().visited;
        assert!((share / 0.87 - 1.0).abs() < 0.03, "{share}");
    }
}

#[test]
fn alike_experts_on_one_rank_are_chosen_uniformly() {
    for tokens in [1.0, 7.0, 64.0, 4096.0] {
        let uniform = Load::uniform(tokens, 8.0, 128.0, 128.0);
        assert_eq!(choices(tokens, 0.0).load(), uniform);
    }
}

#[test]
fn two_ranks_are_off_by_chance_and_popularity_and_a_balancer_evens_them() {
    let of = |spread, balanced| {
        let own = Choices {
            ranks: 2.0,
            balanced,
            ..choices(1e5, spread)
        };
        own.load().copies / 4e5
    };
    // With very many tokens chance is small: 64 experts a rank, half the variance of all between two.
    assert!((of(0.0, false) - 1.0).abs() < 0.005);
    assert!((of(0.8, true) - 1.0).abs() < 0.005);
    let off = of(0.8, false) - 1.0;
    // In eight slices chances vary by 0.495 of their mean, squared.
    let wanted = 0.5642 * (0.495 / 64.0_f64 / 2.0).sqrt();
    assert!((off / wanted - 1.0).abs() < 0.05, "{off} {wanted}");
}

proptest! {
    #[test]
    fn choices_are_neither_lost_nor_made(tokens in 1.0f64..20_000.0, spread in 0.0f64..2.0) {
        let load = choices(tokens.round(), spread).load();
        prop_assert!((load.copies / (tokens.round() * 8.0) - 1.0).abs() < 0.01, "{}", load.copies);
        prop_assert!(load.visited <= 128.0 + 1e-9);
    }

    #[test]
    fn the_busiest_rank_has_its_share_at_least(
        tokens in 1.0f64..5000.0, spread in 0.0f64..1.5, more in 0.01f64..0.5, log in 1u32..7,
    ) {
        let ranks = f64::from(1 << log);
        let of = |spread| Choices { ranks, ..choices(tokens.round(), spread) }.load();
        let (load, skewed) = (of(spread), of(spread + more));
        let all = tokens.round() * 8.0;
        prop_assert!(load.copies >= all / ranks * 0.99 && load.copies <= all * 1.01);
        prop_assert!(load.visited <= 128.0 / ranks + 1e-9);
        prop_assert!(skewed.copies >= load.copies * 0.98);
    }
}
