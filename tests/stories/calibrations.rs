//! Prices and calibrations in the window: the switch of fidelities, comparing with measured tables,
//! fitting one's own.

use super::window::Window;
use eframe::egui::accesskit::Role as Access;
use egui_kittest::kittest::Queryable as _;
use frontier::app::AppOptions;
use frontier::project::{self, FIRST_EXAMPLE};
use std::fmt::Write as _;
use std::path::Path;

/// GEMM tables by a formula: a launch, and the slower of arithmetic and memory, with a ripple. One
/// row is broken.
fn tables(dir: &Path, gpu: &str, engines: &[&str], precisions: &[&str]) {
    let mut text = "engine,backend_version,kernel_source,gemm_dtype,m,n,k,latency_ms\n".to_owned();
    for engine in engines {
        for precision in precisions {
            for m in [1, 8, 64, 512, 4096] {
                for n in [1024, 4096, 8192, 12_288] {
                    for k in [2048, 4096, 7168] {
                        let (m, n, k) = (f64::from(m), f64::from(n), f64::from(k));
                        let compute = 2.0 * m * n * k / 600e12;
                        let memory = 2.0 * (n * k + m * k + m * n) / 2.7e12;
                        let ripple = 1.0 + 0.03 * ((m + n + k) % 7.0);
                        let ms = 1e3 * (4e-6 + ripple * compute.max(memory));
                        let _ = writeln!(text, "{engine},0.11.0,own,{precision},{m},{n},{k},{ms}");
                    }
                }
            }
        }
    }
    text.push_str("vllm,0.11.0,own,bfloat16,64,64,64,fast\n");
    std::fs::create_dir_all(dir.join("gemm")).unwrap();
    std::fs::write(dir.join(format!("gemm/{gpu}.csv")), text).unwrap();
}

fn has(window: &Window, label: &str) -> bool {
    window
        .harness
        .query_all_by_label_contains(label)
        .next()
        .is_some()
}

fn wait_for(window: &mut Window, label: &str) {
    window.wait(label, |w| has(w, label).then_some(()));
}

/// Presses the button and types the folder.
fn ask(window: &mut Window, button: &str, verb: &str, dir: &Path) {
    window.click(window.button(button));
    window.wait("the field for a path", |w| {
        let field = w.harness.query_by_role_and_label(Access::Button, verb);
        field.map(drop)
    });
    window.type_anew(dir.to_str().unwrap());
}

const CALIBRATE: &str = "Calibrate from measured tables…";
const COMPARE: &str = "Compare with measured tables…";

#[test]
fn the_switch_prices_runs_anew_and_leaves_the_document_alone() {
    let mut window = Window::example();
    window.curve();
    let document = window.text();
    window.click_label("Fidelity: Calibrated");
    let roofline = window
        .harness
        .get_by_role_and_label(Access::RadioButton, "Roofline")
        .rect();
    window.click(roofline.center());
    window.wait("the roofline", |w| {
        (w.app().fidelity() == "roofline").then_some(())
    });
    let curve = window.curve();
    let from = &curve.last().unwrap().summary.provenance;
    assert_eq!(from.fidelity, "roofline");
    assert!(
        has(&window, "Fidelity: Roofline, "),
        "the band is beside it"
    );
    assert!(
        has(&window, "of the time from the roofline"),
        "the footer says whose prices"
    );
    assert_eq!(window.text(), document);
    assert!(!window.undo(), "a switch is no edit");
}

