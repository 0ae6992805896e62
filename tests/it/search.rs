//! `search`: where a text stands in everything that ran.

use serde_json::{Value, json};
use tests::bench::Place;
use tests::pattern::assert_matches;

const FLOW: &str = r#"
const say = handler({
  name: "say",
  retry: { maxAttempts: 2 },
  execute: async (input: any, ctx) => {
    console.warn("logged: walrus");
    ctx.emit.message("Emitted: WALRUS of the sea");
    await ctx.session.pushState("animals", { name: "stored walrus" });
    await ctx.session.incState({ seen: 4711 });
    await ctx.session.appendJournal({ text: "noted a walrus" });
    if (input.fails) throw new Error("thrown walrus");
    return { answer: "returned walrus" };
  },
});
const large = handler({
  name: "large",
  execute: async () => ({ text: `${"filler ".repeat(3000)}Ümlaut "needle" end${" filler".repeat(3000)}`, list: Array.from({ length: 900 }, (_, n) => `entry ${n}`) }),
});
const ask = generator({ name: "ask", agentType: "primary", model: "m", prompt: "question about otters", user: (input: any) => "hm" });
const many = handler({ name: "many", execute: async (n: number, ctx) => { for (let i = 0; i < n; i++) console.log(`line ${i} of many`); } });
export default defineFlow({
  kind: "finder",
  session: { stateSchema: z.object({ animals: z.array(z.any()).default([]), seen: z.number().default(0), initial: z.string().default("first value") }) },
  actions: { say: { block: sequencer({ name: "pipe" }).step(say) }, large: { block: large }, ask: { block: ask }, many: { block: many } },
});
"#;

fn place() -> Place {
    Place::with_flow(FLOW)
}

fn run(place: &Place, action: &str, id: &str, session: &str, input: &str) {
    let words = ["run", "finder", action, "--user", "ada", "--session", session, "--request", id, "--input", input];
    let answer = place.run(&words);
    assert!(matches!(answer.code, Some(0 | 3)), "{answer}");
}

fn search(place: &Place, words: &[&str]) -> Value {
    let line: Vec<&str> = ["search"].iter().chain(words).chain(&["--json"]).copied().collect();
    let answer = place.run(&line);
    assert_eq!(answer.code, Some(0), "{words:?}\n{answer}");
    answer.json()
}

/// Where a text was found: request, place, path.
fn places(found: &Value) -> Vec<(String, String, String)> {
    let text = |value: &Value| value.as_str().unwrap_or("-").to_owned();
    let row = |hit: &Value| (text(&hit["requestId"]), text(&hit["where"]), text(&hit["path"]));
    found.as_array().expect("a list").iter().map(row).collect()
}

#[track_caller]
fn check(place: &Place, words: &[&str], expected: &[(&str, &str, &str)]) {
    let found = search(place, words);
    let owned = |row: &(&str, &str, &str)| (row.0.to_owned(), row.1.to_owned(), row.2.to_owned());
    assert_eq!(places(&found), expected.iter().map(owned).collect::<Vec<_>>(), "{words:?}: {found:#}");
}

#[test]
fn a_text_is_found_wherever_it_stands() {
    let place = place();
    run(&place, "say", "r1", "s1", "{\"q\":\"asked walrus\"}");
    let say = "root/step:say";
    check(
        &place,
        &["Walrus"],
        &[
            ("r1", "input", "-"),
            ("r1", "log", say),
            ("r1", "item", say),
            ("r1", "state", say),
            ("r1", "journal", say),
            ("r1", "output", say),
        ],
    );
    let found = search(&place, &["walrus of"]);
    assert_matches(
        "a hit",
        &found,
        &json!([{ "requestId": "r1", "seq": "<number>", "path": say, "where": "item", "snippet": "<text>" }]),
    );
    assert!(found[0]["snippet"].as_str().is_some_and(|text| text.contains("Emitted: WALRUS of the sea")), "{found}");
    let seq = found[0]["seq"].as_u64().expect("a number");
    assert_eq!(place.get(&format!("events r1 --from {seq} --limit 1"))[0]["kind"], "item_added");
    check(&place, &["4711"], &[("r1", "state", say)]);
    check(&place, &["first value"], &[("r1", "state", "-")]);
    check(&place, &["\"asked walrus\""], &[("r1", "input", "-")]);
    check(&place, &["wal%rus"], &[]);
    check(&place, &["w_lrus"], &[]);
    check(&place, &["' OR 1=1 --"], &[]);
    // Shorter than any filter can know.
    assert_eq!(search(&place, &["wa"]), search(&place, &["WA"]));
    assert_eq!(places(&search(&place, &["wa"])).len(), 6);
    let text = place.run(&["search", "walrus of"]);
    assert!(text.stdout.contains("r1") && text.stdout.contains("WALRUS of the sea"), "{text}");
    assert_eq!(place.run(&["search", "nowhere at all"]).stdout, "nothing found\n");
}

