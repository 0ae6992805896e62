//! What people read, where JSON says it otherwise: names of instances, who sees an item, and refusals
//! that name all that would be right.

use serde_json::json;
use tests::bench::Place;

const FLOW: &str = r#"
const says = handler({ name: "says", execute: async (_input, ctx) => {
  ctx.emit.message("now or never", { transient: true });
  ctx.emit.message("stays");
  await ctx.sequencer.incState({ n: 1 });
} });
const asks = handler({ name: "asks", execute: async (input, ctx) =>
  ctx.suspend({ reason: "approval", message: "may I?", allow: ["approve", "skip"], ...input }) });
const state = z.object({ n: z.number().default(0) });
const inner = sequencer({ name: "inner", stateSchema: state }).step(says);
export default defineFlow({
  kind: "words",
  actions: {
    go: { block: sequencer({ name: "outer", stateSchema: state }).step(says).step(inner) },
    ask: { block: asks },
    roles: { block: handler({ name: "roles", execute: (_input, ctx) => ctx.session.items.history({ roles: "user" as any }) }) },
  },
});
"#;

/// What a command says on standard output, or on standard error where it is refused.
#[track_caller]
fn said(place: &Place, words: &[&str], code: i32) -> String {
    let answer = place.run(words);
    assert_eq!(answer.code, Some(code), "{words:?}\n{answer}");
    if code == 0 { answer.stdout } else { answer.stderr }
}

#[test]
fn instances_are_named_by_their_paths() {
    let place = Place::with_flow(FLOW);
    place.get("run words go --user ada --session s --request r");
    let state = said(&place, &["state", "--request", "r"], 0);
    assert!(state.contains("\nroot (version 1)\n") && state.contains("\nroot/step:inner (version 1)\n"), "{state}");
    let diff = said(&place, &["diff", "r"], 0);
    assert!(diff.contains("  sequencer.n ") && diff.contains("  sequencer[root/step:inner].n "), "{diff}");
    let checkpoints = said(&place, &["checkpoints", "r"], 0);
    assert!(checkpoints.starts_with("root (version 1, by says"), "{checkpoints}");
    assert!(place.get("state --request r")["sequencers"]["r:root:0"].is_object(), "JSON has the whole id");
}

#[test]
fn an_item_that_streamed_by_is_marked() {
    let place = Place::with_flow(FLOW);
    place.get("run words go --user ada --request r");
    let items = said(&place, &["items", "--request", "r", "--type", "message"], 0);
    let of = |text: &str| items.lines().find(|line| line.contains(text)).unwrap_or_default();
    assert!(of("now or never").contains(" transient "), "{items}");
    assert!(of("stays").contains(" client history "), "{items}");
}

#[test]
fn a_refusal_names_all_that_would_be_right() {
    let place = Place::with_flow(FLOW)
        .file("flows/twice.ts", "import { defineFlow, handler } from '@flow-state-dev/core';\nexport default defineFlow({ kind: 'words', actions: { go: { block: handler({ name: 'b', execute: () => 1 }) } } });\n")
        .file("flows/bare.ts", "import { defineFlow } from '@flow-state-dev/core';\nexport default defineFlow({ kind: 'bare' });\n");
    for line in [&["items"][..], &["export", "--out", "x"]] {
        let error = said(&place, line, 2);
        assert!(error.contains("--session") && error.contains("--request"), "{error}");
    }
    let bare = said(&place, &["run", "bare", "go", "--user", "ada"], 2);
    assert!(bare.contains("flow \"bare\" has no action \"go\"; it has none at all"), "{bare}");
    let unknown = said(&place, &["run", "nope", "go", "--user", "ada"], 2);
    assert!(unknown.contains("unknown flow \"nope\"; there are: words\n"), "{unknown}");
    let roles = said(&place, &["run", "words", "roles", "--user", "ada"], 3);
    assert!(roles.contains("roles is a list of texts, like [\"user\"], not \"user\""), "{roles}");
}

#[test]
fn a_budget_that_is_none_is_named_with_the_range() {
    let place = Place::with_flow(FLOW);
    let whole = "give a whole number from 1 to 4294967295";
    let cases = [
        ("99999999999", "99999999999 model calls: give a whole number from 1 to 4294967295"),
        ("-5", whole),
        ("NaN", whole),
        ("1e400", whole),
        ("1e400usd", "1e400 US dollars: give more than 0 and at most 1000000000"),
        ("ten", "both 1 to 4294967295"),
    ];
    for (given, right) in cases {
        for words in [&["try", "r", "--at", "root"][..], &["culprit", "r", "--fails", "true"]] {
            let error = said(&place, &[words, &["--budget", given]].concat(), 2);
            for part in ["--budget", given, right] {
                assert!(error.contains(part), "{part}: {error}");
            }
        }
    }
}

