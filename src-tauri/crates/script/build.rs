//! Bundles the modules that flows can import without installing them, our SDK and zod, and makes a table of them, and
//! one of what is known of languages.
//!
//! zod, the bundler and what Node's built-ins are made of are npm packages pinned in `sdk/package-lock.json`; they are fetched here once when they are
//! missing, so that `cargo build` alone is enough on a fresh clone.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

fn main() {
    let root = PathBuf::from(std::env::var("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    let sdk = root.join("sdk");
    for input in ["src", "bundle.mjs", "locales.mjs", "package-lock.json"] {
        println!("cargo:rerun-if-changed=sdk/{input}");
    }
    if ["zod", "rolldown", "buffer", "@formatjs/intl-numberformat"]
        .iter()
        .any(|package| !sdk.join("node_modules").join(package).join("package.json").exists())
    {
        let is_done = run(&sdk, "npm", &["ci", "--ignore-scripts", "--no-audit", "--no-fund"]);
        assert!(is_done, "run `npm ci` in src-tauri/crates/script/sdk (Node.js 20 or newer)");
    }
    let out = PathBuf::from(std::env::var("OUT_DIR").expect("cargo sets it"));
    let modules = out.join("modules");
    // What an earlier build left must not be taken for a module.
    let _ = std::fs::remove_dir_all(&modules);
    std::fs::create_dir_all(&modules).expect("OUT_DIR is writable");
    let is_done = run(&sdk, "node", &["bundle.mjs", &modules.display().to_string()]);
    assert!(is_done, "`node bundle.mjs` in src-tauri/crates/script/sdk failed (Node.js 20 or newer)");
    let list = std::fs::read_to_string(modules.join("modules.txt")).expect("bundle.mjs writes it");
    let mut table = String::from("&[\n");
    for line in list.lines() {
        let mut words = line.split(' ').filter(|word| !word.is_empty());
        let file = words.next().expect("a file in each line");
        let path = modules.join(file).display().to_string();
        let exports: Vec<&str> = words.collect();
        writeln!(table, "    Module {{ name: {file:?}, code: include_str!({path:?}), exports: &{exports:?} }},")
            .expect("memory");
    }
    table.push_str("]\n");
    std::fs::write(out.join("embedded.rs"), table).expect("OUT_DIR is writable");
    let list = std::fs::read_to_string(modules.join("locales.txt")).expect("bundle.mjs writes it");
    let mut table = String::from("&[\n");
    for name in list.lines() {
        let path = modules.join("locales").join(name).display().to_string();
        writeln!(table, "    ({name:?}, include_bytes!({path:?})),").expect("memory");
    }
    table.push_str("]\n");
    std::fs::write(out.join("locales.rs"), table).expect("OUT_DIR is writable");
}

/// Whether a program ended well.
fn run(folder: &Path, program: &str, args: &[&str]) -> bool {
    Command::new(program).args(args).current_dir(folder).status().is_ok_and(|status| status.success())
}
