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
