//! How resources are declared: where, under which names, and what is refused when a flow loads.

use serde_json::{Value, json};
use tests::bench::Place;
use tests::pattern::assert_matches;

const IMPORTS: &str = r#"
import { defineResource, defineResourceCollection, defineResourceNamespace, router } from "@flow-state-dev/core";
const named = (name, rest = {}) => handler({ name, execute: (input) => input, ...rest });
const doc = (rest = {}) => defineResource({ scope: "session", ...rest });
const flow = (rest) => defineFlow({ kind: "f", actions: { go: { block: named("go") } }, ...rest });
const schema = z.object({ a: z.number().default(1), b: z.string().optional() });
"#;

fn place(source: &str) -> Place {
    Place::with_flow(&format!("{IMPORTS}\n{source}"))
}

/// What a flow's one action comes to.
#[track_caller]
fn output(source: &str) -> Value {
    place(source).get("run f go --user ada --project p --session s --request r")["output"].clone()
}

/// Flows that do not load, and what the message must say.
#[track_caller]
fn check_refused(cases: &[(&str, &[&str])]) {
    for (source, says) in cases {
        let answer = place(source).ask("check");
        assert_eq!(answer.code, Some(1), "{source}\n{answer}");
        let error = &answer.json()[0]["error"];
        let message = error["message"].as_str().unwrap_or_default();
        for part in *says {
            assert!(message.contains(part), "{source}: {message:?} does not say {part:?}");
        }
        assert_eq!(error["file"], "flows/main.ts", "{source}\n{answer}");
    }
}

#[test]
fn the_snippets_of_the_oldest_dialect_run_as_they_stand() {
    let place = place(
        r#"
const learn = handler({ name: "learn", execute: async (input, ctx) => {
  // User saves a snippet in one session, uses it in another:
  const snippets = ctx.user.resources.get("snippets");
  await snippets.patchState({
    byId: {
      ...snippets.state.byId,
      "auth-helper": {
        title: "JWT Auth Middleware",
        code: "export function authMiddleware...",
        language: "typescript",
        savedAt: Date.now(),
      },
    },
  });
  const kb = ctx.project?.resources?.get("knowledgeBase");
  if (kb) {
    await kb.patchState({
      articles: {
        ...kb.state.articles,
        "api-conventions": {
          title: "API Naming Conventions",
          content: "All endpoints follow REST conventions...",
          author: ctx.user.identity.id,
          updatedAt: Date.now(),
          tags: ["api", "conventions"],
        },
      },
      index: [...kb.state.index, "api-conventions"],
    });
  }
  const artifacts = ctx.session.resources.get("artifacts");
  const doc = artifacts.state.byId["design-doc"];
  return [Object.keys(snippets.state.byId), kb?.state.index ?? null, doc];
} });
export default defineFlow({
  kind: "f",
  session: { resources: { artifacts: { stateSchema: z.object({ byId: z.record(z.string()).default({ "design-doc": "d" }) }) } } },
  user: {
    resources: {
      snippets: {
        stateSchema: z.object({
          byId: z.record(z.object({ title: z.string(), code: z.string(), language: z.string(), savedAt: z.number() })).default({}),
        }),
        writable: true,
      },
    },
  },
  project: {
    resources: {
      knowledgeBase: {
        stateSchema: z.object({
          articles: z.record(z.object({ title: z.string(), content: z.string(), author: z.string(), updatedAt: z.number(), tags: z.array(z.string()) })).default({}),
          index: z.array(z.string()).default([]),
        }),
        writable: true,
      },
    },
  },
  actions: { go: { steps: sequencer({ name: "go" }).then(learn) } },
});"#,
    );
    let all = place.get("run f go --user ada --project team --session s1 --request r1");
    assert_eq!(all["output"], json!([["auth-helper"], ["api-conventions"], "d"]));
    let elsewhere = place.get("run f go --user ada --session s2 --request r2");
    assert_eq!(
        elsewhere["output"],
        json!([["auth-helper"], null, "d"]),
        "without a project there is no knowledge base"
    );
    let team = place.get("state --project team");
    let article = json!({ "author": "ada", "tags": ["api", "conventions"], "…": 0 });
    assert_matches("article", &team["resources"]["project/knowledgeBase"]["articles"]["api-conventions"], &article);
    assert_eq!(place.get("state --user ada")["versions"]["user/snippets"], 2);
}

