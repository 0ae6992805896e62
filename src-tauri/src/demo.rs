//! `flowglass demo`: the main job without a display.

use std::path::PathBuf;

use runner::Fault;

use crate::cli::Outcome;

/// Runs an example and prints what the window would show.
pub(crate) fn demo(_dir: &Option<PathBuf>) -> Result<Outcome, Fault> {
    Err(Fault::Internal { message: "demo: not yet".to_owned() })
}
