//! Which zod an import of `zod` means. Flowglass brings versions 3 and 4; an installed one comes first. Must not load
//! a module.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::bundle::project_files::read;

/// What an import means.
pub(crate) struct Meant<'s> {
    /// What Flowglass brings for it is known by this; none if the author installed zod.
    pub(crate) specifier: Option<&'s str>,
    /// Each `package.json` that was asked.
    pub(crate) manifests: Vec<PathBuf>,
}

/// Returns what an import in a file means. Of `zod`, looks at the folders above the file, and reads the nearest
/// `package.json` of the workspace: what a package written for version 4 imports is ours of that version.
pub(crate) fn meant<'s>(specifier: &'s str, workspace: &Path, importer: &Path) -> Meant<'s> {
    if specifier != "zod" && !specifier.starts_with("zod/") {
        return Meant { specifier: Some(specifier), manifests: Vec::new() };
    }
    let above = || importer.ancestors().skip(1);
    if above().any(|folder| folder.join("node_modules/zod/package.json").is_file()) {
        return Meant { specifier: None, manifests: Vec::new() };
    }
    let own = above().take_while(|folder| folder.starts_with(workspace));
    let mut manifests = Vec::new();
    let mut is_four = false;
    for manifest in own.map(|folder| folder.join("package.json")).filter(|file| file.is_file()) {
        let text = read(&manifest).unwrap_or_default();
        manifests.push(manifest);
        // In a package of a larger repository, the next one above may say it.
        if let Some(says) = serde_json::from_str(&text).ok().and_then(|json| wants_four(&json)) {
            is_four = says;
            break;
        }
    }
    Meant { specifier: Some(if is_four && specifier == "zod" { "zod/v4" } else { specifier }), manifests }
}

/// Returns whether a `package.json` allows version 4 of zod, as `^4.1.0` or `^3.25.0 || ^4.0.0` do. `None` if it does
/// not name zod.
fn wants_four(json: &Value) -> Option<bool> {
    let fields = ["dependencies", "devDependencies", "peerDependencies", "optionalDependencies"];
    let range = fields.iter().find_map(|field| json[field]["zod"].as_str())?;
    let range = range.strip_prefix("npm:zod@").unwrap_or(range);
    // A folder, an address or a catalogue has no version to read.
    let comparators = range.split(|next: char| next == '|' || next.is_whitespace()).filter(|_| !range.contains(':'));
    let major = |comparator: &str| {
        let version = comparator.trim_start_matches(['^', '~', '=', 'v']);
        version.trim_start_matches(">=").split('.').next()?.parse::<u32>().ok()
    };
    Some(comparators.filter_map(major).any(|major| major >= 4))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_package_says_which_zod_it_is_written_for() {
        let four = ["^4.1.0", "4", "~4.0", "4.x", "^3.25.0 || ^4.0.0", ">=4.0.0 <5", "npm:zod@4.1.0"];
        let three = ["^3.23.8", "3", "*", "latest", "<4.0.0", "workspace:*", "", ">=3.25 <5", "link:../42/zod"];
        let says = |range: &str| wants_four(&serde_json::json!({ "devDependencies": { "zod": range } }));
        assert_eq!(four.map(says), [Some(true); 7]);
        assert_eq!(three.map(says), [Some(false); 9]);
        assert_eq!(wants_four(&serde_json::json!({})), None);
    }
}
