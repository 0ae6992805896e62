//! Resources and collections of every scope, as a flow's author and a developer see them.

use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};
use tests::bench::{Answer, Place};
use tests::pattern::assert_matches;

/// Whose resources there are.
const SCOPES: [&str; 3] = ["session", "user", "project"];

/// What bodies may use. `doc` and `files` are those of the scope that a body runs for.
const DECLARED: &str = r##"
import { defineResource, defineResourceCollection } from "@flow-state-dev/core";
const stateSchema = z.object({
  n: z.number().default(1),
  list: z.array(z.string()).default([]),
  map: z.record(z.number()).default({}),
  any: z.unknown(),
});
const fileSchema = z.object({ title: z.string(), n: z.number().default(0) });
const told = (what) => (...args) => { args.at(-1).emit.message(JSON.stringify([what, ...args.slice(0, -1)])); };
const of = (scope) => ({
  [scope + "_doc"]: defineResource({ scope, ref: "doc", stateSchema, default: { list: ["a"] }, metadata: { a: 1 } }),
  [scope + "_files"]: defineResourceCollection({ scope, pattern: "files/*", stateSchema: fileSchema }),
  [scope + "_deep"]: defineResourceCollection({ scope, pattern: "deep/**" }),
  [scope + "_notes"]: defineResourceCollection({ scope, pattern: "[topic]/on/[day]", contentTemplate: "{{title}} of {{by.name}}" }),
  [scope + "_few"]: defineResourceCollection({ scope, pattern: "few/*", maxInstances: 2 }),
  [scope + "_old"]: defineResourceCollection({ scope, pattern: "old/*", maxInstances: 2, eviction: "oldest" }),
  [scope + "_lru"]: defineResourceCollection({ scope, pattern: "lru/*", maxInstances: 2, eviction: "lru" }),
  [scope + "_told"]: defineResourceCollection({ scope, pattern: "told/*", maxInstances: 1, eviction: "oldest",
    onInstanceCreated: told("created"), onInstanceUpdated: told("updated"), onInstanceDeleted: told("deleted") }),
  [scope + "_locked"]: defineResource({ scope, ref: "locked", stateSchema, writable: false, content: "fixed" }),
  [scope + "_shelf"]: defineResourceCollection({ scope, pattern: "shelf/*", writable: false }),
  [scope + "_page"]: defineResource({ scope, ref: "pages/page.md", stateSchema, content: "one", render: (text, state) => text + state.n }),
  [scope + "_card"]: defineResource({ scope, ref: "card", stateSchema, contentTemplate: "{{n}} {{ list }} {{map.x}}{{open" }),
});
const resources = { ...of("session"), ...of("user"), ...of("project") };
const fails = async (what) => {
  try { await what(); return "no error"; } catch (error) { return [error.name, error.code, error.message]; }
};
"##;

/// A flow with one action for each body and scope, named `<number>-<scope>`.
fn flow(bodies: &[&str]) -> Place {
    let mut actions = String::new();
    for (n, body) in bodies.iter().enumerate() {
        for scope in SCOPES {
            actions += &format!(
                "\"{n}-{scope}\": {{ block: handler({{ name: \"body\", execute: async (input, ctx) => {{ \
                 const scope = \"{scope}\", r = ctx.{scope}.resources, [doc, files] = [r.{scope}_doc, r.{scope}_files]; \
                 const the = (name) => ctx.resources.get(scope + \"_\" + name); {body} }} }}) }},\n"
            );
        }
    }
    Place::with_flow(&format!(
        "{DECLARED}\nexport default defineFlow({{ kind: \"all\", resources, actions: {{\n{actions}}} }});\n"
    ))
}

