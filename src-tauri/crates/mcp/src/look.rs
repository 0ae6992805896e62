//! The tool `look`: a request, block, state, items, prompt, source or events at an instant, or a value by its uri.

mod block;
mod request;
mod source;

use engine::event::BlockKind;
use runner::{Audience, EventQuery};
use serde_json::{Value, json};

use crate::address::Address;
use crate::answer::{Answer, Page};
use crate::arguments::{Arguments, Instant, Refused, on, refuse_unused};
use crate::door::Door;
use crate::resources;
use crate::shown::{IN_ROW, name, shown, word};

/// How many bytes of an item's fields are shown.
const IN_ITEM: usize = 500;

pub(crate) fn look(door: &Door, mut arguments: Arguments, page: Page) -> Result<Answer, Refused> {
    let uri = arguments.text("uri")?;
    let id = arguments.text("request")?;
    let at = arguments.at("at")?;
    let what = arguments.word("what", &["request", "block", "state", "items", "prompt", "source", "events"])?;
    let view = arguments.word("view", &["all", "client", "history", "trace"])?;
    arguments.finish()?;
    if let Some(uri) = uri {
        let given =
            [("request", id.is_some()), ("at", at.is_some()), ("what", what.is_some()), ("view", view.is_some())];
        refuse_unused(given, "`uri`, which names all of it")?;
        return resources::look(door, &uri, page);
    }
    let thing = match (what, &at) {
        (Some(what), _) => what,
        (None, None) => "request",
        (None, Some(Instant::Seq(_))) => "state",
        (None, Some(Instant::Block { .. })) => "block",
    };
    refuse_unused([("view", view.is_some() && thing != "items")], thing)?;
    let view = view.unwrap_or("all");
    let id = id.ok_or_else(|| Refused("argument `request` is missing: the id of a request, or a `uri`".to_owned()))?;
    let known = door.workspace.request(&id).map_err(on("request"))?;
    match (what, at) {
        (None | Some("request"), None) => request::overview(door, &known, page),
        (None | Some("block"), Some(Instant::Block { path, attempt })) => block::block(door, &id, &path, attempt, page),
        (Some("state"), _) | (None, Some(Instant::Seq(_))) if let Some(emitter) = &known.received_from => {
            Err(Refused(format!(
                "argument `what`: {} was received as a trace ({}), which has no state; its blocks have spans, and \
                 `what: events` lists what is recorded",
                name(&id),
                name(emitter)
            )))
        }
        (None | Some("state"), Some(at)) => state(door, &id, Some(&at), page),
        (Some("state"), None) => state(door, &id, None, page),
        (Some("block" | "prompt"), None | Some(Instant::Seq(_))) => Err(Refused(format!(
            "argument `at` is missing: the path of a block; look {{\"request\": {id:?}}} lists them"
        ))),
        (Some("prompt"), Some(Instant::Block { path, attempt })) => block::prompt(door, &id, &path, attempt, page),
        (Some("items"), at) => items(door, &id, view, at.as_ref(), page),
        (Some("source"), at) => source::source(door, &id, at.as_ref(), page),
        (Some("events"), at) => events(door, &id, at.as_ref(), page),
        (Some(_), Some(_)) => {
            Err(Refused("argument `what`: a request is looked at without `at`, a block with its path".to_owned()))
        }
        (_, None) => request::overview(door, &known, page),
    }
}

/// The state of every scope: one row for each of its first keys.
fn state(door: &Door, request: &str, at: Option<&Instant>, page: Page) -> Result<Answer, Refused> {
    let asked = at.map(|at| at.of(door, request, "at")).transpose()?;
    let state = door.workspace.state_at(request, asked.as_ref()).map_err(on("at"))?;
    let seq = state.seq.unwrap_or_default();
    let address = Address::State { request: request.to_owned(), seq };
    let scopes = [("request", state.request), ("session", state.session), ("user", state.user)];
    let scopes = scopes.into_iter().chain([("project", state.project)]);
    let mut scopes: Vec<(String, Value)> =
        scopes.filter_map(|(scope, value)| Some((scope.to_owned(), value?.0))).collect();
    for (instance, value) in state.sequencers {
        scopes.push((place_of(door, request, &instance), value.0));
    }
    scopes.extend(state.resources.into_iter().map(|(path, value)| (format!("resource {path}"), value.0)));
    scopes.extend(state.contents.into_iter().map(|(path, text)| (format!("content {path}"), Value::String(text))));
    scopes.extend(state.flow_state.map(|value| ("flowState".to_owned(), value.0)));
    let mut answer = Answer::new(format!("State of all scopes of {} after event {seq}.", name(request)));
    for (scope, value) in scopes {
        match value {
            Value::Object(fields) if !fields.is_empty() => {
                for (field, value) in fields {
                    let place = format!("{scope}.{field}");
                    let shown = shown(&value, page.bytes_of_value(IN_ROW), &address);
                    answer.row(
                        format!("{} = {}", name(&place), shown.text),
                        json!({ "place": place, "value": shown.json }),
                    );
                }
            }
            value => {
                let shown = shown(&value, page.bytes_of_value(IN_ROW), &address);
                answer
                    .row(format!("{} = {}", name(&scope), shown.text), json!({ "place": scope, "value": shown.json }));
            }
        }
    }
    answer.total = Some(answer.rows.len() as u64);
    let first = answer.rows.first().and_then(|row| row.json["place"].as_str().map(str::to_owned));
    Ok(match first.filter(|place| !place.contains(' ')) {
        Some(place) => answer.then("why", json!({ "request": request, "place": place })),
        None => answer,
    })
}

