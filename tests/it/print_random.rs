//! Laws over random handlers, with loops, `try`, `await`, closures, generators, and functions of another file: what
//! `print` says of a statement is what the handler says if it is written to tell it, `coverage` counts what it counts
//! itself, and steps forward and back lead to where they began. `make soak` asks many more handlers.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use tests::bench::Place;

/// What is asked at every statement of a handler.
const EXPRESSIONS: [&str; 15] = [
    "n",
    "acc.length",
    "acc.at(-1) ?? null",
    "n * 2 - 1",
    "[n, acc.length]",
    "({ n, last: acc.slice(-2) })",
    "acc.reduce((sum, one) => sum + one, 0)",
    "n > 3 ? 'large' : `small ${n}`",
    "[...acc].reverse().slice(0, 3)",
    "new Map([[n, acc.length]]).get(n) ?? null",
    "acc.some((one) => one > n) && acc.includes(n)",
    "JSON.stringify({ acc })",
    "(() => { let all = 0; for (const one of acc) all += one; return all; })()",
    "(function (this: number[]) { return this.length; }).call(acc)",
    "typeof acc + String(n as number)",
];

/// How much is asked.
struct Extent {
    handlers: u64,
    /// Of how many statements of a handler the values are asked: each is a process.
    asked: usize,
    /// How many steps forward and back are made.
    steps: usize,
}

/// A line of a source, and what takes its place in a source that tells what it does.
struct Line {
    plain: String,
    told: String,
    is_stop: bool,
}

/// A source that is being written.
struct Source {
    /// In front of the number of a line, to tell sources apart.
    name: char,
    asked: &'static [&'static str],
    lines: Vec<Line>,
    /// Of names.
    count: usize,
    random: u64,
}

impl Source {
    fn new(name: char, asked: &'static [&'static str], seed: u64) -> Source {
        Source { name, asked, lines: Vec::new(), count: 0, random: seed }
    }

    /// A number below another (Knuth's MMIX).
    fn below(&mut self, end: u64) -> u64 {
        self.random = self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.random >> 33) % end
    }

    /// What tells that the next line is about to run.
    fn look(&self) -> String {
        let thunks: Vec<String> = self.asked.iter().map(|text| format!("() => {text}")).collect();
        format!("look(\"{}{}\", [{}])", self.name, self.lines.len() + 1, thunks.join(", "))
    }

    fn plain(&mut self, text: &str) {
        self.lines.push(Line { plain: text.to_owned(), told: text.to_owned(), is_stop: false });
    }

    /// A line that begins with a statement; `told` makes what takes its place.
    fn stop_as(&mut self, plain: &str, told: impl FnOnce(&str) -> String) {
        let told = told(&self.look());
        self.lines.push(Line { plain: plain.to_owned(), told, is_stop: true });
    }

    fn stop(&mut self, text: &str) {
        self.stop_as(text, |look| format!("{look}; {text}"));
    }

    fn name(&mut self) -> String {
        self.count += 1;
        format!("v{}", self.count)
    }

    /// Some statements. `depth` is how many blocks they may open.
    fn body(&mut self, depth: u64, is_loop: bool) {
        for _ in 0..=self.below(3) {
            self.statement(depth, is_loop);
        }
    }

    fn condition(&mut self) -> String {
        let by = self.below(4) + 2;
        format!("n % {by} === {}", self.below(by))
    }

    fn statement(&mut self, depth: u64, is_loop: bool) {
        let name = self.name();
        let turns = self.below(4);
        match self.below(if depth > 0 { 14 } else { 5 }) {
            0 => self.stop(&format!("n = (n * 3 + {turns}) % 17;")),
            1 => self.stop(&format!("acc.push(n + {turns});")),
            2 => self.stop(&format!("acc.push(await slow(n + {turns}));")),
            3 => self.stop("await Promise.resolve(n);"),
            4 => {
                self.stop(&format!("const {name} = helped(n);"));
                self.stop(&format!("acc.push({name}.length);"));
            }
            5 => {
                let condition = self.condition();
                self.stop(&format!("if ({condition}) {{"));
                self.body(depth - 1, is_loop);
                if is_loop && turns == 0 {
                    self.stop("continue;");
                } else if is_loop && turns == 1 {
                    self.stop("break;");
                }
                self.plain("} else {");
                self.body(depth - 1, is_loop);
                self.plain("}");
            }
            6 => {
                let head = format!("for (let {name} = 0; {name} < {turns}; ");
                self.stop_as(&format!("{head}{name}++) {{"), |look| format!("{look}; {head}({look}, {name}++)) {{"));
                self.body(depth - 1, true);
                self.plain("}");
            }
            7 => {
                let head = format!("for (const {name} of [n, 2, 3].slice({turns})) {{");
                self.stop_as(&head, |look| format!("{look}; {head} {look};"));
                self.stop(&format!("acc.push({name});"));
                self.body(depth - 1, true);
                self.plain("}");
            }
            8 => {
                self.stop(&format!("let {name} = {turns};"));
                let told = |look: &str| format!("while (({look}, {name} > 0)) {{");
                self.stop_as(&format!("while ({name} > 0) {{"), told);
                self.stop(&format!("{name}--;"));
                self.body(depth - 1, true);
                self.plain("}");
            }
            9 => {
                self.stop(&format!("let {name} = 0;"));
                self.plain("do {");
                self.stop(&format!("{name}++;"));
                self.body(depth - 1, true);
                let told = |look: &str| format!("}} while (({look}, {name} < {turns}));");
                self.stop_as(&format!("}} while ({name} < {turns});"), told);
            }
            10 => {
                self.stop(&format!("const {name} = (by: number): void => {{"));
                self.stop("n = (n + by) % 17;");
                self.stop("acc.push(n);");
                self.plain("};");
                self.stop(&format!("[{turns}, n % 3].forEach({name});"));
            }
            11 | 12 => {
                let entries = if turns < 2 { "of counted(n)" } else { "of late(n)" };
                let each = if turns < 2 { "for" } else { "for await" };
                let head = format!("{each} (const {name} {entries}) {{");
                self.stop_as(&head, |look| format!("{look}; {head} {look};"));
                self.stop(&format!("acc.push({name});"));
                self.body(depth - 1, true);
                self.plain("}");
            }
            _ => {
                self.plain("try {");
                self.body(depth - 1, is_loop);
                let condition = self.condition();
                self.stop(&format!("if ({condition}) {{"));
                self.stop("throw new Error(\"no \".repeat(n));");
                self.plain("}");
                self.plain("} catch (error) {");
                self.stop("acc.push((error as Error).message.length);");
                self.plain("} finally {");
                self.body(depth - 1, is_loop);
                self.plain("}");
            }
        }
    }
}

