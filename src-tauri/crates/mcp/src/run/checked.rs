//! Recorded runs with the current code: `verify` and `replay`. Writes nothing and makes no external calls.

use runner::{Cancel, Verdict, VerifyQuery};
use serde_json::{Value, json};

use crate::answer::{Answer, Page};
use crate::arguments::{Refused, on};
use crate::door::Door;
use crate::shown::{cut, name, word};

use super::asked::Asked;

/// How many bytes of each side of a difference are shown.
const SIDE: usize = 300;

/// Adds a warning about variables in the settings that are not set here, because they alone may cause the differences.
fn with_unset(mut answer: Answer, names: &[String]) -> Answer {
    if !names.is_empty() {
        let listed = names.iter().map(|one| name(one)).collect::<Vec<_>>().join(", ");
        let text = format!("not set here: {listed}; a flow that reads them behaves differently than recorded");
        answer.row(text, json!({ "unsetVariables": names }));
    }
    answer
}

fn side(value: Option<&runner::Json>, page: Page) -> String {
    let text = value.map_or("nothing".to_owned(), |value| value.0.to_string());
    cut(&text, page.bytes_of_value(SIDE))
}

pub(super) fn replay(door: &Door, request: &str, page: Page) -> Result<Answer, Refused> {
    door.workspace.request(request).map_err(on("request"))?;
    let replay = door.workspace.replay(request)?;
    let Some(first) = &replay.divergence else {
        if let Some(why) = &replay.why {
            return Ok(Answer::new(format!("{} cannot be compared with its recording: {why}.", name(request))));
        }
        let same = match replay.compared {
            0 => " up to its end: no block had ended.".to_owned(),
            count => format!(": {count} blocks are identical."),
        };
        let sentence = format!("{} does what was recorded{same}", name(request));
        return Ok(with_unset(Answer::new(sentence), &replay.unset_variables));
    };
    let answer = Answer::new(format!(
        "{} differs from its recording first in {} at event {}.",
        name(request),
        name(&first.path),
        first.seq
    ));
    let mut answer = with_unset(answer, &replay.unset_variables);
    let (recorded, found) = (side(Some(&first.recorded), page), side(Some(&first.found), page));
    answer.row(format!("recorded {recorded}"), json!({ "recorded": recorded }));
    answer.row(format!("now      {found}"), json!({ "found": found }));
    Ok(answer.then("look", json!({ "request": request, "at": first.path })))
}

pub(super) fn verify(door: &Door, asked: Asked, page: Page) -> Result<Answer, Refused> {
    if let Some(request) = &asked.request {
        door.workspace.request(request).map_err(on("request"))?;
    }
    asked.check_selection(door)?;
    let Asked { request, flow, session, .. } = asked;
    let query = VerifyQuery { requests: request.into_iter().collect(), flow, session, ..VerifyQuery::default() };
    let cancel = Cancel::default();
    let verified = door.workspace.verify(&query, &cancel, |_| {
        if (door.is_cancelled)() {
            cancel.cancel();
        }
    })?;
    let counts: Vec<String> =
        verified.counts().map(|(count, verdict)| format!("{count} {}", verdict.as_str().replace('_', " "))).collect();
    let counts = if counts.is_empty() { "none selected".to_owned() } else { counts.join(", ") };
    let mut answer = Answer::new(format!("{} recorded runs with today's code: {counts}.", verified.results.len()));
    answer = with_unset(answer, &verified.unset_variables);
    let bad = verified.results.iter().filter(|run| !run.verdict.is_good());
    answer.total = Some((answer.rows.len() + bad.clone().count()) as u64);
    for run in bad {
        let id = run.request_id.clone().or(run.file.clone()).unwrap_or_default();
        let at = run.path.as_deref().map(|path| format!(" · {}", name(path))).unwrap_or_default();
        let field = run.field.as_ref().map(|field| format!(" · {}", word(field))).unwrap_or_default();
        let (recorded, found) = (side(run.recorded.as_ref(), page), side(run.found.as_ref(), page));
        let why = run
            .why
            .as_deref()
            .map(|why| format!(" · {}", crate::shown::quoted(why, page.bytes_of_value(SIDE))))
            .unwrap_or_default();
        let sides =
            if run.recorded.is_some() { format!(" · recorded {recorded} · now {found}") } else { String::new() };
        let verdict = run.verdict.as_str().replace('_', " ");
        let cut_why = run.why.as_deref().map(|why| cut(why, page.bytes_of_value(SIDE)));
        let json = json!({ "request": run.request_id, "file": run.file, "verdict": run.verdict, "path": run.path,
            "field": run.field, "recorded": recorded, "found": found, "why": cut_why });
        answer.row(format!("{} · {verdict}{at}{field}{sides}{why}", name(&id)), json);
    }
    let first = verified.results.iter().find(|run| run.verdict == Verdict::Differs);
    Ok(match first.and_then(|run| run.request_id.clone()) {
        Some(id) => answer.then("run", json!({ "do": "replay", "request": Value::String(id) })),
        None => answer,
    })
}
