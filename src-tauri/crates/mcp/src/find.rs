//! The tool `find`: requests, blocks, texts and errors.

use engine::event::RequestStatus;
use engine::views::blocks::BlockStatus;
use runner::{
    ListedRequest, RequestQuery, RequestRow, RunCondition, RunTerm, RunsQuery, Samples, SearchQuery, ViewRow,
};
use serde_json::json;

use crate::answer::{Answer, Page};
use crate::arguments::{Arguments, Refused, on, refuse_unused};
use crate::door::Door;
use crate::shown::{name, quoted, word};

/// How many requests are searched for errors.
const LOOKED_AT: u64 = 500;

pub(crate) fn find(door: &Door, mut arguments: Arguments, page: Page) -> Result<Answer, Refused> {
    let request = arguments.text("request")?;
    let filter = arguments.text("filter")?;
    let text = arguments.text("text")?;
    let what = match arguments.word("what", &["requests", "blocks", "text", "errors"])? {
        Some(what) => what,
        None if text.is_some() => "text",
        None if request.is_some() || filter.is_some() => "blocks",
        None => "requests",
    };
    let status = arguments.text("status")?.map(|status| status_of(&status)).transpose()?;
    let query = RequestQuery {
        session: arguments.text("session")?,
        flow: arguments.text("flow")?,
        status,
        samples: if arguments.flag("samples")? { Samples::Only } else { Samples::LeftOut },
        offset: Some(page.offset),
        limit: Some(page.rows()),
        ..RequestQuery::default()
    };
    arguments.finish()?;
    // Refuse arguments that this kind of search ignores, because its answer would cover more than was asked.
    let unused = [
        ("text", text.is_some() && what != "text"),
        ("filter", filter.is_some() && what != "blocks"),
        ("flow", query.flow.is_some() && (what == "text" || request.is_some())),
        ("status", query.status.is_some() && (what == "text" || request.is_some())),
        ("session", query.session.is_some() && request.is_some()),
        ("samples", query.samples == Samples::Only && (query.session.is_some() || request.is_some())),
    ];
    refuse_unused(unused, &format!("{what} of this kind"))?;
    check_session(door, query.session.as_deref())?;
    match (what, request) {
        ("text", request) => {
            let text = text.ok_or_else(|| Refused("argument `text` is missing: the text to find".to_owned()))?;
            texts(door, text, request, query, page)
        }
        ("blocks", Some(request)) => blocks(door, &request, filter.as_deref()),
        ("blocks", None) => Err(Refused("argument `request` is missing: the request whose blocks to find".to_owned())),
        ("errors", Some(request)) => errors_in(door, &request),
        ("errors", None) => errors(door, query),
        (_, Some(request)) => Err(Refused(format!(
            "argument `request`: requests are listed without it; look {{\"request\": {request:?}}}"
        ))),
        (_, None) => requests(door, query),
    }
}

pub(crate) fn status_of(text: &str) -> Result<RequestStatus, Refused> {
    RequestStatus::parse(text).ok_or_else(|| {
        Refused(format!(
            "argument `status`: {} is none of queued, in_progress, completed, incomplete, failed, suspended, \
             interrupted, aborted",
            quoted(text, 40)
        ))
    })
}

fn requests(door: &Door, query: RequestQuery) -> Result<Answer, Refused> {
    let (wanted, offset) = (query.limit.unwrap_or_default(), query.offset.unwrap_or_default());
    let flow = query.flow.clone();
    let samples = samples_left_out(door, &query)?;
    let found = door.workspace.listed_requests(query)?;
    if let Some(flow) = flow.filter(|_| found.is_empty()) {
        check_flow(door, &flow)?;
    }
    let mut answer = Answer::new(match found.len() {
        0 if offset > 0 => "No further request matches.".to_owned(),
        0 => "No request matches.".to_owned(),
        1 => "1 request.".to_owned(),
        count if count as u64 >= wanted => format!("{count} requests and more, newest first."),
        count => format!("{count} requests, newest first."),
    });
    answer.sentence.push_str(&samples);
    answer.has_more = found.len() as u64 >= wanted;
    answer.begins_at_offset = true;
    for request in &found {
        request_row(&mut answer, request);
    }
    if let Some(first) = found.first() {
        answer = answer.then("look", json!({ "request": first.row.id }));
    }
    Ok(answer)
}

