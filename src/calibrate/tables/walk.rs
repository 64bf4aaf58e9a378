//! The files of a folder of tables, whatever its depth, in a fixed order.

use std::path::{Path, PathBuf};

/// Deepest folder looked into.
const DEEPEST: usize = 8;
/// Most files looked at.
const MOST: usize = 20_000;

/// Every comma-separated file below `dir`, sorted by path.
pub(super) fn files(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![(dir.to_path_buf(), 0)];
    while let Some((folder, depth)) = folders.pop() {
        let Ok(entries) = folder.read_dir() else {
            continue;
        };
        for entry in entries.filter_map(Result::ok) {
            let path = entry.path();
            // A link could lead round in circles.
            let Ok(kind) = entry.file_type() else {
                continue;
            };
            if kind.is_dir() && depth < DEEPEST {
                folders.push((path, depth + 1));
            } else if kind.is_file() && stem(&path).is_some() && found.len() < MOST {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// A table's name: the file's without `.csv`, `.csv.gz` or `_perf.txt`.
pub(super) fn stem(path: &Path) -> Option<&str> {
    let name = path.file_name()?.to_str()?;
    [".csv.gz", ".csv", "_perf.txt"]
        .iter()
        .find_map(|ending| name.strip_suffix(ending))
}

/// The words a path below `dir` is made of, the file's own name first: `gemm/h100_sxm.csv` is
/// `h100_sxm`, `gemm`.
pub(super) fn words<'a>(dir: &Path, path: &'a Path) -> Vec<&'a str> {
    let below = path.strip_prefix(dir).unwrap_or(path);
    let mut words: Vec<&str> = below
        .parent()
        .into_iter()
        .flat_map(Path::components)
        .filter_map(|part| part.as_os_str().to_str())
        .collect();
    words.extend(stem(path));
    words.reverse();
    words
}
