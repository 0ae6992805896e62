//! `make bench`: what the product exists for, measured side by side with a reference line or a target.
//!
//! Everything is measured as a person would meet it: the release build, real files, the whole log
//! written. Single times say little on a shared machine, so every figure is a median, and what is
//! judged is a ratio to something measured in the same run. Must not switch anything off.
//!
//! `cargo bench --workspace --bench table -- [--json FILE] [SECTION …]`

mod table {
    pub(crate) mod figure;
    pub(crate) mod inside;
    mod live_runs;
    pub(crate) mod reading;
    pub(crate) mod resuming;
    pub(crate) mod size;
    pub(crate) mod starting;
    pub(crate) mod steps;
    pub(crate) mod traces;
    pub(crate) mod trial;
    pub(crate) mod trying;
    pub(crate) mod verify;
    pub(crate) mod window;
    mod window_commands;
    mod window_live;
}

use std::path::PathBuf;

use table::figure::{Table, as_json, print};
use table::{inside, reading, resuming, size, starting, steps, traces, trying, verify, window};

/// A part of the table: the name it is asked for, and what adds its lines.
type Section = (&'static str, fn(&mut Table));

const SECTIONS: [Section; 10] = [
    ("steps", steps::measure),
    ("size", size::measure),
    ("resuming", resuming::measure),
    ("reading", reading::measure),
    ("starting", starting::measure),
    ("inside", inside::measure),
    ("traces", traces::measure),
    ("verify", verify::measure),
    ("trying", trying::measure),
    ("window", window::measure),
];

fn main() {
    let mut wanted: Vec<String> = Vec::new();
    let mut json: Option<PathBuf> = None;
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        match arg.as_str() {
            // Cargo says so to every bench.
            "--bench" => {}
            "--json" => json = Some(args.next().expect("--json needs the name of a file").into()),
            name if SECTIONS.iter().any(|(known, _)| *known == name) => wanted.push(arg),
            other => panic!("\"{other}\" is no section; there are: {}", SECTIONS.map(|(name, _)| name).join(", ")),
        }
    }
    let mut table = Table::default();
    for (name, measure) in SECTIONS {
        if wanted.is_empty() || wanted.iter().any(|wanted| wanted == name) {
            eprintln!("measuring {name}");
            measure(&mut table);
        }
    }
    print!("{}", print(&table));
    if let Some(file) = json {
        std::fs::write(&file, as_json(&table)).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    }
}
