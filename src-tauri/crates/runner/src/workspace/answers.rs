//! Questions that requests ask somebody outside, and the answers they are taken up with.

mod live;

use engine::event::{Event, RequestStatus};
use engine::suspension::answer_schema::{AnswerSchema, checkable};
use engine::suspension::{Reply, Resolved, SuspensionStatus, TOOL_APPROVAL};
use engine::views::Events;
use engine::views::suspensions::{Suspension, suspensions};
use serde_json::Value;
use store::Samples;

use super::Workspace;
use crate::core::fault::{Detail, Fault};
use crate::effects::outside::now_ms;
use crate::views::{Json, RequestRow, SuspensionRow};

pub use live::Answered;

/// What somebody answers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Resolution {
    /// Which question; the only one that is pending when absent.
    pub suspension: Option<String>,
    /// The answer itself; none goes on without one.
    pub reply: Option<Reply>,
    /// What is submitted.
    pub data: Option<Value>,
    /// Who answers.
    pub by: Option<String>,
}

impl Workspace {
    /// Questions of one session or of all, newest first.
    pub fn suspensions(
        &self,
        session: Option<&str>,
        status: Option<SuspensionStatus>,
        samples: Samples,
    ) -> Result<Vec<SuspensionRow>, Fault> {
        if let Some(session) = session {
            self.session(session)?;
        }
        let mut rows = Vec::new();
        for request in self.store.suspended_requests(session, samples).map_err(Fault::internal)? {
            let row = self.request(&request.id)?;
            let events = self.store.events_of_suspensions(&row.id).map_err(Fault::internal)?;
            let asked = questions(&row, &events);
            rows.extend(asked.into_iter().rev().map(|one| shown(&row, one)));
        }
        rows.retain(|row| status.is_none_or(|status| row.status == status));
        Ok(rows)
    }

    /// How many questions of samples of experiments there are, where a list leaves them out.
    pub fn suspensions_left_out(
        &self,
        session: Option<&str>,
        status: Option<SuspensionStatus>,
        samples: Samples,
    ) -> Result<u64, Fault> {
        match (session, samples) {
            (None, Samples::LeftOut) => Ok(self.suspensions(None, status, Samples::Only)?.len() as u64),
            _ => Ok(0),
        }
    }

    /// Questions of one request, newest first.
    pub fn suspensions_of(&self, request: &str, status: Option<SuspensionStatus>) -> Result<Vec<SuspensionRow>, Fault> {
        let row = self.request(request)?;
        let events = self.store.events_of_suspensions(request).map_err(Fault::internal)?;
        let asked = questions(&row, &events).into_iter().rev().map(|one| shown(&row, one));
        Ok(asked.filter(|asked| status.is_none_or(|status| asked.status == status)).collect())
    }

    /// The questions of a request that wait for an answer, oldest first.
    pub fn pending(&self, request: &str) -> Result<Vec<SuspensionRow>, Fault> {
        let row = self.request(request)?;
        let events = self.store.events_of_suspensions(request).map_err(Fault::internal)?;
        let pending = questions(&row, &events).into_iter().filter(|one| one.status == SuspensionStatus::Pending);
        Ok(pending.map(|one| shown(&row, one)).collect())
    }
}

