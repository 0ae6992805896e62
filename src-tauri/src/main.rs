//! `flowglass`: the command line. Without a subcommand, and with `open`, it becomes the window's program.

use std::process::ExitCode;

fn main() -> ExitCode {
    flowglass::cli::main(flowglass::become_window)
}