#[test]
fn resources_of_every_block_below_appear_on_a_sequencer() {
    let below = r#"
const r = Object.fromEntries(["step", "stepIf", "parallel", "stepAll", "forEach", "doUntil", "doWhile", "work", "tap", "tapIf", "rescue",
  "branch", "nested", "route", "tool", "own", "late"].map((name) => [name, doc()]));
const b = (name) => named(name, { resources: { [name]: r[name] } });
const yes = () => true, no = () => false, id = (v) => v;
const go = sequencer({ name: "go", sessionResources: { own: r.own } }).step(b("step")).stepIf(no, b("stepIf")).map(() => [1])
  .forEach(b("forEach")).map(() => 1).doUntil(yes, b("doUntil")).doWhile(no, b("doWhile")).work(b("work")).tap(b("tap")).tapIf(no, b("tapIf"))
  .branch({ a: [id, no, b("branch")], z: [id, yes, named("z")] }).step(sequencer({ name: "inner" }).step(b("nested")))
  .step(router({ name: "router", routes: [b("route")], execute: () => b("route") }))
  .parallel({ a: b("parallel") }).stepAll([b("stepAll")])
  .stepIf(no, generator({ name: "model", model: "m", prompt: "p", tools: [b("tool")] }))
  .rescue([{ block: b("rescue") }]);
const reach = sequencer({ name: "reach" }).step(go).step(named("ask", { execute: (input, ctx) => ctx.resources.list() }));
"#;
    let declared = format!(
        "{below}\nexport default flow({{ actions: {{ go: {{ block: named(\"go\", {{ execute: () => \
         [Object.keys(go.declaredResources).sort(), sequencer({{ name: \"none\" }}).step(named(\"a\")).declaredResources ?? null, \
         go.declaredResources.step === r.step] }}) }} }} }});"
    );
    let mut all = vec![
        "branch", "doUntil", "doWhile", "forEach", "nested", "own", "parallel", "rescue", "route", "step", "stepAll",
        "stepIf", "tap", "tapIf", "tool", "work",
    ];
    assert_eq!(output(&declared), json!([all, null, true]));
    let mut reached = output(&format!("{below}\nexport default flow({{ actions: {{ go: {{ block: reach }} }} }});"));
    let reached = reached.as_array_mut().expect("a list");
    reached.sort_by_key(|name| name.to_string());
    all.sort_by_key(|name| format!("\"{name}\""));
    assert_eq!(*reached, all, "every block of the flow reaches them");
}

