//! State of the four scopes and of a sequencer, as a flow's author and a developer see it.

use serde_json::{Value, json};
use tests::bench::Place;
use tests::pattern::assert_matches;

/// Where state lives, and how a handler reaches it.
const SCOPES: [&str; 5] = ["request", "session", "user", "project", "sequencer"];

/// What every state begins with.
const SCHEMA: &str = r#"z.object({
  n: z.number().default(1),
  list: z.array(z.string()).default(["a"]),
  map: z.record(z.number()).default({ one: 1 }),
  deep: z.object({ kept: z.boolean().default(true), text: z.string().default("") }).default({}),
  name: z.string().optional(),
})"#;

/// A flow with one action for each body and scope, named `<number>-<scope>`; `s` is the scope's handle.
fn flow(bodies: &[&str]) -> Place {
    let mut actions = String::new();
    for (n, body) in bodies.iter().enumerate() {
        for scope in SCOPES {
            actions += &format!(
                "\"{n}-{scope}\": {{ block: sequencer({{ name: \"outer\", stateSchema }}).step(handler({{ name: \"body\", \
                 execute: async (input, ctx) => {{ const s = ctx.{scope}; {body} }} }})) }},\n"
            );
        }
    }
    let scopes: String = SCOPES[..4].iter().map(|scope| format!("{scope}: {{ stateSchema }},\n")).collect();
    Place::with_flow(&format!(
        "const stateSchema = {SCHEMA};\nexport default defineFlow({{\nkind: \"states\",\n{scopes}actions: {{\n{actions}}},\n}});\n"
    ))
}

/// Runs one body in a scope, in a session, for a user and in a project of its own.
#[track_caller]
fn output(place: &Place, n: usize, scope: &str) -> Value {
    let id = format!("{n}-{scope}");
    place.get(&format!("run states {id} --user u{id} --session s{id} --project p{id} --request r{id}"))["output"]
        .clone()
}

/// What a body comes to in every scope, and the state it leaves.
#[track_caller]
fn check(cases: &[(&str, Value, Value)]) {
    let bodies: Vec<&str> = cases.iter().map(|(body, ..)| *body).collect();
    let place = flow(&bodies);
    for (n, (body, answer, left)) in cases.iter().enumerate() {
        for scope in SCOPES {
            let what = format!("{body} in {scope}");
            assert_matches(&what, &output(&place, n, scope), answer);
            let view = place.get(&format!("state --request r{n}-{scope}"));
            let state = match scope {
                "sequencer" => &view["sequencers"][format!("r{n}-{scope}:root:0")],
                _ => &view[scope],
            };
            assert_matches(&what, state, left);
        }
    }
}

/// The defaults with some fields changed.
fn with(changes: Value) -> Value {
    let mut state = json!({ "n": 1, "list": ["a"], "map": { "one": 1 }, "deep": { "kept": true, "text": "" } });
    for (field, value) in changes.as_object().expect("an object") {
        state[field] = value.clone();
    }
    state
}

#[test]
fn every_scope_begins_with_its_defaults() {
    check(&[("return s.state;", with(json!({})), with(json!({})))]);
}

/// Null says that there is nothing yet, and is a value: of schemas, of a sequencer's own start, and of what clients see.
#[test]
fn a_field_may_begin_as_null() {
    let place = Place::with_flow(
        "const stateSchema = z.object({ a: z.string().nullable().default(null), b: z.string().nullable().default(\"b\") });\n\
         const tells = handler({ name: \"tells\", execute: (_input, ctx) => [ctx.session.state, ctx.sequencer.state] });\n\
         const chain = sequencer({ name: \"chain\", stateSchema, defaultState: { b: null } }).step(tells);\n\
         export default defineFlow({ kind: \"nulls\", session: { stateSchema, client: { expose: [\"a\"] } },\n\
           actions: { go: { block: chain } } });",
    );
    let output = place.get("run nulls go --user ada --session s")["output"].clone();
    assert_eq!(output, json!([{ "a": null, "b": "b" }, { "a": null, "b": null }]));
    let state = place.get("state --session s");
    assert_matches("the state", &state["session"], &json!({ "a": null, "b": "b" }));
    assert_matches("what clients see", &state["clientData"], &json!({ "session": { "a": null } }));
}

