//! Live runs by this program and by one that was built before, by turns: that past runs can be asked about the inside of
//! their blocks costs live runs nothing, neither time nor memory nor a byte of their bundles.
//!
//! `FLOWGLASS_BEFORE` names the older program, a release build as this one is.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use tests::bench::{Place, program};

use super::figure::{Figure, Limit, Table};
use super::trial::{median, most_memory_mb, ms};

const GOES: usize = 15;
const NONE: &str = "no older program: set FLOWGLASS_BEFORE to its path";
const BEFORE: &str = "the build before, by turns";
/// Medians of two copies of one program differ by a few percent.
const SAME: Limit = Limit::AtMost(1.1);
const NOT_LARGER: Limit = Limit::AtMost(1.0);

/// A program, and a folder with the flow in which it alone runs: databases have formats.
struct Runner {
    program: PathBuf,
    place: Place,
}

impl Runner {
    fn new(program: PathBuf, source: &str) -> Runner {
        Runner { program, place: Place::with_flow(source) }
    }

    fn command(&self, input: usize) -> Command {
        let mut command = Command::new(&self.program);
        command.args(["run", "main", "go", "--user", "bench", "--json", "--input", &input.to_string()]);
        command.current_dir(self.place.dir()).stdin(Stdio::null()).stdout(Stdio::null());
        command
    }

    /// The whole process, in milliseconds.
    fn time(&self, input: usize) -> f64 {
        let begin = Instant::now();
        assert!(self.command(input).status().expect("the program starts").success());
        ms(begin.elapsed())
    }

    fn memory(&self, input: usize) -> f64 {
        most_memory_mb(&mut self.command(input))
    }

    /// Bytes of the bundle that runs, as the cache has it.
    fn bundle(&self) -> f64 {
        let files = std::fs::read_dir(self.place.dir().join(".flowglass/cache")).expect("the cache is there").flatten();
        let bundles = files.filter_map(|file| bundle_in(&file.path()));
        bundles.map(|code| code.len() as f64).sum()
    }
}

/// The code of a bundle that a file of the cache holds.
fn bundle_in(file: &Path) -> Option<String> {
    let text = std::fs::read_to_string(file).ok()?;
    let cached: serde_json::Value = serde_json::from_str(&text).ok()?;
    cached["result"]["Ok"]["bundle"]["code"].as_str().map(str::to_owned)
}

/// Runs a flow with each of the inputs, which have names.
pub(crate) fn measure(table: &mut Table, source: &str, inputs: &[(&str, usize)]) {
    let ours = Runner::new(program(), source);
    let before = std::env::var_os("FLOWGLASS_BEFORE").map(|program| Runner::new(program.into(), source));
    // Bundled before, as most flows are when they run.
    for runner in before.iter().chain([&ours]) {
        runner.time(inputs[0].1);
    }
    let mut told = |what: &str, unit: &'static str, figure: &dyn Fn(&Runner) -> f64, goes: usize, limit: Limit| {
        let (mut own, mut older) = (Vec::new(), Vec::new());
        for _ in 0..goes {
            own.push(figure(&ours));
            older.extend(before.as_ref().map(figure));
        }
        let own = median(own);
        table.push(if older.is_empty() {
            Figure::alone(what, own, unit, NONE)
        } else {
            Figure::line(what, own, unit, BEFORE, median(older), limit)
        });
    };
    for (name, input) in inputs {
        told(
            &format!("a live run of {name}, the whole program"),
            "ms",
            &|runner: &Runner| runner.time(*input),
            GOES,
            SAME,
        );
        told(&format!("… its most memory, {name}"), "MB", &|runner: &Runner| runner.memory(*input), GOES / 3, SAME);
    }
    told("the bundle of a live run", "B", &Runner::bundle, 1, NOT_LARGER);
}