/// The address of a block's own state, as `why` takes it, from `REQUEST:PATH:ATTEMPT`.
fn place_of(door: &Door, request: &str, instance: &str) -> String {
    let path = instance.split_once(':').and_then(|(_, rest)| Some(rest.rsplit_once(':')?.0)).unwrap_or(instance);
    let kind = door.workspace.block_at(request, path, None).map(|detail| detail.block.kind);
    let is_sequencer = kind.is_ok_and(|kind| kind == BlockKind::Sequencer);
    format!("{}[{path}]", if is_sequencer { "sequencer" } else { "block" })
}

/// The items that an audience sees.
fn items(door: &Door, request: &str, view: &str, at: Option<&Instant>, page: Page) -> Result<Answer, Refused> {
    let audience = Audience::parse(view).unwrap_or(Audience::All);
    let mut items = door.workspace.items(None, Some(request), audience, None)?;
    if let Some(Instant::Seq(seq)) = at {
        items.retain(|item| item.seq <= *seq);
    }
    if let Some(Instant::Block { path, attempt }) = at {
        let is_of = |of: u32| attempt.is_none_or(|attempt| attempt == of);
        items.retain(|item| item.provenance.path == *path && is_of(item.provenance.attempt));
    }
    let mut answer = Answer::new(format!("{} items for the audience {view}, oldest first.", items.len()));
    answer.total = Some(items.len() as u64);
    let first = usize::try_from(page.offset).unwrap_or(usize::MAX);
    answer.begins_at_offset = true;
    for item in items.iter().skip(first).take(usize::try_from(page.rows()).unwrap_or(usize::MAX)) {
        let address = Address::Item { request: request.to_owned(), id: item.id.clone() };
        let fields = shown(&Value::Object(item.payload.clone()), page.bytes_of_value(IN_ITEM), &address);
        let seen = match (item.visibility.client, item.visibility.history) {
            (true, true) => "client, models",
            (true, false) => "client",
            (false, true) => "models",
            (false, false) => "developers",
        };
        let by = if item.provenance.path.is_empty() { &item.provenance.block_name } else { &item.provenance.path };
        let kind = &item.item_type;
        let text = format!("event {} · {} · seen by {seen} · by {} · {}", item.seq, name(kind), name(by), fields.text);
        let json = json!({
            "id": item.id, "type": kind, "seq": item.seq, "status": item.status, "seenBy": seen, "by": by,
            "fields": fields.json,
        });
        answer.row(text, json);
    }
    Ok(answer)
}

/// Lists recorded events.
fn events(door: &Door, request: &str, at: Option<&Instant>, page: Page) -> Result<Answer, Refused> {
    let (from, path) = match at {
        Some(Instant::Seq(seq)) => (Some(*seq), None),
        Some(Instant::Block { path, attempt: Some(_) }) => {
            return Err(Refused(format!(
                "argument `at`: events are listed of all attempts of a block: give {} without the attempt",
                name(path)
            )));
        }
        Some(Instant::Block { path, .. }) => (None, Some(path.clone())),
        None => (None, None),
    };
    let limit = page.rows();
    let query = EventQuery { from, path, limit: Some(limit), offset: Some(page.offset), ..EventQuery::default() };
    let events = door.workspace.events(request, query).map_err(on("at"))?;
    let mut answer = Answer::new(format!("Events of {} as recorded.", name(request)));
    answer.has_more = events.len() as u64 >= limit;
    answer.begins_at_offset = true;
    for event in &events {
        let address = Address::Event { request: request.to_owned(), seq: event.seq };
        let payload = shown(&event.payload.0, page.bytes_of_value(IN_ROW), &address);
        let path = event.path.as_deref().map(|path| format!(" · {}", name(path))).unwrap_or_default();
        let text = format!("{} · {}{path} · {}", event.seq, word(&event.kind), payload.text);
        answer.row(text, json!({ "seq": event.seq, "kind": event.kind, "path": event.path, "payload": payload.json }));
    }
    Ok(answer)
}
