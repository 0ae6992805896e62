//! `flowglass-window`: the window, and all commands of `flowglass`.

use std::process::ExitCode;

fn main() -> ExitCode {
    flowglass::cli::main(flowglass::open_window)
}
