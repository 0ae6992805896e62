//! `show --tree`: the rows of a request, folded and filtered, and the same blocks as everywhere else.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use tests::bench::Place;

const FLOW: &str = r#"
const note = handler({ name: "note", execute: async (input, ctx) => { await ctx.request.incState({ noted: 1 }); ctx.emit.message("noted"); return input; } });
const ask = handler({ name: "ask", execute: async (input, ctx) => { await ctx.request.incState({ asked: 1 }); await ctx.suspend({ reason: "approval", message: "go?" }); return input; } });
let calls = 0;
const flaky = handler({ name: "flaky", retry: { maxAttempts: 3 }, execute: (input) => { if (calls++ < 2) throw new Error("once more"); return input; } });
const breaks = handler({ name: "breaks", execute: (n: any) => { if (n % 5 === 3) throw new Error("no " + n); return n; } });
const recover = handler({ name: "recover", execute: () => "saved" });
const each = sequencer({ name: "each", inputSchema: z.any() }).step(breaks).rescue([{ block: recover }]);
const slow = handler({ name: "slow", execute: async (input) => { await new Promise((done) => setTimeout(done, input === "hold" ? 10_000 : 1)); return input; } });
const chain = sequencer({ name: "chain", inputSchema: z.any() })
  .step(note).step(flaky).step(ask)
  .forEach(() => Array.from({ length: 12 }, (_, n) => n), each, { maxConcurrency: 3 })
  .parallel({ a: note, b: note });
export default defineFlow({
  kind: "main",
  request: { stateSchema: z.object({ noted: z.number().default(0), asked: z.number().default(0) }) },
  actions: { go: { block: chain }, hold: { block: sequencer({ name: "holding", inputSchema: z.any() }).step(note).step(slow).step(note) } },
});
"#;

/// Every block of a request by its instance, as `show` has it and as the tree has it.
#[track_caller]
fn the_tree_has_what_show_has(place: &Place, request: &str) {
    let blocks = |document: &Value, list: &str| -> BTreeMap<String, Value> {
        let rows = document[list].as_array().cloned().unwrap_or_default();
        let rows = rows.into_iter().filter(|row| row["instanceId"].is_string());
        let fields = ["path", "name", "kind", "attempt", "status", "startedAt", "durationMs", "memoized"];
        let fields = || fields.into_iter().chain(["seqStart", "seqEnd", "changes", "items"]);
        let plain = |row: &Value| {
            let mut plain: Value = fields().map(|name| (name.to_owned(), row[name].clone())).collect();
            let error = &row["error"];
            // The tree has the message alone.
            if list == "blocks" {
                // A row of the tree has its place in time, so its gaps are a part of it.
                let gaps = row["gaps"].as_array().into_iter().flatten();
                let idle: i64 = gaps.filter_map(|gap| Some(gap["to"].as_i64()? - gap["from"].as_i64()?)).sum();
                plain["durationMs"] = row["durationMs"].as_i64().map(|ran| ran + idle).into();
            }
            plain["error"] = if error.is_object() { error["message"].clone() } else { error.clone() };
            plain
        };
        rows.map(|row| (row["instanceId"].as_str().unwrap_or_default().to_owned(), plain(&row))).collect()
    };
    let shown = blocks(&place.get(&format!("show {request}")), "blocks");
    let tree = blocks(&place.get(&format!("show {request} --tree --unfolded")), "rows");
    assert!(!shown.is_empty());
    for (id, block) in &shown {
        // An error that did not fail its block is no text of its row.
        let mut block = block.clone();
        if block["status"] != "failed" {
            block["error"] = Value::Null;
        }
        assert_eq!(tree.get(id), Some(&block), "{id}");
    }
    assert_eq!(tree.len(), shown.len());
}

#[track_caller]
fn ask(place: &Place, line: &str, code: i32) {
    let answer = place.ask(line);
    assert_eq!(answer.code, Some(code), "{line}\n{answer}");
}

fn rows(place: &Place, line: &str) -> Vec<Value> {
    place.get(line)["rows"].as_array().cloned().unwrap_or_default()
}

