//! Forests and their packing.

use crate::cost::calibrated::packing::{Coder, Decision, Numbers, Packer, Unpacker};
use crate::cost::calibrated::{Forest, Node, Tree};
use proptest::prelude::*;

/// A tree from a list of choices: questions while there are some, answers after.
fn tree(choices: &[(u8, u16, i8)]) -> Tree {
    fn grow(choices: &mut &[(u8, u16, i8)], depth: usize, out: &mut Vec<Node>) {
        let Some((&(feature, threshold, answer), rest)) = choices.split_first() else {
            out.push(Node::Answer(0));
            return;
        };
        *choices = rest;
        if depth == 20 || answer % 3 == 0 {
            out.push(Node::Answer(answer.max(-127)));
            return;
        }
        let at = out.len();
        out.push(Node::Answer(0));
        grow(choices, depth + 1, out);
        let above = u16::try_from(out.len()).unwrap();
        out[at] = Node::Question {
            feature,
            threshold,
            above,
        };
        grow(choices, depth + 1, out);
    }
    let (mut choices, mut out) = (choices, Vec::new());
    grow(&mut choices, 0, &mut out);
    Tree(out)
}

proptest! {
    #[test]
    fn any_forest_survives_its_text(
        trees in proptest::collection::vec(proptest::collection::vec((0u8..30, 0u16..8192, any::<i8>()), 1..60), 0..12),
    ) {
        let forest = Forest { scale: 0.004, trees: trees.iter().map(|own| tree(own)).collect() };
        let text = forest.encode();
        prop_assert_eq!(Forest::decode(&text, 0.004, 30).unwrap(), forest);
    }

    #[test]
    fn a_changed_text_is_refused_or_never_panics(
        choices in proptest::collection::vec((0u8..30, 0u16..8192, any::<i8>()), 20..60),
        at in 0.0..1.0_f64,
        to in proptest::sample::select(&b"ABCxyz019+/"[..]),
    ) {
        let forest = Forest { scale: 0.004, trees: vec![tree(&choices)] };
        let mut text = forest.encode().into_bytes();
        let index = (at * text.len() as f64) as usize;
        let same = text[index] == to;
        text[index] = to;
        let back = Forest::decode(std::str::from_utf8(&text).unwrap(), 0.004, 30);
        // One in 65 536 changes would not be noticed; none of a test's few hundred is.
        prop_assert!(same || back.is_err() || back.as_ref().is_ok_and(|own| *own == forest), "{back:?}");
    }

    #[test]
    fn decisions_come_back(decisions in proptest::collection::vec((0usize..5, any::<bool>()), 0..4000), numbers in proptest::collection::vec(0u32..8192, 0..400)) {
        let mut packer = Packer::new();
        let (mut models, mut known) = ([Decision::default(); 5], Numbers::default());
        for (model, yes) in &decisions {
            packer.code(&mut models[*model], *yes);
        }
        for number in &numbers {
            known.code(&mut packer, *number, 13);
        }
        let bytes = packer.bytes();
        let mut unpacker = Unpacker::new(&bytes);
        let (mut models, mut known) = ([Decision::default(); 5], Numbers::default());
        for (model, yes) in &decisions {
            prop_assert_eq!(unpacker.code(&mut models[*model], false), *yes);
        }
        for number in &numbers {
            prop_assert_eq!(known.code(&mut unpacker, 0, 13), *number);
        }
        prop_assert!(unpacker.done() && !unpacker.overrun());
    }
}

#[test]
fn what_always_falls_the_same_way_takes_next_to_nothing() {
    let mut packer = Packer::new();
    let mut model = Decision::default();
    for _ in 0..10_000 {
        packer.code(&mut model, true);
    }
    assert!(packer.bytes().len() < 10_000 / 8 / 20);
}
