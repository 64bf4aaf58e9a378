//! Reading and writing documents.
//!
//! A file is read twice: its head first, so that a newer or foreign file is named as such and not
//! taken for a broken one, then all of it in the types of its version. Files come from strangers:
//! size, depth and counts are bounded, and nothing in them can make the program panic. A save
//! replaces the old file in one step, and only by a text that was read back.

use super::document::Project;
use super::format;
use super::layout::lay_out;
use ron::extensions::Extensions;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use std::fs;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Largest document, bytes.
pub const MAX_DOCUMENT_BYTES: u64 = 64 << 20;
/// The word every document starts with.
const FORMAT: &str = "frontier-project";
/// The version written.
const VERSION: u32 = 5;
/// Deepest nesting read; a document needs less than half.
const MAX_DEPTH: usize = 64;
/// Longest chain of symbolic links followed.
const MAX_SYMLINKS: usize = 40;

/// Why a document can't be read or written.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ProjectError {
    /// The file can't be read.
    #[error("can't read {file}: {why}")]
    Read {
        /// The file.
        file: String,
        /// What the system says.
        why: String,
    },
    /// The file is too large.
    #[error("{file} is larger than {} MiB: this is no project of ours", MAX_DOCUMENT_BYTES >> 20)]
    TooLarge {
        /// The file.
        file: String,
    },
    /// Not text.
    #[error("{file} is not text (byte {byte} is not UTF-8): expected a *.frontier.ron file")]
    NotText {
        /// The file.
        file: String,
        /// Where text ends.
        byte: usize,
    },
    /// RON, but another program's.
    #[error(
        "{file} is not a project: it should start with (format: \"{FORMAT}\", version: {VERSION}, …){}",
        found.as_ref().map(|found| format!("; its format is “{found}”")).unwrap_or_default()
    )]
    NotAProject {
        /// The file.
        file: String,
        /// The format it says it has.
        found: Option<String>,
    },
    /// Written by a newer version of the program.
    #[error(
        "{file} has version {version}, written by Frontier Designer {app}; this one ({}) reads versions up to {VERSION}: update it to open the file",
        env!("CARGO_PKG_VERSION")
    )]
    Newer {
        /// The file.
        file: String,
        /// Its version.
        version: u64,
        /// The version of the program that wrote it.
        app: String,
    },
    /// A version that never was.
    #[error("{file} has version {version}, which there never was: expected {VERSION}")]
    NoSuchVersion {
        /// The file.
        file: String,
        /// Its version.
        version: u64,
    },
    /// A place in the text that is not what it should be.
    #[error("{file}, line {line}, column {column}: {why}")]
    Text {
        /// The file.
        file: String,
        /// Line, from 1.
        line: usize,
        /// Column, from 1.
        column: usize,
        /// What is wrong and what would be right, with the field.
        why: String,
    },
    /// Well written, but not a project that can be held.
    #[error("{file}: {why}")]
    Content {
        /// The file.
        file: String,
        /// Where and what is wrong.
        why: String,
    },
    /// The file can't be written; an older one is as it was.
    #[error("can't save {file}: {why}")]
    Write {
        /// The file.
        file: String,
        /// What the system says.
        why: String,
    },
}

/// The head of a document of any version.
#[derive(Deserialize)]
struct Head {
    format: Option<String>,
    version: Option<u64>,
    app: Option<String>,
}

/// Opens a document.
///
/// # Errors
/// See [`ProjectError`].
pub fn load(path: &Path) -> Result<Project, ProjectError> {
    let file = path.display().to_string();
    let unreadable = |error: io::Error| ProjectError::Read {
        file: file.clone(),
        why: error.to_string(),
    };
    // Looked at before opening: opening a pipe would wait for its writer.
    let facts = fs::metadata(path).map_err(unreadable)?;
    if !facts.is_file() {
        return Err(ProjectError::Read {
            file,
            why: "it is not a file".to_owned(),
        });
    }
    if facts.len() > MAX_DOCUMENT_BYTES {
        return Err(ProjectError::TooLarge { file });
    }
    let mut bytes = Vec::new();
    fs::File::open(path)
        .and_then(|open| open.take(MAX_DOCUMENT_BYTES + 1).read_to_end(&mut bytes))
        .map_err(unreadable)?;
    let text = String::from_utf8(bytes).map_err(|error| ProjectError::NotText {
        file: file.clone(),
        byte: error.utf8_error().valid_up_to(),
    })?;
    parse(&text, &file)
}

/// Reads a document's text; `file` is what messages call it.
///
/// # Errors
/// See [`ProjectError`].
pub fn parse(text: &str, file: &str) -> Result<Project, ProjectError> {
    if text.len() as u64 > MAX_DOCUMENT_BYTES {
        return Err(ProjectError::TooLarge {
            file: file.to_owned(),
        });
    }
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let head: Head = read(text, file)?;
    if head.format.as_deref() != Some(FORMAT) {
        return Err(ProjectError::NotAProject {
            file: file.to_owned(),
            found: head.format.map(|found| found.chars().take(80).collect()),
        });
    }
    let project: Project = match head.version {
        // All versions so far only add, so they share their types.
        Some(1..=5) => read::<format::File>(text, file)?.project.into(),
        Some(version) if version > u64::from(VERSION) => {
            let app = head
                .app
                .unwrap_or_else(|| "of an unknown version".to_owned());
            return Err(ProjectError::Newer {
                file: file.to_owned(),
                version,
                app: app.chars().take(80).collect(),
            });
        }
        Some(version) => {
            return Err(ProjectError::NoSuchVersion {
                file: file.to_owned(),
                version,
            });
        }
        None => {
            return Err(ProjectError::NotAProject {
                file: file.to_owned(),
                found: None,
            });
        }
    };
    format::check(&project).map_err(|why| ProjectError::Content {
        file: file.to_owned(),
        why,
    })?;
    Ok(project)
}

