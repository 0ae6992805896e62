//! A folder's `flowglass.json`, read as a workspace may be opened with it. Must not know a workspace.

use std::path::Path;

use crate::core::config::Config;
use crate::core::fault::Fault;
use crate::models::target::check_providers;

/// A folder's settings. A model with an unknown provider refuses only the runs that ask it.
pub(super) fn read(dir: &Path) -> Result<Config, Fault> {
    Config::text(dir)?.map_or_else(|| Ok(Config::default()), |text| Config::parse(&text))
}

/// The settings that a text is, before it is written. Refuses those with an unknown provider.
pub(super) fn checked(text: &str) -> Result<Config, Fault> {
    let config = Config::parse(text)?;
    check_providers(&config.models)?;
    Ok(config)
}