#[test]
fn a_calibration_of_ones_own_is_compared_fitted_cancelled_and_kept() {
    let dir = tempfile::tempdir().unwrap();
    let home = dir.path().join("presets");
    let (own, many) = (dir.path().join("own"), dir.path().join("many"));
    tables(&own, "h800_sxm", &["vllm"], &["bfloat16", "fp8"]);
    for gpu in ["h800_sxm", "h200_sxm", "h100_sxm", "b200_sxm", "l40s"] {
        let engines = ["vllm", "sglang", "trtllm", "mine"];
        tables(&many, gpu, &engines, &["bfloat16", "fp8", "int8_wo"]);
    }
    let mut window = Window::with(AppOptions {
        project: Some((None, project::example(FIRST_EXAMPLE).unwrap())),
        presets_home: Some(home.clone()),
        ..AppOptions::default()
    });
    window.curve();
    let document = window.text();
    window.click(window.place("Calibration"));

    // What is not there is said, and corrected.
    ask(&mut window, COMPARE, "Compare", &dir.path().join("nowhere"));
    wait_for(&mut window, "There is no folder");
    window.click(window.button("Cancel"));

    // Parity of the calibrations in use. There may be none that is near enough.
    ask(&mut window, COMPARE, "Compare", &own);
    wait_for(&mut window, "rows of 2 tables");
    window.click(window.place("Refused rows"));
    assert!(has(&window, "latency_ms is not a number"));

    // A long fit is stopped at once and leaves nothing.
    ask(&mut window, CALIBRATE, "Calibrate", &many);
    window.wait("the fit", |w| has(w, "Cancel calibrating").then_some(()));
    window.click(window.button("Cancel calibrating"));
    assert!(has(&window, CALIBRATE));
    assert!(!has(&window, "Before and after"));

    ask(&mut window, CALIBRATE, "Calibrate", &own);
    wait_for(&mut window, "Use the new fit");
    assert!(has(&window, "Before and after"));
    assert!(
        has(&window, "Median error") || has(&window, "Nothing predicted these tables before"),
        "both errors in words"
    );
    let folder = home.join("calibration");
    assert!(!folder.exists(), "nothing is written unasked");
    window.click(window.button("Use the new fit"));
    wait_for(&mut window, "runs use them");
    let written = std::fs::read_to_string(folder.join("h800-sxm.ron")).unwrap();
    assert!(written.contains("launch_us") && !written.contains("latency"));

    let curve = window.wait("prices of the fit", |w| {
        let curve = w.app().curve()?;
        let from = &curve.last()?.summary.provenance;
        let fitted = from
            .origins
            .iter()
            .any(|(name, _)| name.starts_with("calibrated"));
        fitted.then(|| curve.to_vec())
    });
    assert_eq!(
        curve.last().unwrap().summary.provenance.fidelity,
        "calibrated"
    );
    window.click(window.place("Coverage"));
    wait_for(&mut window, "GEMM on H800");
    let cell = window
        .harness
        .query_all_by_label_contains("GEMM on H800")
        .next()
        .unwrap()
        .rect();
    window.click(cell.center());
    window.wait("the cell's tables", |w| {
        let tables = w.harness.query_all_by_label_contains("bfloat16");
        (tables.count() > 0).then_some(())
    });
    assert_eq!(window.text(), document, "none of it is in the document");
}

#[test]
fn a_profile_that_cannot_be_used_changes_nothing_and_one_that_can_is_used() {
    let dir = tempfile::tempdir().unwrap();
    let (own, empty) = (dir.path().join("own"), dir.path().join("empty"));
    tables(&own, "h800_sxm", &["vllm"], &["bfloat16"]);
    std::fs::create_dir(&empty).unwrap();
    let mut window = Window::example();
    window.curve();
    for (folder, expected) in [
        (&empty, "Can't use this profile"),
        (&own, "Fidelity: Measured"),
    ] {
        window.click_label("Fidelity: Calibrated");
        let measured = window
            .harness
            .get_by_role_and_label(Access::RadioButton, "Measured")
            .rect();
        window.click(measured.center());
        window.wait("the field for a path", |w| {
            let field = w.harness.query_by_role_and_label(Access::Button, "Choose");
            field.map(drop)
        });
        window.type_anew(folder.to_str().unwrap());
        wait_for(&mut window, expected);
        if has(&window, "Another path…") {
            assert_eq!(window.app().fidelity(), "calibrated");
            window.click(window.button("OK"));
        }
    }
    let curve = window.curve();
    let from = &curve.last().unwrap().summary.provenance;
    assert_eq!(from.fidelity, "measured");
}
