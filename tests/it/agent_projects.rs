//! Projects of agents in folders, as `@standardagents/builder` lays them out: `agents/{agents,prompts,tools,hooks,models}`
//! with one definition, the default export, in each file.

use serde_json::{Value, json};
use tests::bench::Place;
use tests::pattern::assert_matches;
use tests::server::{Reply, Server};

const MAIN: &str = r#"import { definePrompt } from "@standardagents/builder";
import { z } from "zod";
export default definePrompt({
  name: "support_prompt",
  toolDescription: "Answers",
  prompt: [{ type: "text", content: "You help. " }, { type: "include", prompt: "rules" }],
  model: "heavy-thinking",
  includeChat: true,
  includePastTools: true,
  tools: ["look_up", "billing"],
  requiredSchema: z.object({ topic: z.string() }),
});
"#;

const TOOL: &str = r#"import { defineTool } from "@standardagents/spec";
import { z } from "zod";
import { find } from "../../lib/orders.js";
export default defineTool({
  description: "Looks an order up",
  args: z.object({ id: z.string() }),
  execute: async (state, args) => ({ status: "success", result: `${find(args.id)} for ${state.threadId}` }),
});
"#;

const HOOK: &str = r#"import { defineHook } from "@standardagents/builder";
export default defineHook("after_tool_call_success", async (flow, call, result) => {
  flow.context.last = call.function.name;
  return { ...result, result: `${result.result}!` };
});
"#;

const MODEL: &str = r#"import { defineModel } from "@standardagents/spec";
import { openai } from "@standardagents/openai";
export default defineModel({ name: "heavy-thinking", provider: openai, model: "gpt-large", fallbacks: ["spare"] });
"#;

fn agent(name: &str, prompt: &str) -> String {
    format!(
        "import {{ defineAgent }} from \"@standardagents/spec\";\n\
         export default defineAgent({{\n  name: \"{name}\",\n  sideA: {{ prompt: \"{prompt}\", stopOnResponse: true }},\n  \
         sideB: {{ human: true }},\n}});\n"
    )
}

fn prompt(name: &str, model: &str) -> String {
    format!(
        "import {{ definePrompt }} from \"@standardagents/builder\";\n\
         export default definePrompt({{ name: \"{name}\", prompt: \"Say {name}.\", model: \"{model}\", toolDescription: \
         \"{name}\", includeChat: true }});\n"
    )
}

