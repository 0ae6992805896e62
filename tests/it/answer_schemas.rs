//! Answers and the schemas of their questions: the author's schema decides, a schema that cannot be used is refused when
//! it is asked with, and a refused answer leaves the question open.

use serde_json::{Value, json};
use tests::bench::{Answer, Place};

/// A flow with an action for each schema: it asks, and returns what it gets.
fn asking(schemas: &str) -> Place {
    Place::with_flow(&format!(
        "const schemas: Record<string, any> = {{ {schemas} }};
         const asks = (name: string) => handler({{ name, execute: async (_: any, ctx: any) => {{
           const data = await ctx.suspend({{ reason: 'human_input', message: name, resumeSchema: schemas[name] }});
           await ctx.suspend({{ reason: 'approval', message: 'go on?' }});
           return {{ data, isNull: data === null, type: typeof data }};
         }} }});
         export default defineFlow({{ kind: 'main', actions: Object.fromEntries(Object.keys(schemas).map((name) => [name, {{ block: asks(name) }}])) }});"
    ))
}

fn asked(place: &Place, name: &str) -> Answer {
    place.ask(&format!("run main {name} --user ada --request {name}"))
}

fn answered(place: &Place, name: &str, data: &str) -> Answer {
    place.run(&["resume", name, "--submit", data, "--json"])
}

fn status(place: &Place, name: &str) -> Value {
    place.get(&format!("show {name}"))["request"]["status"].clone()
}

#[track_caller]
fn is_identical(place: &Place, request: &str) {
    let replay = place.ask(&format!("replay {request}"));
    assert_eq!((replay.code, &replay.json()["identical"]), (Some(0), &json!(true)), "{request}: {replay}");
}

#[test]
fn null_is_an_answer_that_the_log_keeps() {
    let place = asking("json: { type: ['string', 'null'] }, any: z.any(), nullable: z.string().nullable()");
    for name in ["json", "any", "nullable"] {
        assert_eq!(asked(&place, name).code, Some(4));
        assert_eq!(answered(&place, name, "null").code, Some(4), "{name}");
        let events = place.get(&format!("events {name} --kind suspension_resolved"));
        assert_eq!(events[0]["payload"].get("data"), Some(&Value::Null), "{name}: {events}");
        let ended = place.ask(&format!("resume {name} --approve"));
        assert_eq!(ended.code, Some(0), "{name}: {ended}");
        assert_eq!(ended.json()["output"], json!({ "data": null, "isNull": true, "type": "object" }), "{name}");
        is_identical(&place, name);
    }
}

#[test]
fn a_schema_that_cannot_be_used_is_refused_where_it_is_asked_with() {
    let of = |note: &str| format!("{{ type: 'object', properties: {{ note: {note} }} }}");
    let schemas = [
        ("pattern", of("{ type: 'string', pattern: '[' }"), "is not a regular expression"),
        ("reference", of("{ $ref: '#/nope' }"), "cannot be used"),
        ("remote", of("{ $ref: 'http://example.com/x.json' }"), "cannot be used"),
        ("type", of("{ type: 'bogus' }"), "properties.note.type"),
        ("required", of("{ required: true }"), "properties.note.required"),
    ];
    let all: Vec<String> = schemas.iter().map(|(name, schema, _)| format!("{name}: {schema}")).collect();
    let place = asking(&all.join(", "));
    for (name, _, why) in schemas {
        let failed = asked(&place, name);
        assert_eq!(failed.code, Some(3), "{name}: {failed}");
        let error = failed.json()["error"].clone();
        let message = error["message"].as_str().unwrap_or_default();
        assert!(message.starts_with("ctx.suspend: resumeSchema") && message.contains(why), "{name}: {error}");
        assert_eq!((&error["file"], &error["line"]), (&json!("flows/main.ts"), &json!(5)), "{name}: {error}");
    }
}

