//! Entries in the real window: they stand below the actions of their flow, and are fired or run from the same form.

use serde_json::json;
use tests::bench::{Place, program};
use tests::webdriver::{Window, hook};

const FLOW: &str = r#"
const echo = handler({ name: "echo", execute: (input, ctx) => ({ input: input ?? null, user: ctx.user.identity.id }) });
export default defineFlow({
  kind: "shop",
  actions: { say: { block: echo } },
  internal: { actions: { tidy: { block: echo, inputSchema: z.object({ room: z.string() }) } } },
  webhooks: { stripe: { on: { paid: { block: echo, input: (event: any) => event.payload.id } } } },
  schedules: { static: { nightly: { cron: "0 3 * * *", block: echo, input: "tonight" } } },
});
"#;

fn output(place: &Place, action: &str) -> serde_json::Value {
    let rows = place.get("requests");
    let row = rows.as_array().and_then(|rows| rows.iter().find(|row| row["action"] == action)).expect("it ran");
    place.get(&format!("show {}", row["id"].as_str().expect("an id")))["output"].clone()
}

#[test]
fn entries_are_fired_and_run_from_their_form() {
    let place = Place::with_flow(FLOW);
    let (dir, data) = (place.dir().display().to_string(), place.database().display().to_string());
    let window = Window::open(&program(), &["open", &dir, "--data", &data]);

    window.click(&hook("entry-shop-schedule:nightly"));
    window.wait_for_text(&hook("run-form"), "0 3 * * * (UTC)");
    window.click(&hook("run-button"));
    window.wait_for(&format!("{}[data-status=completed]", hook("request-header")));
    assert_eq!(output(&place, "schedule:nightly"), json!({ "input": "tonight", "user": "system" }));

    window.click(&hook("entry-shop-webhook:stripe/paid"));
    window.wait_for_text(&hook("entry-hint"), "payload");
    window.press(&hook("raw-json"), "{}");
    window.click(&hook("run-button"));
    window.wait_for(&format!("{}[data-status=completed]", hook("request-header")));
    assert_eq!(output(&place, "webhook:stripe/paid"), json!({ "input": null, "user": "system" }));

    window.click(&hook("entry-shop-internal:tidy"));
    window.press(&hook("field-room"), "hall");
    window.click(&hook("run-button"));
    window.wait_for(&format!("{}[data-status=completed]", hook("request-header")));
    assert_eq!(output(&place, "internal:tidy")["input"], json!({ "room": "hall" }));
}
