//! The two programs: `flowglass` is the command line, `flowglass-window` the window.
//!
//! The libraries of a window take longer to load than most commands run, and a server that verifies runs or works on a
//! team's database need not have them. So the command line is linked without them, and starts the other program in its
//! own place where a window is wanted. Both lie in one folder.

use std::path::PathBuf;
use std::process::{Command, ExitCode};

use runner::Fault;

use crate::cli::{Cli, Stop, answer};

/// The program of the window.
const WINDOW: &str = "flowglass-window";
/// The program of the command line.
const COMMAND_LINE: &str = "flowglass";

/// The path of a program in the folder of this one.
fn beside(name: &str) -> std::io::Result<PathBuf> {
    // If this one was started through a link, the other one is in the folder that the link leads to.
    let own = std::fs::canonicalize(std::env::current_exe()?)?;
    Ok(own.with_file_name(format!("{name}{}", std::env::consts::EXE_SUFFIX)))
}

/// The path of the command line's program. That is this program, unless it is the window's.
pub(crate) fn command_line() -> std::io::Result<PathBuf> {
    let own = std::env::current_exe()?;
    let is_window = own.file_stem().is_some_and(|name| name == WINDOW);
    let other = if is_window { Some(beside(COMMAND_LINE)?).filter(|program| program.is_file()) } else { None };
    Ok(other.unwrap_or(own))
}

/// Becomes the window: the same arguments, environment and process, with its exit code.
pub fn become_window(cli: Cli) -> ExitCode {
    let started = beside(WINDOW).map_err(Fault::from).and_then(|program| {
        let mut command = Command::new(&program);
        command.args(std::env::args_os().skip(1));
        replace_with(&mut command).map_err(|error| Fault::Unavailable {
            message: format!(
                "the window cannot be started: {}: {error}; it belongs beside flowglass",
                program.display()
            ),
        })
    });
    started.unwrap_or_else(|fault| answer(cli.global.json, Err(Stop::from(fault))))
}

/// Runs a program in place of this one.
#[cfg(unix)]
fn replace_with(command: &mut Command) -> std::io::Result<ExitCode> {
    use std::os::unix::process::CommandExt;
    // Desktops find the icon of a window by this name, which is in the entry of the menu.
    Err(command.arg0(COMMAND_LINE).exec())
}

/// Runs a program and waits for it.
#[cfg(not(unix))]
fn replace_with(command: &mut Command) -> std::io::Result<ExitCode> {
    let code = command.status()?.code().and_then(|code| u8::try_from(code).ok());
    Ok(code.map_or(ExitCode::FAILURE, ExitCode::from))
}
