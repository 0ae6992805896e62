//! Makes the table of files that flows can import without installing them: our SDK and zod.
//!
//! zod is an npm package pinned in `sdk/package-lock.json`; it is fetched here once when it is
//! missing, so that `cargo build` alone is enough on a fresh clone.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

fn main() {
    let root = PathBuf::from(std::env::var("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    let sdk = root.join("sdk");
    println!("cargo:rerun-if-changed=sdk/src");
    println!("cargo:rerun-if-changed=sdk/package-lock.json");
    let zod = sdk.join("node_modules/zod");
    if !zod.join("package.json").exists() {
        let status =
            Command::new("npm").args(["ci", "--ignore-scripts", "--no-audit", "--no-fund"]).current_dir(&sdk).status();
        assert!(
            status.is_ok_and(|status| status.success()),
            "zod is not installed: run `npm ci` in src-tauri/crates/script/sdk (Node.js 20 or newer)"
        );
    }
    let mut table = String::from("&[\n");
    add(&mut table, "flowglass:sdk", &sdk.join("src"), &sdk.join("src"), "ts");
    for part in ["index.js", "v3", "v4", "v4-mini"] {
        add(&mut table, "flowglass:zod", &zod, &zod.join(part), "js");
    }
    table.push_str("]\n");
    let out = PathBuf::from(std::env::var("OUT_DIR").expect("cargo sets it"));
    std::fs::write(out.join("embedded.rs"), table).expect("OUT_DIR is writable");
}

/// Adds `path` (a file, or a folder with all it holds) under `scheme`, named relative to `base`.
fn add(table: &mut String, scheme: &str, base: &Path, path: &Path, extension: &str) {
    if path.is_dir() {
        let mut entries: Vec<_> =
            std::fs::read_dir(path).expect("a listed folder").flatten().map(|e| e.path()).collect();
        entries.sort();
        for entry in entries {
            let is_test = entry.file_name().is_some_and(|name| name == "tests" || name == "benchmarks");
            if !is_test {
                add(table, scheme, base, &entry, extension);
            }
        }
    } else if path.extension().is_some_and(|found| found == extension) {
        let name = path.strip_prefix(base).expect("under its base").display().to_string().replace('\\', "/");
        writeln!(table, "    ({:?}, include_str!({:?})),", format!("{scheme}/{name}"), path.display().to_string())
            .expect("memory");
    }
}