/// The answers that a request is taken up with: the given one, and that time ran out for others.
/// Refused, with nothing written, when the answer answers nothing that was asked.
pub(super) fn answers(row: &RequestRow, events: &[Event], given: Resolution) -> Result<Vec<Resolved>, Fault> {
    let asked = questions(row, events);
    let is_late = |one: &&Suspension| one.status == SuspensionStatus::Expired && one.answer.is_none() && !one.is_moot;
    let late: Vec<&Suspension> = asked.iter().filter(is_late).collect();
    let expired = |one: &&Suspension| Resolved {
        id: one.asking.id.clone(),
        resolution: SuspensionStatus::Expired,
        data: None,
        by: None,
    };
    let mut answers: Vec<Resolved> = late.iter().map(expired).collect();
    let pending: Vec<&Suspension> = asked.iter().filter(|one| one.status == SuspensionStatus::Pending).collect();
    let Some(reply) = given.reply else {
        if given.suspension.is_some() || given.by.is_some() {
            return Err(Fault::invalid("an answer is missing: --approve, --reject, --skip or --submit JSON"));
        }
        if row.status == RequestStatus::Suspended && answers.is_empty() {
            let which = if pending.len() > 1 { "--suspension, and " } else { "" };
            return Err(Fault::invalid(format!(
                "request \"{}\" waits for an answer: {}; give it with {which}{}",
                row.id,
                list(&pending),
                flags(&pending)
            )));
        }
        return Ok(answers);
    };
    let chosen = match (&given.suspension, pending.as_slice()) {
        (Some(id), _) => {
            let known = asked.iter().find(|one| one.asking.id == *id);
            known.ok_or_else(|| Fault::not_found(format!("request \"{}\" has no suspension \"{id}\"", row.id)))?
        }
        (None, [only]) => only,
        // It came too late, and the run is told so.
        (None, []) if !answers.is_empty() => return Ok(answers),
        (None, []) => {
            return Err(Fault::refused(format!(
                "request \"{}\" is {} and asks nothing; resume it without an answer",
                row.id,
                row.status.as_str()
            )));
        }
        (None, several) => {
            return Err(Fault::invalid(format!(
                "request \"{}\" asks several things: {}; name one with --suspension",
                row.id,
                list(several)
            )));
        }
    };
    match chosen.status {
        SuspensionStatus::Pending => {}
        SuspensionStatus::Expired if is_late(&chosen) => return Ok(answers),
        status => {
            return Err(Fault::refused(format!("suspension \"{}\" is {} already", chosen.asking.id, status.as_str())));
        }
    }
    if !chosen.asking.allow.contains(&reply) {
        let allowed: Vec<&str> = chosen.asking.allow.iter().map(|reply| reply.as_str()).collect();
        return Err(Fault::refused(format!(
            "suspension \"{}\" ({}) does not take \"{}\"; it takes: {}",
            chosen.asking.id,
            chosen.asking.reason,
            reply.as_str(),
            allowed.join(", ")
        )));
    }
    check(chosen, reply, given.data.as_ref())?;
    answers.push(Resolved { id: chosen.asking.id.clone(), resolution: reply.into(), data: given.data, by: given.by });
    Ok(answers)
}

/// Holds an answer against the schema of its question.
fn check(question: &Suspension, reply: Reply, data: Option<&Value>) -> Result<(), Fault> {
    let (Some(schema), Reply::Approve | Reply::Submit) = (&question.asking.resume_schema, reply) else {
        return Ok(());
    };
    if data.is_none() && schema.get("default").is_some() {
        return Ok(());
    }
    let schema = checkable(without_null(schema, data));
    // Earlier versions asked with schemas that cannot be compiled.
    let Ok(compiled) = AnswerSchema::new(&schema) else { return Ok(()) };
    let given = data.cloned().unwrap_or(Value::Null);
    let mut details: Vec<Detail> = compiled
        .validator
        .iter_errors(&given)
        .map(|error| Detail {
            path: error.instance_path().to_string().trim_start_matches('/').replace('/', "."),
            message: error.to_string(),
        })
        .collect();
    details.extend(unknown_arguments(question, &schema, &given));
    if details.is_empty() {
        return Ok(());
    }
    let words: Vec<String> = details
        .iter()
        .map(|one| if one.path.is_empty() { one.message.clone() } else { format!("{}: {}", one.path, one.message) })
        .collect();
    let hint = match (data, reply) {
        (None, Reply::Approve) => "; give data with --approve JSON",
        (None, _) => "; give data with --submit JSON",
        _ => "",
    };
    Err(Fault::Invalid {
        message: format!(
            "the answer does not fit suspension \"{}\" ({}): {}{hint}",
            question.asking.id,
            question.asking.reason,
            words.join("; ")
        ),
        details,
    })
}