/// A sentence that says how many samples of experiments an answer leaves out.
fn samples_left_out(door: &Door, query: &RequestQuery) -> Result<String, Refused> {
    if query.samples != Samples::LeftOut {
        return Ok(String::new());
    }
    let conditions = [
        query.session.clone().map(RunCondition::Session),
        query.flow.clone().map(RunCondition::Flow),
        query.status.map(RunCondition::Status),
    ];
    let terms = conditions.into_iter().flatten().map(|condition| RunTerm { is_negated: false, condition }).collect();
    let count = door.workspace.samples_left_out(&RunsQuery { terms, ..RunsQuery::default() })?;
    Ok(match count {
        0 => String::new(),
        1 => " 1 experiment sample hidden; pass `samples: true` to list it.".to_owned(),
        count => format!(" {count} experiment samples hidden; pass `samples: true` to list them."),
    })
}

/// Refuses the id of an unknown session.
pub(crate) fn check_session(door: &Door, session: Option<&str>) -> Result<(), Refused> {
    let Some(session) = session else { return Ok(()) };
    let recorded = RequestQuery { session: Some(session.to_owned()), limit: Some(1), ..RequestQuery::default() };
    door.workspace.requests(recorded).map(drop).map_err(on("session"))
}

/// Refuses the name of a flow that is neither here nor in any recorded request.
pub(crate) fn check_flow(door: &Door, flow: &str) -> Result<(), Refused> {
    let recorded = RequestQuery { flow: Some(flow.to_owned()), limit: Some(1), ..RequestQuery::default() };
    if !door.workspace.listed_requests(recorded)?.is_empty() {
        return Ok(());
    }
    let flows = door.workspace.flows()?;
    if flows.iter().any(|known| known.kind == flow) {
        return Ok(());
    }
    let kinds: Vec<String> = flows.iter().map(|flow| name(&flow.kind)).collect();
    let there = if kinds.is_empty() { String::new() } else { format!("; the flows are {}", kinds.join(", ")) };
    Err(Refused(format!("argument `flow`: no flow or recorded request has the name {}{there}", quoted(flow, 80))))
}

fn request_row(answer: &mut Answer, request: &ListedRequest) {
    let row = &request.row;
    let mut text = format!("{} · {} · {}.{}", name(&row.id), row.status.as_str(), name(&row.flow), name(&row.action));
    if let Some(words) = &request.words {
        text.push_str(&format!(" · {}", quoted(words, 80)));
    }
    if let Some(took) = row.duration_ms {
        text.push_str(&format!(" · {took} ms"));
    }
    text.push_str(&format!(" · session {}", name(&row.session_id)));
    let error = row.error.as_ref().map(|error| format!("{}: {}", error.name, error.message));
    if let Some(error) = &error {
        text.push_str(&format!(" · {}", quoted(error, 160)));
    }
    if let Some(forked) = &row.forked_from {
        text.push_str(&format!(" · fork of {} at {}", name(&forked.request_id), forked.seq));
    }
    if let Some(retry) = &row.retry_of {
        text.push_str(&format!(" · retry of {}", name(retry)));
    }
    let json = json!({
        "request": row.id, "status": row.status, "flow": row.flow, "action": row.action, "session": row.session_id,
        "startedAt": row.started_at, "durationMs": row.duration_ms, "words": request.words.as_deref().map(short),
        "error": error.as_deref().map(short),
    });
    answer.row(text, json);
}

/// The beginning of a text, for a row.
pub(crate) fn short(text: &str) -> String {
    let head = crate::shown::head(text, 160);
    if head.len() < text.len() { format!("{head}…") } else { head.to_owned() }
}

