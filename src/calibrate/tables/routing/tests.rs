//! Draws keep what the benchmarks' own draws keep.

use super::{Given, Law, Random, Routing, levelled, lower, raise};
use proptest::prelude::*;

fn routing(
    law: Law,
    given: Given,
    tokens: usize,
    choices: usize,
    experts: usize,
    ranks: usize,
) -> Routing {
    Routing {
        law,
        given,
        tokens,
        choices,
        experts,
        slots: None,
        ranks,
    }
}

proptest! {
    /// Every token makes its choices, no expert is chosen twice by one, and the measured rank is
    /// the busiest.
    #[test]
    fn a_power_law_deals_all_choices(
        tokens in 1_usize..3000, choices in 1_usize..9, shares in 0_u32..5, exponent in 0.2..2.0_f64, seed: u64,
    ) {
        let (experts, ranks) = (64, 1_usize << shares);
        let own = routing(Law::Power(exponent), Given::All, tokens, choices, experts, ranks);
        let counts = own.power(exponent, &mut Random(seed)).counts;
        prop_assert_eq!(counts.iter().sum::<usize>(), tokens * choices);
        prop_assert!(counts.iter().all(|count| *count <= tokens));
        let sums: Vec<usize> = counts.chunks(experts / ranks).map(|own| own.iter().sum()).collect();
        prop_assert!(sums.iter().all(|sum| *sum <= sums[0]));
    }

    /// The rank's own tokens are those with a choice on it: no fewer than its busiest expert's, no
    /// more than its copies.
    #[test]
    fn own_tokens_lie_between_the_busiest_and_the_copies(
        tokens in 1_usize..2000, choices in 1_usize..9, shares in 0_u32..6, exponent in 0.2..2.0_f64,
    ) {
        let own = routing(Law::Power(exponent), Given::Own, tokens, choices, 64, 1 << shares);
        let load = own.load().unwrap();
        prop_assert!(load.tokens >= load.busiest - 1e-9 && load.tokens <= load.copies + 1e-9);
        prop_assert!(load.tokens <= own.tokens as f64);
        let all = routing(own.law, Given::All, tokens, choices, 64, 1 << shares).load().unwrap();
        prop_assert_eq!(load.copies, all.copies);
        prop_assert_eq!(all.tokens, tokens as f64);
    }

    /// Whatever is clamped, spread or limited to groups, a token keeps its number of choices.
    #[test]
    fn nothing_is_lost_on_the_way(
        tokens in 1_usize..600, choices in 1_usize..9, shares in 0_u32..4, exponent in 0.2..2.0_f64,
    ) {
        for given in [Given::Clamped, Given::Spread] {
            let load = routing(Law::Power(exponent), given, tokens, choices, 64, 1 << shares).load().unwrap();
            prop_assert!((load.copies - load.tokens * choices as f64).abs() < 1e-6 * load.copies);
        }
        let whole = routing(Law::Power(exponent), Given::Grouped, tokens, choices, 64, 1).load().unwrap();
        prop_assert!((whole.copies - (tokens * choices) as f64).abs() < 1e-6);
    }

    #[test]
    fn a_load_balancer_loses_nothing_and_evens_ranks(
        counts in proptest::collection::vec(0_usize..5000, 64), spare in 0_usize..4,
    ) {
        let slots = 64 + spare * 8;
        let levelled = levelled(&counts, slots, 8);
        prop_assert_eq!(levelled.len(), slots);
        prop_assert_eq!(levelled.iter().sum::<usize>(), counts.iter().sum::<usize>());
        let largest = levelled.iter().copied().max().unwrap_or(0);
        prop_assert!(largest <= counts.iter().copied().max().unwrap_or(0));
    }

    #[test]
    fn dealing_changes_a_sum_by_what_is_dealt(counts in proptest::collection::vec(0_usize..100, 1..40), share in 0.0..1.0_f64) {
        let sum: usize = counts.iter().sum();
        let room = counts.len() * 120 - sum;
        let (add, take) = ((room as f64 * share) as usize, (sum as f64 * share) as usize);
        let mut raised = counts.clone();
        raise(&mut raised, add, 120);
        prop_assert_eq!(raised.iter().sum::<usize>(), sum + add);
        let mut lowered = counts.clone();
        lower(&mut lowered, take);
        prop_assert_eq!(lowered.iter().sum::<usize>(), sum - take);
    }
}

/// DeepSeek-V3's limit on even choices: every group has one, ties go to the first four groups, so
/// half of the experts are never visited and the first of two ranks gets everything.
#[test]
fn even_choices_under_the_group_limit_fall_on_half_of_the_experts() {
    let whole = routing(Law::Balanced, Given::Grouped, 4096, 8, 256, 1)
        .load()
        .unwrap();
    assert_eq!(whole.visited, 128.0);
    let first = routing(Law::Balanced, Given::Grouped, 4096, 8, 256, 2)
        .load()
        .unwrap();
    assert_eq!((first.visited, first.copies), (128.0, 32768.0));
}

#[test]
fn even_choices_are_even() {
    let load = routing(Law::Balanced, Given::All, 4096, 8, 256, 8)
        .load()
        .unwrap();
    assert_eq!(
        (load.copies, load.visited, load.busiest),
        (4096.0, 32.0, 128.0)
    );
    let load = routing(Law::Balanced, Given::All, 1, 8, 256, 8)
        .load()
        .unwrap();
    assert_eq!((load.copies, load.visited), (1.0, 1.0));
}

#[test]
fn hostile_rows_are_refused() {
    for (tokens, choices, experts, ranks) in [
        (0, 8, 64, 1),
        (1 << 30, 8, 64, 1),
        (8, 0, 64, 1),
        (8, 65, 64, 1),
        (8, 8, 64, 3),
        (8, 8, 64, 0),
        (8, 8, 1 << 20, 1),
    ] {
        assert!(
            routing(Law::Balanced, Given::All, tokens, choices, experts, ranks)
                .load()
                .is_err()
        );
    }
    assert!(
        Law::parse("power_law_x").is_err()
            && Law::parse("power_law_99").is_err()
            && Law::parse("").is_err()
    );
}
