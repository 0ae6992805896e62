//! Values that came from the environment: redacted in every text that is not the flow's own data.

use serde_json::{Value, json};
use tests::agent::Agent;
use tests::bench::{Answer, Place};
use tests::exported::opened;

const SECRET: &str = "t0p/s3cr3t+value";

const FLOW: &str = r#"
const T = () => process.env.T as string;
const step = (name: string, execute: any) => handler({ name, inputSchema: z.any(), execute });
const encoded = () => {
  const bytes = Buffer.from(T());
  return [bytes.toString("base64"), bytes.toString("base64url"), bytes.toString("hex"), encodeURIComponent(T()), JSON.stringify("x" + T())].join(" ");
};
const throws = step("throws", () => { throw new Error("bad " + T() + " " + encoded(), { cause: new Error("under " + T()) }); });
const details = step("details", () => { throw Object.assign(new FlowError("no", { code: "no-" + T(), details: { [T()]: T() } }), { name: "E" + T() }); });
const says = step("says", () => { console.log("it is", T(), encoded()); return 1; });
const calm = step("calm", () => "calm");
let calls = 0;
const once = step("once", async (_: unknown, ctx: any) => {
  const one = await ctx.runOnce("pay-" + T(), async () => ++calls);
  const two = await ctx.runOnce("pay-" + process.env.U, async () => ++calls);
  return [one, two];
});
const asks = step("asks", async (_: unknown, ctx: any) => { await ctx.suspend({ reason: "approval", message: "use " + T() + "?", data: { key: T() } }); return "asked"; });
const item = step("item", (_: unknown, ctx: any) => { ctx.emit.component("card", { a: 1 }, { key: "k-" + T() }); return 1; });
const maps = sequencer({ name: "maps", inputSchema: z.any() }).map(() => { throw new Error("mapped " + T()); });
const stores = step("stores", async (_: unknown, ctx: any) => { await ctx.session.patchState({ kept: T() }); await ctx.session.patchState({ kept: "x" + T() }); return 1; });
const pipe = (name: string) => sequencer({ name, inputSchema: z.any() });
export default defineFlow({
  kind: "main",
  session: { stateSchema: z.object({ kept: z.string().default("") }) },
  actions: {
    throws: { block: throws }, details: { block: details }, maps: { block: maps }, stores: { block: stores },
    rest: { block: pipe("rest").step(throws.rescue([{ block: calm }])).step(says).step(once).step(item).step(asks) },
  },
});
"#;

fn place() -> Place {
    let settings = json!({ "env": { "T": { "valueEnv": "SECRET_T" }, "U": { "valueEnv": "SECRET_U" } } });
    Place::with_flow(FLOW)
        .file("flowglass.json", &settings.to_string())
        .variable("SECRET_T", SECRET)
        .variable("SECRET_U", "another-value")
}

fn run(place: &Place, action: &str) -> Answer {
    place.ask(&format!("run main {action} --user ada --session s --request {action} --input {{}}"))
}

/// The secret as it is, and in the encodings that the flow uses.
const FORMS: [&str; 5] =
    [SECRET, "dDBwL3MzY3IzdCt2YWx1Z", "7430702f7333637233742b76616c7565", "t0p%2Fs3cr3t%2Bvalue", "s3cr3t"];

#[track_caller]
fn hidden(what: &str, text: &str) {
    for form in FORMS {
        assert!(!text.contains(form), "{what} has {form}\n{text}");
    }
}

#[test]
fn a_value_of_the_environment_is_in_no_text_of_a_request() {
    let place = place();
    for (action, code) in [("throws", 3), ("details", 3), ("maps", 3), ("rest", 4)] {
        let answer = run(&place, action);
        assert_eq!(answer.code, Some(code), "{answer}");
        hidden(action, &format!("{answer}"));
        for line in ["events", "show"] {
            hidden(line, &format!("{}", place.ask(&format!("{line} {action}"))));
        }
        for view in ["all", "client", "history"] {
            let file = format!("{action}-{view}.flowglass");
            place.get(&format!("export --request {action} --view {view} --out {file}"));
            // The code that ran is kept, and names none.
            hidden(&file, &opened(&place.dir().join(&file)));
        }
        hidden("block", &format!("{}", place.ask(&format!("block {action} root"))));
    }
    assert_eq!(place.get("search s3cr3t"), json!([]));
    assert!(!place.stores("s3cr3t"));
    let events = place.get("events rest").to_string();
    for shown in
        ["bad [redacted]", "it is [redacted]", "pay-[redacted SECRET_T]", "pay-[redacted SECRET_U]", "use [redacted]?"]
    {
        assert!(events.contains(shown), "{shown}\n{events}");
    }
    // The keys are found again.
    let resumed = place.get("resume rest --approve");
    assert_eq!((&resumed["status"], &resumed["output"]), (&json!("completed"), &json!("asked")), "{resumed}");
    let once = place.get("block rest root/step:once");
    assert_eq!(once["output"], json!([1, 2]), "{once}");
    assert_eq!(place.get("replay rest")["identical"], json!(true));
}