/// A block of a request as a row.
pub(crate) fn block_row(row: &ViewRow) -> crate::answer::Row {
    let path = row.path.as_deref().unwrap_or(&row.label);
    let mut text = "  ".repeat(row.depth.min(12) as usize);
    text.push_str(&name(path));
    let is_given_up = row.status == Some(BlockStatus::Abandoned);
    if let Some(attempt) = row.attempt.filter(|attempt| *attempt > 0 || is_given_up) {
        text.push_str(&format!("#{attempt}"));
    }
    if let Some(group) = &row.group {
        text.push_str(&format!(" × {}", group.count));
        if group.failed > 0 {
            text.push_str(&format!(", {} failed", group.failed));
        }
        if row.is_folded {
            text.push_str(&format!(", {} rows folded", row.hidden));
        }
    }
    let status = row.status.as_ref().map(word);
    let kind = row.kind.as_ref().map(word);
    text.push_str(&format!(" · {}", kind.as_deref().unwrap_or("group")));
    text.push_str(&format!(" · {}", status.as_deref().unwrap_or("not begun")));
    if row.caught {
        text.push_str(" (caught)");
    }
    if row.memoized {
        text.push_str(" (from the log)");
    }
    let took = row.worked_ms();
    if let Some(took) = took {
        text.push_str(&format!(" · {took} ms"));
    }
    if let Some(error) = &row.error {
        text.push_str(&format!(" · {}", quoted(error, 160)));
    }
    let json = json!({
        "path": path, "attempt": row.attempt, "kind": kind, "status": status, "durationMs": took,
        "caught": row.caught, "error": row.error.as_deref().map(short), "seq": row.seq_end.unwrap_or(row.seq_start),
    });
    crate::answer::Row::new(text, json)
}

fn blocks(door: &Door, request: &str, filter: Option<&str>) -> Result<Answer, Refused> {
    let known = door.workspace.request(request).map_err(on("request"))?;
    let tree = door.workspace.tree(request, filter, filter.is_some()).map_err(on("filter"))?;
    let mut answer = Answer::new(match tree.matches {
        Some(matches) => format!("{matches} of {} blocks of {} match.", tree.counts.blocks, name(&known.id)),
        None => format!("{} has {} blocks, {} failed.", name(&known.id), tree.counts.blocks, tree.counts.failed),
    });
    answer.total = Some(tree.rows.len() as u64);
    answer.rows = tree.rows.iter().map(block_row).collect();
    if let Some(path) = tree.rows.iter().rev().find(|row| row.matches).and_then(|row| row.path.clone()) {
        answer = answer.then("look", json!({ "request": request, "at": path }));
    }
    Ok(answer)
}

/// Requests that failed, and requests in which a failure was caught.
fn errors(door: &Door, query: RequestQuery) -> Result<Answer, Refused> {
    let (flow, samples) = (query.flow.clone(), samples_left_out(door, &query)?);
    let rows = door.workspace.requests_with_totals(RequestQuery { offset: None, limit: Some(LOOKED_AT), ..query })?;
    if let Some(flow) = flow.filter(|_| rows.is_empty()) {
        check_flow(door, &flow)?;
    }
    let failures = |row: &RequestRow| row.totals.as_ref().map_or(0, |totals| totals.failed);
    let bad: Vec<&RequestRow> =
        rows.iter().filter(|row| row.status == RequestStatus::Failed || failures(row) > 0).collect();
    let (count, of) = (bad.len(), rows.len());
    let mut sentence = format!("{count} of the newest {of} requests failed or caught an error.");
    if of as u64 == LOOKED_AT {
        sentence.push_str(" Older requests were not searched: narrow the search with `status`, `flow` or `session`.");
    }
    sentence.push_str(&samples);
    let mut answer = Answer::new(sentence);
    answer.total = Some(count as u64);
    for row in &bad {
        let error = row.error.as_ref().map(|error| format!("{}: {}", error.name, error.message));
        let what = match &error {
            Some(error) => quoted(error, 160),
            None => format!("{} failed blocks were caught", failures(row)),
        };
        let (id, status) = (&row.id, row.status.as_str());
        let text = format!("{} · {status} · {}.{} · {what}", name(id), name(&row.flow), name(&row.action));
        let json = json!({ "request": id, "status": status, "flow": row.flow, "action": row.action,
            "failedBlocks": failures(row), "error": error.as_deref().map(short) });
        answer.row(text, json);
    }
    Ok(match bad.first() {
        Some(row) => answer.then("find", json!({ "what": "errors", "request": row.id })),
        None => answer,
    })
}