#[test]
fn failures_and_attempts_that_came_to_nothing_are_found() {
    let place = place();
    run(&place, "say", "r1", "s1", "{\"fails\":true}");
    let found = search(&place, &["thrown walrus"]);
    let hits = places(&found);
    assert!(hits.len() >= 3 && hits.iter().all(|(_, place, _)| place == "error"), "{found:#}");
    assert_eq!(hits.iter().filter(|(.., path)| path == "root/step:say").count(), 2, "both attempts: {found:#}");
    assert_eq!(search(&place, &["stored walrus"]).as_array().map(Vec::len), Some(2));
}

#[test]
fn newest_requests_come_first_and_pages_and_sessions_narrow() {
    let place = place();
    for (id, session) in [("r1", "s1"), ("r2", "s2"), ("r3", "s1")] {
        run(&place, "say", id, session, "{}");
    }
    let all = search(&place, &["returned walrus"]);
    let ids = |found: &Value| places(found).into_iter().map(|(id, ..)| id).collect::<Vec<_>>();
    assert_eq!(ids(&all), ["r3", "r2", "r1"]);
    assert_eq!(ids(&search(&place, &["returned walrus", "--session", "s1"])), ["r3", "r1"]);
    assert_eq!(ids(&search(&place, &["returned walrus", "--limit", "1", "--offset", "1"])), ["r2"]);
    let walruses = search(&place, &["walrus"]);
    let seqs: Vec<_> = walruses.as_array().expect("a list").iter().take(5).map(|hit| hit["seq"].as_u64()).collect();
    assert!(seqs.is_sorted() && walruses[0]["requestId"] == "r3", "{walruses:#}");
    let some = search(&place, &["walrus", "--offset", "3", "--limit", "4"]);
    assert_eq!(some.as_array().expect("a list")[..], walruses.as_array().expect("a list")[3..7]);
}

#[test]
fn large_values_are_found_by_what_stands_in_the_middle_of_them() {
    let place = place();
    run(&place, "large", "r1", "s1", "1");
    for text in ["ümlaut", "NEEDLE\" end", "\"needle\"", "entry 512", "filler Ümlaut"] {
        check(&place, &[text], &[("r1", "output", "root")]);
    }
    let found = search(&place, &["needle"]);
    let snippet = found[0]["snippet"].as_str().expect("a text");
    assert!(snippet.len() < 200 && snippet.starts_with('…') && snippet.ends_with('…'), "{snippet}");
}

#[test]
fn what_a_model_said_in_pieces_is_found_once() {
    let script = json!({ "models": { "m": [{ "text": "Otters hold hands when they sleep", "chunkMs": 40 }] } });
    let place = place().file("flows/main.mock.json", &script.to_string());
    let answer = place.run(&[
        "run",
        "finder",
        "ask",
        "--user",
        "ada",
        "--session",
        "s",
        "--request",
        "r1",
        "--mock",
        "--input",
        "{}",
    ]);
    assert_eq!(answer.code, Some(0), "{answer}");
    assert!(place.get("events r1 --kind item_delta").as_array().is_some_and(|pieces| pieces.len() > 1));
    let hits = places(&search(&place, &["hold hands when they"]));
    assert_eq!(hits.iter().filter(|(_, place, _)| place == "item").count(), 1, "{hits:?}");
    let asked = places(&search(&place, &["question about otters"]));
    assert!(asked.iter().any(|(_, place, _)| place == "effect"), "{asked:?}");
}