#[test]
fn every_spelling_means_the_same() {
    let write = "handler({ name: \"go\", BLOCK execute: async (i, ctx) => { await ctx.resources.x.patchState({ a: 2 }); return [ctx.SCOPE.resources.x.uri, ctx.SCOPE.resources.list()]; } })";
    let cases = [
        ("session", "resources: { x: doc() },", ""),
        ("user", "userResources: { x: defineResource({ scope: \"user\" }) },", ""),
        ("user", "userResources: { x: { stateSchema: schema } },", ""),
        ("org", "orgResources: { x: { stateSchema: schema } },", ""),
        ("project", "projectResources: { x: { scope: \"org\" } },", ""),
        ("org", "", "org: { resources: { x: { stateSchema: schema } } },"),
        ("session", "", "resources: { x: { scope: \"session\" } },"),
    ];
    for (scope, block, own) in cases {
        let write = write.replace("BLOCK", block).replace("SCOPE", scope);
        let answer = output(&format!("export default flow({{ {own} actions: {{ go: {{ block: {write} }} }} }});"));
        let shown = if scope == "org" { "project" } else { scope };
        assert_eq!(answer, json!([format!("{shown}/x"), ["x"]]), "{block}{own}");
    }
    let namespace = "const x = defineResourceNamespace({ pattern: \"x/*\", scope: \"user\" });
        export default flow({ resources: { x }, actions: { go: { block: named(\"go\", { execute: async (i, ctx) => (await ctx.resources.x.create(\"a\")).uri }) } } });";
    assert_eq!(output(namespace), "user/x/a");
}

#[test]
fn one_name_in_two_scopes_is_told_apart_by_the_scope() {
    let source = "export default flow({ session: { resources: { x: {} } }, user: { resources: { x: {} } }, actions: { go: { block: named(\"go\", {
      execute: (i, ctx) => { let both; try { both = ctx.resources.x; } catch (error) { both = error.message; }
        return [ctx.session.resources.x.uri, ctx.user.resources.x.uri, both, ctx.resources.list()]; } }) } } });";
    let ambiguous = "Resource \"x\" is declared in two scopes: use ctx.session.resources or ctx.user.resources";
    assert_eq!(output(source), json!(["session/x", "user/x", ambiguous, ["x"]]));
}

#[test]
fn a_definition_without_a_ref_lies_where_it_is_named() {
    let source = "const one = doc(), two = doc({ ref: \"same\" });
      export default flow({ resources: { a: one, b: one, c: two, d: two }, actions: { go: { block: named(\"go\", { execute: async (i, ctx) => {
        const { a, b, c, d } = ctx.resources; await a.patchState({ n: 1 }); await c.patchState({ n: 2 });
        return [a.uri, b.uri, c.uri, d.uri, b.state, d.state]; } }) } } });";
    let uris = json!(["session/a", "session/b", "session/same", "session/same", {}, { "n": 2 }]);
    assert_eq!(output(source), uris);
}

