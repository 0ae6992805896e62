//! Entries on the command line: how they are listed, fired and run, and every exit code of that; and what a flow may say
//! that changes nothing here.

use std::time::Duration;

use serde_json::json;
use tests::bench::{Place, program};

const FLOW: &str = r#"
const echo = handler({ name: "echo", execute: (input) => input ?? null });
const slow = handler({ name: "slow", execute: async () => { await new Promise((done) => setTimeout(done, 1500)); return "slow"; } });
const bot = generator({ name: "bot", model: "tiny", prompt: "Sum up.", user: (input: any) => String(input) });
export default defineFlow({
  kind: "shop",
  description: "A shop.",
  actions: { say: { block: echo } },
  internal: { actions: { tidy: { block: echo, description: "Tidies up." } } },
  webhooks: {
    stripe: { on: { paid: { block: echo, input: (event: any) => event.payload } } },
    paddle: { on: { paid: { block: echo, input: (event: any) => event.payload, inputSchema: z.number() } } },
  },
  schedules: {
    static: {
      nightly: { cron: "0 3 * * *", block: bot, input: "today", enabled: false },
      slow: { cron: "@hourly", block: slow },
      often: { cron: "* * * * *", block: slow, onOverlap: "allow" },
      bad: { cron: "* * * * *", block: handler({ name: "bad", execute: () => { throw new Error("no"); } }) },
      asks: { cron: "* * * * *", block: handler({ name: "asks", execute: (_input, ctx) => ctx.suspend({ reason: "human_input" }) }) },
    },
  },
});
"#;

#[test]
fn flows_list_entries_beside_actions() {
    let place = Place::with_flow(FLOW);
    let flow = place.get("flows")[0].clone();
    assert_eq!(flow["description"], "A shop.");
    let names = |list: &str, field: &str| -> Vec<String> {
        let rows = flow[list].as_array().expect("a list");
        rows.iter().map(|row| row[field].as_str().expect("a text").to_owned()).collect()
    };
    assert_eq!(names("actions", "name"), ["say"]);
    let addresses = [
        "internal:tidy",
        "webhook:stripe/paid",
        "webhook:paddle/paid",
        "schedule:nightly",
        "schedule:slow",
        "schedule:often",
        "schedule:bad",
        "schedule:asks",
    ];
    assert_eq!(names("entries", "address"), addresses);
    assert_eq!(names("entries", "name")[..2], ["tidy", "stripe/paid"]);
    assert_eq!(flow["entries"][0]["description"], "Tidies up.");
    assert_eq!(flow["entries"][0]["type"], "internal");
    assert_eq!(flow["entries"][2]["inputSchema"]["type"], "number");
    let nightly = &flow["entries"][3];
    assert_eq!((&nightly["type"], &nightly["cron"]), (&json!("schedule"), &json!("0 3 * * *")));
    assert_eq!((&nightly["timezone"], &nightly["enabled"]), (&json!("UTC"), &json!(false)));
    assert_eq!(nightly["root"]["kind"], "generator");
    let told = place.run(&["flows"]);
    assert!(told.stdout.contains("  schedule:nightly  (0 3 * * *)  off\n"), "{told}");
    let check = place.run(&["check"]);
    assert!(!check.stdout.contains("warning"), "{check}");
}

