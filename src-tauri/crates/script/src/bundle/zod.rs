//! Which zod an import of `zod` means. Flowglass brings versions 3 and 4; an installed one comes first. Must not bundle.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::bundle::project_files::read;

/// What an import means.
pub(crate) struct Meant<'s> {
    /// What Flowglass brings for it is known by this; none if the author installed zod.
    pub(crate) specifier: Option<&'s str>,
    /// The `package.json` that was asked.
    pub(crate) manifest: Option<PathBuf>,
}

/// Returns what an import in a file means. Of `zod`, looks at the folders above the file, and reads the nearest
/// `package.json` of the workspace: what a package written for version 4 imports is ours of that version.
pub(crate) fn meant<'s>(specifier: &'s str, workspace: &Path, importer: &Path) -> Meant<'s> {
    if specifier != "zod" && !specifier.starts_with("zod/") {
        return Meant { specifier: Some(specifier), manifest: None };
    }
    let above = || importer.ancestors().skip(1);
    if above().any(|folder| folder.join("node_modules/zod/package.json").is_file()) {
        return Meant { specifier: None, manifest: None };
    }
    let own = above().take_while(|folder| folder.starts_with(workspace));
    let manifest = own.map(|folder| folder.join("package.json")).find(|file| file.is_file());
    let text = manifest.as_deref().and_then(|file| read(file).ok()).unwrap_or_default();
    let is_four = specifier == "zod" && serde_json::from_str(&text).is_ok_and(|json| wants_four(&json));
    Meant { specifier: Some(if is_four { "zod/v4" } else { specifier }), manifest }
}

/// Whether a `package.json` depends on version 4, also beside others, as an installation would choose the newest.
fn wants_four(json: &Value) -> bool {
    let ranges = ["dependencies", "devDependencies"].map(|field| json[field]["zod"].as_str());
    let major = |range: &str| {
        let digits = range.trim_start_matches(|first: char| !first.is_ascii_digit());
        digits.split(|next: char| !next.is_ascii_digit()).next()?.parse::<u32>().ok()
    };
    ranges.into_iter().flatten().flat_map(|range| range.split("||")).filter_map(major).any(|major| major >= 4)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_package_says_which_zod_it_is_written_for() {
        let four = ["^4.1.0", "4", "~4.0", "4.x", "^3.25.0 || ^4.0.0", ">=4.0.0", "npm:zod@4.1.0"];
        let three = ["^3.23.8", "3", "*", "latest", "^3.0.0", "workspace:*", "", ">=3.4.4"];
        let says = |range: &str| serde_json::json!({ "devDependencies": { "zod": range } });
        assert_eq!(four.map(|range| wants_four(&says(range))), [true; 7]);
        assert_eq!(three.map(|range| wants_four(&says(range))), [false; 8]);
        assert!(!wants_four(&serde_json::json!({})));
    }
}