#[test]
fn blocks_of_the_tree_are_those_of_show() {
    let place = Place::with_flow(FLOW);
    ask(&place, "run main go --user ada --session s --request r --input 1", 4);
    the_tree_has_what_show_has(&place, "r");
    ask(&place, "resume r --approve", 0);
    the_tree_has_what_show_has(&place, "r");
    let going = place.start("run main hold --user ada --session s --request h --input \"hold\"");
    place.until("the slow step runs", |place| place.ask("show h").stdout.contains("step:slow").then_some(()));
    the_tree_has_what_show_has(&place, "h");
    going.kill();
    place.until_status("h", "interrupted");
    the_tree_has_what_show_has(&place, "h");
    let cut = rows(&place, "show h --tree --filter status:abandoned");
    let cut: Vec<&str> = cut.iter().filter_map(|row| row["label"].as_str()).collect();
    assert_eq!(cut, ["root", "step:slow"], "the chain around it is cut off with it");
    let shapes = ["mixed", "chain", "tree", "fanout", "loop", "chat", "state", "wide", "nest", "branches", "stream"];
    for shape in shapes {
        let made = place.get(&format!("demo --synthetic 300 --shape {shape}"));
        the_tree_has_what_show_has(&place, made["requests"][0].as_str().unwrap_or_default());
    }
}

#[test]
fn a_fork_says_which_blocks_it_edited() {
    let place = Place::with_flow(FLOW);
    ask(&place, "run main go --user ada --session s --request r --input 1", 4);
    let forked = |line: &str| -> Vec<String> {
        let fork = place.ask(line).json()["requestId"].as_str().expect("an id").to_owned();
        let rows = rows(&place, &format!("show {fork} --tree --unfolded"));
        let is_repeated = |row: &&Value| row["memoized"] == true && row["edited"] != "output";
        assert_eq!(rows.iter().find(is_repeated), None, "what has ended is not recorded again");
        let edited = rows.into_iter().filter(|row| row["edited"].is_string());
        edited
            .map(|row| format!("{} of {}", row["edited"], row["path"].as_str().unwrap_or_default()).replace('"', ""))
            .collect()
    };
    assert_eq!(forked("fork r --at root/step:flaky --output 7"), ["output of root/step:flaky"]);
    assert_eq!(forked("fork r --at root/step:note --input 2"), ["input of root/step:note"]);
    assert_eq!(forked("fork r --action-input 2"), ["input of root"]);
    assert!(rows(&place, "show r --tree --unfolded").iter().all(|row| row.get("edited").is_none()));
}

#[test]
fn many_turns_are_one_row_and_attempts_are_a_group() {
    let place = Place::with_flow(FLOW);
    ask(&place, "run main go --user ada --session s --request r --input 1", 4);
    ask(&place, "resume r --approve", 0);
    let folded = rows(&place, "show r --tree");
    let group = |label: &str, of: &str| {
        let found = folded.iter().find(|row| row["label"] == label && row["group"]["of"] == of);
        found.unwrap_or_else(|| panic!("no group of {of} {label} in {folded:#?}")).clone()
    };
    let root = folded.iter().find(|row| row["depth"] == 0).expect("there is a root");
    assert_eq!((&root["group"], &root["gaps"].as_array().map(Vec::len)), (&Value::Null, &Some(1)), "{root}");
    let asked = group("step:ask", "attempts");
    assert_eq!((&asked["group"]["count"], &asked["isFolded"], &asked["depth"]), (&json!(2), &json!(false), &json!(1)));
    let turns = group("forEach:each", "turns");
    assert_eq!((&turns["group"]["count"], &turns["isFolded"]), (&json!(12), &json!(true)));
    // Each entry, what it ran, and who saved two of them.
    assert_eq!(turns["hidden"], 12 + 12 + 2);
    assert_eq!((&turns["group"]["failed"], &turns["status"]), (&json!(0), &json!("completed")));
    assert_eq!(turns["group"]["cells"].as_array().map(Vec::len), Some(48));
    let durations = &turns["group"]["durations"];
    let cells = durations["cells"].as_array().expect("they ended");
    assert_eq!(cells.iter().filter_map(Value::as_u64).sum::<u64>(), 12, "{durations}");
    assert!(durations["from"].as_i64() <= durations["to"].as_i64(), "{durations}");
    let flaky = group("step:flaky", "attempts");
    assert_eq!(flaky["group"]["count"], 3, "{flaky}");
    let text = place.run(&["show", "r", "--tree"]).stdout;
    assert!(text.contains("forEach:each × 12") && text.contains("26 rows folded"), "{text}");
    assert!(text.contains("step:ask attempts × 2") && text.contains("step:flaky (attempt 1)"), "{text}");
    assert!(text.contains("26 rows are folded; --unfolded prints every row"), "{text}");
    assert!(!text.contains("recover"), "{text}");
    let all = place.run(&["show", "r", "--tree", "--unfolded"]).stdout;
    assert!(all.contains("recover") && all.contains("✗ failed") && all.contains("no 8"), "{all}");
}

