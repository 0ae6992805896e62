//! `print`: values of expressions at a line of past runs.

use runner::{PrintQuery, PrintedValue};
use serde_json::{Value, json};

use crate::answer::{Answer, Page};
use crate::arguments::{Arguments, Refused, on, refuse_unused};
use crate::door::Door;
use crate::find::check_session;
use crate::shown::{cut, name, quoted, times};

/// How much of a value is shown.
const VALUE: usize = 400;
/// How much of an expression is repeated.
const EXPRESSION: usize = 80;

pub(crate) fn print(door: &Door, mut arguments: Arguments, page: Page) -> Result<Answer, Refused> {
    let place = arguments.required("at", "a line of a flow, as flows/cart.ts:18")?;
    let expressions = arguments.texts("expressions")?;
    if expressions.is_empty() {
        return Err(Refused("argument `expressions` is missing: TypeScript expressions, as [\"total\"]".to_owned()));
    }
    let (file, line, column) = place_of(&place)?;
    let rows = page.rows().min(1_000);
    let query = PrintQuery {
        file,
        line,
        column,
        expressions,
        condition: arguments.text("if")?,
        request: arguments.text("request")?,
        session: arguments.text("session")?,
        flow: arguments.text("flow")?,
        status: None,
        limit: Some(u32::try_from(rows).unwrap_or(u32::MAX)),
    };
    arguments.finish()?;
    let is_one = query.request.is_some();
    let unused = [("session", is_one && query.session.is_some()), ("flow", is_one && query.flow.is_some())];
    refuse_unused(unused, "the runs of one request")?;
    if let Some(request) = &query.request {
        door.workspace.request(request).map_err(on("request"))?;
    }
    check_session(door, query.session.as_deref())?;
    let printed = door.workspace.print(&query).map_err(on("at`, `expressions` or `if"))?;
    if let Some(note) = printed.note.as_deref().filter(|_| printed.lacks_statement) {
        return Err(Refused(format!("argument `at`: {note}")));
    }
    let mut sentence = match printed.not_asked.first() {
        Some(_) if printed.total == 0 => {
            format!("{} could not be looked at in {} runs", name(&place), printed.not_asked.len())
        }
        _ if printed.total_is_at_least => {
            format!("{} was reached at least {}", name(&place), times(printed.total.into()))
        }
        _ => format!("{} was reached {}", name(&place), times(printed.total.into())),
    };
    let shown = format!(", of which {} are shown; the newest request first.", printed.hits.len());
    sentence.push_str(match printed.total {
        _ if printed.truncated => shown.as_str(),
        0 => ".",
        _ => ", newest request first.",
    });
    if let Some(note) = &printed.note {
        sentence.push_str(&format!(" {note}"));
    }
    let mut answer = Answer::new(sentence);
    for hit in &printed.hits {
        let (texts, values, left_out) = values_of(&query.expressions, &hit.values, page);
        let text = format!("{} · {}#{}+{} · {texts}", name(&hit.request_id), name(&hit.path), hit.attempt, hit.tick,);
        let mut json = json!({
            "request": hit.request_id, "path": hit.path, "attempt": hit.attempt, "tick": hit.tick, "seq": hit.seq,
            "line": hit.line, "values": values,
        });
        if left_out > 0 {
            json["leftOut"] = json!(left_out);
        }
        answer.row(text, json);
    }
    for not_asked in &printed.not_asked {
        let text = format!("{} was not asked: {}", name(&not_asked.request_id), quoted(&not_asked.why, 300));
        answer.row(text, json!({ "request": not_asked.request_id, "notAsked": cut(&not_asked.why, 300) }));
    }
    for known in &printed.notes {
        let text = format!("{}: {}", name(&known.request_id), quoted(&known.note, 300));
        answer.row(text, json!({ "request": known.request_id, "note": cut(&known.note, 300) }));
    }
    Ok(match printed.hits.first() {
        Some(hit) => answer.then("look", json!({ "request": hit.request_id, "at": hit.path })),
        None => answer,
    })
}

/// The values of a hit as text and as JSON, until they fill half an answer, and how many are left out.
fn values_of(expressions: &[String], values: &[PrintedValue], page: Page) -> (String, Vec<Value>, usize) {
    let most = page.bytes() / 2;
    let (mut text, mut shown, mut json_bytes) = (String::new(), Vec::new(), 0);
    let count = expressions.len().min(values.len());
    for (expression, value) in expressions.iter().zip(values) {
        let (of_value, json) = one(expression, value, page);
        json_bytes += json.to_string().len() + 1;
        let is_full = text.len() + of_value.len() > most || json_bytes > most;
        if is_full && !shown.is_empty() {
            let (left, next) = (count - shown.len(), quoted(expression, EXPRESSION));
            text.push_str(&format!(" · {left} more expressions from {next} on: print them in a call of their own"));
            return (text, shown, left);
        }
        if !shown.is_empty() {
            text.push_str(" · ");
        }
        text.push_str(&of_value);
        shown.push(json);
    }
    (text, shown, 0)
}

/// The value of an expression as text and as JSON.
fn one(expression: &str, value: &PrintedValue, page: Page) -> (String, Value) {
    // The client has the whole of it.
    let expression = cut(expression, EXPRESSION);
    match value {
        PrintedValue::Captured(captured) => {
            let most = page.bytes_of_value(VALUE);
            let json = captured.json.as_ref().map(|json| json.0.to_string());
            let rest = json.as_ref().filter(|json| json.len() > most);
            let rest = rest.map(|json| format!(" ({} bytes: print a part of it)", json.len())).unwrap_or_default();
            let whole = json.filter(|json| json.len() <= most);
            let is_whole = whole.is_some();
            // A preview is text that a flow has chosen.
            let is_plain = ["undefined", "number", "bigint", "boolean", "null"].contains(&captured.kind.as_str());
            let preview = || if is_plain { cut(&captured.preview, most) } else { quoted(&captured.preview, most) };
            let shown = whole.unwrap_or_else(preview);
            let json = match &captured.json {
                Some(json) if is_whole => json.0.clone(),
                _ => json!({ "kind": captured.kind, "preview": crate::find::short(&captured.preview) }),
            };
            (format!("{expression} = {shown}{rest}"), json)
        }
        PrintedValue::Failed { error } => {
            let most = page.bytes_of_value(160);
            let text = format!("{expression} threw {}: {}", name(&error.name), quoted(&error.message, most));
            let (name, message) = (cut(&error.name, most), cut(&error.message, most));
            (text, json!({ "error": { "name": name, "message": message } }))
        }
    }
}

/// `FILE:LINE[:COLUMN]`.
fn place_of(place: &str) -> Result<(String, u32, Option<u32>), Refused> {
    let wrong =
        || Refused(format!("argument `at`: write FILE:LINE or FILE:LINE:COLUMN, from 1 (got {})", quoted(place, 80)));
    let number = |part: &str| part.parse::<u32>().ok().filter(|number| *number > 0);
    let (rest, last) = place.rsplit_once(':').ok_or_else(wrong)?;
    let last = number(last).ok_or_else(wrong)?;
    match rest.rsplit_once(':').and_then(|(file, line)| Some((file, number(line)?))) {
        Some((file, line)) if !file.is_empty() => Ok((file.to_owned(), line, Some(last))),
        _ if !rest.is_empty() => Ok((rest.to_owned(), last, None)),
        _ => Err(wrong()),
    }
}
