//! Running the real binary in a folder of its own.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A folder that is gone after the test, and the program to run in it.
pub struct Program {
    dir: tempfile::TempDir,
}

/// What a run printed and how it ended.
pub struct Ran {
    /// Exit code.
    pub code: i32,
    /// Standard output.
    pub out: String,
    /// Standard error.
    pub err: String,
}

impl Program {
    pub fn new() -> Self {
        Self {
            dir: tempfile::tempdir().unwrap(),
        }
    }

    /// A path in the folder.
    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Writes a file into the folder.
    pub fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        std::fs::write(&path, text).unwrap();
        path
    }

    /// Writes an example into the folder.
    pub fn example(&self, name: &str) -> PathBuf {
        let path = self.path(&format!("{name}.frontier.ron"));
        let ran = self.run(&["new", "--example", name, "-o", text(&path)]);
        assert_eq!(ran.code, 0, "{}", ran.err);
        path
    }

    /// Runs the program without a display and without the user's presets.
    pub fn run(&self, args: &[&str]) -> Ran {
        self.run_with(None, args)
    }

    /// Runs it with a folder of presets.
    pub fn run_with(&self, presets: Option<&Path>, args: &[&str]) -> Ran {
        let output: Output = Command::new(env!("CARGO_BIN_EXE_frontier"))
            .args(args)
            .current_dir(self.dir.path())
            .env_remove("DISPLAY")
            .env_remove("WAYLAND_DISPLAY")
            .env_remove("WAYLAND_SOCKET")
            .env_remove("FRONTIER_PRESETS")
            .envs(presets.map(|dir| ("FRONTIER_PRESETS", dir)))
            .env("XDG_CONFIG_HOME", self.dir.path())
            .output()
            .unwrap();
        Ran {
            code: output.status.code().unwrap_or(-1),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// Runs it, expects success and JSON.
    pub fn json(&self, args: &[&str]) -> serde_json::Value {
        let ran = self.run(args);
        assert_eq!(ran.code, 0, "{args:?}: {}", ran.err);
        serde_json::from_str(&ran.out).unwrap()
    }
}

/// A path as text.
pub fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// A file of the measured data beside the checkout; none: the test skips and says so.
pub fn shared(name: &str) -> Option<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../shared/data")
        .join(name);
    if path.exists() {
        Some(path)
    } else {
        eprintln!("skipped: {} is not here", path.display());
        None
    }
}
