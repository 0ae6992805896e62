//! What `verify` writes and prints: reports that replace nothing else, differences that can be seen, the lines of files
//! that were edited by hand, and reasons that several flows share.

use serde_json::{Value, json};
use tests::bench::Place;

const HELPER: &str = "export const rate = (n: number) => n * 2;\n";
const FLOW: &str = r#"import { defineFlow, handler, sequencer } from "@flow-state-dev/core";
import { z } from "zod";
import { rate } from "./helper";
const sum = handler({ name: "sum", inputSchema: z.any(), outputSchema: z.any(), execute: async (n, ctx) => {
  ctx.emit.message(`got ${n}`);
  await ctx.session.patchState({ n });
  return { long: "x".repeat(400), many: Array.from({ length: n > 90 ? 900 : 1 }, (_, at) => `item ${at}`), total: rate(n) };
} });
export default defineFlow({
  kind: "KIND",
  session: { stateSchema: z.object({ n: z.number().default(0) }) },
  actions: { ACTION: { block: sequencer({ name: "all", inputSchema: z.any() }).step(sum) } },
});
"#;

fn flow(kind: &str, action: &str) -> String {
    FLOW.replace("KIND", kind).replace("ACTION", action)
}

/// Requests `one` and `two` of two flows that share a module.
fn place() -> Place {
    let place = Place::new();
    place.write("flows/helper.ts", HELPER);
    place.write("flows/a.ts", flow("a", "go"));
    place.write("flows/b.ts", flow("b", "walk"));
    place.get("run a go --user ada --request one --input 2");
    place.get("run b walk --user ada --request two --input 100");
    place
}

fn text_of(place: &Place, file: &str) -> String {
    std::fs::read_to_string(place.dir().join(file)).expect("it is there")
}

#[test]
fn a_report_replaces_an_older_report_and_nothing_else() {
    let place = place();
    place.get("keep one --as one.run");
    place.write("notes.txt", "what a person wrote");
    place.write("flowglass.json", "{}");
    place.write("empty.xml", "");
    for file in ["flows/a.ts", "flows/new.ts", "one.run", "new.run", "flowglass.json", "notes.txt"] {
        let before = std::fs::read(place.dir().join(file)).ok();
        let refused = place.ask(&format!("verify --all --junit {file}"));
        assert_eq!(refused.code, Some(7), "{file}\n{refused}");
        assert!(refused.stderr.contains("never replaced by a report"), "{file}\n{refused}");
        assert!(refused.json().get("results").is_none(), "nothing is run before: {refused}");
        assert_eq!(std::fs::read(place.dir().join(file)).ok(), before, "{file}");
    }
    for file in [".flowglass/flowglass.db", ".flowglass/x.xml", ".flowglass/new/x.xml"] {
        assert_eq!(place.ask(&format!("verify --all --junit {file}")).code, Some(7), "{file}");
    }
    assert_eq!(place.ask("check --data").code, Some(0));
    for file in ["out.xml", "out.xml", "empty.xml"] {
        assert_eq!(place.ask(&format!("verify --all --junit {file}")).code, Some(0), "{file}");
        assert!(text_of(&place, file).contains("tests=\"2\""), "{file}");
    }
}

/// A file system that is full, or a folder that was made read-only meanwhile.
#[cfg(unix)]
#[test]
fn a_report_that_cannot_be_written_loses_no_verdict() {
    let place = place();
    // No other file can be put beside it: its name has become too long for that.
    let long = format!("{}.xml", "x".repeat(250));
    let verified = place.ask(&format!("verify --all --junit {long}"));
    assert_eq!(verified.code, Some(2), "{verified}");
    assert_eq!(verified.json()["same"], 2, "{verified}");
    assert!(verified.stderr.contains("cannot be written"), "{verified}");
}