/// A file with the functions that handlers call.
fn lib() -> Source {
    let mut lib = Source::new('L', &["m"], 1);
    lib.plain("export function helped(m: number): number[] {");
    lib.stop("const all: number[] = [];");
    let head = "for (let i = 0; i < m % 3; ";
    lib.stop_as(&format!("{head}i++) {{"), |look| format!("{look}; {head}({look}, i++)) {{"));
    lib.stop("all.push(i);");
    lib.plain("}");
    lib.stop("return all;");
    lib.plain("}");
    lib.plain("export async function slow(m: number): Promise<number> {");
    lib.stop("await null;");
    lib.stop("return m % 7;");
    lib.plain("}");
    lib.plain("export function* counted(m: number): Generator<number> {");
    lib.stop_as(&format!("{head}i++) {{"), |look| format!("{look}; {head}({look}, i++)) {{"));
    lib.stop("yield i + m;");
    lib.plain("}");
    lib.plain("}");
    lib.plain("export async function* late(m: number): AsyncGenerator<number> {");
    lib.plain("try {");
    lib.stop("yield m % 5;");
    lib.stop("await null;");
    lib.stop("yield m % 3;");
    lib.plain("} finally {");
    lib.stop("await null;");
    lib.plain("}");
    lib.plain("}");
    lib
}

