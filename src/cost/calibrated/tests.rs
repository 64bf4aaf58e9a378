mod communication;
mod delta;

use super::{Forest, Node, Tree};

fn question(feature: u8, threshold: u16, above: u16) -> Node {
    Node::Question {
        feature,
        threshold,
        above,
    }
}

fn two_trees() -> Forest {
    Forest {
        scale: 0.01,
        trees: vec![
            // 1125 / 128 − 8 = 0.789.
            Tree(vec![
                question(0, 1125, 4),
                question(2, 12, 3),
                Node::Answer(-127),
                Node::Answer(3),
                Node::Answer(127),
            ]),
            Tree(vec![Node::Answer(5)]),
        ],
    }
}

#[test]
fn a_forest_survives_its_text() {
    let forest = two_trees();
    let back = Forest::decode(&forest.encode(), 0.01, 3).unwrap();
    assert_eq!(back, forest);
    assert_eq!(forest.size(), (16 + 2 * 20 + 4 * 9_usize).div_ceil(8));
    assert!((forest.sum(&[0.7, 0.0, -8.0]) - 0.01 * (5.0 - 127.0)).abs() < 1e-12);
    assert!((forest.sum(&[0.7, 0.0, 0.0]) - 0.01 * (5.0 + 3.0)).abs() < 1e-12);
    assert!((forest.sum(&[0.8, 0.0, 5.0]) - 0.01 * (5.0 + 127.0)).abs() < 1e-12);
}

#[test]
fn text_that_is_no_forest_is_refused() {
    let text = two_trees().encode();
    assert!(
        Forest::decode(&text, 0.01, 2).is_err(),
        "a feature the family does not have"
    );
    assert!(Forest::decode(&text[..6], 0.01, 3).is_err(), "cut short");
    assert!(
        Forest::decode(
            "//////////////////////////////////////////////////////////",
            0.01,
            64
        )
        .is_err(),
        "questions without end"
    );
    assert!(Forest::decode("?", 0.01, 3).is_err());
    assert!(Forest::decode(&text, f64::NAN, 3).is_err());
}
