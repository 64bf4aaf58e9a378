use super::*;
use crate::catalog::{Nic, NodeTypeId};

fn shipped() -> Catalog {
    Catalog::embedded().unwrap()
}

fn row(name: &str) -> Gpu {
    by_name(&shipped(), name).unwrap().clone()
}

/// What lint finds once a shipped row is changed.
fn planted(name: &str, change: impl FnOnce(&mut Gpu)) -> Vec<LintError> {
    let mut gpu = row(name);
    change(&mut gpu);
    lint(&shipped().with_gpu(gpu))
}

fn flops(text: &str) -> FlopRate {
    text.parse().unwrap()
}

fn rate(text: &str) -> ByteRate {
    text.parse().unwrap()
}

fn bytes(text: &str) -> Bytes {
    text.parse().unwrap()
}

#[test]
fn the_shipped_rows_are_clean() {
    let found = lint(&shipped());
    assert!(
        found.is_empty(),
        "{}",
        found
            .iter()
            .map(LintError::to_string)
            .collect::<Vec<_>>()
            .join("\n")
    );
}

#[test]
fn every_shipped_gpu_has_facts_to_be_held_against() {
    for gpu in shipped().gpus() {
        assert!(
            MEMORY.iter().any(|card| card.gpu == gpu.id.as_str()),
            "{} has no memory fact",
            gpu.id
        );
        assert!(
            bf16_ceiling(&gpu.architecture).is_some(),
            "{} has no ceiling for {}",
            gpu.id,
            gpu.architecture
        );
    }
    for name in MEMORY.iter().map(|card| card.gpu).chain(
        GENERATIONS
            .iter()
            .chain(CUT_DOWN)
            .flat_map(|&(a, b)| [a, b]),
    ) {
        assert!(by_name(&shipped(), name).is_some(), "no row {name}");
    }
}

// T42a: a table had B200's memory faster than B300's, and decode rankings turned round.
#[test]
fn b300_slower_than_b200_is_found() {
    let (b200, b300) = (row("b200-sxm"), row("b300-sxm"));
    assert!(b300.bandwidth >= b200.bandwidth);
    let found = planted("b300-sxm", |gpu| gpu.bandwidth = rate("7.6 TB/s"));
    assert!(
        matches!(&found[..], [LintError::Regression { field: "bandwidth", newer, .. }] if newer.as_str() == "b300-sxm"),
        "{found:?}"
    );
}

// T42b: 13.4 TB/s for one GPU of GB200; a GPU moves about 8.
#[test]
fn a_superchip_counted_as_one_gpu_is_found() {
    let found = planted("gb200", |gpu| gpu.bandwidth = rate("13.4 TB/s"));
    assert!(
        found.iter().any(
            |error| matches!(error, LintError::Bandwidth { gpu, .. } if gpu.as_str() == "gb200")
        ),
        "{found:?}"
    );
    let found = planted("gb200", |gpu| gpu.memory = bytes("372 GiB"));
    assert!(
        matches!(&found[..], [LintError::MemoryAbove { .. }]),
        "{found:?}"
    );
}

// T42c: L40S FP8 at 1,466 TFLOPS is the sparse figure; and H200 BF16 at 1,979 likewise.
#[test]
fn sparse_figures_are_found() {
    let found = planted("l40s", |gpu| gpu.peaks.fp8 = Some(flops("1466 TFLOPS")));
    assert!(
        matches!(&found[..], [LintError::Ratio { narrow: "FP8", .. }]),
        "{found:?}"
    );
    let found = planted("h200-sxm", |gpu| gpu.peaks.bf16 = flops("1979 TFLOPS"));
    assert!(
        found.iter().any(
            |error| matches!(error, LintError::Ceiling { gpu, .. } if gpu.as_str() == "h200-sxm")
        ),
        "{found:?}"
    );
    let found = planted("mi300x", |gpu| gpu.peaks.int8 = Some(flops("5230 TOPS")));
    assert!(
        matches!(&found[..], [LintError::Ratio { narrow: "INT8", .. }]),
        "{found:?}"
    );
    let found = planted("mi355x", |gpu| gpu.peaks.fp4 = Some(flops("20.1 PFLOPS")));
    assert!(
        matches!(
            &found[..],
            [LintError::Ratio {
                narrow: "FP4",
                wide: "FP8",
                ..
            }]
        ),
        "{found:?}"
    );
}

