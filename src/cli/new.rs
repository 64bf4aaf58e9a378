//! `frontier new`: list the examples, or write one, its engines' loops as they start.

use super::{Failure, engines};
use crate::catalog::{Catalog, user_presets_dir};
use crate::project::{example, examples, save};
use clap::Args;
use std::path::PathBuf;

/// Arguments of `new`.
#[derive(Debug, Args)]
pub struct NewArgs {
    /// Print the names of the examples, one a line.
    #[arg(long, conflicts_with_all = ["example", "output"])]
    list: bool,
    /// The example to write.
    #[arg(long, value_name = "NAME")]
    example: Option<String>,
    /// Where to write it; an existing file is kept unless --force is given.
    #[arg(long, short, value_name = "FILE", requires = "example")]
    output: Option<PathBuf>,
    /// Write over an existing file.
    #[arg(long)]
    force: bool,
}

pub(super) fn new(args: &NewArgs) -> Result<(), Failure> {
    if args.list {
        for example in examples() {
            say!("{}", example.name);
        }
        return Ok(());
    }
    let Some(name) = &args.example else {
        return Err(Failure::Usage(
            "say what to make: --example NAME -o FILE, or --list to see the names".to_owned(),
        ));
    };
    let mut project = example(name).map_err(|e| Failure::usage(&e))?;
    // Examples are older than loops: a new project has what its engines start with.
    let catalog = Catalog::load(user_presets_dir().as_deref()).map_err(|e| Failure::usage(&e))?;
    for design in &mut project.designs {
        engines::start_loops(design, &catalog);
    }
    let path = args
        .output
        .clone()
        .unwrap_or_else(|| PathBuf::from(format!("{name}.frontier.ron")));
    if path.exists() && !args.force {
        return Err(Failure::Usage(format!(
            "{} exists: give another name with -o, or --force to write over it",
            path.display()
        )));
    }
    save(&path, &project).map_err(|e| Failure::usage(&e))?;
    say!("wrote {}", path.display());
    Ok(())
}