/// Branches were `a` and `b`, and attempts had one name.
#[test]
fn show_tells_blocks_and_attempts_apart() {
    let place = Place::with_flow(FLOW);
    ask(&place, "run main go --user ada --session s --request r --input 1", 4);
    ask(&place, "resume r --approve", 0);
    let text = place.run(&["show", "r"]).stdout;
    for label in
        ["\n  parallel/a ", "\n  forEach:each[3] ", "\n  step:flaky (attempt 0) ", "\n  step:flaky (attempt 1) "]
    {
        assert!(text.contains(label), "{label:?} is not in\n{text}");
    }
    assert!(text.contains("\nroot ") && text.contains("\n  step:ask (attempt 1) "), "{text}");
    assert!(!text.contains("parallel/a (attempt"), "it ran once\n{text}");
}

#[test]
fn a_filter_shows_what_fits_and_what_is_around_it() {
    let place = Place::with_flow(FLOW);
    ask(&place, "run main go --user ada --session s --request r --input 1", 4);
    ask(&place, "resume r --approve", 0);
    let fitting = |filter: &str| {
        let answer = place.run(&["show", "r", "--tree", "--json", "--filter", filter]);
        assert_eq!(answer.code, Some(0), "{filter}\n{answer}");
        let tree = answer.json();
        let rows = tree["rows"].as_array().cloned().unwrap_or_default();
        let fits = |row: &&Value| row["matches"] == true;
        let labels: Vec<String> =
            rows.iter().filter(fits).map(|row| row["label"].as_str().unwrap_or_default().to_owned()).collect();
        assert_eq!(tree["matches"], labels.len(), "{filter}");
        // What is around stands before what it is around.
        assert!(rows.first().is_none_or(|row| row["depth"] == 0), "{filter}");
        assert!(rows.windows(2).all(|two| two[1]["depth"].as_u64() <= two[0]["depth"].as_u64().map(|d| d + 1)));
        labels
    };
    assert_eq!(fitting("status:failed"), ["step:breaks", "step:breaks"]);
    assert_eq!(fitting("name:recover").len(), 2);
    assert_eq!(fitting("items>0 attempt:0 path:root/parallel/*"), ["parallel/a", "parallel/b"]);
    assert_eq!(fitting("\"foreach:each[3]\"").len(), 3, "the entry, what it ran, and who saved it");
    assert_eq!(fitting("path:forEach -status:completed"), ["step:breaks", "step:breaks"]);
    let named = fitting("breaks");
    assert!(named.len() > 2 && named.iter().all(|label| label == "step:breaks"), "{named:?}");
    // How a block was called, and the places around it, are in its path and not in its name.
    assert!(fitting("foreach").iter().all(|label| label.to_lowercase().contains("foreach")));
    assert_eq!(fitting("parallel/a"), ["parallel/a"]);
    assert_eq!(fitting("status:suspended"), ["step:ask"]);
    let wrote = fitting("writes:request.asked");
    assert!(!wrote.is_empty() && wrote.iter().all(|label| label == "step:ask"), "{wrote:?}");
    assert_eq!(fitting("kind:router"), Vec::<String>::new());
    let text = place.run(&["show", "r", "--tree", "--filter", "-status:completed name:breaks"]).stdout;
    assert!(text.contains("the filter fits 2 of "), "{text}");
}

#[test]
fn a_filter_that_is_wrong_is_told_with_its_place() {
    let place = Place::with_flow(FLOW);
    ask(&place, "run main go --user ada --session s --request r --input 1", 4);
    // Something pasted by mistake: each term would be asked of each block.
    let (words, text) = ("a ".repeat(1_000), "x".repeat(5_000));
    let wrong = [
        (words.as_str(), "column 129: there are 1000 terms, and a filter has at most 64"),
        (text.as_str(), "column 4097: a filter has at most 4096 characters"),
        ("sttus:failed", "column 1: \"sttus\" is not a field; there are kind, status"),
        ("a kind:agent", "column 8: \"agent\" is not a kind; there are handler, sequencer, router, generator"),
        ("writes:memory.x", "\"memory\" is not a scope"),
    ];
    for (filter, expected) in wrong {
        let answer = place.run(&["show", "r", "--tree", "--filter", filter]);
        assert_eq!(answer.code, Some(2), "{filter}\n{answer}");
        assert!(answer.stderr.contains(expected), "{filter}\n{answer}");
    }
    let (alone, tree) = (place.get("show r --filter status:failed"), place.get("show r --tree --filter status:failed"));
    assert_eq!(alone, tree, "a filter is of the tree's rows, so that they are shown");
    assert_eq!(place.get("show r --unfolded"), place.get("show r --tree --unfolded"));
    assert_eq!(place.ask("show r --filter status:failed --source").code, Some(2), "code has no rows");
    assert_eq!(place.ask("show x --tree").code, Some(6));
}

