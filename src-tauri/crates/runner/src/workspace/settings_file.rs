//! Reads a folder's `flowglass.json` so that a workspace can be opened with it. Must not know a workspace.

use std::path::Path;

use crate::core::config::{Config, FILE};
use crate::core::fault::Fault;
use crate::models::target::check_providers;

/// Reads a folder's settings. A model with an unknown provider refuses only the runs that call it.
pub(super) fn read(dir: &Path) -> Result<Config, Fault> {
    Config::text(dir)?.map_or_else(|| Ok(Config::default()), |text| Config::parse(&text))
}

/// Reads settings from a text that is about to be written. Refuses an unknown provider.
pub(super) fn checked(text: &str) -> Result<Config, Fault> {
    let config = Config::parse(text)?;
    check_providers(&config.models)?;
    Ok(config)
}

/// Refuses to edit an invalid file, because an edit must keep the rest of the file.
pub(super) fn check_editable(before: Option<&str>) -> Result<(), Fault> {
    let Some(Err(fault)) = before.map(checked) else { return Ok(()) };
    Err(Fault::refused(format!("{FILE} is not valid, so it is not replaced; correct it in an editor first. {fault}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_cannot_be_read_is_not_edited() {
        for valid in [None, Some("{}"), Some(r#"{ "durability": "power" }"#)] {
            assert_eq!(check_editable(valid), Ok(()), "{valid:?}");
        }
        for broken in ["{ broken", "[]", "null", "", r#"{ "unknown": 1 }"#] {
            let Err(Fault::Refused { message }) = check_editable(Some(broken)) else {
                panic!("{broken} must not be replaced");
            };
            assert!(message.contains("flowglass.json is not valid"), "{message}");
        }
    }
}
