//! The program: a command without a window, or the window, or what can be done where there is no
//! display.

use clap::Parser as _;
use frontier::cli::{Cli, execute};
use std::process::ExitCode;

fn main() -> ExitCode {
    let cli = Cli::parse();
    match cli.command {
        Some(command) => execute(command),
        None => frontier::cli::without_display(cli.file.as_deref(), "not built yet"),
    }
}
