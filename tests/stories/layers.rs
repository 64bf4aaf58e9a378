//! The walls: which module may use which. A single crate has no compiler for this, so the imports
//! are read.

use std::path::{Path, PathBuf};

/// Each module and what it may use. `app` and `cli` may use everything but each other.
const MAY_USE: [(&str, &[&str]); 15] = [
    ("units", &[]),
    ("catalog", &["units"]),
    ("model", &["units", "catalog"]),
    ("cluster", &["units", "catalog"]),
    ("workload", &["units"]),
    ("plan", &["units", "catalog", "model", "cluster"]),
    ("cost", &["units", "catalog", "model", "cluster", "plan"]),
    ("calibrate", &["units", "catalog", "cost"]),
    (
        "sim",
        &[
            "units", "catalog", "model", "cluster", "plan", "cost", "workload",
        ],
    ),
    (
        "study",
        &[
            "units", "catalog", "model", "cluster", "plan", "cost", "workload", "sim",
        ],
    ),
    (
        "report",
        &[
            "units", "catalog", "model", "cluster", "plan", "cost", "workload", "sim", "study",
        ],
    ),
    (
        "project",
        &[
            "units", "catalog", "model", "cluster", "plan", "workload", "study",
        ],
    ),
    (
        "validation",
        &[
            "units", "catalog", "model", "cluster", "plan", "cost", "workload", "sim",
        ],
    ),
    (
        "jobs",
        &[
            "units",
            "catalog",
            "model",
            "cluster",
            "plan",
            "cost",
            "workload",
            "sim",
            "study",
            "project",
            "calibrate",
            "validation",
        ],
    ),
    (
        "cli",
        &[
            "units",
            "catalog",
            "model",
            "cluster",
            "plan",
            "cost",
            "workload",
            "sim",
            "study",
            "report",
            "project",
            "jobs",
            "calibrate",
            "validation",
        ],
    ),
];

fn sources(dir: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|e| e == "rs") {
            found.push(path);
        }
    }
}

/// Source text of a module without its tests and comments.
fn code(path: &Path) -> String {
    let text = std::fs::read_to_string(path).unwrap();
    let text = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or("");
    text.lines()
        .filter(|line| !line.trim_start().starts_with("//"))
        .collect::<Vec<_>>()
        .join("\n")
}

fn is_test(path: &Path) -> bool {
    path.components().any(|c| c.as_os_str() == "tests")
        || path.file_name().is_some_and(|name| name == "tests.rs")
}

#[test]
fn arrows_point_one_way() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut wrong = Vec::new();
    for (module, may_use) in MAY_USE {
        let mut files = Vec::new();
        sources(&root.join(module), &mut files);
        for path in files.iter().filter(|path| !is_test(path)) {
            let code = code(path);
            for used in code.split("crate::").skip(1) {
                let used: String = used
                    .chars()
                    .take_while(|c| c.is_ascii_lowercase() || *c == '_')
                    .collect();
                if used != module && !may_use.contains(&used.as_str()) && used != "app" {
                    wrong.push(format!("{}: {module} uses {used}", path.display()));
                } else if used == "app" {
                    wrong.push(format!("{}: {module} uses the window", path.display()));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn egui_stays_in_the_window() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    sources(&root, &mut files);
    let outside: Vec<&PathBuf> = files
        .iter()
        .filter(|path| !path.starts_with(root.join("app")))
        .filter(|path| {
            let code = code(path);
            code.contains("egui") || code.contains("eframe") || code.contains("rfd::")
        })
        .collect();
    assert!(outside.is_empty(), "{outside:?}");
}
