//! `frontier` where there is no display: says so in one line, does the job all the same, and says
//! how to get the window.

use super::curve::{print_curve, simulate_curves, write_curves};
use super::fidelity::FidelityArgs;
use super::input::Input;
use super::{Failure, InputArgs, print, report};
use crate::jobs::FidelityChoice;
use crate::project::{FIRST_EXAMPLE, example};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Folder the plot is written to, under the working directory.
const FOLDER: &str = "frontier-out";

/// Simulates the worked example, or the file named, prints the curve of its designs, and writes
/// the plot and its data.
#[must_use]
pub fn without_display(file: Option<&Path>, reason: &str) -> ExitCode {
    if let Some(path) = file.filter(|path| !path.exists()) {
        return report(Err(Failure::Usage(format!(
            "there is no file {}: name a *.frontier.ron, or see --help for the commands",
            path.display()
        ))));
    }
    complain!("no window ({reason}): simulating without one");
    report(run(file))
}

fn run(file: Option<&Path>) -> Result<(), Failure> {
    let input = match file {
        Some(path) => Input::read(&InputArgs {
            file: path.to_owned(),
            design: None,
            trace: None,
            columns: None,
            requests: None,
            fidelity: FidelityArgs::default(),
            seed: None,
            settings: Vec::new(),
            json: false,
        })?,
        None => Input::of(
            example(FIRST_EXAMPLE).map_err(|e| Failure::usage(&e))?,
            None,
            &FidelityChoice::default(),
        )?,
    };
    say!("{}", print::plain(&input.project.name));
    let curves = simulate_curves(&input, None, &input.project.curve)?;
    for curve in &curves {
        print_curve(curve);
    }
    say!("{}", write_curves(&input, &curves, &PathBuf::from(FOLDER))?);
    say!(
        "For the window, run this on a desktop, or in a container with the packages libx11-6 libxcursor1 libxi6 libxkbcommon-x11-0 libegl1 libgl1 and a DISPLAY (for example under Xvfb). `frontier --help` lists what works without one."
    );
    Ok(())
}
