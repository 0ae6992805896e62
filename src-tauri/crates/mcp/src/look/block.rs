//! One execution of a block: its input, effects and output, and its model calls.

use runner::{BlockDetail, ModelCallRow};
use serde_json::{Value, json};

use crate::address::{Address, Part};
use crate::answer::{Answer, Page};
use crate::arguments::{Refused, on};
use crate::door::Door;
use crate::find::short;
use crate::shown::{IN_ROW, cut, name, quoted, shown, times, word};

/// How many bytes of a value of the block are shown.
const SHOWN: usize = 700;
/// How many bytes of a message of a prompt are shown.
const MESSAGE: usize = 1_500;

/// Builds addresses of the parts of one execution.
struct Of<'b> {
    request: &'b str,
    path: &'b str,
    attempt: u32,
}

impl Of<'_> {
    fn part(&self, part: Part) -> Address {
        Address::Block {
            request: self.request.to_owned(),
            path: self.path.to_owned(),
            attempt: Some(self.attempt),
            part,
        }
    }
}

pub(super) fn block(
    door: &Door,
    request: &str,
    path: &str,
    attempt: Option<u32>,
    page: Page,
) -> Result<Answer, Refused> {
    let detail = door.workspace.block_at(request, path, attempt).map_err(on("at"))?;
    let row = &detail.block;
    let of = Of { request, path, attempt: row.attempt };
    let took = row.duration_ms.map(|took| format!(" after {took} ms")).unwrap_or_default();
    let mut answer = Answer::new(format!(
        "{}#{} ({} {}) is {}{took}: events {} to {}.",
        name(path),
        row.attempt,
        word(&row.kind),
        name(&row.name),
        word(&row.status),
        row.seq_start,
        row.seq_end.map_or("now".to_owned(), |seq| seq.to_string()),
    ));
    if let Some(error) = &row.error {
        let place = match (&error.file, error.line) {
            (Some(file), Some(line)) => format!(" at {}:{line}", name(file)),
            _ => String::new(),
        };
        let text =
            format!("error {}: {}{place}", name(&error.name), quoted(&error.message, page.bytes_of_value(SHOWN)));
        answer.row(
            text,
            json!({ "error": { "name": error.name, "message": short(&error.message), "file": error.file,
            "line": error.line } }),
        );
    }
    for (what, value, part) in [("input", &detail.input, Part::Input), ("output", &detail.output, Part::Output)] {
        if let Some(value) = value {
            let shown = shown(&value.0, page.bytes_of_value(SHOWN), &of.part(part));
            answer.row(format!("{what} {}", shown.text), json!({ what: shown.json }));
        }
    }
    if let Some(span) = &detail.span {
        let shown = shown(&span.0, page.bytes_of_value(SHOWN), &of.part(Part::Span));
        answer.row(format!("span {}", shown.text), json!({ "span": shown.json }));
    }
    changes(&mut answer, &detail, request, page);
    for (n, call) in detail.model_calls.iter().enumerate() {
        let said = call.effect.result.as_ref().map_or(&Value::Null, |result| &result.0);
        let said = shown(said, page.bytes_of_value(IN_ROW), &of.part(Part::Reply(n)));
        let error = call
            .effect
            .error
            .as_ref()
            .map(|error| format!(" failed: {}", quoted(&error.message, page.bytes_of_value(160))));
        let text = format!(
            "model call {n} of {}: {} messages{} -> {}",
            name(&call.model),
            messages(call).len(),
            error.unwrap_or_default(),
            said.text
        );
        answer.row(text, json!({ "modelCall": n, "model": call.model, "reply": said.json }));
    }
    for (n, effect) in detail.effects.iter().enumerate() {
        let asked = effect.request.as_ref().map_or(&Value::Null, |request| &request.0);
        let asked = shown(asked, page.bytes_of_value(IN_ROW), &of.part(Part::Asked(n)));
        let result = effect.result.as_ref().map_or(&Value::Null, |result| &result.0);
        let result = shown(result, page.bytes_of_value(IN_ROW), &of.part(Part::Answered(n)));
        let error =
            effect.error.as_ref().map(|error| format!(" failed: {}", quoted(&error.message, page.bytes_of_value(160))));
        let kind = name(&effect.effect);
        let text = format!("{kind} {} -> {}{}", asked.text, result.text, error.unwrap_or_default());
        answer.row(text, json!({ "effect": kind, "asked": asked.json, "answered": result.json }));
    }
    for asked in &detail.asked {
        let data = asked.resume_data.as_ref().map_or(Value::Null, |data| data.0.clone());
        let address = Address::Event { request: request.to_owned(), seq: asked.seq };
        let data = shown(&data, page.bytes_of_value(IN_ROW), &address);
        let message = asked.message.as_deref().unwrap_or(&asked.reason);
        let text = format!(
            "asked a person {} · {} · {}",
            quoted(message, page.bytes_of_value(200)),
            word(&asked.status),
            data.text
        );
        answer.row(text, json!({ "asked": short(message), "status": asked.status, "answer": data.json }));
    }
    for line in &detail.logs {
        let text = format!("log {}: {}", name(&line.level), quoted(&line.text, page.bytes_of_value(IN_ROW)));
        answer.row(text, json!({ "log": line.level, "text": short(&line.text) }));
    }
    for item in &detail.items {
        let address = Address::Item { request: request.to_owned(), id: item.id.clone() };
        let fields = shown(&Value::Object(item.payload.clone()), page.bytes_of_value(IN_ROW), &address);
        answer.row(
            format!("item {} {}", name(&item.item_type), fields.text),
            json!({ "item": item.id, "fields": fields.json }),
        );
    }
    let at = format!("{path}#{}", row.attempt);
    if !detail.model_calls.is_empty() {
        answer = answer.then("look", json!({ "request": request, "at": at, "what": "prompt" }));
    }
    if detail.input.is_some() {
        answer = answer.then("why", json!({ "request": request, "at": at, "value": "" }));
    }
    if detail.span.is_none() {
        answer = answer.then("look", json!({ "request": request, "at": path, "what": "source" }));
    }
    Ok(answer)
}