#[test]
fn every_column_sparse_is_found_by_the_ceiling() {
    for gpu in shipped().gpus() {
        // Cut and small parts have room below their architecture's fastest part.
        let fastest = [
            "a100-80-sxm",
            "l40s",
            "h100-sxm",
            "b200-sxm",
            "gb300",
            "mi325x",
            "mi355x",
        ];
        if !fastest.contains(&gpu.id.as_str()) {
            continue;
        }
        let found = planted(gpu.id.as_str(), |gpu| {
            gpu.peaks.bf16 = gpu.peaks.bf16 * 2.0;
            gpu.peaks.fp8 = gpu.peaks.fp8.map(|peak| peak * 2.0);
            gpu.peaks.int8 = gpu.peaks.int8.map(|peak| peak * 2.0);
            gpu.peaks.fp4 = gpu.peaks.fp4.map(|peak| peak * 2.0);
        });
        assert!(
            found
                .iter()
                .any(|error| matches!(error, LintError::Ceiling { .. })),
            "{}: {found:?}",
            gpu.id
        );
    }
}

#[test]
fn only_blackwell_ultra_triples_fp4() {
    let found = planted("b200-sxm", |gpu| {
        gpu.peaks.fp4 = Some(flops("13500 TFLOPS"))
    });
    assert!(
        found
            .iter()
            .any(|error| matches!(error, LintError::Ratio { narrow: "FP4", .. })),
        "{found:?}"
    );
    // The sparse figure (18 PFLOPS and up) is found on Ultra too.
    let found = planted("b300-sxm", |gpu| {
        gpu.peaks.fp4 = Some(flops("18000 TFLOPS"))
    });
    assert!(
        matches!(&found[..], [LintError::Ratio { narrow: "FP4", .. }]),
        "{found:?}"
    );
}

// T42d: 141 GB and 141 GiB, mixed. Drivers show 143,771 MiB = 140.4 GiB = 150.8 GB.
#[test]
fn gb_for_gib_is_found_both_ways() {
    let found = planted("h200-sxm", |gpu| gpu.memory = bytes("141 GB"));
    assert!(
        matches!(&found[..], [LintError::MemoryBelow { .. }]),
        "{found:?}"
    );
    let found = planted("h200-sxm", |gpu| gpu.memory = bytes("151 GiB"));
    assert!(
        matches!(&found[..], [LintError::MemoryAbove { .. }]),
        "{found:?}"
    );
    let shipped = row("h200-sxm").memory;
    assert_eq!(shipped, bytes("143771 MiB"));
    assert!(shipped < bytes("141 GiB") && shipped > bytes("141 GB"));
}

#[test]
fn more_memory_than_on_the_card_is_found() {
    for gpu in shipped().gpus() {
        let found = planted(gpu.id.as_str(), |gpu| gpu.memory = gpu.memory * 2);
        assert!(
            found.iter().any(
                |error| matches!(error, LintError::MemoryAbove { gpu: named, .. } if *named == gpu.id)
            ),
            "{}",
            gpu.id
        );
    }
}

#[test]
fn a_successor_may_drop_int8_and_nothing_else() {
    let ultra = row("b300-sxm");
    assert!(ultra.peaks.int8 < row("b200-sxm").peaks.int8);
    let found = planted("mi355x", |gpu| gpu.peaks.fp8 = None);
    assert!(
        found.iter().any(|error| matches!(
            error,
            LintError::Regression { field: "FP8", got, .. } if got == "none"
        )),
        "{found:?}"
    );
    for (older, newer) in GENERATIONS {
        let (older, newer) = (row(older), row(newer));
        assert!(newer.bandwidth >= older.bandwidth, "{}", newer.id);
        assert!(newer.peaks.bf16 >= older.peaks.bf16, "{}", newer.id);
    }
}

