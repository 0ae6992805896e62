//! `why` of values that came from resources: of their texts and their fields, written by the request itself, by an
//! earlier one, or before a fork.

use serde_json::{Value, json};
use tests::bench::Place;

const FLOW: &str = r#"import { defineFlow, defineResource, defineResourceCollection, handler, sequencer } from "@flow-state-dev/core";
import { z } from "zod";
const any = z.any();
const page = defineResource({ scope: "session", stateSchema: z.object({ title: z.string().default("a page without a title") }) });
const files = defineResourceCollection({ scope: "user", pattern: "files/*", stateSchema: z.object({ size: z.number().default(0) }) });
const rules = defineResource({ scope: "user", stateSchema: z.object({}), content: "never buy apples that are red" });
const resources = { page, files, rules };
const save = handler({ name: "save", inputSchema: any, resources, execute: async (input: any, ctx: any) => {
  await ctx.resources.page.writeContent(input.page);
  const report = await ctx.resources.files.getOrCreate("report", {});
  await report.writeContent(input.report);
} });
const pass = handler({ name: "pass", inputSchema: any, execute: (input: any) => input });
const read = handler({ name: "read", inputSchema: any, resources, execute: async (_: any, ctx: any) => {
  const report = await ctx.resources.files.get("report");
  return { page: await ctx.resources.page.readContent(), report: await report.readContent(), title: ctx.resources.page.state.title };
} });
const name = handler({ name: "name", inputSchema: any, resources, execute: async (input: any, ctx: any) => {
  await ctx.resources.page.patchState({ title: input.title });
} });
const look = handler({ name: "rules", inputSchema: any, resources, execute: async (_: any, ctx: any) =>
  ({ rules: await ctx.resources.rules.readContent() }) });
const chain = (name: string) => sequencer({ name, inputSchema: any });
export default defineFlow({ kind: "main", session: { resources: { page } }, user: { resources: { files, rules } }, actions: {
  save: { block: chain("saves").step(save) },
  name: { block: chain("names").step(name) },
  read: { block: chain("reads").step(pass).step(read) },
  rules: { block: chain("looks").step(look) },
  both: { block: chain("both").step(save).step(read) },
} });
"#;

const PAGE: &str = "remember to buy green apples";
const REPORT: &str = "the apples of last year were red";

fn place() -> Place {
    Place::new().file("flows/main.ts", FLOW)
}

fn run(place: &Place, request: &str, session: &str, action: &str, input: &Value) {
    let input = input.to_string();
    let args = ["run", "main", action, "--user", "ada", "--session", session, "--request", request, "--input", &input];
    let answer = place.run(&args);
    assert_eq!(answer.code, Some(0), "{answer}");
}

/// The answer, and the write that it leads to: the request, the block, and the place.
fn written(place: &Place, request: &str, value: &str) -> (String, Value) {
    let why = place.get(&format!("why {request} --at root/step:read --value output:{value}"));
    let edges = why["edges"].as_array().expect("a list");
    let write = edges.iter().find(|edge| edge["kind"] == "written").unwrap_or_else(|| panic!("{why:#}"));
    let of = &write["of"];
    let found = json!([of["requestId"], of["path"], write["in"]["scope"], write["in"]["pointer"]]);
    (why["answer"].as_str().unwrap_or_default().to_owned(), found)
}

