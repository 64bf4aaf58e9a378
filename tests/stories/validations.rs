//! Measured deployments in the window: a file is predicted, looked at by groups and rows, and a row
//! opens as a design.

use super::window::Window;
use eframe::egui::{Pos2, accesskit::Role as Access};
use egui_kittest::kittest::Queryable as _;
use frontier::workload::{Arrivals, Length};
use std::fmt::Write as _;
use std::path::Path;

const VALIDATE: &str = "Validate with measured rows…";

/// Rows of two engines, made up; one is no row, one is of an engine nobody knows.
fn rows(path: &Path, loads: &[u32]) {
    let mut text = "id,backend,backend_version,model_path,model_canon,system,precision,mode,isl,osl,tp_size,moe_tp_size,concurrency,silicon_ttft_ms,silicon_tpot_ms,campaign,config_group\n".to_owned();
    for (engine, version) in [("vllm", "0.11.0"), ("sglang", "0.5.5")] {
        for load in loads {
            let (ttft, tpot) = (40.0 + f64::from(*load), 9.0 + 0.1 * f64::from(*load));
            let _ = writeln!(
                text,
                "{engine}-{load},{engine},{version},Qwen/Qwen3-32B,qwen3-32b,h100_sxm,fp8,agg,1024,32,2,2,{load},{ttft},{tpot},inferencex,{engine}"
            );
        }
    }
    text.push_str(
        "odd,tgi,1.0,Qwen/Qwen3-32B,qwen3-32b,h100_sxm,fp8,agg,1024,32,2,2,4,50,9,,odd\n",
    );
    text.push_str(
        "torn,vllm,0.11.0,Qwen/Qwen3-32B,qwen3-32b,h100_sxm,fp8,agg,many,32,2,2,4,50,9,,torn\n",
    );
    std::fs::write(path, text).unwrap();
}

fn has(window: &Window, label: &str) -> bool {
    let mut found = window.harness.query_all_by_label_contains(label);
    found.next().is_some()
}

fn wait_for(window: &mut Window, label: &str) {
    window.wait(label, |w| has(w, label).then_some(()));
}

fn ask(window: &mut Window, path: &Path) {
    window.click(window.button(VALIDATE));
    window.wait("the field for a path", |w| {
        let field = w
            .harness
            .query_by_role_and_label(Access::Button, "Validate");
        field.map(drop)
    });
    window.type_anew(path.to_str().unwrap());
}

fn tab(window: &mut Window, label: &str) {
    let at = window.harness.get_by_role_and_label(Access::Tab, label);
    let at = at.rect().center();
    window.click(at);
}

fn places(window: &Window, label: &str) -> Vec<Pos2> {
    let found = window.harness.query_all_by_label(label);
    found.map(|node| node.rect().center()).collect()
}

/// What is called so nearest to a place.
fn nearest(window: &Window, label: &str, to: Pos2) -> Pos2 {
    let all = places(window, label).into_iter();
    all.min_by(|a, b| a.distance(to).total_cmp(&b.distance(to)))
        .unwrap()
}

/// The uppermost that is called so below a heading.
fn top(window: &Window, label: &str, head: Pos2) -> Pos2 {
    let all = places(window, label).into_iter();
    all.filter(|at| at.y > head.y)
        .min_by(|a, b| a.y.total_cmp(&b.y))
        .unwrap()
}

#[test]
fn a_file_of_rows_is_predicted_grouped_and_a_row_opens_as_a_design() {
    let dir = tempfile::tempdir().unwrap();
    let (few, many, none) = (
        dir.path().join("few.csv"),
        dir.path().join("many.csv"),
        dir.path().join("none.csv"),
    );
    rows(&few, &[1, 4, 16]);
    rows(&many, &(1..200).collect::<Vec<_>>());
    std::fs::write(&none, "id,backend\na,vllm\n").unwrap();
    let mut window = Window::example();
    window.curve();
    let document = window.text();
    tab(&mut window, "Validation");
    assert!(has(&window, "frontier validate --rows"), "the same command");

    // What is no table of rows is said, and corrected.
    ask(&mut window, &none);
    wait_for(&mut window, "there is no column “model_path”");
    window.click(window.button("OK"));

    // A long one is stopped at once and leaves nothing.
    ask(&mut window, &many);
    wait_for(&mut window, "Cancel validating");
    window.click(window.button("Cancel validating"));
    assert!(has(&window, VALIDATE) && !has(&window, "usable rows"));

    ask(&mut window, &few);
    wait_for(
        &mut window,
        "6 of 8 usable rows of few.csv predicted by calibrated prices",
    );
    for label in ["co-located", "co-located, dense"] {
        assert!(has(&window, label), "{label}");
    }
    assert!(!has(&window, "disaggregated"), "there are none");

    tab(&mut window, "Refused");
    assert!(has(&window, "backend is “tgi”") && has(&window, "isl is “many”"));

    // The groups; one lists its conditions.
    tab(&mut window, "Groups");
    assert!(has(&window, "vLLM h100_sxm qwen3-32b fp8"));
    let list = window
        .harness
        .get_by_role_and_label(Access::ComboBox, "Group by");
    let list = list.rect().center();
    window.click(list);
    let engine = nearest(&window, "Engine", list);
    window.click(engine);
    let group = nearest(&window, "SGLang", list);
    window.click(group);
    assert!(has(&window, "3 conditions"), "those of the group");
    assert!(has(&window, "SGLang 0.5.5"));
    window.click(window.button("List all"));
    assert!(has(&window, "6 conditions"));

    // The columns sort.
    window.click(window.button("Sort by In flight"));
    let head = window.button("Sort by In flight");
    let first = |window: &Window, load: &str| top(window, load, head).y;
    assert!(
        first(&window, "16") < first(&window, "4"),
        "the largest first"
    );
    window.click(head);
    assert!(first(&window, "4") < first(&window, "16"), "and the last");

    // A row tells its settings and who says so, and opens with its client's load.
    let row = top(&window, "vLLM 0.11.0", head);
    window.click(row);
    assert!(has(&window, "max_num_seqs"), "settings of the recipes");
    assert!(has(&window, "API-server defaults"), "and their source");
    assert_eq!(window.text(), document, "nothing is in the document yet");
    window.click(window.button("Open as a design…"));
    window.click(window.button("Design and load"));
    let project = window.app().project();
    assert_eq!(project.designs.len(), 3);
    let design = window.app().design();
    assert!(design.name.contains("qwen3-32b"), "{}", design.name);
    assert_eq!(design.pools[0].layout.tp, 2);
    assert_eq!(project.workload.arrivals, Arrivals::Closed);
    assert!(matches!(project.workload.input, Length::Uniform { .. }));
    assert_eq!(project.curve.loads, [1.0, 2.0]);
    let curve = window.curve();
    assert_eq!(curve.len(), 2, "it runs");
    assert!(window.undo(), "one step");
    assert_eq!(window.text(), document);
}