#[test]
fn every_exit_code_of_a_trigger() {
    let place = Place::with_flow(FLOW);
    for (command, code) in [
        ("trigger shop stripe/paid --input 5", 0),
        ("trigger shop webhook:stripe/paid --input 5", 0),
        ("trigger shop stripe.paid --input 5", 0),
        ("trigger shop stripe:paid --input 5", 0),
        ("trigger shop webhook:stripe/lost --input 5", 2),
        ("trigger shop webhook:stripe --input 5", 2),
        ("trigger shop bad", 3),
        ("trigger shop asks", 4),
        ("trigger shop", 2),
        ("trigger shop nothing", 2),
        ("trigger nothing nightly", 2),
        ("trigger shop say", 2),
        ("trigger shop stripe/paid --input {", 2),
        ("trigger shop paddle/paid --input \"five\"", 2),
        // Two providers have such an event.
        ("trigger shop paid --input 5", 2),
        ("trigger shop nightly --mock=nowhere.json", 2),
    ] {
        let answer = place.ask(command);
        assert_eq!(answer.code, Some(code), "{command}\n{answer}");
    }
    let answer = place.ask("trigger shop paid --input 5");
    let message = answer.json()["error"]["message"].clone();
    assert!(
        message.as_str().is_some_and(|text| text.contains("webhook:stripe/paid, webhook:paddle/paid")),
        "{message}"
    );
    assert_eq!(place.get("trigger shop webhook:paddle/paid --input 5")["output"], 5);
    let session =
        place.get("trigger shop stripe/paid --input 1 --user ada --session s --request r")["sessionId"].clone();
    assert_eq!(session, "s");
    // However it is named, the request has the address of its entry.
    assert_eq!(place.get("events r")[0]["payload"]["action"], "webhook:stripe/paid");
    for named in ["stripe.paid", "stripe:paid"] {
        let request = place.get(&format!("trigger shop {named} --input 1"))["requestId"].clone();
        let started = place.get(&format!("events {}", request.as_str().expect("an id")))[0]["payload"].clone();
        assert_eq!(started["action"], "webhook:stripe/paid", "{named}");
    }
    assert_eq!(place.ask("trigger shop stripe/paid --input 1 --session s").code, Some(7), "it is ada's");
    assert_eq!(place.ask("trigger shop stripe/paid --input 1 --request r").code, Some(7), "it is in use");
    // Whom nobody names is the system.
    assert_eq!(place.get("sessions --user system")[0]["flow"], "shop");
}