/// A process that is killed in the middle leaves pieces, and no end that would say them again.
#[test]
fn what_was_said_before_a_crash_is_found_across_its_pieces() {
    let script =
        json!({ "models": { "m": [{ "text": "Otters hold hands when they sleep ".repeat(40), "chunkMs": 60 }] } });
    let place = place().file("flows/main.mock.json", &script.to_string());
    let going = place.start("run finder ask --user ada --session s --request r1 --mock --input {}");
    place.until("there are pieces", |place| {
        let pieces = place.ask("events r1 --kind item_delta");
        let pieces = (pieces.code == Some(0)).then(|| pieces.json())?;
        (pieces.as_array()?.len() > 12).then_some(())
    });
    going.kill();
    let pieces = place.get("events r1 --kind item_delta");
    let said: String =
        pieces.as_array().expect("a list").iter().filter_map(|piece| piece["payload"]["text"].as_str()).collect();
    let wanted = "otters hold hands when they sleep otters hold";
    let expected = said.to_lowercase().matches("sleep otters hold").count();
    assert!(expected > 0, "{said}");
    let hits = places(&search(&place, &[wanted]));
    assert!(!hits.is_empty() && hits.len() <= expected && hits.iter().all(|(_, place, _)| place == "item"), "{hits:?}");
}

/// What was added is all that is written; a text is found where it begins before an addition, and the message is whole.
#[test]
fn a_message_costs_what_is_added_to_it() {
    let source = r#"
const says = handler({ name: "says", execute: async (_input, ctx) => {
  const message = ctx.emit.message("Otters hold ha");
  for (let n = 0; n < 200; n += 1) {
    message.appendDelta(n === 0 ? "nds, " : "and rest, ".repeat(20));
    if (n % 10 === 0) await new Promise((done) => setTimeout(done, 20));
  }
  message.addContent({ type: "output_text", text: "The en" });
  message.appendDelta("d.");
} });
export default defineFlow({ kind: "main", actions: { go: { block: says } } });"#;
    let place = Place::with_flow(source);
    place.get("run main go --user ada --session s --request r");
    let events = place.get("events r --kind item_delta --limit 1000");
    let pieces = events.as_array().expect("a list").iter().filter_map(|piece| piece["payload"]["text"].as_str());
    assert_eq!(pieces.map(str::len).sum::<usize>(), 5 + 199 * 200 + 2);
    let message = &place.get("items --request r --type message")[0];
    assert_eq!(message["content"][0]["text"].as_str().map(str::len), Some(14 + 5 + 199 * 200));
    assert_eq!((&message["content"][1]["text"], &message["status"]), (&json!("The end."), &json!("completed")));
    for words in ["hold hands, and rest", "the end."] {
        assert!(!places(&search(&place, &[words])).is_empty(), "{words}");
    }
    assert_eq!(place.ask("replay r").code, Some(0));
}

/// Longer than one filter covers, and while the request goes on.
#[test]
fn long_requests_are_found_in_whole_and_so_is_one_that_runs() {
    let place = place();
    run(&place, "many", "r1", "s1", "500");
    assert_eq!(search(&place, &["of many"]).as_array().map(Vec::len), Some(500));
    for n in [0, 63, 64, 250, 499] {
        assert_eq!(search(&place, &[&format!("line {n} of")]).as_array().map(Vec::len), Some(1), "line {n}");
    }
    let script = json!({ "models": { "m": [{ "text": "x ".repeat(2000), "chunkMs": 60 }] } });
    place.write("flows/main.mock.json", script.to_string());
    let going = place.start("run finder ask --user ada --session s --request r2 --mock --input {\"q\":\"early_bird\"}");
    place.until("it runs", |place| (places(&search(place, &["EARLY_BIRD"])).len() == 1).then_some(()));
    going.kill();
    check(&place, &["early_bird"], &[("r2", "input", "-")]);
}

#[test]
fn wrong_usage_is_told() {
    let place = place();
    for words in [vec!["search", ""], vec!["search", "  "], vec!["search"]] {
        let answer = place.run(&words);
        assert_eq!(answer.code, Some(2), "{words:?}\n{answer}");
    }
    let answer = place.ask("search walrus --session nobody");
    assert_eq!(answer.code, Some(6), "{answer}");
    assert_eq!(search(&place, &["walrus"]), json!([]));
}