/// What a body comes to in every scope, and the resources it leaves, by path.
#[track_caller]
fn check(cases: &[(&str, Value, Value)]) {
    let bodies: Vec<&str> = cases.iter().map(|(body, ..)| *body).collect();
    let place = flow(&bodies);
    for (n, (body, answer, left)) in cases.iter().enumerate() {
        for scope in SCOPES {
            let (what, id) = (format!("{body} in {scope}"), format!("{n}-{scope}"));
            let line = format!("run all {id} --user u{id} --session s{id} --project p{id} --request r{id}");
            assert_matches(&what, &place.get(&line)["output"], &named(answer, scope));
            let view = place.get(&format!("state --request r{id}"));
            assert_matches(&what, &view["resources"], &paths(left, scope));
            // Who looks at the session, the user or the project alone sees the same.
            let alone = place.get(&format!("state --{scope} {}{id}", &scope[..1]));
            assert_eq!(alone["resources"], view["resources"], "{what}");
            assert_eq!(alone["contents"], view["contents"], "{what}");
        }
    }
}

/// The value with `SCOPE` in texts replaced.
fn named(value: &Value, scope: &str) -> Value {
    serde_json::from_str(&value.to_string().replace("SCOPE", scope)).expect("a text stays a text")
}

/// Resources by `<scope>/<path>`; none at all where nothing is left.
fn paths(left: &Value, scope: &str) -> Value {
    let left = left.as_object().expect("an object");
    let paths: Map<_, _> = left.iter().map(|(path, state)| (format!("{scope}/{path}"), state.clone())).collect();
    if paths.is_empty() { Value::Null } else { paths.into() }
}

#[test]
fn a_resource_begins_with_its_default_over_those_of_its_schema() {
    check(&[
        ("return doc.state;", json!({ "n": 1, "list": ["a"], "map": {} }), json!({})),
        ("return the(\"card\").state;", json!({ "n": 1, "list": [], "map": {} }), json!({})),
        (
            "return [doc.path, doc.scope, doc.uri, doc.metadata, doc.config.ref, the(\"page\").extension];",
            json!(["doc", "SCOPE", "SCOPE/doc", { "a": 1 }, "doc", "md"]),
            json!({}),
        ),
    ]);
}

#[test]
fn every_operation_writes_and_answers_whether_anything_changed() {
    let doc = |n: i64, list: Value, map: Value| json!({ "doc": { "n": n, "list": list, "map": map } });
    check(&[
        (
            "return [await doc.patchState({ n: 2 }), await doc.patchState({ n: 2 }), doc.state.n];",
            json!([true, false, 2]),
            doc(2, json!(["a"]), json!({})),
        ),
        ("return doc.patchState(\"n\", (n) => n + 10);", json!(true), doc(11, json!(["a"]), json!({}))),
        ("return doc.incState({ n: 2 });", json!(true), doc(3, json!(["a"]), json!({}))),
        ("return doc.pushState(\"list\", \"b\");", json!(true), doc(1, json!(["a", "b"]), json!({}))),
        ("return doc.setStateRecord(\"map\", \"x\", 1);", json!(true), doc(1, json!(["a"]), json!({ "x": 1 }))),
        (
            "await doc.setStateRecord(\"map\", \"x\", 1); return doc.deleteStateRecord(\"map\", \"x\");",
            json!(true),
            doc(1, json!(["a"]), json!({})),
        ),
        ("return doc.atomicState((s) => ({ n: s.n + s.list.length }));", json!(true), doc(2, json!(["a"]), json!({}))),
        (
            "const next = { n: 9, list: [], map: {} };
             return [await doc.setState(next), await doc.setState(next), doc.state];",
            json!([true, false, { "n": 9, "list": [], "map": {} }]),
            doc(9, json!([]), json!({})),
        ),
        (
            "await doc.updateState(async (s) => ({ n: s.n + 1, list: [], map: {} })); return doc.state.n;",
            json!(2),
            doc(2, json!([]), json!({})),
        ),
    ]);
}

