//! What processes cost, as the kernel counts it: a program that somebody started, and what it started itself.

use std::path::Path;

/// A program's process and all that came of it.
pub struct Processes {
    /// The program's own.
    pub program: u32,
    /// Those that it started, and that those started.
    pub others: Vec<u32>,
}

impl Processes {
    /// The program that one of the descendants of a process is, or the window's that it has become.
    pub fn of(above: u32, program: &Path) -> Option<Processes> {
        let window = program.with_file_name("flowglass-window");
        let runs = |process: &u32| {
            std::fs::read_link(format!("/proc/{process}/exe")).is_ok_and(|exe| exe == program || exe == window)
        };
        let program = descendants(above).into_iter().find(runs)?;
        Some(Processes { program, others: descendants(program) })
    }

    fn all(&self) -> impl Iterator<Item = u32> {
        std::iter::once(self.program).chain(self.others.iter().copied())
    }

    /// Memory of all of them in megabytes; what several share counts once (PSS).
    pub fn megabytes(&self) -> f64 {
        let kilobytes = |process: u32| {
            let text = std::fs::read_to_string(format!("/proc/{process}/smaps_rollup")).unwrap_or_default();
            let pss = text.lines().find_map(|line| line.strip_prefix("Pss:")).unwrap_or_default();
            pss.split_whitespace().next().and_then(|number| number.parse::<f64>().ok()).unwrap_or_default()
        };
        self.all().map(kilobytes).sum::<f64>() / 1_024.0
    }

    /// Processor time that the program's own process took so far, in milliseconds.
    pub fn program_ms(&self) -> f64 {
        processor_ms(self.program)
    }

    /// Processor time that the others took so far, in milliseconds.
    pub fn others_ms(&self) -> f64 {
        self.others.iter().copied().map(processor_ms).sum()
    }
}

/// The fields of `/proc/<process>/stat` after the name, which may hold anything.
fn stat(process: u32) -> Vec<String> {
    let text = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    let fields = text.rsplit_once(')').map(|(_, fields)| fields).unwrap_or_default();
    fields.split_whitespace().map(str::to_owned).collect()
}

fn processor_ms(process: u32) -> f64 {
    /// Linux counts for programs in hundredths of a second.
    const TICK_MS: f64 = 10.0;
    let ticks: f64 = stat(process).iter().skip(11).take(2).filter_map(|ticks| ticks.parse::<f64>().ok()).sum();
    ticks * TICK_MS
}

fn descendants(above: u32) -> Vec<u32> {
    let listed = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let numbers = listed.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let parents: Vec<(u32, u32)> =
        numbers.filter_map(|process| Some((process, stat(process).get(1)?.parse().ok()?))).collect();
    let mut found = vec![above];
    let mut next = 0;
    while let Some(parent) = found.get(next).copied() {
        found.extend(parents.iter().filter(|(_, of)| *of == parent).map(|(process, _)| *process));
        next += 1;
    }
    found.split_off(1)
}