fn errors_in(door: &Door, request: &str) -> Result<Answer, Refused> {
    let known = door.workspace.request(request).map_err(on("request"))?;
    // An attempt that failed and was retried is abandoned.
    let tree = door.workspace.tree(request, None, true)?;
    let is_abandoned = |row: &ViewRow| row.status == Some(BlockStatus::Abandoned);
    let failed: Vec<&ViewRow> = tree.rows.iter().filter(|row| row.error.is_some() || is_abandoned(row)).collect();
    let mut answer = Answer::new(match failed.len() {
        0 => format!("No block of {} failed; the request is {}.", name(&known.id), known.status.as_str()),
        count => {
            let status = known.status.as_str();
            format!("{count} blocks of {} failed or were abandoned; the request is {status}.", name(&known.id))
        }
    });
    answer.total = Some(failed.len() as u64);
    answer.rows = failed.iter().map(|row| block_row(&ViewRow { depth: 0, ..(*row).clone() })).collect();
    // The innermost failure of a chain of failures is the last one in start order.
    if let Some((path, attempt)) = failed.last().and_then(|row| Some((row.path.clone()?, row.attempt?))) {
        answer = answer.then("look", json!({ "request": request, "at": format!("{path}#{attempt}") }));
    }
    Ok(answer)
}

fn texts(door: &Door, text: String, request: Option<String>, of: RequestQuery, page: Page) -> Result<Answer, Refused> {
    let samples = match &request {
        Some(request) => door.workspace.request(request).map(|_| String::new()).map_err(on("request"))?,
        None => samples_left_out(door, &of)?,
    };
    let asked = quoted(&text, 80);
    let limit = page.rows();
    let RequestQuery { session, samples: which, .. } = of;
    let query = SearchQuery { text, session, request, samples: which, limit: Some(limit), offset: Some(page.offset) };
    let hits = door.workspace.search(&query).map_err(on("text"))?;
    let mut answer = Answer::new(match hits.len() {
        0 if page.offset > 0 => format!("{asked} is in no further event."),
        0 => format!("{asked} is nowhere in inputs, outputs, items, state, errors and log lines."),
        count if count as u64 >= limit => format!("{asked} is in {count} events and more, the newest request first."),
        count => format!("{asked} is in {count} events, the newest request first."),
    });
    answer.sentence.push_str(&samples);
    answer.has_more = hits.len() as u64 >= limit;
    answer.begins_at_offset = true;
    for hit in &hits {
        let path = hit.path.as_deref().unwrap_or("the request");
        let place = word(&hit.place);
        let text = format!(
            "{} · event {} · {} · {place} · {}",
            name(&hit.request_id),
            hit.seq,
            name(path),
            quoted(&hit.snippet, page.bytes_of_value(200))
        );
        let json = json!({
            "request": hit.request_id, "seq": hit.seq, "path": hit.path, "where": place, "snippet": short(&hit.snippet),
        });
        answer.row(text, json);
    }
    if let Some(hit) = hits.first() {
        let at = hit.path.clone().unwrap_or_else(|| hit.seq.to_string());
        answer = answer.then("look", json!({ "request": hit.request_id, "at": at }));
    }
    Ok(answer)
}
