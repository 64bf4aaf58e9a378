//! Preset files: where they lie and how they are read, whatever they hold.
//!
//! Ours are embedded in the binary; a user's lie in a folder with the same layout. Files of a
//! user's folder are strangers' files: sizes and counts are bounded, and only regular files with
//! the ending `.ron` are opened.

use super::load::CatalogError;
use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

/// Largest preset file read: a hundred times the largest we ship.
pub(crate) const MAX_FILE_BYTES: u64 = 1 << 20;
/// Most files of one kind read from one folder.
pub(crate) const MAX_FILES: usize = 2000;
/// Ending of preset files.
const ENDING: &str = ".ron";

#[derive(rust_embed::Embed)]
#[folder = "presets/"]
#[exclude = "*.md"]
struct EmbeddedPresets;

/// Where a preset file lies.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Origin {
    /// In the binary, under this path of `presets/`.
    Embedded(String),
    /// On the user's disk.
    User(PathBuf),
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Embedded(path) => write!(f, "presets/{path} (built in)"),
            Self::User(path) => write!(f, "{}", path.display()),
        }
    }
}

/// One preset file, read but not understood.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PresetFile {
    /// File name without its ending.
    pub name: String,
    /// What it holds.
    pub text: String,
    /// Where it was read.
    pub origin: Origin,
}

/// The files of a kind (`gpus`, `models`, `examples`, …), sorted by name; a user's file takes the
/// place of ours of the same name.
///
/// # Errors
/// The user's folder can't be read, or a file in it is too large, not UTF-8, or one too many.
pub(crate) fn preset_files(
    kind: &str,
    user_dir: Option<&Path>,
) -> Result<Vec<PresetFile>, CatalogError> {
    let mut files = BTreeMap::new();
    for file in embedded_files(kind)? {
        files.insert(file.name.clone(), file);
    }
    if let Some(dir) = user_dir {
        for file in user_files(kind, dir)? {
            files.insert(file.name.clone(), file);
        }
    }
    Ok(files.into_values().collect())
}

/// Ours of a kind, then a user's, whatever their names: for kinds whose files lie over each other
/// row by row, so that a user's file of one table does not take ours of all others away.
///
/// # Errors
/// As [`preset_files`].
pub(crate) fn preset_layers(
    kind: &str,
    user_dir: Option<&Path>,
) -> Result<Vec<PresetFile>, CatalogError> {
    let mut files = embedded_files(kind)?;
    if let Some(dir) = user_dir {
        files.extend(user_files(kind, dir)?);
    }
    Ok(files)
}

/// Our files of a kind, sorted by name.
pub(super) fn embedded_files(kind: &str) -> Result<Vec<PresetFile>, CatalogError> {
    let mut files = Vec::new();
    for path in EmbeddedPresets::iter() {
        let Some(name) = path
            .strip_prefix(kind)
            .and_then(|rest| rest.strip_prefix('/'))
            .and_then(|rest| rest.strip_suffix(ENDING))
            .filter(|name| !name.contains('/'))
        else {
            continue;
        };
        let Some(file) = EmbeddedPresets::get(&path) else {
            continue;
        };
        let origin = Origin::Embedded(path.to_string());
        files.push(PresetFile {
            name: name.to_owned(),
            text: utf8(file.data.into_owned(), &origin)?,
            origin,
        });
    }
    files.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(files)
}

/// A user's files of a kind, sorted by name. A folder without this kind holds none of it.
pub(super) fn user_files(kind: &str, dir: &Path) -> Result<Vec<PresetFile>, CatalogError> {
    if !dir.is_dir() {
        return Err(CatalogError::NoFolder {
            path: dir.display().to_string(),
        });
    }
    let folder = dir.join(kind);
    if !folder.exists() {
        return Ok(Vec::new());
    }
    let unreadable = |path: &Path, error: &std::io::Error| CatalogError::Unreadable {
        place: path.display().to_string(),
        why: error.to_string(),
    };
    let mut paths = Vec::new();
    for (seen, entry) in fs::read_dir(&folder)
        .map_err(|error| unreadable(&folder, &error))?
        .enumerate()
    {
        if seen >= MAX_FILES {
            return Err(CatalogError::TooManyFiles {
                folder: folder.display().to_string(),
                limit: MAX_FILES,
            });
        }
        let path = entry.map_err(|error| unreadable(&folder, &error))?.path();
        // A pipe or device named like a preset would block or never end.
        if path.is_file() {
            paths.push(path);
        }
    }
    paths.sort();
    let mut files = Vec::new();
    for path in paths {
        let Some(name) = path
            .file_name()
            .and_then(|name| name.to_str())
            .and_then(|name| name.strip_suffix(ENDING))
        else {
            continue;
        };
        let name = name.to_owned();
        let mut bytes = Vec::new();
        fs::File::open(&path)
            .and_then(|file| file.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes))
            .map_err(|error| unreadable(&path, &error))?;
        if bytes.len() as u64 > MAX_FILE_BYTES {
            return Err(CatalogError::TooLarge {
                file: path.display().to_string(),
                limit: MAX_FILE_BYTES,
            });
        }
        let origin = Origin::User(path);
        files.push(PresetFile {
            name,
            text: utf8(bytes, &origin)?,
            origin,
        });
    }
    Ok(files)
}

fn utf8(bytes: Vec<u8>, origin: &Origin) -> Result<String, CatalogError> {
    String::from_utf8(bytes).map_err(|error| CatalogError::NotUtf8 {
        file: origin.to_string(),
        byte: error.utf8_error().valid_up_to(),
    })
}

/// The folder a user's presets are looked for in: `FRONTIER_PRESETS` where that is set, else
/// `frontier/presets` of the user's configuration folder if it exists.
#[must_use]
pub fn user_presets_dir() -> Option<PathBuf> {
    if let Some(dir) = std::env::var_os("FRONTIER_PRESETS").filter(|dir| !dir.is_empty()) {
        return Some(dir.into());
    }
    default_presets_dir().filter(|dir| dir.is_dir())
}

/// The folder a user's presets are kept in: [`user_presets_dir`], or where it would be looked for
/// if it existed. None: there is no configuration folder.
#[must_use]
pub fn user_presets_home() -> Option<PathBuf> {
    user_presets_dir().or_else(default_presets_dir)
}

fn default_presets_dir() -> Option<PathBuf> {
    let base = directories::BaseDirs::new()?;
    Some(base.config_dir().join("frontier").join("presets"))
}
