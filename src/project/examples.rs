//! Projects that come with the program: to start from, to read, and to test with.

use super::document::Project;
use super::io::{ProjectError, parse};
use crate::catalog::{CatalogError, PresetFile, preset_files};
use thiserror::Error;

/// The example the program opens with.
pub const FIRST_EXAMPLE: &str = "pdd-vs-colocated";
/// What the name of an example's file ends with, before `.ron`.
const ENDING: &str = ".frontier";

/// An example.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Example {
    /// Its name, as [`example`] takes it.
    pub name: String,
    /// Its name for people.
    pub title: String,
    /// What it shows.
    pub story: String,
}

/// Why an example can't be opened.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum ExampleError {
    /// There is none of that name.
    #[error("there is no example “{name}”: there are {known}")]
    Unknown {
        /// The name asked for.
        name: String,
        /// The names there are.
        known: String,
    },
    /// The files can't be read.
    #[error(transparent)]
    Files(#[from] CatalogError),
    /// It is no project.
    #[error(transparent)]
    Project(#[from] ProjectError),
}

/// All examples, the first one first and the others by name. One that can't be opened (which the
/// tests rule out) is left out; [`example`] says why.
#[must_use]
pub fn examples() -> Vec<Example> {
    let mut examples: Vec<Example> = preset_files("examples", None)
        .unwrap_or_default()
        .iter()
        .filter_map(|file| {
            let project = parse(&file.text, &file.origin.to_string()).ok()?;
            Some(Example {
                name: name_of(file).to_owned(),
                title: project.name,
                story: project.story,
            })
        })
        .collect();
    examples.sort_by_key(|example| example.name != FIRST_EXAMPLE);
    examples
}

/// Opens an example.
///
/// # Errors
/// There is none of that name, or it can't be opened.
pub fn example(name: &str) -> Result<Project, ExampleError> {
    let files = preset_files("examples", None)?;
    let Some(file) = files.iter().find(|file| name_of(file) == name) else {
        let known: Vec<&str> = files.iter().map(name_of).collect();
        return Err(ExampleError::Unknown {
            name: name.chars().take(80).collect(),
            known: known.join(", "),
        });
    };
    Ok(parse(&file.text, &file.origin.to_string())?)
}

fn name_of(file: &PresetFile) -> &str {
    file.name.strip_suffix(ENDING).unwrap_or(&file.name)
}
