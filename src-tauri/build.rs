//! Tells tauri-build where this project keeps its capabilities (under `src-tauri/`, not at the root), and lists the
//! example flows, so that they are in the program.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

fn main() {
    println!("cargo:rerun-if-changed=src-tauri/capabilities");
    println!("cargo:rerun-if-changed=ui/dist");
    if let Err(error) = list_examples() {
        println!("cargo:warning=the example flows cannot be read: {error}");
        std::process::exit(1);
    }
    if std::env::var("CARGO_CFG_TARGET_OS").is_ok_and(|system| system == "linux") {
        // The loader looks for each symbol in one library after the other, and most symbols are those of these two:
        // named first, they save every start of the window a quarter of its time in the loader.
        println!("cargo:rustc-link-lib=javascriptcoregtk-4.1");
        println!("cargo:rustc-link-lib=webkit2gtk-4.1");
    }
    let attributes = tauri_build::Attributes::new().capabilities_path_pattern("./src-tauri/capabilities/**/*");
    if let Err(error) = tauri_build::try_build(attributes) {
        println!("cargo:warning={error:#}");
        std::process::exit(1);
    }
}

/// Writes `examples.rs`: the files of `flows/` that an author needs, each with its text. What was recorded by runs
/// there and what npm installed is none of them, and neither are tests of the types.
fn list_examples() -> std::io::Result<()> {
    let root = PathBuf::from(std::env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default()).join("flows");
    let mut files = Vec::new();
    for folder in ["", "lib", "types"] {
        let folder = root.join(folder);
        for entry in std::fs::read_dir(&folder)? {
            let path = entry?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let is_example = [".ts", ".json"].iter().any(|end| name.ends_with(end))
                && !name.ends_with(".test.ts")
                && !name.starts_with("package");
            if is_example && path.is_file() {
                files.push(path);
            }
        }
    }
    files.sort();
    let mut list = String::from("&[\n");
    for file in &files {
        println!("cargo:rerun-if-changed={}", file.display());
        let name = file.strip_prefix(&root).unwrap_or(file).display().to_string();
        let _ = writeln!(list, "    ({name:?}, include_str!({:?})),", file.display().to_string());
    }
    list.push_str("]\n");
    let out = PathBuf::from(std::env::var_os("OUT_DIR").unwrap_or_default());
    std::fs::write(Path::new(&out).join("examples.rs"), list)
}
