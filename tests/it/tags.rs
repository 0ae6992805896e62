//! Tags, notes and titles of requests, which are stored outside the log, and lists of requests by them.

use serde_json::{Value, json};
use tests::bench::{Answer, Place};
use tests::exported::{opened, packed};

const FLOW: &str = r#"
const words = generator({ name: "words", model: "gpt-5-mini", prompt: "Say it.", user: (input) => `${input.text}` });
const slow = handler({ name: "slow", execute: async (input) => { await new Promise((done) => setTimeout(done, input.ms ?? 0)); return input; } });
const fails = handler({ name: "fails", execute: () => { throw new Error("out of stock"); } });
const input = z.any();
export default defineFlow({
  kind: "shop",
  actions: {
    say: { block: sequencer({ name: "say", inputSchema: input }).step(words) },
    wait: { block: sequencer({ name: "wait", inputSchema: input }).step(slow) },
    fail: { block: sequencer({ name: "fail", inputSchema: input }).step(fails) },
    ask: { block: sequencer({ name: "ask", inputSchema: input }).step(handler({ name: "asks", execute: async (_input, ctx) =>
      ctx.suspend({ reason: "approval", message: "Go on?", allow: ["approve"] }) })) },
  },
});
"#;

/// The price of the only model.
const SETTINGS: &str = r#"{ "prices": { "gpt-5-mini": { "input": 0.25, "cachedInput": 0.025, "output": 2 } } }"#;

fn answer(input: u32, output: u32) -> Value {
    json!({ "text": "ok", "usage": { "promptTokens": input, "completionTokens": output } })
}

fn place() -> Place {
    let replies = json!({ "generators": { "words": [answer(1_000, 10), answer(10, 1)] } });
    Place::with_flow(FLOW).file("flowglass.json", SETTINGS).file("flows/main.mock.json", &replies.to_string())
}

