//! The program: a command without a window, or the window, or what can be done where there is no
//! display.

use clap::Parser as _;
use frontier::app::{AppError, AppOptions, preflight, run};
use frontier::catalog::{user_presets_dir, user_presets_home};
use frontier::cli::{Cli, execute, without_display};
use frontier::project::{FIRST_EXAMPLE, example, load};
use std::path::PathBuf;
use std::process::ExitCode;

fn main() -> ExitCode {
    let cli = Cli::parse();
    if let Some(command) = cli.command {
        return execute(command);
    }
    if let Err(reason) = preflight() {
        return without_display(cli.file.as_deref(), &reason.to_string());
    }
    match options(cli.file.clone()).and_then(|options| run(options).map_err(Refusal::Window)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(Refusal::Window(AppError::NoDisplay(reason))) => {
            without_display(cli.file.as_deref(), &reason.to_string())
        }
        Err(Refusal::Window(AppError::Window(reason))) => {
            without_display(cli.file.as_deref(), &reason)
        }
        Err(Refusal::Window(error)) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
        Err(Refusal::File(message)) => {
            eprintln!("error: {message}");
            ExitCode::from(2)
        }
    }
}

/// Why there is no window to look at.
enum Refusal {
    Window(AppError),
    File(String),
}

/// The file named, or the worked example.
fn options(file: Option<PathBuf>) -> Result<AppOptions, Refusal> {
    let project = match file {
        Some(path) => {
            let project = load(&path).map_err(|e| Refusal::File(e.to_string()))?;
            (Some(path), project)
        }
        None => {
            let project = example(FIRST_EXAMPLE).map_err(|e| Refusal::File(e.to_string()))?;
            (None, project)
        }
    };
    Ok(AppOptions {
        project: Some(project),
        user_presets: user_presets_dir(),
        presets_home: user_presets_home(),
        state_dir: directories::ProjectDirs::from("", "", "frontier")
            .map(|dirs| dirs.state_dir().unwrap_or(dirs.data_local_dir()).to_owned()),
    })
}