#[test]
fn a_trigger_takes_mock_models_and_tells_events() {
    let place = Place::with_flow(FLOW).file("mock.json", r#"{ "generators": { "bot": [{ "text": "a quiet day" }] } }"#);
    let answer = place.ask("trigger shop nightly --mock=mock.json --events");
    let lines: Vec<serde_json::Value> =
        answer.stdout.lines().map(|line| serde_json::from_str(line).expect("a document")).collect();
    assert_eq!(lines.first().map(|line| line["kind"].clone()), Some(json!("request_started")), "{answer}");
    assert_eq!(lines.last().map(|line| line["output"].clone()), Some(json!("a quiet day")), "{answer}");
}

#[test]
fn a_schedule_runs_once_at_a_time_unless_it_says_otherwise() {
    let place = Place::with_flow(FLOW);
    let begin = |entry: &str| {
        let dir = place.dir().display().to_string();
        let mut command = std::process::Command::new(program());
        command.args(["trigger", "shop", entry, "--dir", &dir, "--json"]).stdout(std::process::Stdio::null());
        command.spawn().expect("it starts")
    };
    for (entry, code) in [("slow", 7), ("often", 0)] {
        let mut first = begin(entry);
        while place.get("requests --status in_progress").as_array().is_none_or(Vec::is_empty) {
            std::thread::sleep(Duration::from_millis(30));
        }
        let second = place.ask(&format!("trigger shop {entry}"));
        assert_eq!(second.code, Some(code), "{entry}\n{second}");
        assert!(first.wait().expect("it ends").success());
    }
    assert_eq!(place.ask("trigger shop slow").code, Some(0), "when the first has ended");
}

#[test]
fn internal_entries_need_their_flag() {
    let place = Place::with_flow(FLOW);
    let refused = place.ask("run shop tidy --user ada");
    assert_eq!(refused.code, Some(2), "{refused}");
    let message = refused.json()["error"]["message"].as_str().unwrap_or_default().to_owned();
    assert!(message.contains("--internal"), "{message}");
    let fired = place.ask("run shop nightly --user ada");
    assert_eq!(fired.code, Some(2), "{fired}");
    assert!(
        fired.json()["error"]["message"]
            .as_str()
            .is_some_and(|text| text.contains("flowglass trigger shop schedule:nightly"))
    );
    assert_eq!(place.get("run shop tidy --internal --user ada --input 4")["output"], 4);
    for command in [
        "run shop say --internal --user ada",
        "run shop nightly --internal --user ada",
        "run shop no --internal --user ada",
    ] {
        let answer = place.ask(command);
        assert_eq!(answer.code, Some(2), "{command}\n{answer}");
    }
    assert!(place.get("requests").as_array().is_some_and(|all| all.len() == 1), "what is refused leaves nothing");
}

#[test]
fn a_block_may_require_a_project() {
    let place = Place::with_flow(
        "const own = handler({ name: \"own\", requireOrg: true, execute: (_input, ctx) => ctx.org?.identity.id });\n\
         export default defineFlow({ kind: \"team\", actions: { go: { block: sequencer({ name: \"s\" }).step(own) } } });",
    );
    // The default organisation is one that nobody named.
    for nobody in ["", "--project __fsd_default_org__"] {
        let answer = place.ask(&format!("run team go --user ada {nobody}"));
        assert_eq!(answer.code, Some(2), "{answer}");
        assert!(answer.stderr.contains("--project"), "{answer}");
    }
    assert_eq!(place.get("run team go --user ada --project acme")["output"], "acme");
}

#[test]
fn settings_of_an_instance_reach_its_blocks() {
    let place = Place::with_flow(
        "const tells = handler({ name: \"tells\", execute: (_input, ctx) => ctx.flow });\n\
         const shop = defineFlow({ kind: \"shop\", configSchema: z.object({ name: z.string(), open: z.boolean().default(true) }),\n\
           actions: { go: { block: tells } } });\n\
         export default shop({ config: { name: \"Ada's\" } });",
    );
    let output = place.get("run shop go --user ada")["output"].clone();
    assert_eq!(output, json!({ "kind": "shop", "id": "shop", "config": { "name": "Ada's", "open": true } }));
}

#[test]
fn what_changes_nothing_is_told_once_where_it_stands() {
    let source = "import { defineFlow, generator } from '@flow-state-dev/core';\n\
                  const bot = generator({ name: 'bot', model: 'm', search: true, caching: {}, emit: {}, agentType: 'primary' } as any);\n\
                  const authentication = { resolvePrincipal: () => ({ userId: 'u' }), requireOrg: true };\n\
                  export default defineFlow({ kind: 'k', mcp: { enabled: true }, voice: {}, work: {}, defaultBlockRenderer: 'x',\n\
                  tokenCounter: {}, authentication, chat: { streamToThread: true }, schedules: { resolve: () => null },\n\
                  actions: { go: { block: bot, description: 'd' } } } as any)({ id: 'default' });\n";
    let place = Place::new().file("flows/k.ts", source);
    let answer = place.run(&["check"]);
    assert_eq!(answer.code, Some(0), "{answer}");
    let keys = ["search", "caching", "emit"].map(|key| ("2:13", key));
    let flow = [
        "mcp",
        "voice",
        "work",
        "tokenCounter",
        "defaultBlockRenderer",
        "authentication.resolvePrincipal",
        "authentication.requireOrg",
        "chat.streamToThread",
    ];
    let all: Vec<(&str, &str)> = keys.into_iter().chain(flow.map(|key| ("4:16", key))).collect();
    for (place, key) in &all {
        let told = answer.stdout.matches(&format!("\"{key}\" changes nothing here")).count();
        assert_eq!(told, 1, "{key}\n{answer}");
        assert!(answer.stdout.contains(&format!("flows/k.ts:{place}: ")), "{key}\n{answer}");
    }
    assert_eq!(answer.stdout.matches("warning: ").count(), all.len(), "{answer}");
}

/// A name tells nothing of how long a session lives.
#[test]
fn a_session_that_somebody_named_sends_messages_whatever_its_name() {
    let place = Place::with_flow(
        "const send = handler({ name: \"send\",\n\
           execute: (to, ctx) => ctx.requestHost.sendMessage({ to, kind: \"say\" }) });\n\
         export default defineFlow({ kind: \"talk\", actions: { send: { block: send } },\n\
           relay: { on: { say: { block: handler({ name: \"say\", execute: () => 1 }), input: () => 1 } } } });",
    );
    let refused = |line: &str| place.get(&format!("run talk send --user ada {line}"))["output"]["refused"].clone();
    assert_eq!(refused("--session ephemeral_mine --input \"nobody\""), "unknown-recipient");
    assert_eq!(refused("--session other --input \"ephemeral_mine\""), json!(null));
    assert_eq!(refused("--input \"other\""), "no-durable-sender");
}

#[test]
fn an_event_may_come_to_null() {
    let place = Place::with_flow(
        "const tells = handler({ name: \"tells\", inputSchema: z.null(), execute: (input) => ({ input }) });\n\
         export default defineFlow({ kind: \"shop\", actions: { go: { block: tells } },\n\
           webhooks: { stripe: { on: { paid: { block: tells, input: () => null } } } } });",
    );
    assert_eq!(place.get("trigger shop stripe/paid --input 1")["output"], json!({ "input": null }));
}

/// A provider sends an event again when its answer is late.
#[test]
fn a_key_may_be_of_the_delivery_of_an_event() {
    let place = Place::with_flow(
        "const key = ({ metadata }) => { throw new Error(JSON.stringify(metadata)); };\n\
         const wait = handler({ name: \"wait\", execute: () => 1 });\n\
         export default defineFlow({ kind: \"shop\", actions: { wait: { block: wait } }, webhooks: { stripe: { on: {\n\
           paid: { block: wait, input: (event) => event.payload, concurrency: { policy: \"reject\", key } } } } } });",
    );
    let told = |input: &str| {
        let answer = place.run(&["trigger", "shop", "stripe/paid", "--input", input]);
        assert_eq!(answer.code, Some(7), "{answer}");
        answer.stderr
    };
    let whole = told(r#"{"payload":1,"deliveryId":"d1"}"#);
    assert!(whole.contains(r#"{"webhook":{"provider":"stripe","eventType":"paid","deliveryId":"d1"}}"#), "{whole}");
    let bare = told(r#"{"deliveryId":"of the payload"}"#);
    assert!(bare.contains(r#"{"webhook":{"provider":"stripe","eventType":"paid"}}"#), "{bare}");
}

/// Two messages are made at once, and which is ready first differs from one attempt to the next.
#[test]
fn a_retry_finds_what_it_sent_though_its_messages_are_ready_in_another_order() {
    let place = Place::with_flow(
        "const send = handler({ name: \"send\", retry: { maxAttempts: 2 }, execute: async (to, ctx) => {\n\
           const say = (payload) => ctx.requestHost.sendMessage({ to, kind: \"say\", payload });\n\
           const told = await Promise.all([say(\"one\"), say(\"two\")]);\n\
           if (ctx.attempt === 1) throw new Error(\"again\");\n\
           return told.map((one) => one.deliveryRequestId); } });\n\
         let made = 0;\n\
         const input = async ({ payload }) => {\n\
           const isSlow = [true, false, false, true][made++];\n\
           if (isSlow) await new Promise((done) => setTimeout(done, 300));\n\
           return payload; };\n\
         export default defineFlow({ kind: \"talk\", actions: { send: { block: send } },\n\
           relay: { on: { say: { block: handler({ name: \"say\", execute: (said) => said }), input } } } });",
    );
    place.get("run talk send --user ada --session other --input \"nobody\"");
    let sent = place.get("run talk send --user ada --session s --input \"other\"");
    let said: Vec<_> = sent["output"]
        .as_array()
        .expect("two")
        .iter()
        .map(|id| place.get(&format!("show {}", id.as_str().expect("an id")))["output"].clone())
        .collect();
    assert_eq!(said, ["one", "two"], "{sent}");
}
