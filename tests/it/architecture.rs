//! The rules of the house, as tests: who may depend on whom, how long a file may be, what a file
//! may be called, and that the README and the tables of ARCHITECTURE.md know what is there.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use tests::bench::repository;

/// Which of our own crates each may name.
const DIRECTIONS: [(&str, &[&str]); 9] = [
    ("src-tauri/crates/engine", &[]),
    ("src-tauri/crates/dialects", &["engine"]),
    ("src-tauri/crates/contract", &["engine"]),
    ("src-tauri/crates/store", &["engine", "contract"]),
    ("src-tauri/crates/script", &["engine", "dialects"]),
    ("src-tauri/crates/runner", &["engine", "dialects", "contract", "store", "script"]),
    ("src-tauri/crates/mcp", &["engine", "runner"]),
    (".", &["engine", "runner", "mcp"]),
    ("tests", &["engine", "store", "script", "runner"]),
];

/// Which packages only some folders may name. The tests speak HTTP to the window's driver.
const RESERVED: [(&[&str], &[&str]); 8] = [
    (&["tauri", "tauri-build", "tauri-specta"], &["."]),
    (&["rusqlite", "tokio_postgres"], &["src-tauri/crates/store"]),
    (&["rolldown", "rquickjs", "oxc"], &["src-tauri/crates/script"]),
    (&["rmcp"], &["src-tauri/crates/mcp"]),
    (&["notify", "notify-debouncer-full"], &["src-tauri/crates/runner"]),
    (&["genai", "reqwest", "ureq"], &["src-tauri/crates/runner", "tests"]),
    (&["rustls"], &["src-tauri/crates/runner", "src-tauri/crates/store"]),
    (&["hyper", "hyper-util"], &["src-tauri/crates/runner", "src-tauri/crates/mcp"]),
];

/// The folders of each crate, and of `execution`, from the bottom to the top: what is in one may name only its own and those before it.
const LAYERS: [(&str, &[&str]); 5] = [
    ("src-tauri/crates/engine/src", &["model", "views", "execution"]),
    (
        "src-tauri/crates/engine/src/execution",
        &["core", "record", "run", "ctx", "step", "drivers", "request", "written"],
    ),
    ("src-tauri/crates/store/src", &["sql", "row", "read", "file", "write", "check", "transfer"]),
    ("src-tauri/crates/script/src", &["bundle", "vm", "describe", "host", "load"]),
    (
        "src-tauri/crates/runner/src",
        &[
            "core",
            "views",
            "comparison",
            "request_view",
            "models",
            "effects",
            "catalogue",
            "foreign",
            "run",
            "workspace",
        ],
    ),
];

/// The folders of the SDK, in the same order.
const SDK: (&str, &[&str]) = (
    "src-tauri/crates/script/sdk/src",
    &["base", "globals", "node", "define", "library", "utility", "context", "wire"],
);

/// Longest files, in lines.
const RUST: usize = 400;
const TESTS: usize = 600;

/// Longest lines, in columns: rustfmt lays code out so, and leaves texts and comments as they are.
const COLUMNS: usize = 120;

/// Files that are longer, how long they may be, and why. This list only shrinks.
const LONG: [(&str, usize, &str); 3] = [
    ("src-tauri/crates/store/src/transfer/removal.rs", 435, "the queue of removals and what works on it"),
    ("src-tauri/crates/runner/src/views.rs", 480, "the wire types, which are mostly documentation"),
    ("src-tauri/crates/runner/src/workspace.rs", 441, "one method for each question a person can ask"),
];

/// Names that say nothing about what is inside.
const FORBIDDEN: [&str; 6] = ["utils", "helpers", "common", "misc", "manager", "service"];

/// The names of the packages in a manifest's dependency tables.
fn dependencies(folder: &str) -> BTreeSet<String> {
    let manifest = repository().join(folder).join("Cargo.toml");
    let text = std::fs::read_to_string(&manifest).unwrap_or_else(|error| panic!("{}: {error}", manifest.display()));
    let mut names = BTreeSet::new();
    let mut inside = false;
    for line in text.lines() {
        if let Some(table) = line.strip_prefix('[') {
            inside = table.contains("dependencies]") && !table.starts_with("workspace");
        } else if inside && let Some((name, _)) = line.split_once('=') {
            let name = name.trim();
            names.insert(name.split('.').next().unwrap_or(name).to_owned());
        }
    }
    names
}