/// A project as its command makes one, and a few files beside it that are no definitions.
fn place() -> Place {
    Place::new()
        .file("package.json", r#"{ "name": "desk", "type": "module" }"#)
        .file(
            "vite.config.ts",
            "import { agentbuilder } from \"@standardagents/builder/vite\";\nexport default agentbuilder;\n",
        )
        .file("lib/orders.ts", "export const find = (id: string) => `order ${id}`;\n")
        .file("agents/agents/support_agent.ts", &agent("support", "support_prompt"))
        .file("agents/agents/billing_agent.ts", &agent("billing", "billing_prompt"))
        .file("agents/prompts/support_prompt.ts", MAIN)
        .file("agents/prompts/rules.ts", &prompt("rules", "heavy-thinking"))
        .file("agents/prompts/billing_prompt.ts", &prompt("billing_prompt", "spare"))
        .file("agents/tools/look_up.ts", TOOL)
        .file("agents/tools/look_up.test.ts", "throw new Error('a test is no tool');\n")
        .file("agents/hooks/after_tool_call_success.ts", HOOK)
        .file("agents/models/heavy_thinking.ts", MODEL)
        .file(
            "agents/models/spare.ts",
            "import { defineModel } from \"@standardagents/builder\";\n\
            export default defineModel({ name: \"spare\", provider: \"openai\", model: \"gpt-small\" });\n",
        )
}

fn flows(place: &Place) -> Vec<Value> {
    place.get("flows").as_array().expect("a list").clone()
}

#[test]
fn each_agent_of_a_project_loads_with_its_files() {
    let place = place();
    let found = flows(&place);
    assert_matches(
        "the flows",
        &Value::Array(found),
        &json!([
            { "kind": "billing", "file": "agents/agents/billing_agent.ts", "…": 0 },
            { "kind": "support", "file": "agents/agents/support_agent.ts", "…": 0 },
        ]),
    );
    place.get("check");
    let mock = json!({ "generators": { "support_prompt": [
        { "toolCalls": [{ "name": "look_up", "args": { "id": "7" } }] },
        { "text": "It is on its way." },
    ] } });
    place.write("mock.json", mock.to_string());
    place.write("hello.json", r#"{ "content": "Where is 7?" }"#);
    let ended =
        place.get("run support message --user ada --session s --request r --input @hello.json --mock=mock.json");
    assert_eq!(ended["output"]["response"], "It is on its way.", "{ended}");
    let items = place.get("items --request r --type block_tool_output");
    assert_eq!(items[0]["output"]["result"], "order 7 for s!", "{items}");
    let asked = place.get("events r --kind effect_started");
    let request = &asked[0]["payload"]["request"];
    assert_eq!(request["model"], "heavy-thinking", "{asked}");
    assert_eq!(request["messages"][0]["content"], "You help. Say rules.", "{asked}");
    let names = |part: &str| request[part].as_array().expect("a list").iter().map(|one| one["name"].clone()).collect();
    let offered: Vec<Value> = names("tools");
    assert_eq!(offered, ["look_up", "billing"]);
}

/// A handoff goes to an agent of another file, and the thread stays with it.
#[test]
fn a_handoff_reaches_another_file() {
    let place = place();
    place.write(
        "hand.json",
        r#"{ "generators": { "support_prompt": [{ "toolCalls": [{ "name": "billing", "args": {} }] }],
        "billing_prompt": [{ "text": "Billing here." }, { "text": "Still billing." }] } }"#,
    );
    place.write("next.json", r#"{ "generators": { "billing_prompt": [{ "text": "Still billing." }] } }"#);
    place.write("hello.json", r#"{ "content": "My bill" }"#);
    let line = |request: &str, mock: &str| {
        format!("run support message --user ada --session s --request {request} --input @hello.json --mock={mock}")
    };
    assert_eq!(place.get(&line("one", "hand.json"))["output"]["response"], "Billing here.");
    assert_eq!(place.get(&line("two", "next.json"))["output"]["response"], "Still billing.");
    let state = place.get("state --request two");
    assert_eq!(state["flowState"]["agentConfig"]["name"], "billing");
    assert_eq!(state["flowState"]["thread"]["metadata"]["agent_id"], "billing");
}

/// Without an entry in `flowglass.json` a model is the provider's that the project defines; with one, that.
#[test]
fn models_of_a_project_are_asked() {
    let server = Server::start([Reply::text("From the settings.")]);
    let settings =
        json!({ "models": { "heavy-thinking": { "model": "local", "baseUrl": format!("{}/v1", server.address()) } } });
    let place = place();
    place.write("hello.json", r#"{ "content": "Hi" }"#);
    let line = "run support message --user ada --input @hello.json";
    let answer = place.ask(line);
    let told = format!("{answer}");
    assert!(told.contains("OPENAI_API_KEY"), "{told}");
    place.write("flowglass.json", settings.to_string());
    assert_eq!(place.get(line)["output"]["response"], "From the settings.");
    assert_eq!(server.asked()[0].json()["model"], "local");
}

/// A file that comes, changes or goes changes every agent of the project.
#[test]
fn files_of_a_project_are_noticed() {
    let place = place();
    assert_eq!(flows(&place).len(), 2);
    place.write("agents/prompts/support_prompt.ts", MAIN.replace(r#""look_up", "#, r#""look_up", "refund", "#));
    let error = flows(&place).into_iter().find(|flow| flow["kind"] != "billing").expect("the agent")["error"].clone();
    let words = "Prompt \"support_prompt\": tools[1]: there is no tool, prompt or agent \"refund\" in this project";
    assert!(error["message"].as_str().is_some_and(|message| message.contains(words)), "{error}");
    assert_eq!((&error["file"], &error["line"]), (&json!("agents/prompts/support_prompt.ts"), &json!(3)), "{error}");
    place.write("agents/tools/refund.ts", TOOL);
    assert!(flows(&place).iter().all(|flow| flow["error"].is_null()), "{:?}", flows(&place));
    std::fs::remove_file(place.dir().join("agents/tools/look_up.ts")).expect("it is there");
    assert!(flows(&place).iter().any(|flow| flow["error"].to_string().contains("look_up")), "{:?}", flows(&place));
}

/// What a folder cannot hold is refused, and what defines nothing is told.
#[test]
fn a_folder_holds_definitions_of_its_kind() {
    let place = place();
    place.write("agents/tools/shared.ts", "export const rate = 2;\n");
    let found = flows(&place);
    let warnings = found.iter().map(|flow| flow["warnings"].to_string()).collect::<String>();
    assert!(warnings.contains("agents/tools/shared.ts has no default export, so it defines nothing"), "{warnings}");
    place.write("agents/tools/shared.ts", "export default 2;\n");
    let found = flows(&place);
    let warnings = found.iter().map(|flow| flow["warnings"].to_string()).collect::<String>();
    let words =
        "agents/tools/shared.ts: the default export is not made by defineTool, so it defines nothing; it is number 2";
    assert!(warnings.contains(words), "{warnings}");
    assert!(found.iter().all(|flow| flow["error"].is_null()), "the rest loads");
    place.write("agents/tools/shared.ts", prompt("shared", "m"));
    let errors = flows(&place).iter().map(|flow| flow["error"].to_string()).collect::<String>();
    let words = "the default export must be made by defineTool, like every file in \\\"tools\\\"; it is made by \
                 definePrompt, so its file belongs in \\\"prompts\\\"";
    assert!(errors.contains(words), "{errors}");
}

/// A hook that only newer versions call is told of at its line, and everything else runs.
#[test]
fn a_hook_of_a_newer_version_stops_nothing() {
    let place = place();
    let later = "import { defineHook } from \"@standardagents/builder\";\n\
                 export default defineHook({ hook: \"after_subagent_created\", execute: async () => {} });\n";
    place.write("agents/hooks/later.ts", later);
    let found = flows(&place);
    assert!(found.iter().all(|flow| flow["error"].is_null()), "{found:?}");
    let warnings = found.iter().map(|flow| flow["warnings"].to_string()).collect::<String>();
    assert!(warnings.contains("\\\"after_subagent_created\\\" is a hook of a newer version"), "{warnings}");
    assert!(warnings.contains("agents/hooks/later.ts"), "{warnings}");
}