#[test]
fn a_question_names_the_answers_that_it_takes() {
    let place = Place::with_flow(FLOW);
    assert_eq!(place.ask("run words ask --user ada --request r --input {}").code, Some(4));
    let error = said(&place, &["resume", "r"], 2);
    assert!(error.contains("give it with --approve or --skip\n"), "{error}");
    assert_eq!(place.get("suspensions --request r --status pending")[0]["path"], "root");
    assert_eq!(place.ask("suspensions --request nobody").code, Some(6));
    assert_eq!(place.ask("resume r --approve").code, Some(0));
    assert_eq!(place.get("suspensions --request r --status pending"), json!([]));
}

#[test]
fn an_answer_that_comes_too_late_is_told_so() {
    let place = Place::with_flow(FLOW);
    assert_eq!(place.ask("run words ask --user ada --request r --input {\"timeoutMs\":1}").code, Some(4));
    std::thread::sleep(std::time::Duration::from_millis(20));
    let answer = place.ask("resume r --approve");
    assert_eq!(answer.json()["status"], json!("failed"), "{answer}");
    assert!(answer.stderr.contains("the answer came after the timeout of its question"), "{answer}");
}

#[test]
fn what_a_flow_says_does_not_act_on_the_terminal() {
    // A bell, a cleared screen, a line that overwrites itself, and letters turned around.
    let place = Place::with_flow(
        r#"
const said = "bell\u0007 clear\u001b[2J back\rover c1\u009b31m turned\u202e end\nnext";
const say = handler({ name: "say\u202e", execute: async (input, ctx) => {
  ctx.emitMessage(said);
  await ctx.session.patchState({ said });
  if (input === "fail") throw new FlowError(said);
  return said;
} });
export default defineFlow({ kind: "main", actions: { go: { block: say } } });
"#,
    );
    let lines = [
        "run main go --user ada --request r",
        "run main go --user ada --request f --input \"fail\"",
        "run main go --user ada --request e --events",
        "show r",
        "show f",
        "items --request r",
        "events r",
        "state --request r",
        "diff r",
        "search bell",
        "history r --path session.said",
    ];
    for line in lines {
        let words: Vec<&str> = line.split(' ').collect();
        let answer = place.run(&words);
        assert_eq!(answer.code, Some(if line.contains("fail") { 3 } else { 0 }), "flowglass {line}\n{answer}");
        assert!(
            answer.stdout.contains("bell") || line == "show f" || line.contains("fail"),
            "flowglass {line}\n{answer}"
        );
        for text in [&answer.stdout, &answer.stderr] {
            let acts = |c: char| c.is_control() && c != '\n' || c == '\u{202e}';
            assert!(!text.contains(acts), "flowglass {line}\n{text:?}");
        }
    }
    let items = place.run(&["items", "--request", "r"]).stdout;
    assert!(items.contains(r"bell\u0007 clear\u001b[2J back\u000dover c1\u009b31m turned\u202e end next"), "{items}");
    // What was shown is what was said: to a reader of JSON the escapes are the characters.
    let ran = place.run(&["run", "main", "go", "--user", "ada"]).stdout;
    let output: String = serde_json::from_str(ran.lines().nth(1).expect("the output follows")).expect("it is JSON");
    assert_eq!(output, "bell\u{7} clear\u{1b}[2J back\rover c1\u{9b}31m turned\u{202e} end\nnext");
}

const FAILS: &str = r#"
const pays = handler({ name: "pays", execute: () => { throw new FlowError("no more", { code: "sold_out", details: { left: 0 } }); } });
const takes = handler({ name: "takes", inputSchema: z.object({ a: z.number(), b: z.object({ c: z.string() }) }), execute: () => 1 });
const many = handler({ name: "many", inputSchema: z.array(z.number()), execute: () => 1 });
const plain = handler({ name: "plain", execute: () => { throw new Error("first line\nsecond line"); } });
const chain = (given: any, block: any) => sequencer({ name: "chain", inputSchema: z.any() }).map(() => given).step(block);
export default defineFlow({ kind: "main", actions: {
  pay: { block: chain(1, pays) },
  take: { block: chain({ b: { c: 1 } }, takes) },
  many: { block: chain(Array.from({ length: 30 }, () => "x"), many) },
  plain: { block: chain(1, plain) },
} });
"#;

/// Only `--json` told more than the message.
#[test]
fn an_error_is_told_with_its_code_its_block_its_place_and_its_details() {
    let place = Place::with_flow(FAILS);
    let at = |block: &str, line: u32| format!("\n        block root/step:{block}\n        at flows/main.ts:{line}:");
    let pays = format!("error   FlowError [sold_out]: no more{}", at("pays", 4));
    let plain = format!("error   Error: first line\n        second line{}", at("plain", 7));
    let takes = "        a: Required\n        b.c: Expected string, received number\n";
    let many = "        9: Expected number, received string\n        and 20 more\n";
    let cases = [
        ("pay", "pays", [pays.as_str(), "        details {\"left\":0}\n"]),
        ("take", "takes", ["error   Error: Block \"takes\" input validation failed", takes]),
        ("many", "many", ["error   Error: Block \"many\" input validation failed", many]),
        ("plain", "plain", [plain.as_str(), "✗ failed"]),
    ];
    for (action, block, words) in cases {
        let ran = place.ask(&format!("run main {action} --user ada --request {action} --input 1"));
        assert_eq!(ran.code, Some(3), "{action}\n{ran}");
        let shown = said(&place, &["show", action], 0);
        let of_block = said(&place, &["block", action, &format!("root/step:{block}")], 0);
        for words in words {
            assert!(shown.contains(words), "show {action} does not say {words}\n{shown}");
            assert!(of_block.contains(words), "block {action} does not say {words}\n{of_block}");
        }
    }
}

