//! What a prompt's text becomes, and what authors may not write into a thread.

use serde_json::{Value, json};
use tests::bench::Place;
use tests::server::{Reply, Server};

const SECRET: &str = "tok-very-secret-0123456789";

/// A model gets the secret that a prompt names; nothing that is kept has it. A value is filled in as it is: what looks
/// like a variable in it stays, directly and in an included prompt.
#[test]
fn a_model_gets_the_text_that_the_prompt_means() {
    let agent = r#"
import { defineAgent, definePrompt, defineTool } from "@standardagents/builder";
export const fill = defineTool("Fills", (flow) => { flow.context.name = "{{secret}}"; flow.context.secret = "S3"; return "ok"; });
definePrompt({ name: "part", prompt: [{ type: "env", property: "SHOP" }, { type: "text", content: " Name {{name}}." }], model: "m" });
definePrompt({ name: "main", prompt: [
  { type: "env", property: "TOKEN" }, { type: "include", prompt: "part" }, { type: "text", content: " Direct {{name}}." },
], model: "m", includeChat: true, includePastTools: true, tools: ["fill"] });
export default defineAgent({ name: "agent", type: "ai_human", sideA: { prompt: "main" } });
"#;
    let call = json!({ "role": "assistant", "content": null, "tool_calls": [
        { "index": 0, "id": "c1", "type": "function", "function": { "name": "fill", "arguments": "{}" } }
    ] });
    let server = Server::start([Reply::message(call, "tool_calls"), Reply::text("done"), Reply::text("done")]);
    let settings = json!({
        "models": { "m": { "model": "tiny", "baseUrl": format!("{}/v1", server.address()) } },
        "env": { "SHOP": "Shop {{secret}}.", "TOKEN": { "valueEnv": "TEST_TOKEN" } },
    });
    let place = Place::new().file("flows/agent.ts", agent).file("flowglass.json", &settings.to_string());
    let place = place.variable("TEST_TOKEN", SECRET);
    let ended = place.get(r#"run agent message --user ada --session s --request r --input {"content":"Hi"}"#);
    assert_eq!(ended["status"], "completed", "{ended}");
    let asked = server.asked();
    let told = |at: usize| asked[at].json()["messages"][0]["content"].as_str().expect("a text").to_owned();
    let last = told(asked.len() - 1);
    assert_eq!(last, format!("{SECRET}Shop {{{{secret}}}}. Name {{{{secret}}}}. Direct {{{{secret}}}}."));
    assert!(told(0).contains("Name {{name}}."), "{}", told(0));
    assert!(!place.stores(SECRET), "the secret is in the database");
    for line in ["events r", "show r", "state --request r", "items --request r"] {
        let answer = place.ask(line);
        assert!(!answer.stdout.contains(SECRET), "{line} shows the secret");
    }
}

/// Once each level of a prompt that includes itself six times was made, to the sixteenth.
#[test]
fn a_prompt_that_includes_itself_often_has_an_end() {
    let include = r#"{ type: "include", prompt: "p" }"#;
    let agent = format!(
        r#"
import {{ defineAgent, definePrompt }} from "@standardagents/builder";
definePrompt({{ name: "p", prompt: [{}], model: "m" }});
export default defineAgent({{ name: "agent", type: "ai_human", sideA: {{ prompt: "p" }} }});
"#,
        [include; 6].join(", ")
    );
    let mock = json!({ "generators": { "p": [{ "text": "done" }] } });
    let place = Place::new().file("flows/agent.ts", &agent).file("flows/agent.mock.json", &mock.to_string());
    let ended = place.get(r#"run agent message --user ada --request r --mock --input {"content":"Hi"}"#);
    assert_eq!(ended["status"], "completed", "{ended}");
    let events = place.get("events r --kind effect_started").to_string();
    assert!(events.contains("[Prompt included too often: p]"), "{events}");
}

/// What breaks the interface is refused with words, nothing of it is stored, and the conversation goes on.
#[test]
fn authors_write_only_what_the_interface_has() {
    let agent = r#"
import { defineAgent, definePrompt, defineTool, injectMessage } from "@standardagents/builder";
import { z } from "zod";
const attempts: Record<string, (flow: any) => unknown> = {
  huge: (flow) => { flow.turnCount = 1e300; },
  most: (flow) => { flow.turnCount = Number.MAX_SAFE_INTEGER; },
  other: async (flow) => { await injectMessage(flow, { id: "one", role: "system", content: "first" }); await injectMessage(flow, { id: "one", role: "system", content: "second" }); },
  side: (flow) => injectMessage(flow, { role: "system", content: "for nobody", forceTurn: "side_c" } as never),
  when: (flow) => { flow.messageHistory = [...flow.messageHistory, { role: "system", content: "x", created_at: "yesterday" }]; },
  depth: (flow) => { flow.messageHistory = [...flow.messageHistory, { role: "system", content: "x", depth: "deep" }]; },
  early: async (flow) => { flow.messageHistory = [...flow.messageHistory, { id: "early", role: "system", content: "early", created_at: -1e300 }]; await injectMessage(flow, { role: "system", content: "before", beforeMessageId: "early" }); },
};
export const attempt = defineTool("Tries", z.object({ what: z.string() }), async (flow, { what }) => { await attempts[what]?.(flow); return "went on"; });
definePrompt({ name: "main", prompt: "Work.", model: "m", includeChat: true, tools: ["attempt"] });
export default defineAgent({ name: "agent", type: "ai_human", sideA: { prompt: "main" } });
"#;
    let names = ["huge", "other", "side", "when", "depth", "early", "most"];
    let calls: Vec<Value> = names.iter().map(|what| json!({ "name": "attempt", "args": { "what": what } })).collect();
    let mock = json!({ "generators": { "main": [{ "toolCalls": calls }, { "text": "done" }] } });
    let place = Place::new().file("flows/agent.ts", agent).file("flows/agent.mock.json", &mock.to_string());
    let ended = place.get(r#"run agent message --user ada --session s --request r --mock --input {"content":"Hi"}"#);
    assert_eq!(ended["status"], "completed", "{ended}");
    let items = place.get("items --request r --type block_tool_output");
    let said: Vec<String> = items.as_array().expect("a list").iter().map(Value::to_string).collect();
    assert_eq!(said.len(), names.len(), "{said:#?}");
    for (at, words) in [
        (0, "flow.turnCount must be a whole number that JavaScript counts exactly"),
        (1, "this thread has another message"),
        (2, "forceTurn: the side is"),
        (3, "created_at must be a number of microseconds, not"),
        (4, "depth must be a number, not"),
        (5, "no message \\\"early\\\" in this thread"),
        (6, "went on"),
    ] {
        assert!(said[at].contains(words), "{}: {words} is not in {}", names[at], said[at]);
    }
    let thread = place.get("state --session s").to_string();
    assert!(thread.contains(r#""content":"first""#) && !thread.contains(r#""content":"second""#), "{thread}");
    assert!(!thread.contains(r#""content":"for nobody""#) && !thread.contains(r#""content":"x""#), "{thread}");
}

/// A hook that masks what is stored has masked the model's words when they are stored, as it does in the package; and
/// what a hook writes to `context` is for the text of the next call.
#[test]
fn hooks_of_new_messages_see_what_the_model_said() {
    let agent = r#"
import { defineAgent, defineHook, definePrompt } from "@standardagents/builder";
defineHook("before_create_message", (flow, message) => ({ ...message, content: message.content?.replace("4111", "****") ?? null }));
defineHook("filter_messages", (flow, messages) => { flow.context.seen = "a filter"; return messages; });
definePrompt({ name: "main", prompt: "By {{seen}}.", model: "m", includeChat: true });
export default defineAgent({ name: "agent", type: "ai_human", sideA: { prompt: "main", stopOnResponse: true } });
"#;
    let mock = json!({ "generators": { "main": [{ "text": "Your card 4111 is fine." }] } });
    let place = Place::new().file("flows/agent.ts", agent).file("m.json", &mock.to_string());
    let ended = place.get(r#"run agent message --user ada --request r --input {"content":"4111"} --mock=m.json"#);
    assert_eq!(ended["output"]["response"], "Your card **** is fine.", "{ended}");
    let asked = place.get("events r --kind effect_started");
    let told = &asked[0]["payload"]["request"]["messages"];
    assert_eq!(told[0]["content"], "By {{seen}}.", "{told}");
    assert_eq!(told[1]["content"], "****", "{told}");
}

/// A sub-prompt knows the conversation that its model was told.
#[test]
fn a_sub_prompt_that_includes_the_chat_has_it_in_its_history() {
    let agent = r#"
import { defineAgent, definePrompt, defineTool } from "@standardagents/builder";
export const look = defineTool("Looks", (flow) => flow.messageHistory.map((row) => `${row.role}:${row.content}`).join("|"));
definePrompt({ name: "inner", toolDescription: "Asks inside", prompt: "Inner.", model: "m", includeChat: true, tools: ["look"] });
definePrompt({ name: "bare", toolDescription: "Asks inside", prompt: "Bare.", model: "m", tools: ["look"] });
definePrompt({ name: "main", prompt: "Main.", model: "m", includeChat: true, tools: ["inner", { name: "bare", includeErrors: false }] });
export default defineAgent({ name: "agent", type: "ai_human", sideA: { prompt: "main", stopOnResponse: true } });
"#;
    let looks = json!({ "toolCalls": [{ "name": "look", "args": {} }] });
    let calls = json!({ "toolCalls": [{ "name": "inner", "args": {} }, { "name": "bare", "args": {} }] });
    let mock = json!({ "generators": { "main": [calls, { "text": "done" }], "inner": [looks], "bare": [looks] } });
    let place = Place::new().file("flows/agent.ts", agent).file("m.json", &mock.to_string());
    place.get(r#"run agent message --user ada --request r --input {"content":"hello"} --mock=m.json"#);
    let blocks = place.get("show r");
    let output = |name: &str| {
        let of = blocks["blocks"].as_array().into_iter().flatten();
        let looked: Vec<&Value> = of.filter(|block| block["name"] == "look").collect();
        let at = looked.iter().find(|block| block["path"].as_str().is_some_and(|path| path.contains(name)));
        let path = at.and_then(|block| block["path"].as_str()).expect("it ran").to_owned();
        place.get(&format!("block r {path}"))["output"].to_string()
    };
    assert!(output("prompt:inner").contains("user:hello"), "{}", output("prompt:inner"));
    assert!(!output("prompt:bare").contains("hello"), "{}", output("prompt:bare"));
    assert_eq!(place.get("replay r")["identical"], true);
}
