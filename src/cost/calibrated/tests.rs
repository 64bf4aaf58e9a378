use super::{Forest, Tree};

#[test]
fn a_forest_survives_its_text() {
    let forest = Forest {
        scale: 0.01,
        trees: vec![
            Tree {
                splits: vec![(0, 9000), (2, 12)],
                leaves: vec![-127, 3, 0, 127],
            },
            Tree {
                splits: Vec::new(),
                leaves: vec![5],
            },
        ],
    };
    let back = Forest::decode(&forest.encode(), 0.01, 3).unwrap();
    assert_eq!(back, forest);
    // 9000 / 1024 − 8 = 0.789.
    assert!((forest.sum(&[0.7, 0.0, -8.0]) - 0.01 * (5.0 - 127.0)).abs() < 1e-12);
    assert!((forest.sum(&[0.8, 0.0, 5.0]) - 0.01 * (5.0 + 127.0)).abs() < 1e-12);
    assert!(Forest::decode(&forest.encode(), 0.01, 2).is_err());
    assert!(Forest::decode(&forest.encode()[..6], 0.01, 3).is_err());
}