#[test]
fn a_difference_behind_a_long_value_is_shown() {
    let place = place();
    place.write("flows/helper.ts", HELPER.replace("* 2", "* 3"));
    let text = place.run(&["verify", "--request", "one"]).stdout;
    assert!(text.contains("\"total\":4}") && text.contains("\"total\":6}"), "{text}");
    let row = place.ask("verify --request one").json()["results"][0].clone();
    assert_eq!((&row["place"], &row["found"]["total"]), (&json!("total"), &json!(6)), "{row}");
    // One that is longer than what is kept of it is what stands at the place.
    let row = place.ask("verify --request two").json()["results"][0].clone();
    assert_eq!((&row["place"], &row["recorded"], &row["found"]), (&json!("total"), &json!(200), &json!(300)), "{row}");
    // A text that is too long itself is cut around the difference, and marked.
    place.write("flows/helper.ts", HELPER);
    place.write("flows/b.ts", flow("b", "walk").replace("\"x\".repeat(400)", "\"x\".repeat(9000) + n"));
    place.get("run b walk --user ada --request three --input 1");
    place.write("flows/b.ts", flow("b", "walk").replace("\"x\".repeat(400)", "\"x\".repeat(9000) + \"y\""));
    let row = place.ask("verify --request three").json()["results"][0].clone();
    assert_eq!(row["place"], "long", "{row}");
    let (was, is) = (&row["recorded"], &row["found"]);
    assert!(was["$cut"].as_str().is_some_and(|part| part.ends_with("x1")), "{was}");
    assert!(is["$cut"].as_str().is_some_and(|part| part.ends_with("xy")), "{is}");
    assert_eq!((&was["bytes"], &was["from"]), (&json!(9001), &json!(8920)));
    let text = place.run(&["verify", "--request", "three"]).stdout;
    assert!(text.contains("xx1 (9001 bytes)") && text.contains("xxy (9001 bytes)"), "{text}");
}

#[test]
fn runs_of_several_flows_that_differ_for_one_reason_are_one_group() {
    let place = place();
    place.write("flows/helper.ts", HELPER.replace("* 2", "* 3"));
    let verified = place.ask("verify");
    let groups = verified.json()["groups"].clone();
    assert_eq!(groups.as_array().map(Vec::len), Some(1), "{verified}");
    assert_eq!((&groups[0]["flows"], &groups[0]["count"]), (&json!(["a", "b"]), &json!(2)), "{verified}");
    assert_eq!(groups[0].get("flow"), None, "{verified}");
    let text = place.run(&["verify"]).stdout;
    assert!(text.contains("2  differ  a, b  root/step:sum  output  at total\n"), "{text}");
    // What does not load has a reason for each flow.
    place.write("flows/helper.ts", "export const");
    assert_eq!(place.ask("verify").json()["groups"].as_array().map(Vec::len), Some(2));
}

/// Each is wrong in a way that only the lines together, or the fields of a line, tell.
#[test]
fn a_file_that_was_edited_by_hand_is_refused_with_its_line() {
    let place = place();
    place.get("keep one --as one.run");
    let whole = text_of(&place, "one.run");
    let lines: Vec<&str> = whole.lines().collect();
    let number_of = |part: &str| lines.iter().position(|line| line.contains(part)).expect("there is one") + 1;
    let instead = |number: usize, line: &str| {
        let mut lines = lines.clone();
        lines[number - 1] = line;
        lines.join("\n")
    };
    let begins = number_of("\"name\":\"sum\"");
    let write = number_of("\"operations\":[7]");
    let ends = number_of("\"request_finished\"");
    let event = |number: usize, from: &str, to: &str| {
        assert!(lines[number - 1].contains(from), "{}: {from}", lines[number - 1]);
        instead(number, &lines[number - 1].replacen(from, to, 1))
    };
    let did = |did: &str| {
        let expected = format!("{{\"did\":{did},\"expected\":\"root/step:sum\"}}");
        [&lines[..ends], &[expected.as_str()], &lines[ends..]].concat().join("\n")
    };
    let count = lines[..ends].iter().filter(|line| line.starts_with("{\"at\"")).count();
    let without_end = lines[0].replacen(&format!("\"events\":{count}"), &format!("\"events\":{}", count - 1), 1);
    let last = ends + 1;
    let at = lines[begins - 1].split(',').next().expect("it begins with its time");
    let huge = event(begins, at, "{\"at\":9223372036854775807");
    for (text, line, what) in [
        (event(ends, "{\"of\":8}", "{\"of\":99}"), ends, "the value of event 99"),
        (event(write, "\"version\":1", "\"version\":9"), write, "from version 0 to 9"),
        (huge, begins, "which is no date"),
        (event(begins, "\"kind\":", "\"zz\":1,\"kind\":"), begins, "no field \"zz\""),
        (event(write, "\"operations\":[7]", "\"operations\":[7],\"zz\":1"), write, "no field \"commits[0].zz\""),
        (event(write, "\"scope\":{", "\"scope\":{\"zz\":1,"), write, "no field \"commits[0].scope.zz\""),
        (event(begins, "\"seq\":", "\"zz\":1,\"seq\":"), begins, "no field \"zz\""),
        (did("[{\"outputt\":4}]"), last, "has one of"),
        (did("[4]"), last, "is an object"),
        (did("[{\"output\":4,\"zz\":1}]"), last, "no field \"zz\""),
        (
            [&[without_end.as_str()], &lines[1..ends - 1], &lines[ends..]].concat().join("\n"),
            1,
            "has no end in its events",
        ),
    ] {
        place.write("edited.run", &text);
        let row = place.ask("verify edited.run").json()["results"][0].clone();
        assert_eq!(row["verdict"], "not_comparable", "{what}: {row}");
        let why = row["why"].as_str().unwrap_or_default();
        let named = format!("edited.run, line {line}: ");
        assert!(why.contains(&named) && why.contains(what), "{named}{what}\n{why}\n{text}");
    }
}

