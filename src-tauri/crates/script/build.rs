//! Bundles the modules that flows can import without installing them, our SDK and zod, compiles them to bytecode, and
//! makes a table of them, and one of what is known of languages.
//!
//! zod, the bundler and what Node's built-ins are made of are npm packages pinned in `sdk/package-lock.json`; they
//! are fetched here once when they are
//! missing, so that `cargo build` alone is enough on a fresh clone.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use rquickjs::loader::{ImportAttributes, Loader, Resolver};
use rquickjs::module::{Declared, WriteOptions, WriteOptionsEndianness};
use rquickjs::{CatchResultExt, Context, Ctx, Module, Result, Runtime};

#[path = "src/bundle/wrappers.rs"]
mod wrappers;

/// The prefix of the modules' names in the runtime.
const SCHEME: &str = "flowglass:";

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
    let runtime = Runtime::new().expect("memory");
    // This build of the engine is not optimised, and takes more than usual.
    runtime.set_max_stack_size(4 << 20);
    runtime.set_loader(Absent, Absent);
    let context = Context::full(&runtime).expect("memory");
    let mut sources = blake3::Hasher::new();
    let mut table = String::from("&[\n");
    for line in list.lines() {
        let mut words = line.split(' ').filter(|word| !word.is_empty());
        let file = words.next().expect("a file in each line");
        let exports: Vec<&str> = words.collect();
        let source = std::fs::read_to_string(modules.join(file)).expect("bundle.mjs writes it");
        sources.update(file.as_bytes()).update(source.as_bytes());
        let path = modules.join(format!("{file}.compiled"));
        std::fs::write(&path, compile(&context, file, &source)).expect("OUT_DIR is writable");
        let path = path.display().to_string();
        writeln!(table, "    Module {{ name: {file:?}, compiled: include_bytes!({path:?}), exports: &{exports:?} }},")
            .expect("memory");
    }
    table.push_str("]\n");
    std::fs::write(out.join("embedded.rs"), table).expect("OUT_DIR is writable");
    std::fs::write(out.join("modules.hash"), sources.finalize().to_hex().as_bytes()).expect("OUT_DIR is writable");
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

/// Stands for what a module imports: its bytecode has only the names.
struct Absent;

impl Resolver for Absent {
    fn resolve<'js>(
        &mut self,
        _ctx: &Ctx<'js>,
        base: &str,
        name: &str,
        _attributes: Option<ImportAttributes<'js>>,
    ) -> Result<String> {
        Ok(format!("{base} {name}"))
    }
}

impl Loader for Absent {
    fn load<'js>(
        &mut self,
        ctx: &Ctx<'js>,
        name: &str,
        _attributes: Option<ImportAttributes<'js>>,
    ) -> Result<Module<'js, Declared>> {
        Module::declare(ctx.clone(), name, "")
    }
}

/// The bytecode of a module.
fn compile(context: &Context, name: &str, source: &str) -> Vec<u8> {
    let endianness = match std::env::var("CARGO_CFG_TARGET_ENDIAN").as_deref() {
        Ok("big") => WriteOptionsEndianness::Big,
        _ => WriteOptionsEndianness::Little,
    };
    // As `engine::fingerprint` does; a test compares the two.
    let marked = wrappers::mark(source, |bytes| blake3::hash(bytes).to_hex()[..16].to_owned());
    context.with(|ctx| {
        let module = Module::declare(ctx.clone(), format!("{SCHEME}{name}"), marked).catch(&ctx);
        let module = module.unwrap_or_else(|error| panic!("{name}: {error}"));
        module.write(WriteOptions { endianness, ..WriteOptions::default() }).expect("bytecode can be written")
    })
}