/// All files under a folder of the project with one of these extensions, by their path in it.
pub(crate) fn files(folder: &str, extensions: &[&str]) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![repository().join(folder)];
    while let Some(folder) = folders.pop() {
        let Ok(entries) = std::fs::read_dir(&folder) else { continue };
        for entry in entries.flatten() {
            let (path, name) = (entry.path(), entry.file_name().to_string_lossy().into_owned());
            let made =
                ["target", "node_modules", "dist", "gen", "icons"].contains(&name.as_str()) || name.starts_with('.');
            if path.is_dir() {
                if !made {
                    folders.push(path);
                }
            } else if path.extension().is_some_and(|end| extensions.iter().any(|wanted| end == *wanted)) {
                found.push(path.strip_prefix(repository()).expect("below the project").to_owned());
            }
        }
    }
    found.sort();
    assert!(!found.is_empty(), "{folder} has no files: is the path right?");
    found
}

fn lines(file: &Path) -> usize {
    std::fs::read_to_string(repository().join(file)).map_or(0, |text| text.lines().count())
}

#[test]
fn dependencies_point_one_way() {
    let own: BTreeSet<&str> =
        ["engine", "dialects", "contract", "store", "script", "runner", "mcp", "flowglass", "tests"].into();
    for (folder, allowed) in DIRECTIONS {
        for name in dependencies(folder).iter().filter(|name| own.contains(name.as_str())) {
            assert!(allowed.contains(&name.as_str()), "{folder}/Cargo.toml may not name {name}");
        }
    }
}

/// The suite is for tests only: no program is built with it.
#[test]
fn only_tests_name_the_suite_of_the_log() {
    for (folder, _) in DIRECTIONS {
        let text = std::fs::read_to_string(repository().join(folder).join("Cargo.toml")).expect("a manifest");
        let tables = text.split("\n[").filter(|table| table.lines().any(|line| line.starts_with("contract")));
        for table in tables {
            let (name, _) = table.split_once(']').unwrap_or((table, ""));
            assert!(
                ["dev-dependencies", "workspace.dependencies"].contains(&name),
                "{folder}: [{name}] names contract"
            );
        }
    }
}

#[test]
fn every_crate_has_a_rule() {
    let crates = std::fs::read_dir(repository().join("src-tauri/crates")).expect("the crates").flatten();
    for entry in crates {
        let folder = format!("src-tauri/crates/{}", entry.file_name().to_string_lossy());
        assert!(DIRECTIONS.iter().any(|(known, _)| *known == folder), "{folder} has no rule in this test");
    }
}

/// The module below `inside` that each path of a Rust file names, tests and comments included. `inside` is `crate::`, or
/// that and more.
fn named_modules<'t>(text: &'t str, inside: &str) -> impl Iterator<Item = &'t str> {
    text.split(inside).skip(1).filter_map(|rest| rest.split(|c: char| !(c.is_alphanumeric() || c == '_')).next())
}

