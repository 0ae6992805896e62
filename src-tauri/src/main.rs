//! `flowglass`: the window without a subcommand, the command line with one.

use std::process::ExitCode;

fn main() -> ExitCode {
    flowglass::cli::main()
}
