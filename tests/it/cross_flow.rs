//! Flows of one folder that declare a state which they share.

use serde_json::json;
use tests::bench::Place;

fn flow(kind: &str, more: &str) -> String {
    format!(
        r#"import {{ defineFlow, defineResource, defineResourceCollection, handler }} from "@flow-state-dev/core";
import {{ z }} from "zod";
const say = handler({{ name: "say", execute: async () => "{kind}" }});
export default defineFlow({{ kind: "{kind}", actions: {{ go: {{ block: say }} }}, {more} }});
"#
    )
}

/// The same declaration, not shared with other flows.
fn isolated(declared: &str) -> String {
    let of_resource = declared.replacen("scope: \"user\",", "scope: \"user\", flowIsolation: true,", 1);
    match declared.split_once(':') {
        Some(("user", _)) => format!("isolateUserState: true, {declared}"),
        Some(("project", _)) => format!("isolateProjectState: true, {declared}"),
        _ => of_resource,
    }
}

/// Two declarations of flows, and the error of the second flow if they conflict.
const PAIRS: [(&str, &str, Option<&str>); 9] = [
    (
        "user: { stateSchema: z.object({ n: z.number().default(0) }) }",
        "user: { stateSchema: z.object({ n: z.string().default(\"\") }) }",
        Some(
            "CrossFlowSchemaConflictError: Flows \"a\" and \"b\" declare incompatible user.stateSchema schemas \
             (incompatible-shape: field \"n\": number vs string). Set isolateUserState: true on one of the flows to opt \
             out of cross-flow sharing, or reconcile the schemas.",
        ),
    ),
    (
        "project: { stateSchema: z.object({ deep: z.object({ list: z.array(z.string()) }) }) }",
        "project: { stateSchema: z.object({ deep: z.object({ list: z.array(z.number()) }) }) }",
        Some(
            "declare incompatible project.stateSchema schemas (incompatible-shape: field \"deep.list[]\": string vs number)",
        ),
    ),
    (
        "resources: { mine: defineResource({ ref: \"profile\", scope: \"user\", stateSchema: z.object({ n: z.number() }) }) }",
        "resources: { other: defineResource({ ref: \"profile\", scope: \"user\", stateSchema: z.object({ n: z.string() }) }) }",
        Some(
            "user.resources.profile schemas (incompatible-shape: field \"n\": number vs string). Set flowIsolation: true on that resource",
        ),
    ),
    (
        "resources: { all: defineResourceCollection({ pattern: \"notes/*\", scope: \"user\", stateSchema: z.object({ n: z.number() }) }) }",
        "resources: { all: defineResourceCollection({ pattern: \"notes/*\", scope: \"user\", stateSchema: z.object({ n: z.string() }) }) }",
        Some(
            "Set flowIsolation: true on that collection in one of the flows to opt out of cross-flow sharing, give one a distinct pattern",
        ),
    ),
    // A field that only one of them has, and one that both have.
    (
        "user: { stateSchema: z.object({ n: z.number(), a: z.string() }) }",
        "user: { stateSchema: z.object({ n: z.number().int(), b: z.string() }) }",
        None,
    ),
    (
        "isolateUserState: true, user: { stateSchema: z.object({ n: z.number() }) }",
        "user: { stateSchema: z.object({ n: z.string() }) }",
        None,
    ),
    // Each session is of one flow.
    (
        "session: { stateSchema: z.object({ n: z.number() }) }",
        "session: { stateSchema: z.object({ n: z.string() }) }",
        None,
    ),
    (
        "resources: { mine: defineResource({ ref: \"profile\", scope: \"user\", flowIsolation: true, stateSchema: z.object({ n: z.number() }) }) }",
        "resources: { other: defineResource({ ref: \"profile\", scope: \"user\", stateSchema: z.object({ n: z.string() }) }) }",
        None,
    ),
    (
        "resources: { mine: defineResource({ ref: \"profile\", scope: \"user\", stateSchema: z.object({ n: z.number() }) }) }",
        "resources: { other: defineResource({ ref: \"address\", scope: \"user\", stateSchema: z.object({ n: z.string() }) }) }",
        None,
    ),
];

#[test]
fn what_two_flows_cannot_share_is_refused_at_the_second() {
    for (one, two, said) in PAIRS {
        let place = Place::new().file("flows/a.ts", &flow("a", one)).file("flows/b.ts", &flow("b", two));
        let flows = place.get("flows");
        let error = &flows[1]["error"];
        assert_eq!(flows[0]["error"], json!(null), "{one}\n{flows:#}");
        assert_eq!(place.get("run a go --user ada")["output"], "a");
        let ran = place.ask("run b go --user ada");
        let Some(said) = said else {
            assert_eq!((error, ran.code), (&json!(null), Some(0)), "{two}\n{flows:#}");
            continue;
        };
        assert!(error["message"].as_str().is_some_and(|message| message.contains(said)), "{said}\n{flows:#}");
        assert_eq!((&error["file"], &error["line"]), (&json!("flows/b.ts"), &json!(4)), "{flows:#}");
        assert_ne!(ran.code, Some(0), "{ran}");
        assert!(ran.to_string().contains("CrossFlowSchemaConflictError"), "{ran}");
        // If one of them isolates its state, or its file is deleted, the other runs.
        let place = place.file("flows/a.ts", &flow("a", &isolated(one)));
        assert_eq!(place.get("run b go --user ada")["output"], "b", "{one}");
        assert_eq!(place.get("run a go --user ada")["output"], "a", "{one}");
        let place = place.file("flows/a.ts", &flow("a", one));
        assert_ne!(place.ask("run b go --user ada").code, Some(0), "{one}");
        std::fs::remove_file(place.dir().join("flows/a.ts")).expect("it is there");
        assert_eq!(place.get("run b go --user ada")["output"], "b", "{two}");
    }
}