/// The schema of an answer that is a value. A question that takes "this, or nothing" says of a value that is wrong only
/// that it is neither.
fn without_null<'a>(schema: &'a Value, given: Option<&Value>) -> &'a Value {
    let Some([value, other]) = schema["anyOf"].as_array().map(Vec::as_slice) else { return schema };
    let is_null = |schema: &Value| schema["type"] == "null";
    match (given, is_null(value), is_null(other)) {
        (Some(given), false, true) if !given.is_null() => without_null(value, Some(given)),
        (Some(given), true, false) if !given.is_null() => without_null(other, Some(given)),
        _ => schema,
    }
}

/// The fields of an edit that the tool does not take: they would be lost without a word.
fn unknown_arguments(question: &Suspension, schema: &Value, given: &Value) -> Vec<Detail> {
    let (Some(given), Some(known)) = (given.as_object(), schema["properties"].as_object()) else { return Vec::new() };
    if question.asking.reason != TOOL_APPROVAL || schema.get("additionalProperties").is_some() {
        return Vec::new();
    }
    let names = || known.keys().map(String::as_str).collect::<Vec<_>>().join(", ");
    let unknown = given.keys().filter(|name| !known.contains_key(*name));
    let detail =
        |name: &String| Detail { path: name.clone(), message: format!("is not an argument; it takes {}", names()) };
    unknown.map(detail).collect()
}

/// The arguments of a call that an edit leaves out, and in whose place a default of the tool comes: a sentence of each,
/// for the person who answers.
pub fn defaults_instead(question: &SuspensionRow, given: &Value) -> Vec<String> {
    let call = question.data.as_ref().and_then(|data| data.0["toolCalls"][0]["args"].as_object());
    let schema = question.resume_schema.as_ref().map(|schema| without_null(&schema.0, Some(given)));
    let (Some(call), Some(schema), Some(given)) = (call, schema, given.as_object()) else { return Vec::new() };
    let left_out = call.iter().filter(|(name, _)| !given.contains_key(*name));
    let sentences = left_out.filter_map(|(name, proposed)| {
        let default = schema["properties"].get(name)?.get("default").filter(|default| *default != proposed)?;
        Some(format!("{name} falls back to {default}, where the call has {proposed}"))
    });
    sentences.collect()
}

pub(super) fn questions(row: &RequestRow, events: &[Event]) -> Vec<Suspension> {
    let ended = row.status.is_terminal() && row.status != RequestStatus::Interrupted;
    suspensions(Events::new(events), ended, now_ms())
}

fn list(questions: &[&Suspension]) -> String {
    let one = |one: &&Suspension| format!("\"{}\" ({} at {})", one.asking.id, one.asking.reason, one.path);
    questions.iter().map(one).collect::<Vec<_>>().join(", ")
}

/// How what these questions take is said on the command line.
fn flags(questions: &[&Suspension]) -> String {
    let all = [
        (Reply::Approve, "--approve"),
        (Reply::Reject, "--reject"),
        (Reply::Skip, "--skip"),
        (Reply::Submit, "--submit JSON"),
    ];
    let is_taken = |reply: &Reply| questions.iter().any(|one| one.asking.allow.contains(reply));
    let flags: Vec<&str> = all.iter().filter(|(reply, _)| is_taken(reply)).map(|(_, flag)| *flag).collect();
    match flags.as_slice() {
        [but_last @ .., last] if !but_last.is_empty() => format!("{} or {last}", but_last.join(", ")),
        few => few.join(""),
    }
}

/// A question as the window and the command line show it.
pub(super) fn shown(row: &RequestRow, one: Suspension) -> SuspensionRow {
    let (resolved, resolved_at) = one.answer.unzip();
    SuspensionRow {
        id: one.asking.id,
        request_id: row.id.clone(),
        session_id: row.session_id.clone(),
        path: one.path.to_string(),
        seq: one.seq,
        reason: one.asking.reason,
        message: one.asking.message,
        data: one.asking.data.map(Json),
        resume_schema: one.asking.resume_schema.map(Json),
        render: one.asking.render.map(Json),
        allow: one.asking.allow,
        status: one.status,
        created_at: one.asked_at,
        expires_at: one.asking.expires_at,
        resolved_at,
        resolved_by: resolved.as_ref().and_then(|resolved| resolved.by.clone()),
        resume_data: resolved.and_then(|resolved| resolved.data).map(Json),
    }
}
