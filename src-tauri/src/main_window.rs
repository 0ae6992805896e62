//! `flowglass-window`: the window, and whatever else `flowglass` does.

use std::process::ExitCode;

fn main() -> ExitCode {
    flowglass::cli::main(flowglass::open_window)
}