fn changes(answer: &mut Answer, detail: &BlockDetail, request: &str, page: Page) {
    for change in &detail.changes {
        let address = Address::Event { request: request.to_owned(), seq: change.seq.unwrap_or(detail.block.seq_start) };
        let side = |value: &Option<runner::Json>| {
            value.as_ref().map(|value| shown(&value.0, page.bytes_of_value(IN_ROW), &address))
        };
        let (old, new) = (side(&change.old), side(&change.new));
        let place =
            if change.path.is_empty() { change.scope.clone() } else { format!("{}.{}", change.scope, change.path) };
        let before = old.as_ref().map_or("nothing", |old| &old.text);
        let after = new.as_ref().map_or("nothing", |new| &new.text);
        let text = format!("wrote {}: {before} -> {after}", name(&place));
        let json = json!({ "wrote": place, "old": old.as_ref().map(|old| &old.json),
            "new": new.as_ref().map(|new| &new.json), "seq": change.seq });
        answer.row(text, json);
    }
}

fn messages(call: &ModelCallRow) -> Vec<Value> {
    let request = call.effect.request.as_ref().map(|request| &request.0["messages"]);
    request.and_then(Value::as_array).cloned().unwrap_or_default()
}

/// The model calls of a block: messages, tools, parameters and replies.
pub(super) fn prompt(
    door: &Door,
    request: &str,
    path: &str,
    attempt: Option<u32>,
    page: Page,
) -> Result<Answer, Refused> {
    let detail = door.workspace.block_at(request, path, attempt).map_err(on("at"))?;
    let of = Of { request, path, attempt: detail.block.attempt };
    if detail.model_calls.is_empty() {
        let inside = door.workspace.tree(request, Some("kind:generator"), true)?;
        let paths: Vec<String> =
            inside.rows.iter().filter(|row| row.matches).filter_map(|row| row.path.clone()).collect();
        let known: Vec<String> = paths.iter().take(8).map(|path| name(path)).collect();
        let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
        return Err(Refused(format!("argument `at`: {} asked no model; the blocks that did: {known}", name(path))));
    }
    let mut answer =
        Answer::new(format!("{}#{} asked models {}.", name(path), of.attempt, times(detail.model_calls.len() as u64)));
    for (n, call) in detail.model_calls.iter().enumerate() {
        let address = of.part(Part::Prompt(n));
        for (message, source) in messages(call).iter().zip(call.sources.iter().map(Some).chain(std::iter::repeat(None)))
        {
            let role = message["role"].as_str().unwrap_or("message");
            let from = source.map(|source| word(&json!(source)["from"])).unwrap_or_default();
            let content = match &message["content"] {
                Value::Null => message,
                content => content,
            };
            let content = shown(content, page.bytes_of_value(MESSAGE), &address);
            let text = format!("call {n} · {} · from {} · {}", name(role), name(&from), content.text);
            answer.row(text, json!({ "call": n, "role": role, "from": from, "content": content.json }));
        }
        let tools = call.effect.request.as_ref().and_then(|request| request.0["tools"].as_array().cloned());
        let tools: Vec<String> =
            tools.into_iter().flatten().filter_map(|tool| tool["name"].as_str().map(name)).collect();
        if !tools.is_empty() {
            answer.row(format!("call {n} · tools {}", tools.join(", ")), json!({ "call": n, "tools": tools }));
        }
        let parameters = shown(&call.parameters.0, page.bytes_of_value(IN_ROW), &address);
        let text = format!("call {n} · model {} · {}", name(&call.model), parameters.text);
        answer.row(text, json!({ "call": n, "model": call.model, "parameters": parameters.json }));
        for tool in &call.tools {
            let (args, result) = (tool.args.0.to_string(), tool.result.as_ref().map(|result| result.0.to_string()));
            let result = result
                .or(tool.error.as_deref().map(|error| quoted(error, page.bytes_of_value(IN_ROW))))
                .unwrap_or_else(|| "nothing yet".to_owned());
            let (args, result) = (cut(&args, page.bytes_of_value(IN_ROW)), cut(&result, page.bytes_of_value(IN_ROW)));
            let text = format!("call {n} · asked for tool {} {args} -> {result}", name(&tool.name));
            answer
                .row(text, json!({ "call": n, "tool": tool.name, "args": args, "result": result, "path": tool.path }));
        }
        let reply = call.effect.result.as_ref().map_or(&Value::Null, |result| &result.0);
        let reply = shown(reply, page.bytes_of_value(SHOWN), &of.part(Part::Reply(n)));
        answer.row(format!("call {n} · reply {}", reply.text), json!({ "call": n, "reply": reply.json }));
    }
    answer.total = Some(answer.rows.len() as u64);
    let at = format!("{path}#{}", of.attempt);
    Ok(answer.then("why", json!({ "request": request, "at": at, "value": "prompt:/messages/0/content" })))
}