/// An expression could spell a value so that nothing finds it in an answer; the block itself has the value.
#[test]
fn expressions_of_a_question_do_not_see_values_of_the_environment() {
    let flow = r#"
const greet = handler({ name: "greet", execute: () => {
  const first = process.env.T!.length;
  return { length: first + process.env.T!.length };
} });
export default defineFlow({ kind: "main", actions: { go: { block: greet } } });
"#;
    let settings = json!({ "env": { "T": { "valueEnv": "SECRET_T" }, "PLAIN": "shown" } });
    let place = Place::with_flow(flow).file("flowglass.json", &settings.to_string()).variable("SECRET_T", SECRET);
    place.get("run main go --user ada --request r1");
    let line = flow.lines().position(|line| line.contains("return {")).map_or(0, |at| at + 3);
    let at = format!("flows/main.ts:{line}");
    let spelled = "process.env.T.split('').join('-')";
    let printed = place.run(&["print", &at, spelled, "process.env.PLAIN", "first"]);
    assert_eq!(printed.code, Some(0), "{printed}");
    assert!(printed.stdout.contains("[-r-e-d-a-c-t-e-d-]") && printed.stdout.contains("shown"), "{printed}");
    // What the block had computed of it is as it was.
    assert!(printed.stdout.contains(&SECRET.len().to_string()), "{printed}");
    assert!(format!("{printed}").contains("expressions see [redacted] in place of values that valueEnv names: T"));
    let guessed = place.run(&["print", &at, "1", "--if", "process.env.T.startsWith('t0p')", "--json"]);
    assert_eq!(guessed.json()["total"], 0, "{guessed}");
    let plain = place.run(&["print", &at, "first", "--json"]);
    assert_eq!((&plain.json()["total"], &plain.json()["note"]), (&json!(1), &Value::Null), "{plain}");
    assert_eq!(place.get("replay r1")["identical"], json!(true));
}

#[test]
fn what_a_flow_stores_is_kept_and_noted_once() {
    let place = place();
    let answer = run(&place, "stores");
    assert_eq!(answer.code, Some(0), "{answer}");
    assert_eq!(place.get("state --session s")["session"]["kept"], format!("x{SECRET}"));
    let notes = place.get("events stores");
    let notes: Vec<&Value> = notes.as_array().into_iter().flatten().filter(|event| event["kind"] == "noted").collect();
    assert_eq!(notes.len(), 1, "{notes:?}");
    let text = notes[0]["payload"]["text"].as_str().unwrap_or_default();
    assert!(text.contains("SECRET_T") && text.contains("state") && text.starts_with("root "), "{text}");
}

/// Where a secret is not set, a flow that reads it behaves differently than recorded. A difference names the variable.
#[test]
fn a_difference_names_variables_that_are_not_set() {
    let flow = r#"
const greet = handler({ name: "greet", execute: () => ({ length: `${process.env.T}`.length }) });
export default defineFlow({ kind: "main", actions: { go: { block: greet } } });
"#;
    let settings = json!({ "env": { "T": { "valueEnv": "SECRET_T" } } });
    let place = Place::with_flow(flow).file("flowglass.json", &settings.to_string()).variable("SECRET_T", SECRET);
    place.get("run main go --user ada --request r1");
    assert_eq!(place.run(&["verify", "--all"]).stdout, "1 run: 1 same\n");
    let place = place.without_variables();
    let said = "SECRET_T is not set here: a flow that reads it behaves differently than recorded";
    for line in ["replay r1", "verify --all"] {
        let told = place.run(&line.split(' ').collect::<Vec<_>>());
        assert_eq!(told.code, Some(1), "{told}");
        assert!(told.stdout.contains(said), "{told}");
        assert_eq!(place.ask(line).json()["unsetVariables"], json!(["SECRET_T"]), "{line}");
    }
    place.edit(&flow.replace("}`.length", "}`.length + 0"));
    let mut agent = Agent::start(place.dir(), &[]);
    for arguments in [json!({ "do": "replay", "request": "r1" }), json!({ "do": "verify" })] {
        let told = agent.get("run", arguments);
        assert!(told.text.contains("not set here: SECRET_T;"), "{}", told.text);
        assert_eq!(told.structured["rows"][0]["unsetVariables"], json!(["SECRET_T"]), "{}", told.text);
    }
}
