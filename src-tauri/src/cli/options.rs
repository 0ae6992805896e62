//! The workspace and the database that the flags name.

use std::path::{Path, PathBuf};

use runner::{Consent, DataPlace, Fault, LockedBy, OpenOptions};

use super::args::Global;
use crate::terminal::tell;

/// Names the database where `--data` does not: an address with a password is not shown to others there, as the words of
/// a command line are.
const VARIABLE: &str = "FLOWGLASS_DATA";

/// How the workspace is opened that the flags name.
pub(super) fn options(global: &Global) -> Result<OpenOptions, Fault> {
    Ok(OpenOptions {
        dir: global.dir.clone().unwrap_or_else(|| PathBuf::from(".")),
        data: named_data(global).as_deref().map(place_of).transpose()?,
        existing: false,
        durability: global.durability,
        trust: global.trust,
        consent: Consent::Given,
        keep_ready: false,
        on_damaged: Some(|request, seq, why| {
            tell(&format!("flowglass: event {seq} of request \"{request}\" is damaged and left out ({why})"));
        }),
        on_read_only: Some(|what| tell(&format!("flowglass: {what}"))),
        bundler: crate::programs::command_line().ok(),
        on_busy: Some(|locked_by| {
            tell(match locked_by {
                LockedBy::Flowglass => "flowglass: other Flowglass processes write to the database; waiting for a turn",
                LockedBy::Unknown => "flowglass: another process keeps the database locked; waiting until it lets go",
            });
        }),
    })
}

/// What `--data` says, or the variable.
fn named_data(global: &Global) -> Option<PathBuf> {
    let named = global.data.clone().filter(|data| !data.as_os_str().is_empty());
    named.or_else(|| std::env::var_os(VARIABLE).filter(|data| !data.is_empty()).map(PathBuf::from))
}

/// The database that a text names.
pub(super) fn place_of(data: &Path) -> Result<DataPlace, Fault> {
    DataPlace::parse(data).map_err(|message| Fault::Invalid { message, details: Vec::new() })
}