#[test]
fn what_cannot_be_checked_is_left_out_alone() {
    let place = asking(
        "twice: { type: 'object', properties: { amount: { type: 'integer', maximum: 100 }, word: { pattern: '^(?<$y>a)$' } } },
         older: { type: 'object', properties: { amount: { type: 'number', minimum: 0, exclusiveMinimum: true } } }",
    );
    for (name, wrong) in [("twice", r#"{"amount":500}"#), ("older", r#"{"amount":0}"#)] {
        assert_eq!(asked(&place, name).code, Some(4), "{name}");
        assert_eq!(answered(&place, name, wrong).code, Some(2), "{name}");
        assert_eq!(answered(&place, name, r#"{"amount":5}"#).code, Some(4), "{name}");
    }
    let logged = place.get("events twice --kind logged").to_string();
    assert!(logged.contains("answers are not checked against the pattern"), "{logged}");
}

#[test]
fn the_schema_of_the_author_decides() {
    let place = asking(
        "pre: z.preprocess((v) => Number(v), z.number()), caught: z.number().catch(3), bool: z.coerce.boolean(),
         trimmed: z.string().trim().max(2), inner: z.object({ n: z.coerce.number().max(9) }),
         waits: z.string().refine(async (v) => v === 'yes', 'say yes'),
         throws: z.string().transform((v) => { if (v !== 'yes') throw new RangeError('no'); return v; }),
         levels: z.nativeEnum({ Low: 0, 0: 'Low' } as any)",
    );
    let rows = [
        ("pre", None, r#""5""#, json!(5)),
        ("caught", None, r#""x""#, json!(3)),
        ("bool", None, r#""false""#, json!(true)),
        ("trimmed", Some((r#""abc""#, "")), r#"" ab ""#, json!("ab")),
        ("inner", Some((r#"{"n":"10"}"#, "at \"n\"")), r#"{"n":"9"}"#, json!({ "n": 9 })),
        ("waits", Some((r#""no""#, "say yes")), r#""yes""#, json!("yes")),
        ("throws", Some((r#""no""#, "the schema threw RangeError: no")), r#""yes""#, json!("yes")),
        ("levels", None, "0", json!(0)),
    ];
    for (name, wrong, right, expected) in rows {
        assert_eq!(asked(&place, name).code, Some(4), "{name}");
        if let Some((wrong, why)) = wrong {
            let refused = answered(&place, name, wrong);
            assert_eq!(refused.code, Some(2), "{name}: {refused}");
            assert!(refused.json()["error"]["message"].as_str().is_some_and(|said| said.contains(why)), "{refused}");
            assert_eq!(status(&place, name), "suspended", "{name}");
            is_identical(&place, name);
        }
        let taken = answered(&place, name, right);
        assert_eq!(taken.code, Some(4), "{name}: {taken}");
        let ended = place.ask(&format!("resume {name} --approve"));
        assert_eq!(ended.json()["output"]["data"], expected, "{name}: {ended}");
        is_identical(&place, name);
    }
}

const STEPS: &str = "
const before = handler({ name: 'before', execute: async (_: any, ctx: any) => { await ctx.session.incState({ n: 1 }); } });
const ask = handler({ name: 'ask', execute: async (_: any, ctx: any) => {
  await ctx.session.incState({ m: 1 });
  return ctx.suspend({ reason: 'human_input', message: 'm', resumeSchema: z.object({ amount: z.number() }).refine((v) => v.amount < 100, 'too much') });
} });
const other = handler({ name: 'other', execute: () => 1 });
export default defineFlow({ kind: 'main', session: { stateSchema: z.object({ n: z.number().default(0), m: z.number().default(0) }) },
  actions: { steps: { block: sequencer({ name: 's' }).tap(before).step(ask) }, beside: { block: sequencer({ name: 'p' }).parallel({ ask, other }) } } });
";

/// The block that asked and those around it were shown as abandoned, although the request waits.
fn waits_again(place: &Place, name: &str) {
    let shown = place.get(&format!("show {name}"));
    let blocks = shown["blocks"].as_array().expect("a list");
    let newest = |path: &dyn Fn(&str) -> bool| {
        let there = blocks.iter().filter(|block| block["path"].as_str().is_some_and(path));
        there.max_by_key(|block| block["attempt"].as_u64()).map(|block| block["status"].clone())
    };
    assert_eq!(newest(&|path| path == "root"), Some(json!("suspended")), "{shown:#}");
    assert_eq!(newest(&|path| path.ends_with("ask")), Some(json!("suspended")), "{shown:#}");
    assert_eq!(place.get(&format!("block {name} root"))["block"]["status"], "suspended", "{name}");
    // An earlier attempt, with an earlier refused answer, came to nothing.
    let text = place.run(&["show", name]).stdout;
    assert!(!text.lines().any(|line| line.contains("abandoned") && !line.contains("(attempt 1)")), "{text}");
}

#[test]
fn a_refused_answer_leaves_a_replay_as_it_was() {
    let place = Place::with_flow(STEPS);
    for name in ["steps", "beside"] {
        assert_eq!(asked(&place, name).code, Some(4), "{name}");
        is_identical(&place, name);
        for _ in 0..2 {
            assert_eq!(answered(&place, name, r#"{"amount":500}"#).code, Some(2), "{name}");
            is_identical(&place, name);
            waits_again(&place, name);
        }
        assert_eq!(answered(&place, name, r#"{"amount":5}"#).code, Some(0), "{name}");
        is_identical(&place, name);
    }
}

/// A refused answer is an item, because somebody gave it, and does not look like the one that was accepted.
#[test]
fn a_refused_answer_is_marked_among_the_items() {
    let place = Place::with_flow(STEPS);
    assert_eq!(asked(&place, "steps").code, Some(4));
    let answers = || -> Vec<Value> {
        let items = place.get("items --request steps --type suspension_resume");
        let one = |item: &Value| json!([item["resumeData"]["amount"], item["status"], item["refused"]]);
        items.as_array().into_iter().flatten().map(one).collect()
    };
    assert_eq!(answered(&place, "steps", r#"{"amount":500}"#).code, Some(2));
    assert_eq!(answers(), [json!([500, "failed", true])]);
    assert_eq!(answered(&place, "steps", r#"{"amount":600}"#).code, Some(2));
    assert_eq!(answered(&place, "steps", r#"{"amount":5}"#).code, Some(0));
    let all = [json!([500, "failed", true]), json!([600, "failed", true]), json!([5, "completed", null])];
    assert_eq!(answers(), all);
    let shown = place.run(&["items", "--request", "steps"]);
    for line in ["submitted [refused] {\"amount\":600}", "submitted {\"amount\":5}"] {
        assert!(shown.stdout.contains(line), "{line}\n{shown}");
    }
    assert_eq!(place.get("check --data")["ok"], true);
}

const TOOLS: &str = "
const tool = (name: string, inputSchema: any) => handler({ name, description: name, approval: { required: true }, inputSchema, execute: async (call: any) => call });
const tools = [tool('open', z.object({ a: z.number() }).passthrough()), tool('rest', z.object({ a: z.number() }).catchall(z.string())), tool('closed', z.object({ a: z.number() }))];
const turn = generator({ name: 'turn', model: 'm', prompt: 'p', user: () => 'u', tools });
export default defineFlow({ kind: 'main', actions: { run: { block: turn } } });
";

#[test]
fn an_edit_may_add_what_the_tool_takes() {
    for (tool, extra, refused) in [
        ("open", r#""x""#, None),
        ("rest", r#""x""#, None),
        ("rest", "5", Some("string")),
        ("closed", r#""x""#, Some("is not an argument")),
    ] {
        let mock = json!({ "generators": { "turn": [{ "toolCalls": [{ "name": tool, "args": { "a": 1 } }] }, { "text": "done" }] } });
        let place = Place::with_flow(TOOLS).file("flows/main.mock.json", &mock.to_string());
        let asked = place.ask("run main run --user ada --request r --mock");
        assert_eq!(asked.code, Some(4), "{asked}");
        let edit = format!("{{\"a\":2,\"more\":{extra}}}");
        let answer = place.run(&["resume", "r", "--approve", &edit, "--json"]);
        match refused {
            Some(why) => assert!(answer.code == Some(2) && answer.to_string().contains(why), "{tool}: {answer}"),
            None => {
                assert_eq!(answer.code, Some(0), "{tool}: {answer}");
                let output = place.get(&format!("block r root/tool:{tool}[0.0]"))["output"].clone();
                assert_eq!(output, json!({ "a": 2, "more": "x" }), "{tool}");
            }
        }
    }
}
