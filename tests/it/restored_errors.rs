//! An error that is caught after a resume is the error that was thrown: of its classes, with its own fields, cause and
//! details. So a flow takes the branches of its live run, and its replay is identical.

use serde_json::{Value, json};
use tests::bench::{Place, repository};

const FLOW: &str = "tests/flows/restored/errors.ts";

fn source() -> String {
    std::fs::read_to_string(repository().join(FLOW)).expect("the flow of this test")
}

fn place() -> Place {
    Place::new().file("flows/errors.ts", &source())
}

#[track_caller]
fn is_identical(place: &Place, request: &str) {
    let replayed = place.get(&format!("replay {request}"));
    assert_eq!(replayed["identical"], true, "{request}: {replayed:#}");
}

/// Answers the questions of a request until it ends, and returns its output.
fn answered(place: &Place, request: &str) -> Value {
    for _ in 0..3 {
        let resumed = place.ask(&format!("resume {request} --approve"));
        if resumed.code != Some(4) {
            assert_eq!(resumed.code, Some(0), "{request}: {resumed}");
            return resumed.json()["output"].clone();
        }
    }
    panic!("{request} asks again and again")
}

/// The output of a run without a question is the one of a run that was resumed in between.
#[track_caller]
fn is_the_same_after_a_question(form: &str) -> Value {
    let place = place();
    let live = place.get(&format!("run errors {form} --user ada --session live --request live"))["output"].clone();
    let asked = place.ask(&format!("run errors {form}Asks --user ada --session asked --request asked"));
    assert_eq!(asked.code, Some(4), "{asked}");
    let resumed = answered(&place, "asked");
    check_same(&live, &resumed);
    is_identical(&place, "live");
    is_identical(&place, "asked");
    assert_eq!(place.get("check --data")["ok"], true);
    live
}

/// Names the first place that differs: the whole descriptions are long.
#[track_caller]
fn check_same(live: &Value, resumed: &Value) {
    fn differ(at: &str, live: &Value, resumed: &Value, found: &mut Vec<String>) {
        match (live, resumed) {
            (Value::Array(one), Value::Array(other)) if one.len() == other.len() => {
                one.iter().zip(other).enumerate().for_each(|(n, (a, b))| differ(&format!("{at}[{n}]"), a, b, found));
            }
            (Value::Object(one), Value::Object(other)) => {
                for name in one.keys().chain(other.keys().filter(|name| !one.contains_key(*name))) {
                    differ(&format!("{at}.{name}"), &one[name], other.get(name).unwrap_or(&Value::Null), found);
                }
            }
            _ if live == resumed => {}
            _ => found.push(format!("{at}: live {live}, resumed {resumed}")),
        }
    }
    let mut found = Vec::new();
    if live != resumed {
        differ("", live, resumed, &mut found);
    }
    assert!(live == resumed, "{}", found.join("\n"));
}

fn names(described: &Value) -> Vec<&str> {
    described["of"].as_array().into_iter().flatten().filter_map(Value::as_str).collect()
}

#[test]
fn what_a_block_that_a_function_runs_has_thrown_is_the_same_after_a_question() {
    let live = is_the_same_after_a_question("run");
    let all: Vec<&Value> = live.as_array().expect("a list").iter().collect();
    assert!(all.len() >= 30, "{}", all.len());
    let fields = &all.iter().find(|one| one[0] == "fields").expect("it is thrown")[1];
    assert_eq!(names(fields), ["Error", "OutOfStock"]);
    assert_eq!(fields["own"], json!([["sku", "tea"]]));
    assert_eq!((&fields["said"], &fields["both"]), (&json!("no tea"), &json!("out of stock: tea")));
    for (zod, name) in [("zodThree", "zodThree"), ("zodFour", "zodFour")] {
        let refused = &all.iter().find(|one| one[0] == zod).expect("it is thrown")[1];
        assert!(names(refused).contains(&name), "{refused:#}");
        assert!(refused["format"]["a"]["_errors"][0].is_string(), "{refused:#}");
    }
}

#[test]
fn get_block_result_has_the_same_error_after_a_question() {
    is_the_same_after_a_question("result");
}

/// Once the errors inside were plain ones even live.
#[test]
fn the_errors_of_a_step_any_and_a_race_keep_their_classes() {
    for form in ["first", "race"] {
        let live = is_the_same_after_a_question(form);
        let errors = live["errors"].as_array().expect("a list");
        let fields = errors.iter().find(|one| one["own"] == json!([["sku", "tea"]])).expect("it keeps its fields");
        assert_eq!(names(fields), ["Error", "OutOfStock"], "{form}");
    }
}

#[test]
fn work_beside_the_chain_fails_with_the_same_error_after_a_question() {
    let live = is_the_same_after_a_question("work");
    assert_eq!(names(&live), ["Error", "OutOfStock"]);
}

/// Its methods are there as soon as the flow names it.
#[test]
fn an_error_whose_class_nobody_names_has_its_fields_and_getters() {
    let live = is_the_same_after_a_question("unnamed");
    assert_eq!(live, json!(["tea", "unnamed: tea", "Unnamed"]));
}

/// A handler that throws on what it does not know throws what it got.
#[test]
fn an_error_that_is_thrown_on_after_a_question_finds_its_rescue() {
    assert_eq!(is_the_same_after_a_question("rethrown"), "no tea");
}

/// All rescues at once, in a process that dies while they work.
#[test]
fn a_rescue_gets_the_same_errors_after_a_kill() {
    let place = place();
    let live = place.get("run errors quick --user ada --session live --request live")["output"].clone();
    let going = place.start("run errors rests --user ada --session s --request killed");
    place.until("all handlers work", |place| {
        let events = place.ask("events killed --kind block_started");
        (events.stdout.matches("rescue:rests").count() >= live.as_object()?.len()).then_some(())
    });
    going.kill();
    place.write("flows/errors.ts", source().replace("600_000", "1"));
    check_same(&live, &place.get("resume killed")["output"]);
    is_identical(&place, "killed");
    is_identical(&place, "live");
    assert_eq!(place.get("check --data")["ok"], true);
}

/// What came from the environment is in no field of an error that is recorded.
#[test]
fn the_fields_of_an_error_are_redacted_as_its_message_is() {
    let flow = r#"
class Refused extends Error { constructor(readonly token: string, readonly inner: object) { super("refused"); } }
const fails = handler({ name: "fails", inputSchema: z.any(), execute: () => {
  const secret = process.env.SHOP_KEY ?? "";
  throw new Refused(`Bearer ${secret}`, { list: [secret] });
} });
const looks = handler({ name: "looks", inputSchema: z.any(), execute: (error: any) => [error instanceof Refused, error.token.length] });
export default defineFlow({ kind: "main", actions: { go: { block: sequencer({ name: "chain", inputSchema: z.any() }).step(fails).rescue([{ block: looks }]) } } });
"#;
    let settings = json!({ "env": { "SHOP_KEY": { "valueEnv": "SECRET_KEY" } } });
    let place = Place::with_flow(flow)
        .file("flowglass.json", &settings.to_string())
        .variable("SECRET_KEY", "very-secret-value-of-a-shop");
    let ran = place.get("run main go --user ada --session s --request r");
    assert_eq!(ran["output"], json!([true, "Bearer very-secret-value-of-a-shop".len()]), "the flow has it as it came");
    assert!(!place.stores("very-secret-value-of-a-shop"));
    is_identical(&place, "r");
}
