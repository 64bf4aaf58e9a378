//! The files opened last, newest first, one path a line in the state directory. Best effort: a list
//! that can't be read or written is no reason to bother anybody.

use std::path::{Path, PathBuf};

/// Longest list.
const MOST: usize = 10;
/// Largest file read.
const MAX_BYTES: usize = 64 * 1024;
const FILE: &str = "recent";

/// The list.
#[derive(Debug, Default)]
pub struct Recent {
    file: Option<PathBuf>,
    paths: Vec<PathBuf>,
}

impl Recent {
    /// Reads the list kept in a directory; without one, a list that is forgotten at the end.
    #[must_use]
    pub fn load(state_dir: Option<&Path>) -> Self {
        let file = state_dir.map(|dir| dir.join(FILE));
        let text = file
            .as_ref()
            .and_then(|file| std::fs::read_to_string(file).ok())
            .filter(|text| text.len() <= MAX_BYTES)
            .unwrap_or_default();
        let paths = text
            .lines()
            .filter(|line| !line.is_empty())
            .take(MOST)
            .map(PathBuf::from)
            .collect();
        Self { file, paths }
    }

    /// The files, newest first.
    #[must_use]
    pub fn paths(&self) -> &[PathBuf] {
        &self.paths
    }

    /// Puts a file first, and writes the list.
    pub fn note(&mut self, path: &Path) {
        let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        self.paths.retain(|p| *p != path);
        self.paths.insert(0, path);
        self.paths.truncate(MOST);
        self.write();
    }

    fn write(&self) {
        let Some(file) = &self.file else { return };
        let lines: Vec<&str> = self
            .paths
            .iter()
            .filter_map(|p| p.to_str())
            .filter(|line| !line.contains('\n'))
            .collect();
        if let Some(dir) = file.parent() {
            let written =
                std::fs::create_dir_all(dir).and_then(|()| std::fs::write(file, lines.join("\n")));
            drop(written);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_comes_first_and_is_remembered() {
        let dir = tempfile::tempdir().unwrap();
        let mut recent = Recent::load(Some(dir.path()));
        for n in 0..12 {
            recent.note(Path::new(&format!("/a/{n}.ron")));
        }
        recent.note(Path::new("/a/5.ron"));
        let again = Recent::load(Some(dir.path()));
        assert_eq!(again.paths().len(), MOST);
        assert_eq!(again.paths()[0], Path::new("/a/5.ron"));
        assert_eq!(again.paths()[1], Path::new("/a/11.ron"));
    }
}