#[test]
fn imports_inside_a_crate_run_down_only() {
    let mut wrong = Vec::new();
    for (source, layers) in LAYERS {
        let layer_of = |module: &str| layers.iter().position(|layer| *layer == module);
        let (_, below) = source.split_once("/src").expect("it is the source of a crate");
        let inside_source = format!("crate{}::", below.replace('/', "::"));
        for file in files(source, &["rs"]) {
            let inside = file.strip_prefix(source).expect("it is below");
            let module = inside.iter().next().expect("it has a name").to_string_lossy();
            let module = module.trim_end_matches(".rs");
            if ["lib", "first_event", "journal_tests"].contains(&module) {
                continue;
            }
            let Some(layer) = layer_of(module) else {
                wrong.push(format!("{} is in none of the layers {layers:?}", file.display()));
                continue;
            };
            let text = std::fs::read_to_string(repository().join(&file)).expect("a listed file");
            for named in named_modules(&text, &inside_source) {
                if layer_of(named).is_some_and(|named| named > layer) {
                    wrong.push(format!("{} is in {module} and names {named}, which is above it", file.display()));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn imports_inside_the_sdk_run_down_only() {
    let (source, layers) = SDK;
    let layer_of = |folder: &str| layers.iter().position(|layer| *layer == folder);
    let mut wrong = Vec::new();
    for file in files(source, &["ts", "js"]) {
        let inside = file.strip_prefix(source).expect("it is below");
        let folder = inside.iter().next().expect("it has a name").to_string_lossy();
        if ["start.ts", "index.ts", "contracts.ts", "agents.ts", "acts.ts"].contains(&&*folder) {
            continue;
        }
        let Some(layer) = layer_of(&folder) else {
            wrong.push(format!("{} is in none of the layers {layers:?}", file.display()));
            continue;
        };
        let text = std::fs::read_to_string(repository().join(&file)).expect("a listed file");
        let up = format!("from '{}", "../".repeat(inside.components().count() - 1));
        for named in text.split(&up).skip(1).filter_map(|rest| rest.split_once('/')).map(|(named, _)| named) {
            if layer_of(named).is_none_or(|named| named > layer) {
                wrong.push(format!("{} is in {folder} and names {named}, which is above it", file.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Frames, state, commits, the replay cache and suspension work alike for every kind of block: what differs is a
/// property of the block, or a driver.
#[test]
fn only_drivers_know_the_kinds_of_blocks() {
    let drivers = ["drivers.rs", "drivers/", "record/alignment.rs", "record/gone.rs", "written.rs"];
    for file in files("src-tauri/crates/engine/src/execution", &["rs"]) {
        let shown = file.display().to_string();
        let inside = shown.rsplit_once("execution/").map_or(shown.as_str(), |(_, inside)| inside);
        let text = std::fs::read_to_string(repository().join(&file)).expect("a listed file");
        let is_driver = drivers.iter().any(|driver| inside.starts_with(driver));
        assert!(is_driver || !text.contains("Body::"), "{shown} asks for a kind of block, and is no driver");
    }
}

#[test]
fn only_one_place_names_each_heavy_package() {
    for (packages, places) in RESERVED {
        for (folder, _) in DIRECTIONS {
            for name in dependencies(folder) {
                let family =
                    packages.iter().any(|package| name == *package || name.starts_with(&format!("{package}_")));
                assert!(
                    !family || places.contains(&folder),
                    "{folder}/Cargo.toml may not name {name}; only {places:?} may"
                );
            }
        }
    }
}

#[test]
fn files_stay_short() {
    let mut wrong = Vec::new();
    for file in files("src-tauri", &["rs"]).into_iter().chain(files("tests", &["rs"])) {
        let (shown, long) = (file.display().to_string(), lines(&file));
        let is_test = shown.contains("tests/");
        let budget = if is_test { TESTS } else { RUST };
        match LONG.iter().find(|(exception, ..)| *exception == shown) {
            None if long > budget => wrong.push(format!("{shown} has {long} lines; its budget is {budget}")),
            Some((_, most, _)) if long > *most => {
                wrong.push(format!("{shown} has {long} lines; its exception ends at {most}"))
            }
            Some(_) if long <= budget => wrong.push(format!("{shown} is short now: take it off the list")),
            _ => {}
        }
    }
    for (file, _, reason) in LONG {
        assert!(repository().join(file).exists(), "{file} ({reason}) is gone: take it off the list");
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Tests may: what they write into files and what they expect is often one text. So may a row of a table.
#[test]
fn lines_stay_short() {
    let mut wrong = Vec::new();
    for file in files("src-tauri", &["rs"]).into_iter().filter(|file| !file.display().to_string().contains("tests")) {
        let text = std::fs::read_to_string(repository().join(&file)).expect("a listed file");
        for (at, line) in (1..).zip(text.lines()) {
            let is_row = line.trim_start_matches([' ', '/', '!']).starts_with('|');
            if line.chars().count() > COLUMNS && !is_row {
                wrong.push(format!("{}:{at} has {} columns", file.display(), line.chars().count()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn file_names_say_what_is_inside() {
    for folder in ["src-tauri", "tests", "ui/src", "flows"] {
        for file in files(folder, &["rs", "ts", "svelte"]) {
            let names = file.iter().map(|part| part.to_string_lossy().to_lowercase());
            for name in names {
                let stem = name.split('.').next().unwrap_or_default();
                assert!(!FORBIDDEN.contains(&stem), "{}: {stem} says nothing about what is inside", file.display());
            }
        }
    }
}

#[test]
fn every_rust_file_says_why_it_exists() {
    for file in files("src-tauri", &["rs"]).into_iter().chain(files("tests", &["rs"])) {
        let text = std::fs::read_to_string(repository().join(&file)).expect("a listed file");
        assert!(text.starts_with("//! "), "{} does not open with its reason", file.display());
    }
}

#[test]
fn the_readme_names_every_crate_and_folder() {
    let readme = std::fs::read_to_string(repository().join("README.md")).expect("README.md is there");
    for (folder, _) in DIRECTIONS.iter().filter(|(folder, _)| *folder != ".") {
        let name = folder.rsplit('/').next().unwrap_or(folder);
        assert!(readme.contains(name), "README.md does not name {folder}");
    }
    for folder in ["src-tauri", "ui", "flows", "tests"] {
        assert!(readme.contains(folder), "README.md does not name {folder}/");
    }
}

/// The paper with the decisions.
pub(crate) const ARCHITECTURE: &str = "src-tauri/ARCHITECTURE.md";

/// The text of a paper.
#[track_caller]
pub(crate) fn paper(file: &str) -> String {
    std::fs::read_to_string(repository().join(file)).unwrap_or_else(|error| panic!("{file}: {error}"))
}

/// The rows of a table of a paper, without its head, cell by cell.
#[track_caller]
pub(crate) fn table(paper: &str, heading: &str) -> Vec<Vec<String>> {
    let (_, text) = paper.split_once(heading).unwrap_or_else(|| panic!("the paper has no {heading:?}"));
    let rows =
        text.lines().skip_while(|line| !line.starts_with("|---")).skip(1).take_while(|line| line.starts_with('|'));
    rows.map(|row| row.trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect()).collect()
}

/// Everything a cell names in code is a file of the project, or a topic of tests/flows.
#[track_caller]
fn assert_names_files(cell: &str) {
    for named in cell.split('`').skip(1).step_by(2) {
        let places = [named.to_owned(), format!("src-tauri/crates/{named}"), format!("tests/flows/{named}.cases.json")];
        let is_there = places.iter().any(|path| repository().join(path).exists());
        assert!(is_there, "{ARCHITECTURE} names {named:?}, which is neither a file nor a topic of tests/flows: {cell}");
    }
}

/// The paper says of every part of the authoring API where it is and what tests it; both must be there.
#[test]
fn the_table_of_the_authoring_api_is_true() {
    let rows = table(&paper(ARCHITECTURE), "### 11.1 The authoring API");
    assert!(rows.len() > 20, "the table has only {} rows", rows.len());
    for row in rows {
        let [_, places, tests] = row.as_slice() else { panic!("a row has three cells: {row:?}") };
        assert_names_files(places);
        assert_names_files(tests);
    }
}

/// Every hazard has an answer, and a test that is there.
#[test]
fn the_table_of_hazards_is_true() {
    let rows = table(&paper(ARCHITECTURE), "## 10. Common failures of such engines");
    for (number, row) in (1..).zip(&rows) {
        let [name, _, answer, tests] = row.as_slice() else { panic!("a row has four cells: {row:?}") };
        assert_eq!(*name, format!("H{number}"));
        assert!(!answer.is_empty() && tests.contains('`'), "{row:?}");
        assert_names_files(tests);
    }
    assert_eq!(rows.len(), 17);
}

/// A value of an author is read by `engine::json`, which takes no object for one of the JSON library's own: every
/// field that holds values says so.
#[test]
fn every_field_with_values_is_read_exactly() {
    let mut missing = Vec::new();
    for file in files("src-tauri", &["rs"]) {
        let text = std::fs::read_to_string(repository().join(&file)).expect("it is readable");
        let (mut is_read, mut attributes) = (false, String::new());
        for (at, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.starts_with("#[derive(") {
                is_read = line.contains("Deserialize");
            } else if line.starts_with("fn ") || line.starts_with("pub fn ") || line.starts_with("impl") {
                is_read = false;
            }
            let holds_values = ["Value,", "Option<Value>,", "Vec<Value>,", "Map<String, Value>,"]
                .iter()
                .any(|kind| line.split_once(": ").is_some_and(|(_, rest)| rest == *kind));
            let is_exact = ["exact\"", "json::given\""].iter().any(|name| attributes.contains(name));
            if is_read && holds_values && !is_exact {
                missing.push(format!("{}:{}: {line}", file.display(), at + 1));
            }
            if line.starts_with("#[") { attributes.push_str(line) } else { attributes.clear() }
        }
    }
    assert!(missing.is_empty(), "deserialize_with = \"…json::exact\" is missing:\n{}", missing.join("\n"));
}