#[test]
fn the_text_of_a_resource_leads_to_the_request_that_wrote_it() {
    let place = place();
    run(&place, "w", "s", "save", &json!({ "page": PAGE, "report": REPORT }));
    // Others write later, and elsewhere.
    run(&place, "r", "s", "read", &json!({}));
    run(&place, "later", "s", "save", &json!({ "page": PAGE, "report": REPORT }));
    for (value, scope) in [("/page", "session/page"), ("/report", "user/files/report")] {
        let (answer, found) = written(&place, "r", value);
        assert_eq!(found, json!(["w", "root/step:save", scope, "/$content"]), "{answer}");
        assert!(answer.contains(&format!("to {scope}/$content in the earlier request w")), "{answer}");
        assert!(!answer.contains("no other request"), "{answer}");
        assert!(!answer.contains("as well be from"), "one resource is one origin: {answer}");
    }
    // And on to what that request was given.
    let why = place.get("why r --at root/step:read --value output:/page");
    let edges = why["edges"].as_array().expect("a list");
    let is_input = |edge: &&Value| edge["kind"] == "recorded" && edge["in"]["requestId"] == "w";
    assert_eq!(edges.iter().find(is_input).expect("an end")["in"]["pointer"], "/page");
}

#[test]
fn a_field_of_a_resource_leads_to_its_writer_or_to_its_default() {
    let place = place();
    run(&place, "w", "s", "save", &json!({ "page": PAGE, "report": REPORT }));
    run(&place, "untitled", "s", "read", &json!({}));
    run(&place, "named", "s", "name", &json!({ "title": "a list of what to buy" }));
    run(&place, "titled", "s", "read", &json!({}));
    let (answer, found) = written(&place, "titled", "/title");
    assert_eq!(found, json!(["named", "root/step:name", "session/page", "/title"]), "{answer}");
    let why = place.get("why untitled --at root/step:read --value output:/title");
    assert!(why["answer"].as_str().expect("a text").contains("default"), "{why:#}");
}

/// It is compared by its name.
#[test]
fn a_short_text_of_a_resource_leads_to_its_writer() {
    let place = place();
    run(&place, "w", "s", "save", &json!({ "page": "yes", "report": "no" }));
    run(&place, "r", "s", "read", &json!({}));
    for (value, scope) in [("/page", "session/page"), ("/report", "user/files/report")] {
        let (answer, found) = written(&place, "r", value);
        assert_eq!(found, json!(["w", "root/step:save", scope, "/$content"]), "{answer}");
    }
}

#[test]
fn a_text_that_nobody_wrote_leads_to_its_definition() {
    let place = place();
    run(&place, "r", "s", "rules", &json!({}));
    let why = place.get("why r --at root/step:rules --value output:/rules");
    let edge = &why["edges"][0];
    assert_eq!((&edge["kind"], &edge["operation"]), (&json!("computed"), &json!("text_of_code")), "{why:#}");
    let line = FLOW.lines().position(|line| line.contains("const rules = defineResource")).expect("it is there") + 1;
    assert_eq!(edge["by"]["line"], json!(line), "{why:#}");
}

#[test]
fn a_text_that_the_request_itself_wrote_leads_to_its_block() {
    let place = place();
    run(&place, "r", "s", "both", &json!({ "page": PAGE, "report": REPORT }));
    for value in ["/page", "/report"] {
        let why = place.get(&format!("why r --at root/step:read --value output:{value}"));
        let edges = why["edges"].as_array().expect("a list");
        let write = edges.iter().find(|edge| edge["kind"] == "written").unwrap_or_else(|| panic!("{why:#}"));
        assert_eq!((&write["in"]["requestId"], &write["by"]["path"]), (&json!("r"), &json!("root/step:save")));
    }
}

#[test]
fn a_fork_leads_to_what_was_written_before_it() {
    let place = place();
    run(&place, "w", "s", "save", &json!({ "page": PAGE, "report": REPORT }));
    run(&place, "r", "s", "read", &json!({}));
    let fork = place.get("fork r --at root/step:pass")["requestId"].as_str().expect("an id").to_owned();
    run(&place, "later", "s", "save", &json!({ "page": "something else by now", "report": REPORT }));
    for (value, scope) in [("/page", "session/page"), ("/report", "user/files/report")] {
        let (answer, found) = written(&place, &fork, value);
        assert_eq!(found, json!(["w", "root/step:save", scope, "/$content"]), "{answer}");
    }
}