#[test]
fn a_long_request_is_shown_folded() {
    let place = Place::new();
    place.get("demo --synthetic 1500 --shape loop");
    let id = "synthetic-loop-1-0";
    let short = place.run(&["show", id]).stdout;
    assert!(!short.contains("folded"), "{short}");
    place.get("demo --synthetic 4000 --shape chain --seed 2");
    let id = "synthetic-chain-2-0";
    let text = place.run(&["show", id]).stdout;
    let tree = place.get(&format!("show {id} --tree"));
    assert!(tree["counts"]["blocks"].as_u64() > Some(1_000), "{}", tree["counts"]);
    let hidden = tree["hidden"].as_u64().unwrap_or_default();
    assert!(text.contains(&format!("{hidden} rows are folded: show {id} --tree --unfolded")), "{text}");
    assert!(text.contains("\ninput   {") && text.contains("\noutput  {"), "{text}");
    assert!(text.lines().count() < 60, "{text}");
    let all = place.run(&["show", id, "--tree", "--unfolded"]).stdout;
    assert!(all.lines().count() as u64 > hidden, "{}", all.lines().count());
}

const CUSTOMERS: &str = r#"
const write = handler({ name: "write", inputSchema: z.any(), execute: (customer: any) => {
  if (customer.id === 903) throw new Error("customer-903 has no address");
  return { letter: `Dear ${customer.name}` };
} });
const skip = handler({ name: "skip", inputSchema: z.any(), execute: () => null });
const each = sequencer({ name: "each", inputSchema: z.any() }).step(write).rescue([{ block: skip }]);
const post = handler({ name: "post", inputSchema: z.any(), execute: (letters: any) => letters.length });
const nest = (level: number): any => level === 0 ? post : sequencer({ name: `n${level}`, inputSchema: z.any() }).step(nest(level - 1));
export default defineFlow({
  kind: "main",
  actions: {
    go: { block: sequencer({ name: "all", inputSchema: z.any() })
      .map(() => Array.from({ length: 200 }, (_, n) => ({ id: 800 + n, name: `Ada ${n}x` })))
      .forEach((list: any) => list, each).step(post) },
    deep: { block: nest(100) },
  },
});
"#;

#[test]
fn a_text_finds_inputs_outputs_and_errors() {
    let place = Place::with_flow(CUSTOMERS);
    place.get("run main go --user ada --session s --request r --input {}");
    let found = |text: &str| -> Vec<String> {
        let tree = place.run(&["show", "r", "--tree", "--unfolded", "--json", "--filter", text]).json();
        let rows = tree["rows"].as_array().cloned().unwrap_or_default();
        let rows = rows.iter().filter(|row| row["matches"] == true);
        rows.map(|row| row["path"].as_str().unwrap_or_default().to_owned()).collect()
    };
    let write = "root/forEach:each[103]/step:write";
    let failed = found("customer-903");
    assert!(failed.contains(&write.to_owned()) && failed.len() < 5, "{failed:?}");
    // An output, and the input that refers to the output before it.
    let letters = found("\"Dear Ada 7x\"");
    assert!(letters.contains(&"root/forEach:each[7]/step:write".to_owned()), "{letters:?}");
    assert!(!letters.contains(&"root/forEach:each[8]/step:write".to_owned()), "{letters:?}");
    let tree = place.get("show r --tree");
    let group = tree["rows"].as_array().into_iter().flatten().find(|row| row["group"].is_object());
    let group = group.unwrap_or_else(|| panic!("no group: {tree}"));
    assert_eq!(group["status"], "completed", "its failure was rescued: {group}");
}

#[test]
fn deep_levels_are_told_by_number() {
    let place = Place::with_flow(CUSTOMERS);
    place.get("run main deep --user ada --session s --request r --input []");
    for args in [&["show", "r", "--tree", "--unfolded"][..], &["show", "r"]] {
        let text = place.run(args).stdout;
        let widest = text.lines().map(|line| line.chars().count()).max().unwrap_or_default();
        assert!(widest < 200, "{args:?}: {widest} columns");
        assert!(text.contains("100 · step:post"), "{args:?}\n{text}");
    }
}