fn options() -> ron::Options {
    ron::Options::default()
        .with_default_extension(Extensions::IMPLICIT_SOME)
        .with_recursion_limit(MAX_DEPTH)
}

/// Reads text as a type, with the place of an error.
fn read<T: DeserializeOwned>(text: &str, file: &str) -> Result<T, ProjectError> {
    options().from_str(text).map_err(|error| {
        let at = error.span.end;
        let mut why = error.code.to_string();
        if let Some(field) = field_before(text, at.line, at.col).filter(|f| !why.contains(f)) {
            why = format!("{field}: {why}");
        }
        let text = text.trim_end();
        if at.line >= text.lines().count() && !text.ends_with(')') {
            why.push_str(" (the file ends here: it may have been cut off)");
        }
        ProjectError::Text {
            file: file.to_owned(),
            line: at.line,
            column: at.col,
            why,
        }
    })
}

/// The last field named on a line before a column: what an error there is about.
fn field_before(text: &str, line: usize, column: usize) -> Option<&str> {
    let line = text.lines().nth(line.checked_sub(1)?)?;
    let (mut field, mut word, mut in_string) = (None, 0, false);
    for (at, c) in line.char_indices().take(column.saturating_sub(1)) {
        if c == '"' {
            in_string = !in_string;
        }
        if c == ':' && !in_string && word < at {
            field = line.get(word..at);
        }
        if in_string || !(c.is_ascii_alphanumeric() || c == '_') {
            word = at + c.len_utf8();
        }
    }
    field
}

/// The text of a document: the same project gives the same bytes. Positions are kept to a tenth
/// of a point.
#[must_use]
pub fn to_text(project: &Project) -> String {
    let file = format::File {
        format: FORMAT.to_owned(),
        version: VERSION,
        app: env!("CARGO_PKG_VERSION").to_owned(),
        project: project.into(),
    };
    // Serialising to memory fails only for types RON has no form for; a saved text is read back.
    options()
        .to_string(&file)
        .map(|compact| lay_out(&compact))
        .unwrap_or_default()
}

/// Saves a document in one step: a reader sees the old file or the new one, and after a failure
/// the old one is untouched. A symbolic link stays one; an existing file keeps its permissions.
///
/// # Errors
/// The file can't be written there, or the project could not be opened again (it holds more than a
/// document may).
pub fn save(path: &Path, project: &Project) -> Result<(), ProjectError> {
    let file = path.display().to_string();
    let text = to_text(project);
    parse(&text, &file).map_err(|error| ProjectError::Write {
        file: file.clone(),
        why: format!("it could not be opened again ({error})"),
    })?;
    replace(path, text.as_bytes()).map_err(|error| ProjectError::Write {
        file,
        why: error.to_string(),
    })
}

/// Puts `bytes` in the place of a file.
fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let target = follow(path)?;
    let old = match fs::metadata(&target) {
        Ok(facts) if !facts.is_file() => {
            return Err(io::Error::other("there is something that is not a file"));
        }
        Ok(facts) if facts.permissions().readonly() => {
            return Err(io::Error::new(
                io::ErrorKind::PermissionDenied,
                "the file is read-only",
            ));
        }
        Ok(facts) => Some(facts.permissions()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(error),
    };
    let folder = match target.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let mut builder = tempfile::Builder::new();
    builder.prefix(".frontier-").suffix(".tmp");
    // A new file has the permissions the user's umask leaves, not a temporary file's.
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    let mut fresh = builder.tempfile_in(folder)?;
    fresh.write_all(bytes)?;
    if let Some(permissions) = old {
        fresh.as_file().set_permissions(permissions)?;
    }
    fresh.as_file().sync_all()?;
    fresh.persist(&target).map_err(|error| error.error)?;
    // The rename itself is on disk once the folder is; where folders can't be synced it is so
    // anyway, sooner or later.
    if let Ok(folder) = fs::File::open(folder) {
        folder.sync_all().ok();
    }
    Ok(())
}

/// Where a path leads in the end, whether or not a file is there.
fn follow(path: &Path) -> io::Result<PathBuf> {
    let mut target = path.to_path_buf();
    for _ in 0..MAX_SYMLINKS {
        match fs::symlink_metadata(&target) {
            Ok(facts) if facts.is_symlink() => {
                let next = fs::read_link(&target)?;
                target = match target.parent() {
                    Some(folder) => folder.join(next),
                    None => next,
                };
            }
            Ok(_) => return Ok(target),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(target),
            Err(error) => return Err(error),
        }
    }
    Err(io::Error::other("too many symbolic links"))
}

/// Where a path written in a document leads: relative ones start at the document's folder.
#[must_use]
pub fn resolve(document: &Path, written: &str) -> PathBuf {
    match document.parent() {
        Some(folder) => folder.join(written),
        None => PathBuf::from(written),
    }
}