#[test]
fn patches_merge_one_level_and_answer_whether_anything_changed() {
    check(&[
        (
            "return [await s.patchState({ n: 2 }), await s.patchState({ n: 2 })];",
            json!([true, false]),
            with(json!({ "n": 2 })),
        ),
        ("return s.patchState({ n: 2, name: \"x\" });", json!(true), with(json!({ "n": 2, "name": "x" }))),
        (
            "return s.patchState({ deep: { kept: false, text: \"t\" } });",
            json!(true),
            with(json!({ "deep": { "kept": false, "text": "t" } })),
        ),
        ("return s.patchState({});", json!(false), with(json!({}))),
        (
            "return [await s.patchState(\"n\", (n) => n + 10), await s.patchState(\"n\", (n) => n), s.state.n];",
            json!([true, false, 11]),
            with(json!({ "n": 11 })),
        ),
    ]);
}

#[test]
fn set_replaces_everything() {
    let next = json!({ "n": 9, "list": [], "map": {}, "deep": { "kept": true, "text": "" } });
    let body = "const next = { n: 9, list: [], map: {}, deep: { kept: true, text: \"\" } };
                return [await s.patchState({ name: \"x\" }), await s.setState(next), await s.setState(next)];";
    check(&[(body, json!([true, true, false]), next)]);
}

#[test]
fn increments_and_pushes_add() {
    check(&[
        (
            "return [await s.incState({ n: 2 }), await s.incState({ n: -0.5 }), await s.incState({ n: 0 })];",
            json!([true, true, false]),
            with(json!({ "n": 2.5 })),
        ),
        (
            "return [await s.pushState(\"list\", \"b\"), await s.pushState(\"list\", \"b\")];",
            json!([true, true]),
            with(json!({ "list": ["a", "b", "b"] })),
        ),
    ]);
}

#[test]
fn records_are_written_by_key() {
    check(&[
        (
            "return [await s.setStateRecord(\"map\", \"two\", 2), await s.setStateRecord(\"map\", \"two\", 2)];",
            json!([true, false]),
            with(json!({ "map": { "one": 1, "two": 2 } })),
        ),
        (
            "return [await s.deleteStateRecord(\"map\", \"one\"), await s.deleteStateRecord(\"map\", \"one\")];",
            json!([true, false]),
            with(json!({ "map": {} })),
        ),
    ]);
}

#[test]
fn atomic_writes_see_the_newest_state() {
    check(&[
        (
            "await s.incState({ n: 1 }); return [await s.atomicState((now) => ({ n: now.n * 10, name: \"x\" })), await s.atomicState(() => ({}))];",
            json!([true, false]),
            with(json!({ "n": 20, "name": "x" })),
        ),
        (
            "return [await s.atomicState(() => undefined), await s.atomicState(async () => {}), await s.atomicState(() => null), s.state.n];",
            json!([false, false, false, 1]),
            with(json!({})),
        ),
        (
            "try { return await s.atomicState(() => 5); } catch (e) { return e.message; }",
            json!("atomicState: the mutator must return an object"),
            with(json!({})),
        ),
        (
            "await Promise.all([1, 2, 3].map(() => s.atomicState((now) => ({ n: now.n + 1 })))); return s.state.n;",
            json!(4),
            with(json!({ "n": 4 })),
        ),
    ]);
}

#[test]
fn a_write_that_breaks_the_schema_throws_and_changes_nothing() {
    let thrown = |field: &str| json!(["ValidationError", "validation_error", true, field]);
    let attempt = |operation: &str, field: &str| {
        format!(
            "try {{ await s.{operation}; }} catch (e) {{ return [e.name, e.code, e instanceof Error, \
             e.message.includes(\"{field}\") ? \"{field}\" : e.message]; }}"
        )
    };
    let operations = [
        ("patchState({ n: \"x\", name: \"y\" })", "n"),
        ("patchState(\"n\", () => \"x\")", "n"),
        ("setState({ n: \"x\" })", "n"),
        ("pushState(\"list\", 7)", "list"),
        ("setStateRecord(\"map\", \"two\", \"2\")", "map"),
        ("atomicState(() => ({ deep: { kept: 1 } }))", "deep"),
    ];
    let bodies: Vec<String> = operations.iter().map(|(operation, field)| attempt(operation, field)).collect();
    let cases: Vec<_> = bodies
        .iter()
        .zip(operations)
        .map(|(body, (_, field))| (body.as_str(), thrown(field), with(json!({}))))
        .collect();
    check(&cases);
}

#[test]
fn state_is_read_only_and_says_how_to_write() {
    let attempt = |change: &str| {
        format!("try {{ {change}; }} catch (e) {{ return [e.name, e.message.includes(\"patchState\")]; }}")
    };
    let bodies =
        ["s.state.n = 2", "s.state.list.push(\"b\")", "delete s.state.n", "s.state.deep.text = \"x\""].map(attempt);
    let cases: Vec<_> =
        bodies.iter().map(|body| (body.as_str(), json!(["TypeError", true]), with(json!({})))).collect();
    check(&cases);
}

#[test]
fn an_undeclared_field_is_kept_and_noted_once() {
    let place = flow(&["await s.patchState({ extra: 1 }); await s.patchState({ extra: 2 }); return s.state.extra;"]);
    for scope in ["session", "user", "project", "request"] {
        assert_eq!(output(&place, 0, scope), json!(2), "{scope}");
        let notes = place.get(&format!("events r0-{scope} --kind noted"));
        assert_matches(scope, &notes, &json!([{ "payload": { "text": "<text>" }, "path": "root/step:body", "…": 0 }]));
        let text = notes[0]["payload"]["text"].as_str().unwrap_or_default();
        assert!(text.contains("extra") && text.contains(scope), "{text}");
    }
}

/// A schema that lets other fields through says so on purpose: nobody need be told of them.
#[test]
fn an_open_schema_notes_nothing() {
    let place = Place::new().file(
        "open.ts",
        "import { defineFlow, handler, sequencer } from '@flow-state-dev/core'; import { z } from 'zod'; import { z as z4 } from 'zod/v4';\n\
         const writes = handler({ name: 'writes', execute: async (_input, ctx) => {\n\
           for (const scope of [ctx.request, ctx.session, ctx.user, ctx.sequencer!]) await scope.patchState({ extra: 1 });\n\
           return 'done'; } });\n\
         export default defineFlow({ kind: 'open',\n\
           request: { stateSchema: z.object({ n: z.number().default(0) }).passthrough() },\n\
           session: { stateSchema: z.object({ n: z.number().default(0) }).catchall(z.number()) },\n\
           user: { stateSchema: z4.looseObject({ n: z4.number().default(0) }) },\n\
           actions: { go: { block: sequencer({ name: 's', stateSchema: z4.object({}).catchall(z4.number()) }).step(writes) },\n\
             strict: { block: sequencer({ name: 's', stateSchema: z4.object({ n: z4.number().default(0) }) }).step(writes) } } });\n",
    );
    place.get("run open go --user ada --request r");
    assert_eq!(place.get("events r --kind noted"), json!([]));
    // A closed schema beside it is still one.
    place.get("run open strict --user ada --request strict");
    assert_eq!(place.get("events strict --kind noted").as_array().map(Vec::len), Some(1));
}

#[test]
fn without_a_project_there_is_no_project_state() {
    let place = flow(&["return [typeof s, typeof ctx.project, typeof ctx.org];"]);
    assert_eq!(place.get("run states 0-project --user ada")["output"], json!(["undefined", "undefined", "undefined"]));
    assert_eq!(
        place.get("run states 0-project --user ada --project p")["output"],
        json!(["object", "object", "object"])
    );
}

#[test]
fn each_scope_lives_as_long_as_it_should() {
    let place = flow(&["await s.incState({ n: 1 }); return s.state.n;"]);
    let n = |scope: &str, user: &str, session: &str, project: &str| {
        let line = format!("run states 0-{scope} --user {user} --project {project} --session {session}");
        place.get(&line)["output"].clone()
    };
    // Two requests of one session.
    assert_eq!((n("session", "ada", "s1", "p"), n("session", "ada", "s1", "p")), (json!(2), json!(3)));
    assert_eq!(n("session", "ada", "s2", "p"), json!(2), "another session begins anew");
    assert_eq!((n("request", "ada", "s1", "p"), n("request", "ada", "s1", "p")), (json!(2), json!(2)));
    assert_eq!((n("sequencer", "ada", "s1", "p"), n("sequencer", "ada", "s1", "p")), (json!(2), json!(2)));
    // A user across sessions, a project across users.
    assert_eq!((n("user", "ada", "s1", "p"), n("user", "ada", "s2", "q")), (json!(2), json!(3)));
    assert_eq!(n("user", "bob", "s3", "p"), json!(2), "another user begins anew");
    assert_eq!((n("project", "ada", "s1", "p"), n("project", "bob", "s3", "p")), (json!(2), json!(3)));
    assert_eq!(n("project", "ada", "s1", "q"), json!(2), "another project begins anew");
}

#[test]
fn a_run_without_a_session_gets_one_of_its_own() {
    let place = flow(&["await s.incState({ n: 1 }); return s.state.n;"]);
    let first = place.get("run states 0-session --user ada");
    let second = place.get("run states 0-session --user ada");
    assert_ne!(first["sessionId"], second["sessionId"]);
    assert_eq!((&first["output"], &second["output"]), (&json!(2), &json!(2)));
    assert!(first["sessionId"].as_str().is_some_and(|id| id.starts_with("ephemeral_")), "{first}");
}

#[test]
fn a_failed_block_keeps_its_writes() {
    let place = flow(&["await s.incState({ n: 1 }); throw new Error(\"after the write\");"]);
    let failed = place.ask("run states 0-session --user ada --session s");
    assert_eq!(failed.code, Some(3), "{failed}");
    assert_eq!(place.get("state --session s")["session"]["n"], 2);
}

#[test]
fn two_processes_that_write_one_record_lose_nothing() {
    let place = flow(&["for (let i = 0; i < 5; i++) await s.incState({ n: 1 }); return s.state.n;"]);
    place.get("flows");
    std::thread::scope(|threads| {
        for session in ["a", "b", "c", "d"] {
            let place = &place;
            threads.spawn(move || place.get(&format!("run states 0-user --user ada --session {session}")));
        }
    });
    assert_eq!(place.get("state --user ada")["user"]["n"], 21);
}

/// Plain fields go to the engine without JSON between. What comes of them must be what JSON would make: an
/// object with a class of its own goes the long way.
#[test]
fn the_short_way_of_plain_fields_comes_to_what_the_long_way_does() {
    let place = Place::with_flow(
        r#"
const values: unknown[] = [0, -0, 1, -7, 0.1, 1e21, 2 ** 53, 2 ** 53 + 2, -(2 ** 60), 1e300, 5e-324, NaN, Infinity,
  "text", "", "\ud800", "é\u0000😀", "__proto__", true, false, null, undefined, [1], { a: 1 }, new Date(0), () => 1, 1n];
const objects: any[] = [...values.map((v) => ({ v })), {}, { v: 1, w: "x", x: true }, { 2: 1, 1: 2, v: 3 }, { ["__proto__"]: 1 },
  { get v() { return 5; } }, { v: 1, [Symbol("s")]: 2 }, { v: 1, w: undefined }, { v: 1, w: "\udc00" }];
const all = handler({ name: "all", execute: async (_input: unknown, ctx: any) => {
  const different = [];
  for (const operation of ["patchState", "incState"]) for (const object of objects) {
    const ways = [];
    for (const kind of [Object.prototype, {}]) {
      const given = Object.defineProperties(Object.create(kind), Object.getOwnPropertyDescriptors(object));
      await ctx.sequencer.setState({ v: 40 });
      const answer = await ctx.sequencer[operation](given).catch((error: Error) => `${error.name}: ${error.message}`);
      ways.push(JSON.stringify([operation, answer, ctx.sequencer.state]));
    }
    if (ways[0] !== ways[1]) different.push(ways);
  }
  return { different, tried: objects.length };
} });
const stateSchema = z.object({ v: z.any(), w: z.any() }).passthrough();
export default defineFlow({ kind: "main", actions: { go: { block: sequencer({ name: "s", stateSchema }).step(all) } } });
"#,
    );
    let output = &place.get("run main go --user ada --session talk --request r")["output"];
    assert_eq!(*output, json!({ "different": [], "tried": 35 }));
    // Nor does the log tell the two apart.
    let events = place.get("events r --kind state_changed --limit 10000");
    let operations: Vec<&Value> = events.as_array().expect("events").iter().map(|event| &event["payload"]).collect();
    let changes: Vec<&Value> =
        operations.iter().map(|event| &event["operation"]).filter(|operation| operation["op"] != "set").collect();
    assert!(changes.len() > 50, "{} changes", changes.len());
    for pair in changes.chunks(2) {
        assert_eq!(pair[0].to_string(), pair[1].to_string());
    }
}

/// The id of a record is that of the state that is seen, whatever the flow of today keeps apart.
#[test]
fn a_resume_finds_the_record_that_it_began_with() {
    let source = |isolates: bool| {
        format!(
            "const waits = handler({{ name: \"waits\", userStateSchema: z.object({{ n: z.number().default(0) }}),\n\
               execute: async (_input, ctx) => {{ await ctx.suspend({{ reason: \"approval\", message: \"?\" }});\n\
                 return [ctx.user.identity.id, ctx.org.identity.id, ctx.user.state.n]; }} }});\n\
             const add = handler({{ name: \"add\", execute: (_input, ctx) => ctx.user.incState({{ n: 1 }}) }});\n\
             export default defineFlow({{ kind: \"main\", isolateUserState: {isolates}, isolateOrgState: {isolates},\n\
               actions: {{ add: {{ block: add }}, waits: {{ block: waits }} }} }});"
        )
    };
    for (began, id, org) in [(true, "ada:main", "team:main"), (false, "ada:~org:team", "team")] {
        let place = Place::with_flow(&source(began));
        place.get("run main add --user ada --org team");
        assert_eq!(place.ask("run main waits --user ada --org team --request r").code, Some(4));
        place.edit(&source(!began));
        assert_eq!(place.get("resume r --approve")["output"], json!([id, org, 1]));
        assert_eq!(place.get("replay r")["identical"], true);
    }
}

#[test]
fn a_state_that_a_flow_keeps_apart_is_its_own() {
    let source = |kind: &str, isolates: bool| {
        format!(
            "import {{ defineFlow, handler, sequencer }} from \"@flow-state-dev/core\";\n\
             import {{ z }} from \"zod\";\n\
             const add = (name) => handler({{ name, userStateSchema: z.object({{ n: z.number().default(0) }}),\n\
               execute: async (_input, ctx) => {{ await ctx.user.incState({{ n: 1 }}); return ctx.user.state.n; }} }});\n\
             const twice = sequencer({{ name: \"twice\", inputSchema: z.any() }}).step(add(\"one\")).step(add(\"two\"));\n\
             export default defineFlow({{ kind: \"{kind}\", isolateUserState: {isolates}, actions: {{ go: {{ block: twice }} }} }});"
        )
    };
    let place = Place::new()
        .file("flows/a.ts", &source("a", true))
        .file("flows/b.ts", &source("b", true))
        .file("flows/c.ts", &source("c", false));
    for (flow, n) in [("a", 2), ("b", 2), ("c", 2), ("a", 4), ("c", 4)] {
        assert_eq!(place.get(&format!("run {flow} go --user ada"))["output"], n, "{flow}");
    }
    place.get("run a go --user ada --session s --request r");
    let n = |whose: &str| place.get(&format!("state {whose}"))["user"]["n"].clone();
    assert_eq!([n("--user ada"), n("--user ada:a"), n("--user ada:b")], [4, 6, 2]);
    assert_eq!([n("--request r"), n("--request r --at root/step:one")], [6, 5]);
    assert_eq!(place.ask("replay r").code, Some(0));
    // A fork begins with what was there, and leaves that alone.
    let fork = place.get("fork r --at root/step:one");
    assert_eq!(fork["output"], 6);
    assert_eq!(n(&format!("--request {}", fork["requestId"].as_str().expect("an id"))), 6);
    place.get(&format!("run a go --user ada --session {}", fork["sessionId"].as_str().expect("an id")));
    assert_eq!(n("--user ada:a"), 6);
    // What is exported brings it along.
    place.get("export --request r --out r.flowglass");
    let elsewhere = Place::new().file("flows/a.ts", &source("a", true));
    elsewhere.write("r.flowglass", std::fs::read(place.dir().join("r.flowglass")).expect("it was exported"));
    elsewhere.get("import r.flowglass");
    assert_eq!(elsewhere.get("state --request r")["user"]["n"], 6);
}

/// A state begins with what its schema makes of nothing; a write is checked and stored as it was written.
#[test]
fn a_write_is_stored_as_it_was_written() {
    let place = Place::with_flow(
        r#"
export default defineFlow({
  kind: "main",
  session: { stateSchema: z.object({ text: z.string().trim().default(" d "), q: z.number().default(1) }) },
  actions: { go: { block: handler({ name: "go", inputSchema: z.any(), execute: async (_: any, ctx: any) => {
    const start = ctx.session.state.text;
    const wrote = await ctx.session.patchState({ text: "  z " });
    const nothing = await ctx.session.patchState({ q: undefined });
    return [start, wrote, ctx.session.state.text, nothing, ctx.session.state.q];
  } }) } },
});
"#,
    );
    let ran = place.get("run main go --user u --session s --request r");
    assert_eq!(ran["output"], json!(["d", true, "  z ", false, 1]));
    assert_eq!(place.get("state --session s")["session"]["text"], "  z ");
    assert_eq!(place.get("replay r")["identical"], true);
}
