//! Which flows run in an organisation where nobody names one.

use serde_json::{Value, json};
use tests::bench::Place;

/// A flow with one action, `go`, of a handler.
fn flow(before: &str, execute: &str) -> String {
    format!(
        "{before}const own = handler({{ name: \"own\", execute: {execute} }});\n\
         export default defineFlow({{ kind: \"main\", actions: {{ go: {{ block: own }} }} }});\n"
    )
}

/// What a retry runs is the code of today, which counts on one.
#[test]
fn a_retry_of_an_older_request_has_the_default_one() {
    let asks = flow("", "(_input: unknown, ctx: any) => ctx.org?.identity.id ?? null");
    let place = Place::with_flow(&asks);
    assert_eq!(place.get("run main go --user ada --session s --request r")["output"], Value::Null);
    place.edit(&flow("", "(_input: unknown, ctx: any) => ctx.org.identity.id"));
    assert_eq!(place.get("retry r")["output"], "__fsd_default_org__");
    // It stays in the one that it had.
    assert_eq!(place.get("run main go --user ada --session t --request named --org team")["output"], "team");
    assert_eq!(place.get("retry named")["output"], "team");
    place.edit(&asks);
    assert_eq!(place.get("retry r")["output"], json!(null));
}

/// A flow that looks into `org` has one, wherever it does; what it is given may have a field of any name.
#[test]
fn who_looks_into_an_organisation_has_one() {
    let helper = "const of = (c: any) => c.org.identity.id;\n";
    for (before, execute) in [
        ("", "(_input: unknown, ctx: any) => ctx.org.identity.id"),
        ("", "async (_input: unknown, ctx: any) => { await 1; return ctx.org.identity.id; }"),
        ("", "(_input: unknown, { org }: any) => org.identity.id"),
        ("", "async (_input: unknown, { org: company }: any) => company.identity.id"),
        ("", "(_input: unknown, ctx: any) => { const { org: company } = ctx; return company.identity.id; }"),
        ("", "(input: any, ctx: any) => [ctx.org.identity.id, input?.project.state][0]"),
        (helper, "(_input: unknown, ctx: any) => of(ctx)"),
    ] {
        let place = Place::with_flow(&flow(before, execute));
        assert_eq!(place.get("run main go --user ada")["output"], "__fsd_default_org__", "{before}{execute}");
    }
}

/// Flows of before there were organisations run as they did.
#[test]
fn who_says_project_or_asks_has_none() {
    let asks = "const of = (c: any) => c.org?.identity.id ?? c.org.identity.id;\n";
    for (before, execute) in [
        ("", "(_input: unknown, ctx: any) => [typeof ctx.project, typeof ctx.org]"),
        ("", "async (_input: unknown, c: any) => { await 1; return [typeof c.project, typeof c.org]; }"),
        (asks, "(_input: unknown, { project, ...ctx }: any) => [typeof project, typeof ctx.org]"),
        ("", "(_input: unknown, ctx: any) => [typeof ctx.org, ctx.org?.state ?? \"undefined\"]"),
        ("", "(_input: unknown, ctx: any) => [typeof ctx.org, typeof ctx.user.identity.orgId]"),
    ] {
        let place = Place::with_flow(&flow(before, execute));
        let ran = place.get("run main go --user ada");
        assert_eq!(ran["output"], json!(["undefined", "undefined"]), "{before}{execute}");
    }
}

/// One person's notes of one organisation were shown in another one.
#[test]
fn a_user_has_a_state_and_resources_in_each_organisation() {
    let counts = "import { defineResource } from \"@flow-state-dev/core\";\n\
        const note = defineResource({ ref: \"note\", scope: \"user\", stateSchema: z.object({ n: z.number().default(0) }) });\n\
        const own = handler({ name: \"own\", userStateSchema: z.object({ n: z.number().default(0) }), resources: { note }, \
        execute: async (_input: unknown, ctx: any) => { await ctx.user.incState({ n: 1 }); \
        await ctx.resources.note.patchState({ n: ctx.resources.note.state.n + 10 }); \
        return [ctx.user.identity.id, ctx.user.state.n, ctx.resources.note.state.n, ctx.org.identity.id].slice(0, 3); } });\n\
        export default defineFlow({ kind: \"main\", actions: { go: { block: own } } });\n";
    let place = Place::with_flow(counts);
    let go = |request: &str, of: &str| {
        place.get(&format!("run main go --user ada --request {request} {of}"))["output"].clone()
    };
    assert_eq!(go("a", "--org acme"), json!(["ada:~org:acme", 1, 10]));
    assert_eq!(go("b", "--org globex"), json!(["ada:~org:globex", 1, 10]));
    assert_eq!(go("c", "--org acme"), json!(["ada:~org:acme", 2, 20]));
    // The default one is that of everybody who names none.
    assert_eq!(go("d", ""), json!(["ada", 1, 10]));
    assert_eq!(place.get("state --user ada:~org:acme")["user"], json!({ "n": 2 }));
    assert_eq!(place.get("state --request a")["user"], json!({ "n": 1 }));
    // A replay, a retry and a fork find the same ones.
    assert_eq!(place.get("replay c")["identical"], true);
    assert_eq!(place.get("retry b")["output"], json!(["ada:~org:globex", 2, 20]));
    assert_eq!(place.get("fork b --at 1")["output"], json!(["ada:~org:globex", 1, 10]));
    assert_eq!(place.get("state --user ada:~org:globex")["user"], json!({ "n": 2 }));
    place.get("check --data");
}