/// The flow: an action for every handler, and one for two of them side by side.
fn flow(handlers: u64) -> Source {
    let mut flow = Source::new('F', &EXPRESSIONS, 20_260_101);
    flow.plain("import { defineFlow, handler, sequencer } from \"@flow-state-dev/core\";");
    flow.plain("import { z } from \"zod\";");
    flow.plain("import { counted, helped, late, slow } from \"../lib/helped\";");
    for at in 0..handlers {
        flow.plain(&format!(
            "const h{at} = handler({{ name: \"h{at}\", inputSchema: z.number(), execute: async (input) => {{"
        ));
        flow.stop("let n = input;");
        flow.stop("const acc: number[] = [];");
        for _ in 0..5 {
            flow.statement(3, false);
        }
        flow.stop_as("return { n, acc };", |look| format!("{look}; return {{ n, acc, seen }};"));
        flow.plain("} });");
    }
    flow.plain("const both = sequencer({ name: \"both\", inputSchema: z.number() }).parallel({ h0, h1 });");
    let actions =
        (0..handlers).map(|at| format!("h{at}: {{ block: h{at} }}")).chain(["both: { block: both }".to_owned()]);
    let actions: Vec<String> = actions.collect();
    flow.plain(&format!("export default defineFlow({{ kind: \"law\", actions: {{ {} }} }});", actions.join(", ")));
    flow
}

/// How a source tells what it does.
const LOOK: &str = r#"export const seen: unknown[] = [];
export const look = (at: string, all: (() => unknown)[]): void => {
  const value = (one: () => unknown) => {
    try { return { json: one() }; } catch (error) { return { error: (error as Error).name }; }
  };
  seen.push([at, all.map(value)]);
};
"#;

/// Two folders: one with the sources as they are, one with those that tell.
fn places(flow: &Source, lib: &Source) -> (Place, Place) {
    let (plain, told) = (|one: &Line| one.plain.clone(), |one: &Line| one.told.clone());
    let text = |source: &Source, of: &dyn Fn(&Line) -> String| -> String {
        source.lines.iter().map(|one| format!("{}\n", of(one))).collect()
    };
    let asked = Place::new().file("flows/main.ts", &text(flow, &plain)).file("lib/helped.ts", &text(lib, &plain));
    let import = "import { look, seen } from \"../lib/look\";\n";
    let telling = Place::new()
        .file("flows/main.ts", &format!("{import}{}", text(flow, &told)))
        .file("lib/helped.ts", &format!("{}{}", import.replace("../lib", "."), text(lib, &told)))
        .file("lib/look.ts", LOOK);
    (asked, telling)
}

/// What a handler told: by line, the values of each time.
fn told(telling: &Place, handler: u64) -> BTreeMap<String, Vec<Value>> {
    let ran = telling.get(&format!("run law h{handler} --user ada --request r{handler} --input {handler}"));
    let mut told: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    for seen in ran["output"]["seen"].as_array().expect("what it saw") {
        told.entry(seen[0].as_str().expect("a line").to_owned()).or_default().push(seen[1].clone());
    }
    told
}

/// A value as the source tells it.
fn as_told(value: &Value) -> Value {
    match value.get("error") {
        Some(error) => json!({ "error": error["name"] }),
        None => json!({ "json": value["json"] }),
    }
}

/// At most so many statements of a file say what a handler told there. Returns how many values were asked for.
fn check_print(
    asked: &Place,
    (source, file): (&Source, &str),
    handler: u64,
    told: &BTreeMap<String, Vec<Value>>,
    most: usize,
) -> usize {
    let request = format!("r{handler}");
    let known = |at: usize| Some((at, told.get(&format!("{}{}", source.name, at + 1))?));
    let reached: Vec<_> = (0..source.lines.len()).filter_map(known).collect();
    let mut pairs = 0;
    for (at, expected) in reached.iter().step_by(reached.len() / most + 1) {
        let place = format!("{file}:{}", at + 1);
        let args = [&["--json", "print", &place], source.asked, &["--request", &request, "--limit", "100000"]].concat();
        let answer = asked.run(&args).json();
        let hits = answer["hits"].as_array().unwrap_or_else(|| panic!("{place}: {answer}"));
        let values = |hit: &Value| -> Value { hit["values"].as_array().into_iter().flatten().map(as_told).collect() };
        let found: Vec<Value> = hits.iter().map(values).collect();
        assert_eq!(found, **expected, "{place} of {request}: {}", source.lines[*at].plain);
        assert_eq!(answer.get("notes"), None, "{place}: {answer}");
        pairs += source.asked.len();
    }
    pairs
}