const DOUBLE: &str = r#"
const double = handler({ name: "double", execute: (n: any) => { if (n > 5) throw new Error("too much"); return n * 2; } });
export default defineFlow({ kind: "main", actions: { go: { block: sequencer({ name: "all", inputSchema: z.any() }).step(double) } } });
"#;

/// Two requests that had nothing in common but their state had "no differences".
#[test]
fn a_difference_says_what_it_is_of() {
    let place = Place::with_flow(DOUBLE);
    for (request, input, code) in [("one", 1, 0), ("two", 2, 0), ("nine", 9, 3), ("again", 1, 0)] {
        let ran = place.ask(&format!("run main go --user ada --request {request} --input {input}"));
        assert_eq!(ran.code, Some(code), "{ran}");
    }
    let none = "no differences in state\n";
    assert_eq!(said(&place, &["diff", "one"], 0), none);
    let cases = [
        ("two", "input   1 → 2\noutput  2 → 4\n2 of 2 blocks differ\n"),
        (
            "nine",
            "status  completed → failed\ninput   1 → 9\noutput  2 → (nothing)\n\
             error   (nothing) → Error: too much\n2 of 2 blocks differ\n",
        ),
        ("again", "status, input, output and error are the same\n0 of 2 blocks differ\n"),
    ];
    for (other, words) in cases {
        assert_eq!(said(&place, &["diff", "one", "--with", other], 0), format!("{none}{words}"), "{other}");
        assert_eq!(place.get(&format!("diff one --with {other}")), json!([]), "JSON is the list");
    }
    let two = said(&place, &["diff", "one", "two"], 2);
    assert!(two.contains("flowglass diff one --with two\n"), "{two}");
    assert!(said(&place, &["diff", "one", "two", "--with", "nine"], 2).contains("\"two\" is too many"));
}

/// A person who only looks was offered to let keys go elsewhere.
#[test]
fn flags_stand_in_the_help_where_they_do_something() {
    let place = Place::with_flow(DOUBLE);
    for (command, flags) in [
        ("run", [true, true]),
        ("resume", [true, true]),
        ("delete", [false, true]),
        ("suspensions", [false, false]),
        ("show", [false, false]),
    ] {
        let help = said(&place, &[command, "--help"], 0);
        assert_eq!(["--trust", "--durability"].map(|flag| help.contains(flag)), flags, "{command}\n{help}");
        assert!(help.contains("--data"), "{command}\n{help}");
    }
    for line in ["flows --trust --durability power", "--trust --durability each flows"] {
        assert_eq!(place.ask(line).code, Some(0), "it is taken everywhere: {line}");
    }
    let unknown = said(&place, &["requests", "--request", "r"], 2);
    assert!(unknown.contains("'--request'") && !unknown.contains("--trust"), "{unknown}");
    assert!(said(&place, &["requests", "--trsut"], 2).contains("'--trust'"));
    for line in [&["run", "main", "go", "--user", "ada", "--mock", "m.json"][..], &["retry", "--mock", "m.json", "r"]] {
        let mock = said(&place, line, 2);
        assert!(mock.contains("--mock=m.json"), "{mock}");
    }
    assert!(place.ask("run main go --user ada --mock m.json").stdout.contains("--mock=m.json"));
}

const INPUTS: &str = r#"
const action = (name: string, inputSchema: any) => ({ [name]: { inputSchema, block: handler({ name, execute: (input: any) => input ?? "nothing" }) } });
export default defineFlow({ kind: "main", actions: {
  ...action("none", undefined),
  ...action("empty", z.object({})),
  ...action("optional", z.object({ a: z.number().default(3), b: z.string().optional() })),
  ...action("needs", z.object({ by: z.number(), name: z.string(), more: z.string().optional() })),
  ...action("text", z.string()),
} });
"#;

#[test]
fn an_input_is_needed_only_where_something_of_it_is() {
    let place = Place::with_flow(INPUTS);
    for (action, output) in [("none", json!("nothing")), ("empty", json!({})), ("optional", json!({ "a": 3 }))] {
        assert_eq!(place.get(&format!("run main {action} --user ada"))["output"], output, "{action}");
    }
    for (action, words) in [
        (
            "needs",
            r#"(by: Required; name: Required); give it as JSON with --input, like --input '{"by":1,"name":"…"}'"#,
        ),
        ("text", r#"(Required); give it as JSON with --input, like --input '"…"'"#),
    ] {
        let error = said(&place, &["run", "main", action, "--user", "ada"], 2);
        assert!(error.contains(words), "{error}");
    }
}