#[test]
fn an_isolated_resource_is_the_flow_s_own() {
    let source = |kind: &str| {
        format!(
            "import {{ defineFlow, defineResource, handler }} from \"@flow-state-dev/core\";
             const own = defineResource({{ scope: \"user\", flowIsolation: true }}), all = defineResource({{ scope: \"user\" }});
             const go = handler({{ name: \"go\", execute: async (i, ctx) => {{
               await ctx.resources.own.incState({{ n: 1 }}); await ctx.resources.all.incState({{ n: 1 }});
               return [ctx.resources.own.state.n, ctx.resources.all.state.n]; }} }});
             export default defineFlow({{ kind: \"{kind}\", resources: {{ own, all }}, actions: {{ go: {{ block: go }} }} }});"
        )
    };
    let place = Place::new().file("flows/a.ts", &source("a")).file("flows/b.ts", &source("b"));
    assert_eq!(place.get("run a go --user ada")["output"], json!([1, 1]));
    assert_eq!(place.get("run b go --user ada")["output"], json!([1, 2]));
    let resources = json!({ "user/all": { "n": 2 }, "user:a/own": { "n": 1 }, "user:b/own": { "n": 1 } });
    assert_eq!(place.get("state --user ada")["resources"], resources);
}

#[test]
fn owners_and_keys_never_meet() {
    let source = "const x = defineResourceCollection({ pattern: \"**\", scope: \"user\" });
      export default flow({ resources: { x }, actions: { go: { block: named(\"go\", { execute: async (i, ctx) => { await ctx.resources.x.create(i); } }) } } });";
    let place = place(source);
    for (user, key) in [("a", "b/c"), ("a/b", "c"), ("a:f", "c"), ("a%", "c"), ("a0", "c"), ("a", "c#d")] {
        place.get(&format!("run f go --user {user} --input {}", json!(key)));
    }
    for (user, left) in
        [("a", vec!["user/b/c", "user/c#d"]), ("a/b", vec!["user/c"]), ("a:f", vec!["user/c"]), ("a%", vec!["user/c"])]
    {
        let state = place.get(&format!("state --user {user}"));
        let found: Vec<&String> = state["resources"].as_object().expect("resources").keys().collect();
        assert_eq!(found, left, "{user}");
    }
}

#[test]
fn a_block_made_while_the_flow_runs_brings_its_resources_along() {
    let source = "const late = defineResource({ scope: \"session\", stateSchema: schema });
      const make = () => handler({ name: \"made\", resources: { late }, execute: async (n, ctx) => { await ctx.resources.late.incState({ a: n }); return ctx.resources.list(); } });
      export default flow({ actions: { go: { block: sequencer({ name: \"go\" }).map(() => [1, 2]).forEach(make) } } });";
    let place = place(source);
    assert_eq!(place.get("run f go --user ada --session s")["output"], json!([["late"], ["late"]]));
    assert_eq!(place.get("state --session s")["resources"], json!({ "session/late": { "a": 4 } }));
}

#[test]
fn what_cannot_hold_together_is_refused() {
    let two = "actions: { go: { block: sequencer({ name: \"go\" }).step(named(\"one\", { resources: { x: A } })).step(named(\"two\", { resources: { x: B } })) } }";
    let blocks = |a: &str, b: &str| {
        format!("const same = doc();\nexport default flow({{ {} }});", two.replace('A', a).replace('B', b))
    };
    check_refused(&[
        (&blocks("doc()", "doc()"), &["Resource conflict: \"x\"", "block \"one\"", "block \"two\""]),
        (
            "export default flow({ resources: { x: doc({ ref: \"r\" }), y: doc({ ref: \"r\" }) } });",
            &["Resource conflict: \"x\" of flow \"f\" (session/r) and \"y\"", "another ref"],
        ),
        (
            "const c = () => defineResourceCollection({ scope: \"user\", pattern: \"c/*\" });
             export default flow({ resources: { x: c() }, actions: { go: { block: named(\"go\", { resources: { y: c() } }) } } });",
            &["Resource conflict", "user/c/*", "block \"go\""],
        ),
        ("export default flow({ requireUser: false, resources: { x: doc({ scope: \"user\" }) } });", &["requireUser: false", "\"x\""]),
        (
            "export default flow({ requireUser: false, actions: { go: { block: named(\"go\", { userResources: { mine: {} } }) } } });",
            &["requireUser: false", "\"mine\""],
        ),
        ("export default flow({ requireUser: false, user: { stateSchema: schema } });", &["requireUser: false", "user.stateSchema"]),
        ("export default flow({ resources: { x: doc({ prefetchMode: \"lazy\" }) } });", &["\"x\" is lazy"]),
        ("export default flow({ user: { resources: { x: doc() } } });", &["user", "resources.x", "session"]),
        ("export default flow({ resources: { x: 3 } });", &["x", "defineResource"]),
        ("export default flow({ resources: { x: {} } });", &["scope must be one of session, user, project, org"]),
    ]);
    for source in [blocks("same", "same"), blocks("doc()", "doc()").replace("flow({", "flow({ resources: { x: same },")]
    {
        assert_eq!(
            place(&source).ask("check").code,
            Some(0),
            "one definition twice, or the flow's own over it\n{source}"
        );
    }
}

#[test]
fn a_definition_that_makes_no_sense_is_refused_where_it_stands() {
    let single = |config: &str| {
        format!("defineResource({{ scope: \"user\", stateSchema: schema, {config} }}); export default flow({{}});")
    };
    let many = |config: &str| {
        format!(
            "defineResourceCollection({{ scope: \"user\", pattern: \"p/*\", stateSchema: schema, {config} }}); export default flow({{}});"
        )
    };
    let cases: Vec<(String, &[&str])> = vec![
        (single("scope: \"request\""), &["scope must be one of", "\"request\""]),
        (single("scope: \"session\", flowIsolation: true"), &["flowIsolation"]),
        (single("scope: \"user\", sharedToLineage: true"), &["sharedToLineage", "what a user keeps"]),
        (single("stateSchema: {}"), &["stateSchema must be a zod schema"]),
        (single("content: \"a\", contentTemplate: \"b\""), &["more than one content source", "content, contentTemplate"]),
        (single("contentFile: \"a.md\""), &["contentFile: there is no file \"a.md\"", "written here as a plain text"]),
        (single("contentTemplateRef: 3"), &["contentTemplateRef must be a text", "got number 3"]),
        (single("contentTemplate: 3"), &["contentTemplate must be a text or a template", "got number 3"]),
        (single("edges: 3"), &["edges is true or { vocabulary?, maxEdges? }"]),
        (single("edges: { maxEdges: 0 }"), &["edges.maxEdges must be an integer of at least 1"]),
        (single("contentTemplate: \"a\", render: (a) => a"), &["render", "contentTemplate"]),
        (single("content: 3"), &["content must be a text"]),
        (single("default: { a: \"x\" }"), &["default at \"a\"", "Expected number"]),
        (single("default: { b: NaN }"), &["default at \"b\"", "NaN"]),
        (single("default: [1]"), &["default must be an object"]),
        (single("client: { expose: [\"a\"], exclude: [\"b\"] }"), &["expose and exclude"]),
        (single("client: { expose: [\"c\"] }"), &["names \"c\"", "it has: a, b"]),
        (many("pattern: \"plain\""), &["leaves nothing open", "defineResource"]),
        (many("pattern: \"a//*\""), &["cannot be read at \"\""]),
        (many("pattern: \"**/a\""), &["cannot be read at \"**\""]),
        (many("pattern: \"[x]/[x]\""), &["names [x] twice"]),
        (many("pattern: 3"), &["pattern must be a text"]),
        (many("pattern: \"fi les/*\""), &["cannot be read at \"fi les\"", "a name is made of"]),
        (many("pattern: \"a/[to pic]\""), &["cannot be read at \"to pic\"", "[name] is made of"]),
        (single("client: { content: { read: true }, live: true }"), &["client.live requires expose, exclude or data"]),
        (many("client: { live: true }"), &["client.live requires client.state.read, or expose"]),
        (many("maxInstances: 0"), &["maxInstances must be an integer of at least 1"]),
        (many("eviction: \"lru\""), &["eviction \"lru\" needs maxInstances"]),
        (many("eviction: \"newest\", maxInstances: 1"), &["eviction must be"]),
        (many("eviction: \"lru\", maxInstances: 1, prefetchMode: \"lazy\""), &["a lazy collection cannot evict"]),
        (many("prefetchWindow: -1"), &["prefetchWindow"]),
        (many("prefetchMode: \"some\""), &["prefetchMode"]),
        (many("prefetchMode: \"partial\""), &["prefetchMode \"partial\" needs recentLimit"]),
        (many("allowedExtensions: \"md\""), &["allowedExtensions"]),
        (many("onInstanceCreated: 3"), &["onInstanceCreated must be a function"]),
        ("export default flow({ session: { stateSchema: schema, client: {}, clientData: {} } });".to_owned(), &["client and clientData"]),
        (
            "export default flow({ user: { stateSchema: schema, client: { expose: [\"a\"], derived: { a: () => 1 } } } });".to_owned(),
            &["\"a\" is both in expose and in derived"],
        ),
        ("export default flow({ project: { stateSchema: schema, client: { expose: [\"z\"] } } });".to_owned(), &["project.client.expose names \"z\"", "a, b"]),
    ];
    let cases: Vec<(&str, &[&str])> = cases.iter().map(|(source, says)| (source.as_str(), *says)).collect();
    check_refused(&cases);
    let answer =
        Place::with_flow("import { defineResource } from \"@flow-state-dev/core\";\n\ndefineResource({ scope: 1 });\n")
            .ask("check");
    assert_eq!(answer.json()[0]["error"]["line"], 5, "where defineResource was called\n{answer}");
}
