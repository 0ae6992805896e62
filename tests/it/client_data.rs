//! What a client sees of a flow's state: only what its author shows.

use serde_json::json;
use tests::bench::Place;
use tests::pattern::assert_matches;

const FLOW: &str = r#"
import { defineResource } from "@flow-state-dev/core";

const notes = defineResource({
  scope: "session",
  stateSchema: z.object({ open: z.array(z.string()).default([]), secret: z.string().default("s") }),
  client: { exclude: ["secret"] },
});

const work = handler({
  name: "work",
  execute: async (input, ctx) => {
    await ctx.session.patchState({ turns: 3, key: "hidden" });
    await ctx.user.patchState({ name: "Ada Lovelace" });
    await ctx.resources.notes.pushState("open", "milk");
  },
});

export default defineFlow({
  kind: "shown",
  resources: { notes },
  session: {
    stateSchema: z.object({ turns: z.number().default(0), key: z.string().default("") }),
    client: { expose: ["turns"], derived: { summary: async ({ state, resources }) => `${state.turns} turns, ${resources.notes.state.open.length} notes` } },
  },
  user: {
    stateSchema: z.object({ name: z.string().default("") }),
    clientData: { initials: ({ state }) => state.name.split(" ").map((part) => part[0]).join("") },
  },
  actions: { work: { block: work } },
});
"#;

#[test]
fn a_client_sees_what_is_exposed_and_derived_and_nothing_else() {
    let place = Place::with_flow(FLOW);
    place.get("run shown work --user ada --session s --request r");
    let seen = json!({
        "session": { "turns": 3, "summary": "3 turns, 1 notes" },
        "user": { "initials": "AL" },
        "resources": { "notes": { "open": ["milk"] } },
    });
    for command in ["state --session s", "state --request r"] {
        assert_matches(command, &place.get(command)["clientData"], &seen);
    }
}

/// A resource that only a block declares is the flow's like any other, to what is derived as well.
#[test]
fn a_client_sees_what_a_block_declares() {
    let place = Place::with_flow(
        r#"
import { defineResource } from "@flow-state-dev/core";
const soul = defineResource({ ref: "soul", scope: "session", client: { expose: ["tone"] },
  stateSchema: z.object({ tone: z.string().default("calm"), secret: z.string().default("s") }) });
const work = handler({ name: "work", resources: { soul }, execute: (_input, ctx) => ctx.resources.soul.patchState({ tone: "warm" }) });
export default defineFlow({ kind: "shown",
  session: { client: { derived: { mood: ({ resources }) => `${resources.soul.state.tone}!` } } },
  actions: { work: { block: sequencer({ name: "outer", inputSchema: z.any() }).step(work) } } });
"#,
    );
    place.get("run shown work --user ada --session s");
    let seen = json!({ "session": { "mood": "warm!" }, "resources": { "soul": { "tone": "warm" } } });
    assert_matches("a block's", &place.get("state --session s")["clientData"], &seen);
}

#[test]
fn a_flow_that_shows_nothing_has_no_client_data() {
    let place = Place::with_flow(
        "export default defineFlow({ kind: \"quiet\", actions: { a: { block: handler({ name: \"a\", execute: () => 1 }) } } });",
    );
    place.get("run quiet a --user ada --session s --request r");
    assert_eq!(place.get("state --session s").get("clientData"), None);
    assert_eq!(place.get("state --request r").get("clientData"), None);
}

#[test]
fn a_projection_that_fails_says_so() {
    let place = Place::with_flow(
        "export default defineFlow({ kind: \"broken\", session: { client: { derived: { x: () => { throw new Error(\"no x\"); } } } },\n\
         actions: { a: { block: handler({ name: \"a\", execute: () => 1 }) } } });",
    );
    place.get("run broken a --user ada --session s --request r");
    let view = place.get("state --session s");
    assert_eq!(view["clientDataError"], json!("Error: no x"));
    assert_eq!(view["session"], json!({}), "the state is shown all the same");
}

/// Whose state it is, is what the session's newest request says.
#[test]
fn a_client_sees_the_state_that_the_session_has() {
    let source = |isolates: bool| {
        format!(
            "const work = handler({{ name: \"work\",\n\
               execute: async (name, ctx) => {{ await ctx.user.patchState({{ name }}); }} }});\n\
             export default defineFlow({{ kind: \"kept\", isolateUserState: {isolates},\n\
               user: {{ stateSchema: z.object({{ name: z.string().default(\"\") }}),\n\
                 clientData: {{ named: ({{ state }}) => state.name }} }},\n\
               actions: {{ work: {{ block: work }} }} }});"
        )
    };
    let place = Place::with_flow(&source(true));
    let seen = || place.get("state --session s")["clientData"]["user"]["named"].clone();
    place.get("run kept work --user ada --session s --input \"apart\"");
    assert_eq!(seen(), "apart");
    place.edit(&source(false));
    assert_eq!(seen(), "apart");
    place.get("run kept work --user ada --session s --input \"shared\"");
    assert_eq!(seen(), "shared");
    place.edit(&source(true));
    assert_eq!(seen(), "shared");
}