#[test]
fn a_kept_run_has_its_fields_in_the_order_of_their_names() {
    let place = place();
    place.get("keep one --as one.run");
    let is_value = |name: &str| ["fields", "payload", "state", "value", "input", "output", "result"].contains(&name);
    fn check(value: &Value, is_value: &dyn Fn(&str) -> bool, line: &str) {
        match value {
            Value::Object(fields) => {
                assert!(fields.keys().is_sorted(), "{line}");
                fields.iter().filter(|(name, _)| !is_value(name)).for_each(|(_, inner)| check(inner, is_value, line));
            }
            Value::Array(items) => items.iter().for_each(|inner| check(inner, is_value, line)),
            _ => {}
        }
    }
    let text = text_of(&place, "one.run");
    for line in text.lines().filter(|line| line.starts_with("{\"at\"") || line.starts_with("{\"record\"")) {
        check(&serde_json::from_str(line).expect("it is JSON"), &is_value, line);
    }
    assert!(text.contains("\"scope\":{\"id\":") && text.contains("\"operation\":{\"fields\":"), "{text}");
}

/// A report that lies in the folder that is watched is no save: each save is followed by one round.
#[test]
fn a_report_in_the_watched_folder_begins_no_round() {
    const SAVES: usize = 4;
    let place = place();
    let watch = place.start("verify --watch --junit report.xml");
    watch.until_it_prints("the first round", |round| round["unaffected"] == 2);
    for nth in 0..SAVES {
        // A round that the report began would be printed by now.
        std::thread::sleep(std::time::Duration::from_millis(1_500));
        place.write("flows/helper.ts", HELPER.replace("* 2", &format!("* {}", nth + 3)));
        let total = |round: &Value| round["results"][1]["found"]["total"].as_u64();
        watch.until_it_prints("the round of the save", |round| total(round) == Some(2 * (nth as u64 + 3)));
    }
    std::thread::sleep(std::time::Duration::from_millis(1_500));
    watch.signal("INT");
    let ended = watch.ended();
    assert!(text_of(&place, "report.xml").contains("failures=\"2\""), "it is of the last round");
    let rounds = ended.stdout.lines().filter(|round| !round.contains("\"notRun\"")).count();
    // Without that, the first report and each save would begin one more; the system may tell of one save twice.
    assert!((SAVES + 1..=SAVES + 2).contains(&rounds), "{rounds} rounds of {SAVES} saves\n{ended}");
}

/// However many files differ for one reason, they are one line; and so are files that are wrong in the same way.
#[test]
fn files_that_differ_for_one_reason_are_one_line() {
    let place = place();
    place.get("keep one --as one.run");
    place.get("keep two --as two.run");
    place.write("flows/b.ts", flow("b", "walk").replace("got ${n}", "had ${n}"));
    for half in [6, 12] {
        let mut line = "verify".to_owned();
        for nth in 0..half {
            place.write(&format!("same-{nth}.run"), text_of(&place, "one.run"));
            place.write(&format!("other-{nth}.run"), text_of(&place, "two.run"));
            // Cut off after another line each.
            let cut: String =
                text_of(&place, "one.run").lines().take(3 + nth % 4).map(|line| line.to_owned() + "\n").collect();
            place.write(&format!("cut-{nth}.run"), cut);
            line += &format!(" same-{nth}.run other-{nth}.run cut-{nth}.run");
        }
        let found = place.ask(&line).json();
        assert_eq!(
            (&found["same"], &found["differs"], &found["notComparable"]),
            (&json!(half), &json!(half), &json!(half))
        );
        let groups = found["groups"].as_array().cloned().unwrap_or_default();
        let counted: Vec<_> = groups.iter().map(|group| (group["verdict"].clone(), group["count"].clone())).collect();
        assert_eq!(counted.len(), 2, "{found:#}");
        assert!(counted.iter().all(|(_, count)| *count == json!(half)), "{counted:?}");
        let text = place.run(&line.split(' ').collect::<Vec<_>>()).stdout;
        assert!(text.contains(&format!("{half:>5}  differ  b  root/step:sum")), "{text}");
    }
}