/// The lines of a file ran as often as they told.
fn check_coverage(covered: &Value, source: &Source, file: &str, told: &BTreeMap<String, Vec<Value>>) {
    let of_file = covered.as_array().into_iter().flatten().find(|one| one["file"] == file).expect("the file");
    let counted = of_file["lines"].as_array().into_iter().flatten();
    let counted: BTreeMap<u64, u64> =
        counted.filter_map(|line| Some((line["line"].as_u64()?, line["hits"].as_u64()?))).collect();
    let stops = source.lines.iter().enumerate().filter(|(_, line)| line.is_stop);
    let expected: BTreeMap<u64, u64> = stops
        .map(|(at, _)| {
            let hits = told.get(&format!("{}{}", source.name, at + 1)).map_or(0, Vec::len);
            (at as u64 + 1, hits as u64)
        })
        .collect();
    assert_eq!(counted, expected, "{file}");
}

/// Steps forward and back lead to where they began, from a statement of a block.
fn check_steps(asked: &Place, request: &str, block: &str, from: u64, steps: usize) {
    let lines: Vec<&str> = std::iter::repeat_n("s", steps).chain(std::iter::repeat_n("bs", steps)).collect();
    let answer = asked.run_with(&["debug", request, "--at", &format!("{block}#0+{from}"), "--json"], &lines.join("\n"));
    let way: Vec<Value> = answer
        .stdout
        .lines()
        .map(|line| {
            let said: Value = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
            let at = &said["at"];
            json!([at["instant"], at["line"], at["column"], at["function"], at["locals"]])
        })
        .collect();
    assert_eq!(way.len(), 2 * steps + 1, "{answer}");
    let back: Vec<&Value> = way[steps..].iter().rev().collect();
    assert_eq!(way[..=steps].iter().collect::<Vec<_>>(), back, "{request} from {from}");
    for (at, there) in way[..=steps].iter().enumerate() {
        assert_eq!(there[0], format!("{block}#0+{}", from + at as u64));
    }
}

/// A random part of a block, at most so many steps of it; all of it if there are that few.
fn check_some_steps(asked: &Place, flow: &mut Source, request: &str, block: &str, steps: usize) -> u64 {
    let ticks = asked.get(&format!("step {request} --at {block}"))["ticks"].as_u64().unwrap_or(0);
    let steps = steps.min(ticks.saturating_sub(1) as usize);
    if steps > 0 {
        let from = 1 + flow.below(ticks - steps as u64);
        check_steps(asked, request, block, from, steps);
    }
    ticks
}

/// Checks the laws. Returns how many statements ran, and how many values of expressions were compared.
fn check(extent: &Extent) -> (usize, usize) {
    let (mut flow, lib) = (flow(extent.handlers), lib());
    let (asked, telling) = places(&flow, &lib);
    let (mut statements, mut pairs) = (0, 0);
    for handler in 0..extent.handlers {
        asked.get(&format!("run law h{handler} --user ada --request r{handler} --input {handler}"));
        let told = told(&telling, handler);
        pairs += check_print(&asked, (&flow, "flows/main.ts"), handler, &told, extent.asked);
        pairs += check_print(&asked, (&lib, "lib/helped.ts"), handler, &told, extent.asked);
        let covered = asked.get(&format!("coverage r{handler}"));
        check_coverage(&covered, &flow, "flows/main.ts", &told);
        check_coverage(&covered, &lib, "lib/helped.ts", &told);
        let ticks = check_some_steps(&asked, &mut flow, &format!("r{handler}"), "root", extent.steps);
        let ran: usize = told.values().map(Vec::len).sum();
        assert_eq!(ticks, ran as u64, "every statement is a tick of h{handler}");
        statements += ran;
    }
    asked.get("run law both --user ada --request both --input 4");
    for block in ["root/parallel/h0", "root/parallel/h1"] {
        check_some_steps(&asked, &mut flow, "both", block, extent.steps);
    }
    (statements, pairs)
}

#[test]
fn random_handlers_say_what_they_would_tell_themselves() {
    let (statements, pairs) = check(&Extent { handlers: 3, asked: 24, steps: 25 });
    assert!(statements > 100, "{statements}");
    assert!(pairs > 700, "{pairs}");
}

/// More than 1,000 statements and expressions, and every statement of 200 blocks forward and back.
#[test]
#[ignore = "takes many minutes; `make soak` runs it"]
fn soak_random_handlers_say_what_they_would_tell_themselves() {
    let (_, pairs) = check(&Extent { handlers: 200, asked: 4, steps: usize::MAX });
    assert!(pairs >= 1_000, "{pairs}");
}
