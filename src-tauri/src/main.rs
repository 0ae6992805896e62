//! `flowglass`: the window without a subcommand, the command line with one.

use std::process::ExitCode;

fn main() -> ExitCode {
    // Hidden: what the program starts itself as, to bundle flows.
    if std::env::args_os().nth(1).is_some_and(|command| command == flowglass::cli::BUNDLE_COMMAND) {
        return flowglass::cli::serve_bundles();
    }
    flowglass::cli::main()
}
