//! Recorded runs as tests: many at once, those that an edit touches, and files.

use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use runner::{Cancel, Durability, RunOptions, VerifyQuery, Workspace};
use serde_json::json;
use tests::bench::{Place, program};

use super::figure::{Figure, Limit, Table};
use super::trial::{median_ms, ms, open};

/// How many requests there are, of how many flows: an edit of one touches 200.
const REQUESTS: usize = 10_000;
const FLOWS: usize = 50;
const FILES: usize = 500;
const GOES: usize = 101;

/// A flow of ten blocks.
fn flow(nth: usize, rate: &str) -> String {
    let step = |step: usize| {
        format!(
            "handler({{ name: 's{step}', inputSchema: z.any(), outputSchema: z.any(), execute: (n) => n {rate} {step} }})"
        )
    };
    let chain: String = (1..10).map(|nth| format!(".step({})", step(nth))).collect();
    format!(
        "import {{ defineFlow, handler, sequencer }} from '@flow-state-dev/core';\nimport {{ z }} from 'zod';\n\
         export default defineFlow({{ kind: 'f{nth}', actions: {{ go: {{ inputSchema: z.any(),\n\
         block: sequencer({{ name: 'all', inputSchema: z.any() }}){chain} }} }} }});\n"
    )
}

pub(crate) fn measure(table: &mut Table) {
    let place = Place::new();
    for nth in 0..FLOWS {
        place.write(&format!("flows/f{nth}.ts"), flow(nth, "+"));
    }
    let workspace = open(&place, Durability::Process);
    for nth in 0..REQUESTS {
        let running = workspace.run(RunOptions {
            flow: format!("f{}", nth % FLOWS),
            action: "go".to_owned(),
            user: "bench".to_owned(),
            request: Some(format!("r{nth}")),
            input: Some(json!(nth)),
            ..RunOptions::default()
        });
        running.unwrap_or_else(|fault| panic!("{fault}")).wait().expect("it ends");
    }
    throughput(table, &workspace);
    files(table, &place, &workspace);
    drop(workspace);
    edits(table, &place);
}

fn verified(workspace: &Workspace, query: &VerifyQuery) -> runner::Verified {
    workspace.verify(query, &Cancel::default(), |_| {}).unwrap_or_else(|fault| panic!("{fault}"))
}

/// Many replays at once against one after another.
fn throughput(table: &mut Table, workspace: &Workspace) {
    let one = median_ms(GOES, |nth| {
        workspace.replay(&format!("r{nth}")).unwrap_or_else(|fault| panic!("{fault}"));
    });
    let query =
        VerifyQuery { requests: (0..2_000).map(|nth| format!("r{nth}")).collect(), all: true, ..Default::default() };
    let begin = Instant::now();
    let found = verified(workspace, &query);
    let rate = 2_000.0 / begin.elapsed().as_secs_f64();
    assert_eq!(found.same, 2_000);
    let cores = std::thread::available_parallelism().map_or(1, usize::from) as f64;
    let line = 1_000.0 / one * cores;
    table.push(Figure::line(
        "replays of 2,000 requests at once",
        rate,
        "/s",
        "one at a time × cores",
        line,
        Limit::AtLeast(0.8),
    ));
}

fn files(table: &mut Table, place: &Place, workspace: &Workspace) {
    let chain: String = (1..20).map(|_| ".step(one)".to_owned()).collect();
    place.write(
        "flows/long.ts",
        format!(
            "import {{ defineFlow, handler, sequencer }} from '@flow-state-dev/core';\nimport {{ z }} from 'zod';\n\
             const one = handler({{ name: 'one', inputSchema: z.any(), outputSchema: z.any(),\n\
             execute: (order) => ({{ ...order, lines: order.lines + 1 }}) }});\n\
             export default defineFlow({{ kind: 'long', actions: {{ go: {{ inputSchema: z.any(),\n\
             block: sequencer({{ name: 'all', inputSchema: z.any() }}){chain} }} }} }});\n"
        ),
    );
    let input = json!({ "customer": "Ada Lovelace", "address": "12 Tea Street", "total": 42.5, "lines": 3 });
    let running = workspace.run(RunOptions {
        flow: "long".to_owned(),
        action: "go".to_owned(),
        user: "bench".to_owned(),
        request: Some("long".to_owned()),
        input: Some(input),
        ..RunOptions::default()
    });
    running.unwrap_or_else(|fault| panic!("{fault}")).wait().expect("it ends");
    std::fs::create_dir_all(place.dir().join("tests")).expect("a folder");
    let file = |nth: usize| place.dir().join(format!("tests/{nth}.run"));
    let kept = workspace.keep("long", &file(0), false).unwrap_or_else(|fault| panic!("{fault}"));
    table.push(Figure::below(".run file of 20 blocks", kept.bytes as f64 / 1_024.0, "KB", 20.0));
    for nth in 1..FILES {
        std::fs::copy(file(0), file(nth)).expect("a copy");
    }
    let query = VerifyQuery { files: (0..FILES).map(file).collect(), ..VerifyQuery::default() };
    let begin = Instant::now();
    assert_eq!(verified(workspace, &query).same as usize, FILES);
    table.push(Figure::below("verify of 500 .run files", begin.elapsed().as_secs_f64(), "s", 10.0));
}

/// An edit that touches 200 of 10,000 requests, in a process of its own: from its start, and at the next save.
fn edits(table: &mut Table, place: &Place) {
    let watch = |args: &[&str]| {
        let command = [&["--json", "verify"], args].concat();
        Command::new(program())
            .args(command)
            .current_dir(place.dir())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the program starts")
    };
    place.write("flows/f7.ts", flow(7, "-"));
    let begin = Instant::now();
    let mut child = watch(&["--watch"]);
    let mut lines = std::io::BufRead::lines(std::io::BufReader::new(child.stdout.take().expect("it is piped")));
    let mut next = || -> serde_json::Value {
        let line = lines.next().expect("a line").expect("it is text");
        serde_json::from_str(&line).expect("a document")
    };
    assert_eq!(next()["differs"], 200);
    table.push(Figure::below("verify of 10,000 requests, 200 touched", begin.elapsed().as_secs_f64(), "s", 60.0));
    let mut times = Vec::new();
    for rate in ["*", "-", "*"] {
        let begin = Instant::now();
        place.write("flows/f7.ts", flow(7, rate));
        assert_eq!(next()["differs"], 200);
        times.push(ms(begin.elapsed()) / 1_000.0);
    }
    table.push(Figure::below("the same at the next save", super::trial::median(times), "s", 2.0));
    table.push(Figure::below("memory of it", most_memory(&child), "MB", 400.0));
    end(&mut child);
    let begin = Instant::now();
    let status = watch(&["--all"]).wait_with_output().expect("it ends").status;
    assert_eq!(status.code(), Some(1));
    let what = "verify of all 10,000 requests";
    table.push(Figure::below(what, begin.elapsed().as_secs_f64(), "s", 60.0));
}

fn most_memory(child: &Child) -> f64 {
    let text = std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap_or_default();
    let mark =
        text.lines().find_map(|line| line.strip_prefix("VmHWM:")).and_then(|mark| mark.split_whitespace().next());
    mark.and_then(|mark| mark.parse::<f64>().ok()).unwrap_or(0.0) / 1_024.0
}

fn end(child: &mut Child) {
    // It is ours, and would wait for the next save for ever.
    let _ = child.kill();
    let _ = child.wait();
    std::thread::sleep(Duration::from_millis(100));
}