#[test]
fn a_refused_write_changes_nothing() {
    let invalid = |message: &str| json!(["ValidationError", "validation_error", message]);
    check(&[
        (
            "return [await fails(() => doc.patchState({ n: \"x\" })), await fails(() => doc.setState({ n: null })), doc.state.n];",
            json!([
                invalid("Invalid write to resource \"SCOPE/doc\" at \"n\": Expected number, received string"),
                invalid("Invalid write to resource \"SCOPE/doc\" at \"n\": Expected number, received null"),
                1
            ]),
            json!({}),
        ),
        (
            "return fails(() => doc.patchState({ n: NaN }));",
            invalid("resource \"SCOPE/doc\".patchState at \"n\": NaN is not a JSON number"),
            json!({}),
        ),
        (
            "return fails(() => doc.patchState({ $exists: false }));",
            invalid("\"$exists\" is reserved in resources; use another name, or writeContent"),
            json!({}),
        ),
        (
            "await doc.patchState({ any: \"x\" }); return [await fails(() => doc.incState({ any: 1 })), await fails(() => doc.pushState(\"any\", 1))];",
            json!([
                ["FlowError", "resource_delta_refused", "\"any\" of resource \"SCOPE/doc\" is \"x\", not a number"],
                ["FlowError", "resource_delta_refused", "\"any\" of resource \"SCOPE/doc\" is \"x\", not a list"],
            ]),
            json!({ "doc": { "n": 1, "list": ["a"], "map": {}, "any": "x" } }),
        ),
        (
            "return [await fails(() => doc.updateState(() => 3)), await fails(() => doc.updateState()), await fails(() => doc.writeContent(1))];",
            json!([
                invalid("updateState: the updater must return the whole next state"),
                ["TypeError", null, "resource \"SCOPE/doc\".updateState needs a function"],
                ["TypeError", null, "resource \"SCOPE/doc\".writeContent needs a text, got number"],
            ]),
            json!({}),
        ),
        (
            "const locked = the(\"locked\"), shelf = the(\"shelf\");
             return [await fails(() => locked.patchState({ n: 2 })), await fails(() => locked.writeContent(\"x\")),
                     await fails(() => shelf.create(\"a\", { n: 1 })), await fails(() => shelf.upsert(\"a\", { n: 2 })),
                     await fails(() => shelf.create(\"a\", {}, { replace: true })), await fails(() => shelf.create(\"b\")),
                     await fails(() => shelf.delete(\"b\")), await locked.readContent()];",
            json!([
                ["FlowError", "resource_read_only", "Resource \"SCOPE/locked\" is read-only (writable: false)"],
                ["FlowError", "resource_read_only", "<text>"],
                "no error",
                ["FlowError", "resource_read_only", "Resource \"SCOPE/shelf/*\" is read-only (writable: false)"],
                ["FlowError", "resource_read_only", "<text>"],
                "no error",
                "no error",
                "fixed",
            ]),
            json!({ "shelf/a": { "n": 1 } }),
        ),
        (
            "return [await fails(() => ctx.resources.get(\"nothing\")), await fails(() => r.get(\"nothing\")), ctx.resources.nothing ?? null];",
            json!([
                ["Error", null, "Resource \"nothing\" is not registered"],
                ["Error", null, "Resource \"nothing\" is not registered"],
                null,
            ]),
            json!({}),
        ),
    ]);
}

#[test]
fn text_is_rendered_when_it_is_read() {
    check(&[
        (
            "const page = the(\"page\"); const before = await page.readContent();
             await page.writeContent(\"two\"); await page.patchState({ n: 5 });
             return [before, await page.readContent(), await page.readContentRaw(), await doc.readContent()];",
            json!(["one1", "two5", "two", null]),
            json!({ "pages/page.md": { "n": 5, "list": [], "map": {} } }),
        ),
        (
            "const card = the(\"card\"); await card.patchState({ list: [\"x\"], map: { x: 2 } });
             return [await card.readContent(), await card.readContentRaw()];",
            json!(["1 [\"x\"] 2{{open", "{{n}} {{ list }} {{map.x}}{{open"]),
            json!({ "card": { "n": 1, "list": ["x"], "map": { "x": 2 } } }),
        ),
        (
            "const note = await the(\"notes\").create({ topic: \"ml\", day: \"1\" }, { title: \"T\", by: { name: \"N\" } });
             return [note.uri, note.key, await note.readContent()];",
            json!(["SCOPE/ml/on/1", "ml/1", "T of N"]),
            json!({ "ml/on/1": { "title": "T", "by": { "name": "N" } } }),
        ),
        (
            "await doc.writeContent(\"kept\"); await doc.setState({ n: 1, list: [], map: {} }); return doc.readContent();",
            json!("kept"),
            json!({ "doc": { "n": 1, "list": [], "map": {} } }),
        ),
    ]);
}

#[test]
fn instances_come_and_go() {
    let file = |title: &str, n: i64| json!({ "title": title, "n": n });
    check(&[
        (
            "const a = await files.create(\"a\", { title: \"A\" });
             return [a.state, (await files.get(\"a\")).uri, await files.getOptional(\"b\") ?? null, await files.count()];",
            json!([file("A", 0), "SCOPE/files/a", null, 1]),
            json!({ "files/a": file("A", 0) }),
        ),
        (
            "await files.create(\"a\", { title: \"A\" });
             return [await fails(() => files.create(\"a\", { title: \"B\" })), await fails(() => files.get(\"b\")),
                     await fails(() => files.create(\"c\", {})), await fails(() => files.create(\"c\", 3))];",
            json!([
                ["ResourceAlreadyExistsError", "resource_already_exists", "Resource \"SCOPE/files/a\" already exists"],
                ["FlowError", "resource_not_found", "Resource \"SCOPE/files/b\" does not exist"],
                ["ValidationError", "validation_error", "Invalid state for resource \"SCOPE/files/c\" at \"title\": Required"],
                ["TypeError", null, "collection \"SCOPE/files/*\".create needs an object, got number"],
            ]),
            json!({ "files/a": file("A", 0) }),
        ),
        (
            "await files.create(\"a\", { title: \"A\", n: 3 }); await files.create(\"a\", { title: \"B\" }, { replace: true });
             await files.getOrCreate(\"a\", { title: \"C\" }); await files.getOrCreate(\"b\", { title: \"D\" });
             await files.upsert(\"b\", { n: 1 }, { title: \"no\" }); await files.upsert(\"c\", { n: 2 }, { title: \"only\", n: 1 });
             return (await files.list()).map((one) => one.key);",
            json!(["a", "b", "c"]),
            json!({ "files/a": file("B", 0), "files/b": file("D", 1), "files/c": file("only", 2) }),
        ),
        (
            "const a = await files.create(\"a\", { title: \"A\" }); await a.writeContent(\"text\");
             await files.delete(\"a\"); await files.delete(\"a\");
             const gone = [a.state, await a.readContent(), await fails(() => a.patchState({ n: 1 }))];
             await files.create(\"a\", { title: \"again\" }); await a.incState({ n: 2 });
             return [...gone, a.state, await a.readContent()];",
            json!([{}, null, ["ResourceDeletedError", "resource_deleted", "Resource \"SCOPE/files/a\" was deleted"], file("again", 2), null]),
            json!({ "files/a": file("again", 2) }),
        ),
        (
            "for (const key of [\"b/2\", \"a/1\", \"b/1\"]) await the(\"deep\").create(key);
             return [(await the(\"deep\").list()).map((one) => one.key), (await the(\"deep\").list(\"b/\")).map((one) => one.path)];",
            json!([["b/2", "a/1", "b/1"], ["deep/b/2", "deep/b/1"]]),
            json!({ "deep/a/1": {}, "deep/b/1": {}, "deep/b/2": {} }),
        ),
        (
            // What looks like a pattern, an escape or a path of the store is an ordinary key.
            "for (const key of [\"*\", \"[x]\", \"50%\", \"%2F\", \"ä:~\"]) await files.create(key, { title: key });
             return (await files.list()).map((one) => one.state.title);",
            json!(["*", "[x]", "50%", "%2F", "ä:~"]),
            json!({ "files/*": "<any>", "files/[x]": "<any>", "files/50%": "<any>", "files/%2F": "<any>", "files/ä:~": "<any>" }),
        ),
    ]);
}

#[test]
fn a_key_must_fit_the_pattern() {
    let refused = |name: &str, key: &str| {
        (
            format!(
                "const [name, code, message] = await fails(() => the(\"{name}\").getOrCreate({key}, {{ title: \"x\" }})); return [name, code, message];"
            ),
            json!(["ValidationError", "validation_error", "<text>"]),
        )
    };
    let bodies = [
        refused("files", "\"a/b\""),
        refused("files", "\"\""),
        refused("files", "\"..\""),
        refused("files", "3"),
        refused("files", "{ name: \"a\" }"),
        refused("deep", "\"a/../b\""),
        refused("notes", "\"ml\""),
        refused("notes", "{ topic: \"ml\" }"),
        refused("notes", "{ topic: \"ml\", day: \"1/2\" }"),
        refused("notes", "{ topic: \"ml\", day: \"1\", more: \"x\" }"),
    ];
    let cases: Vec<_> = bodies.iter().map(|(body, answer)| (body.as_str(), answer.clone(), json!({}))).collect();
    check(&cases);
}

#[test]
fn a_full_collection_refuses_or_gives_something_up() {
    let keys = "return (await c.list()).map((one) => one.key);";
    let of = |name: &str, what: &str| {
        format!("const c = the(\"{name}\"); await c.create(\"a\"); await c.create(\"b\"); {what} {keys}")
    };
    let bodies = [
        of(
            "few",
            "const full = await fails(() => c.create(\"c\")); await c.delete(\"a\"); await c.create(\"d\"); return full;",
        ),
        of("old", "await c.get(\"a\"); await c.create(\"c\");"),
        of("lru", "await c.get(\"a\"); await c.create(\"c\");"),
        of(
            "lru",
            "await (await c.get(\"b\")).patchState({ n: 1 }); await c.getOrCreate(\"a\"); await c.upsert(\"c\", {});",
        ),
    ];
    check(&[
        (
            &bodies[0],
            json!(["FlowError", "resource_limit_reached", "Collection \"SCOPE/few/*\" is full: maxInstances is 2"]),
            json!({ "few/b": {}, "few/d": {} }),
        ),
        (&bodies[1], json!(["b", "c"]), json!({ "old/b": {}, "old/c": {} })),
        (&bodies[2], json!(["a", "c"]), json!({ "lru/a": {}, "lru/c": {} })),
        (&bodies[3], json!(["a", "c"]), json!({ "lru/a": {}, "lru/c": {} })),
    ]);
}

#[test]
fn callbacks_and_items_tell_every_change() {
    let place = flow(&["const told = the(\"told\"); const a = await told.create(\"a\", { n: 1 }); await a.patchState({ n: 2 });
         await a.patchState({ n: 2 }); await a.writeContent(\"t\"); await told.create(\"b\", {}); await doc.incState({ n: 4 });"]);
    place.get("run all 0-user --user ada --session s --request r");
    let items = place.get("items --request r --view all");
    let of = |wanted: &str| -> Vec<Value> {
        items.as_array().expect("items").iter().filter(|item| item["type"] == wanted).cloned().collect()
    };
    let told: Vec<Value> = of("message")
        .iter()
        .map(|item| serde_json::from_str(item["content"][0]["text"].as_str().expect("a text")).expect("JSON"))
        .collect();
    assert_eq!(
        told,
        [
            json!(["created", "told/a", { "n": 1 }]),
            json!(["updated", "told/a", { "n": 2 }, { "n": 1 }]),
            json!(["updated", "told/a", { "n": 2 }, { "n": 2 }]),
            json!(["deleted", "told/a"]),
            json!(["created", "told/b", {}]),
        ]
    );
    let change = |path: &str, change: &str, delta: Value, version: u64| {
        json!({ "scope": "user", "resourcePath": path, "changeType": change, "delta": delta, "version": version,
                "transient": true, "visibility": { "client": true, "history": false }, "…": 0 })
    };
    let expected = json!([
        change("told/a", "created", json!({ "n": 1 }), 1),
        change("told/a", "updated", json!({ "n": 2 }), 2),
        change("told/a", "updated", json!({ "content": "t" }), 3),
        change("told/a", "deleted", json!({}), 4),
        change("told/b", "created", json!({}), 1),
        change("doc", "created", json!({ "n": 4 }), 1),
    ]);
    assert_matches("resource changes", &of("resource_change").into(), &expected);
    assert_eq!(of("state_change"), Vec::<Value>::new());
    assert_eq!(place.get("items --request r --view client --type resource_change"), json!([]), "they stream by");
}

#[test]
fn time_travel_and_differences_know_resources() {
    let place = Place::with_flow(&format!(
        "{DECLARED}
        const step = (name, execute) => handler({{ name, execute }});
        export default defineFlow({{ kind: \"steps\", resources, actions: {{ go: {{ block: sequencer({{ name: \"go\" }})
          .step(step(\"one\", async (i, ctx) => {{ await ctx.resources.user_files.create(\"a\", {{ title: \"A\" }}); await ctx.resources.session_doc.writeContent(\"x\"); }}))
          .step(step(\"two\", async (i, ctx) => {{ await (await ctx.resources.user_files.get(\"a\")).patchState({{ n: 7 }}); }}))
          .step(step(\"three\", async (i, ctx) => {{ await ctx.resources.user_files.delete(\"a\"); }})) }} }} }});"
    ));
    place.get("run steps go --user ada --session s --request r");
    let at = |path: &str| place.get(&format!("state --request r --at {path}"));
    let (one, two, three) = (at("root/step:one"), at("root/step:two"), at("root/step:three"));
    assert_eq!(one["resources"]["user/files/a"], json!({ "title": "A", "n": 0 }));
    assert_eq!(one["contents"], json!({ "session/doc": "x" }));
    assert_eq!(one["versions"]["user/files/a"], 1);
    assert_eq!(two["resources"]["user/files/a"], json!({ "title": "A", "n": 7 }));
    assert_eq!(three["resources"]["user/files/a"], Value::Null);
    let diff = |from: &str, to: &str| place.get(&format!("diff r --from root/step:{from} --to root/step:{to}"));
    let changed = json!([{ "scope": "resource", "instanceId": "user/files/a", "path": "n", "kind": "changed", "old": 0, "new": 7, "seq": "<number>", "by": "root/step:two" }]);
    assert_matches("two", &diff("one", "two"), &changed);
    let removed = json!([{ "scope": "resource", "instanceId": "user/files/a", "path": "", "kind": "removed", "old": { "title": "A", "n": 7 }, "seq": "<number>", "by": "root/step:three" }]);
    assert_matches("three", &diff("two", "three"), &removed);
}

/// Runs two requests at once; the second begins while the first is at work.
fn at_once(place: &Place, one: &str, two: &str) -> [Answer; 2] {
    std::thread::scope(|threads| {
        let [one, two] = [one, two].map(|line| threads.spawn(move || place.ask(line)));
        [one, two].map(|thread| thread.join().expect("the program ran"))
    })
}

/// Each action takes long enough to meet another run of itself.
const SHARED: &str = r#"
const pause = () => new Promise((resolve) => setTimeout(resolve, 400));
const add = handler({ name: "add", execute: async (key, ctx) => {
  const { user_files: files, user_doc: doc } = ctx.resources;
  await files.getOrCreate(key, { title: key });
  await doc.pushState("list", key);
} });
const take = handler({ name: "take", execute: async (key, ctx) => {
  const file = await ctx.resources.user_files.create("same", { title: key });
  await pause();
  return file.state.title;
} });
const crowd = handler({ name: "crowd", execute: async (key, ctx) => {
  await ctx.resources.user_few.create(key);
  await pause();
} });
const count = handler({ name: "count", execute: async (key, ctx) => {
  const file = await ctx.resources.user_files.getOrCreate("n", { title: "n" });
  await file.incState({ n: 1 });
} });
const each = (block) => ({ block: sequencer({ name: "all" }).forEach(block, { maxConcurrency: 5 }) });
export default defineFlow({ kind: "shared", resources, actions: {
  add: each(add), count: each(count), crowd: { block: crowd }, take: { block: take },
} });
"#;

#[test]
fn two_processes_lose_nothing_in_one_collection() {
    let place = Place::with_flow(&format!("{DECLARED}{SHARED}"));
    let keys = |from: u32| (from..from + 20).map(|n| format!("k{n}")).collect::<Vec<_>>();
    let add = |from| format!("run shared add --user ada --input {}", json!(keys(from)));
    for answer in at_once(&place, &add(0), &add(20)) {
        assert_eq!(answer.code, Some(0), "{answer}");
    }
    let state = place.get("state --user ada");
    for key in keys(0).into_iter().chain(keys(20)) {
        assert_eq!(state["resources"][format!("user/files/{key}")]["title"], key.as_str(), "{state:#}");
    }
    assert_eq!(state["resources"]["user/doc"]["list"].as_array().map(Vec::len), Some(41), "one more by default");
    let count = format!("run shared count --user ada --input {}", json!(keys(0)));
    for answer in at_once(&place, &count, &count) {
        assert_eq!(answer.code, Some(0), "{answer}");
    }
    assert_eq!(place.get("state --user ada")["resources"]["user/files/n"]["n"], 40);
}

#[test]
fn of_two_that_create_one_key_one_sees_the_other() {
    let place = Place::with_flow(&format!("{DECLARED}{SHARED}"));
    let answers =
        at_once(&place, "run shared take --user ada --input \"one\"", "run shared take --user ada --input \"two\"");
    let (good, bad): (Vec<_>, Vec<_>) = answers.iter().partition(|answer| answer.code == Some(0));
    assert_eq!((good.len(), bad.len()), (1, 1), "{answers:?}");
    assert_eq!(bad[0].json()["error"]["name"], "ResourceAlreadyExistsError");
    let state = place.get("state --user ada");
    assert_eq!(state["resources"]["user/files/same"]["title"], good[0].json()["output"]);
    assert_eq!(state["versions"]["user/files/same"], 1);
}

#[test]
fn a_limit_holds_for_two_processes() {
    let place = Place::with_flow(&format!("{DECLARED}{SHARED}"));
    place.get("run shared crowd --user ada --input \"first\"");
    let answers =
        at_once(&place, "run shared crowd --user ada --input \"one\"", "run shared crowd --user ada --input \"two\"");
    let full = answers.iter().filter(|answer| answer.code == Some(3)).collect::<Vec<_>>();
    assert_eq!(full.len(), 1, "{answers:?}");
    assert_eq!(full[0].json()["error"]["code"], "resource_limit_reached");
    assert_eq!(place.get("state --user ada")["resources"].as_object().map(Map::len), Some(2));
}

#[test]
fn a_resumed_request_sees_what_its_finished_blocks_wrote() {
    let source = format!(
        "{DECLARED}
        const first = handler({{ name: \"first\", execute: async (i, ctx) => {{
          await ctx.resources.session_files.create(\"a\", {{ title: \"A\" }}); await ctx.resources.user_doc.incState({{ n: 1 }}); }} }});
        const last = handler({{ name: \"last\", execute: async (i, ctx) => {{
          const before = ctx.resources.user_doc.state.n;
          await ctx.resources.user_doc.incState({{ n: 10 }});
          if (i !== \"go\") await new Promise((resolve) => setTimeout(resolve, WAIT));
          return [before, ctx.resources.user_doc.state.n, (await ctx.resources.session_files.get(\"a\")).state.title]; }} }});
        export default defineFlow({{ kind: \"stops\", resources, actions: {{ go: {{ block: sequencer({{ name: \"go\" }}).step(first).step(last) }} }} }});"
    );
    let place = Place::with_flow(&source.replace("WAIT", "60000"));
    let mut child = std::process::Command::new(tests::bench::program())
        .args("run stops go --user ada --session s --request r --json".split(' '))
        .current_dir(place.dir())
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .spawn()
        .expect("the program starts");
    let begun = Instant::now();
    while place.ask("state --user ada").code != Some(0)
        || place.get("state --user ada")["resources"]["user/doc"]["n"] != 2
    {
        assert!(begun.elapsed() < Duration::from_secs(30), "the first step never ended");
        std::thread::sleep(Duration::from_millis(50));
    }
    child.kill().expect("our own child");
    child.wait().expect("our own child");
    place.write("flows/main.ts", format!("import {{ defineFlow, handler, sequencer }} from \"@flow-state-dev/core\";\nimport {{ z }} from \"zod\";\n{}", source.replace("WAIT", "0")));
    assert_eq!(place.get("resume r")["output"], json!([2, 12, "A"]));
    assert_eq!(place.get("state --user ada")["resources"]["user/doc"]["n"], 12);
    assert_eq!(place.get("state --session s")["versions"]["session/files/a"], 1);
}
