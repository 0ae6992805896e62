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