/// Runs an action; only `said` asks a model.
fn runs() -> Place {
    let place = place();
    for (request, action, user, input) in [
        ("said", "say", "ada", r#"{"text":"How_do_bees_fly?"}"#),
        ("waited", "wait", "ada", r#"{"ms":400,"text":"Wait_a_while"}"#),
        ("failed", "fail", "bob", r#"{"text":"Red_shoes"}"#),
        ("asked", "ask", "eve", r#"{"text":"Ship_it"}"#),
    ] {
        let line =
            format!("run shop {action} --mock --user {user} --session s-{user} --request {request} --input {input}");
        let told = place.ask(&line);
        assert!(matches!(told.code, Some(0 | 3 | 4)), "{request}: {told}");
    }
    place
}

fn ids(rows: &Value) -> Vec<&str> {
    rows.as_array().expect("a list").iter().filter_map(|row| row["id"].as_str()).collect()
}

fn listed(place: &Place, more: &str) -> Vec<String> {
    ids(&place.get(&format!("requests {more}"))).into_iter().map(str::to_owned).collect()
}

/// The error text of a command that must be wrong usage.
#[track_caller]
fn refused(place: &Place, args: &[&str]) -> String {
    let told: Answer = place.run(args);
    assert_eq!(told.code, Some(2), "{args:?}: {told}");
    told.stderr
}

#[test]
fn a_request_is_tagged_and_shows_its_tags() {
    let place = runs();
    let nothing = json!({ "requestId": "said", "tags": [] });
    assert_eq!(place.get("tag said"), nothing);
    assert_eq!(place.get("tag said +checked +bug-7")["tags"], json!(["bug-7", "checked"]));
    // A tag that is removed begins with a hyphen, wherever it stands.
    let now = place
        .run(&["--json", "tag", "said", "-checked", "--note", "- seen\nby Ada", "+seen", "--title", "Bees"])
        .json();
    let whole = json!({ "requestId": "said", "tags": ["bug-7", "seen"], "note": "- seen\nby Ada", "title": "Bees" });
    assert_eq!(now, whole);
    assert_eq!(place.get("tag said"), whole);
    // Adding what is there and removing what is not changes nothing; the last of several wins.
    assert_eq!(place.get("tag said +seen -nothing +a -a"), whole);
    // An empty note or title removes it.
    assert_eq!(
        place.run(&["--json", "tag", "said", "--note", "", "--title", ""]).json(),
        json!({ "requestId": "said", "tags": ["bug-7", "seen"] })
    );
    assert_eq!(place.ask("tag nobody +x").code, Some(6));
    assert_eq!(place.ask("tag nobody").code, Some(6));
    let row = &place.get("requests --tag seen")[0];
    assert_eq!((&row["id"], &row["tags"]), (&json!("said"), &json!(["bug-7", "seen"])));
    assert_eq!(place.get("check --data")["ok"], json!(true));
}

#[test]
fn invalid_texts_are_refused_with_the_reason() {
    let place = runs();
    let long = "x".repeat(65);
    let note = "y".repeat(10_001);
    for (args, said) in [
        (vec!["tag", "said", "+"], "a tag has at least one character"),
        (vec!["tag", "said", "+a,b"], "the tag \"a,b\" has the character \",\""),
        (vec!["tag", "said", "+a b"], "has the character \" \""),
        (vec!["tag", "said", "+a\u{202e}b"], "has the character U+202E"),
        (vec!["tag", "said", "+a\u{200b}b"], "has the character U+200B"),
        (vec!["tag", "said", "+a\nb"], "has the character U+000A"),
        (vec!["tag", "said", &format!("+{long}")], "a tag has at most 64 characters"),
        (vec!["tag", "said", "plain"], "write +TAG to add a tag, or -TAG to remove one"),
        (vec!["tag", "said", "--title", "two\nlines"], "a title is one line"),
        (vec!["tag", "said", "--title", "a\u{202e}b"], "the title has the character U+202E"),
        (vec!["tag", "said", "--title", &"z".repeat(201)], "a title has at most 200 characters"),
        (vec!["tag", "said", "--note", &note], "a note has at most 10000 characters"),
        (vec!["tag", "said", "--note", "a\u{1b}[2Jb"], "a note has no control characters"),
    ] {
        let told = refused(&place, &args);
        assert!(told.contains(said), "{args:?}: {told}");
    }
    assert_eq!(place.get("tag said")["tags"], json!([]), "nothing of it was stored");
    // What has meaning in a language is welcome.
    let tags = ["+שלום", "+عاجل", "+プリン", "+🐝"];
    let told = place.run(&[&["--json", "tag", "said"], &tags[..]].concat()).json();
    assert_eq!(told["tags"].as_array().map(Vec::len), Some(4), "{told}");
    assert_eq!(listed(&place, "--tag 🐝"), ["said"]);
    let many: Vec<String> = (0..100).map(|n| format!("+t{n}")).collect();
    let args: Vec<&str> = ["tag", "said"].into_iter().chain(many.iter().map(String::as_str)).collect();
    assert!(refused(&place, &args).contains("more than 100 tags"));
}

/// Tags do not change the log: events, exports, replays and `show` stay the same.
#[test]
fn tags_do_not_change_the_log() {
    let place = runs();
    let look = || {
        let answers = ["events said", "show said", "replay said", "requests --session s-ada"];
        answers.map(|line| place.get(line))
    };
    let before = look();
    place.get("tag said +seen --note Looked --title Bees");
    let after = look();
    assert_eq!(before[..3], after[..3]);
    assert_eq!(before[3][0]["lastSeq"], after[3][0]["lastSeq"]);
    assert_eq!(place.get("verify --request said --all")["same"], 1);
}

#[test]
fn tags_are_exported_and_deleted_with_their_request() {
    let place = runs();
    place.run(&["tag", "said", "+seen", "+old", "-old", "--note", "Looked at", "--title", "Bees", "--by", "ada"]);
    let plain = place.get("export --request waited --out plain.jsonl");
    assert!(plain["bytes"].as_u64().is_some_and(|bytes| bytes > 0));
    place.get("export --session s-ada --out out.jsonl");
    let head = |file: &str| std::fs::read(place.dir().join(file)).expect("it was written")[..20].to_vec();
    assert!(head("plain.jsonl").starts_with(b"flowglass export 3\n"), "an older version reads what has no tags");
    assert!(head("out.jsonl").starts_with(b"flowglass export 4\n"));
    let told = place.ask("--data there.db import out.jsonl");
    assert_eq!(told.code, Some(0), "{told}");
    let there = place.ask("--data there.db tag said").json();
    assert_eq!(there, json!({ "requestId": "said", "tags": ["seen"], "note": "Looked at", "title": "Bees" }));
    assert_eq!(place.ask("--data there.db check").json()["ok"], json!(true));
    // An export for an audience does not contain them.
    place.get("export --session s-ada --out client.jsonl --view client");
    let text = opened(&place.dir().join("client.jsonl"));
    assert!(!text.contains("Looked at") && text.contains("said"), "{text}");
    // An older export is imported, too.
    assert_eq!(place.ask("--data third.db import plain.jsonl").code, Some(0));
    assert_eq!(place.ask("--data third.db tag waited").json()["tags"], json!([]));

    place.get("delete --session s-ada");
    assert_eq!(place.ask("tag said").code, Some(6));
    assert_eq!(listed(&place, "--tag seen"), [""; 0]);
    assert_eq!(place.get("check --data")["ok"], json!(true));
}

#[test]
fn requests_are_found_by_the_columns_of_a_list() {
    let place = runs();
    place.run(&["tag", "failed", "+shoes", "--title", "Größe 40", "--note", "ask the warehouse"]);
    for (more, found) in [
        ("", vec!["asked", "failed", "waited", "said"]),
        ("--user ada", vec!["waited", "said"]),
        ("--flow shop --action fail", vec!["failed"]),
        ("--flow other", vec![]),
        ("--status suspended", vec!["asked"]),
        ("--tag shoes", vec!["failed"]),
        ("--search BEES", vec!["said"]),
        ("--search GRÖSSE", vec![]),
        ("--search größe", vec!["failed"]),
        ("--search warehouse", vec!["failed"]),
        ("--search shoes", vec!["failed"]),
        ("--search stock", vec!["failed"]),
        ("--since 1h", vec!["asked", "failed", "waited", "said"]),
        ("--until 1h", vec![]),
        ("--limit 1 --offset 1", vec!["failed"]),
        ("--filter status:failed", vec!["failed"]),
        ("--filter -user:ada", vec!["asked", "failed"]),
        ("--filter dur>300ms", vec!["waited"]),
        ("--filter tokens>100", vec!["said"]),
        ("--filter cost>0.0001", vec!["said"]),
        ("--filter flow:sh*", vec!["asked", "failed", "waited", "said"]),
        ("--filter tag:sh*", vec!["failed"]),
    ] {
        assert_eq!(listed(&place, more), found, "{more}");
    }
    assert!(refused(&place, &["requests", "--filter", "sttus:failed"]).contains("column 1: \"sttus\" is not a field"));
    assert!(refused(&place, &["requests", "--order", "colour"]).contains("one of started, duration, tokens, cost"));
    assert_eq!(place.ask("requests --session nobody").code, Some(6));
}

#[test]
fn requests_come_in_the_requested_order() {
    let place = runs();
    let told = place.ask("run shop say --mock --user ada --session s-ada --request again --input {\"text\":\"x\"}");
    assert_eq!(told.code, Some(0), "{told}");
    let rows = place.get("requests --order tokens");
    assert_eq!(&ids(&rows)[..2], ["again", "said"], "of equal ones the newest comes first");
    assert_eq!((rows[0]["tokens"].as_u64(), rows[1]["tokens"].as_u64()), (Some(1_010), Some(1_010)), "{rows}");
    let cost = rows[0]["costUsd"].as_f64().expect("it has a price");
    assert!((cost - (1_000.0 * 0.25 + 10.0 * 2.0) / 1e6).abs() < 1e-12, "{cost}");
    assert_eq!(rows[0]["totals"]["promptTokens"], 1_000, "as the request itself says");
    assert_eq!(rows[2]["costUsd"], Value::Null);
    assert_eq!(listed(&place, "--order cost --limit 2"), ["again", "said"]);
    assert_eq!(listed(&place, "--order duration --limit 1"), ["waited"]);
}

/// The cost of a fork excludes the shared events, in lists as in sums.
#[test]
fn a_fork_does_not_pay_for_shared_events() {
    let place = runs();
    let fork = place.get("fork said --at root/step:words");
    let id = fork["requestId"].as_str().expect("an id");
    let rows = place.get("requests --filter is:fork");
    let row = &rows[0];
    assert_eq!((ids(&rows), &row["tokens"], row.get("costUsd")), (vec![id], &json!(0), None), "{rows}");
    let shown = place.get(&format!("show {id}"))["request"]["totals"].clone();
    for totals in [&row["totals"], &shown] {
        assert_eq!((&totals["modelCalls"], &totals["promptTokens"], totals.get("cost")), (&json!(0), &json!(0), None));
    }
    // The request itself says the same, and the kept answers apart from it.
    let cost = place.get("show said")["request"]["totals"]["cost"].clone();
    let tree = place.get(&format!("show {id} --tree --unfolded"));
    let rows = tree["rows"].as_array().expect("rows");
    assert!(rows.iter().all(|row| row["sums"]["modelCalls"] == 0 && row["sums"].get("cost").is_none()), "{tree:#}");
    assert_eq!((&tree["sums"]["modelCalls"], tree["sums"].get("cost")), (&json!(0), None), "{tree:#}");
    for kept in [&tree["kept"], &place.get(&format!("show {id}"))["request"]["totals"]["kept"]] {
        assert_eq!((&kept["modelCalls"], &kept["promptTokens"], &kept["cost"]), (&json!(1), &json!(1_000), &cost));
    }
    let text = place.run(&["show", id]).stdout;
    assert!(text.contains("kept: 1 model call, $"), "{text}");
    assert_eq!(place.get("show said")["request"]["totals"].get("kept"), None);
    for (filter, found) in [("tokens>0", 0), ("cost>0", 0), ("tokens<1", 1)] {
        let rows = place.run(&["requests", "--filter", &format!("is:fork {filter}"), "--json"]).json();
        assert_eq!(rows.as_array().map(Vec::len), Some(found), "{filter}");
    }
    for order in ["tokens", "cost"] {
        assert_eq!(listed(&place, &format!("--order {order} --limit 1")), ["said"], "{order}");
    }
    assert_eq!(place.get("check --data")["ok"], json!(true));
    // It pays for its own calls after the fork point.
    let again = place.get("fork said --at 0");
    let id = again["requestId"].as_str().expect("an id");
    assert_eq!(place.get(&format!("show {id}"))["request"]["totals"]["promptTokens"], json!(1_000));
}

/// If several processes add tags at once, all changes are stored and none is refused.
#[test]
fn several_processes_tag_at_once() {
    let place = runs();
    std::thread::scope(|scope| {
        for n in 0..6 {
            let place = &place;
            scope.spawn(move || {
                for m in 0..4 {
                    let told = place.ask(&format!("tag said +t{n}-{m}"));
                    assert_eq!(told.code, Some(0), "{told}");
                }
            });
        }
    });
    assert_eq!(place.get("tag said")["tags"].as_array().map(Vec::len), Some(24));
    assert_eq!(place.get("check --data")["ok"], json!(true));
}

/// Imported annotations have the same limits; a file with an invalid one is refused completely.
#[test]
fn a_file_with_a_wrong_tag_is_refused() {
    let place = runs();
    place.get("tag said +seen");
    place.get("export --request said --out out.jsonl");
    let file = place.dir().join("out.jsonl");
    let text = opened(&file);
    assert!(text.contains("\"seen\""), "{text}");
    let lines: String = text.split_inclusive('\n').skip(2).collect();
    std::fs::write(&file, packed(&lines.replace("\"seen\"", "\"se en\""))).expect("writable");
    let told = place.ask("--data there.db import out.jsonl");
    assert_eq!(told.code, Some(7), "{told}");
    assert!(told.stderr.contains("the tag \"se en\" has the character"), "{told}");
}

/// Changes apply in order, so the last one of a tag counts. A tag that begins with a sign is refused, because no
/// command could remove it.
#[test]
fn the_last_change_of_a_tag_counts_and_a_leading_sign_is_refused() {
    let place = runs();
    for changes in ["+-x", "++x", "+seen +-x"] {
        let told = place.ask(&format!("tag said {changes}"));
        assert_eq!(told.code, Some(2), "{changes}: {told}");
        assert!(told.stderr.contains("a tag must not begin with + or - (got"), "{changes}: {told}");
    }
    assert_eq!(place.get("tag said")["tags"], json!([]));
    assert_eq!(place.get("tag said +checked -checked")["tags"], json!([]));
    assert_eq!(place.get("tag said -checked +checked +checked -gone")["tags"], json!(["checked"]));
}