#[test]
fn a_cut_part_above_its_sibling_is_found() {
    // Frontier's A800 at 320 TFLOPS, above the A100 it is.
    let found = planted("a800-80-sxm", |gpu| gpu.peaks.bf16 = flops("320 TFLOPS"));
    assert!(
        matches!(&found[..], [LintError::AboveSibling { field: "BF16", .. }]),
        "{found:?}"
    );
    let found = planted("h800-sxm", |gpu| gpu.scale_up = rate("500 GB/s"));
    assert!(
        matches!(
            &found[..],
            [LintError::AboveSibling {
                field: "scale_up",
                ..
            }]
        ),
        "{found:?}"
    );
    let found = planted("h20-96", |gpu| gpu.peaks.fp4 = Some(flops("592 TFLOPS")));
    assert!(
        matches!(&found[..], [LintError::AboveSibling { field: "FP4", most, .. }] if most == "none"),
        "{found:?}"
    );
}

#[test]
fn a_fabric_slower_than_pcie_is_found() {
    // One link's rate taken for the GPU's.
    let found = planted("h20-96", |gpu| gpu.scale_up = rate("25 GB/s"));
    assert!(
        matches!(&found[..], [LintError::ScaleUp { .. }]),
        "{found:?}"
    );
    let found = planted("l40s", |gpu| gpu.scale_up = rate("300 GB/s"));
    assert!(
        matches!(&found[..], [LintError::ScaleUp { .. }]),
        "{found:?}"
    );
}

#[test]
fn rows_without_source_or_dated_price_are_found() {
    let found = planted("h100-sxm", |gpu| gpu.sources.clear());
    assert!(
        matches!(&found[..], [LintError::NoSource { row }] if row == "gpu h100-sxm"),
        "{found:?}"
    );
    for date in ["", "2025", "July 2025", "2025-13", "2025-7", "2025-07-01"] {
        let found = planted("h100-sxm", |gpu| gpu.price.date = date.to_owned());
        assert!(
            matches!(&found[..], [LintError::Price { .. }]),
            "{date}: {found:?}"
        );
    }
    let found = planted("h100-sxm", |gpu| gpu.price.cite = " ".to_owned());
    assert!(matches!(&found[..], [LintError::Price { .. }]), "{found:?}");
}

#[test]
fn zero_rates_are_found() {
    let found = planted("a40", |gpu| gpu.bandwidth = ByteRate::ZERO);
    assert!(
        found.iter().any(|error| matches!(
            error,
            LintError::Zero {
                field: "bandwidth",
                ..
            }
        )),
        "{found:?}"
    );
}

#[test]
fn a_node_wider_than_its_domain_is_found() {
    let catalog = shipped();
    let mut node = catalog
        .node(&NodeTypeId::new("hgx-h100").unwrap())
        .unwrap()
        .clone();
    node.gpus = 16;
    let found = lint(&catalog.with_node(node));
    assert!(
        matches!(
            &found[..],
            [LintError::Domain {
                gpus: 16,
                domain: 8,
                ..
            }]
        ),
        "{found:?}"
    );
}

#[test]
fn prices_of_estimates_say_so() {
    // Cards no price survey covers: whoever reads the price must see what it is worth.
    for name in ["b300-sxm", "gb300", "l20", "ascend-910c", "mi355x"] {
        let cite = row(name).price.cite;
        assert!(cite.contains("estimate"), "{name}: {cite}");
    }
}

#[test]
fn network_rates_are_what_links_are_sold_as() {
    let catalog = shipped();
    let gigabits: Vec<f64> = catalog
        .nics()
        .map(|nic: &Nic| nic.rate.get() * 8.0 / 1e9)
        .chain(
            catalog
                .switches()
                .map(|switch| switch.port_rate.get() * 8.0 / 1e9),
        )
        .collect();
    for rate in gigabits {
        assert!([100.0, 200.0, 400.0, 800.0].contains(&rate), "{rate} Gb/s");
    }
}

/// Datasheets rarely give them, and the physics of kernels goes by them.
#[test]
fn every_gpu_says_where_its_sms_and_cache_come_from() {
    for gpu in shipped().gpus() {
        let said = |field: &str| {
            let mut own = gpu.sources.iter();
            own.any(|source| source.covers.split(", ").any(|word| word == field))
        };
        assert!(said("sms") && said("l2"), "{}", gpu.id);
    }
}
