//! `why`: who wrote a place of state, where a value or a text comes from, and where two requests part.

mod origin;

use runner::{WhyQuery, WriteRow};
use serde_json::json;

use crate::address::Address;
use crate::answer::{Answer, Page};
use crate::arguments::{Arguments, Refused, on, refuse_unused};
use crate::diff::first_difference;
use crate::door::Door;
use crate::shown::{IN_ROW, name, shown, times};

pub(crate) fn why(door: &Door, mut arguments: Arguments, page: Page) -> Result<Answer, Refused> {
    let request = arguments.required("request", "the id of a request")?;
    let at = arguments.at("at")?;
    let place_of_block = |what: &str| {
        let at = at.as_ref().map(|at| at.to_string());
        at.ok_or_else(|| Refused(format!("argument `at` is missing: the block whose {what} it is, as root/step:plan")))
    };
    let place = arguments.text("place")?;
    let (value, text) = (arguments.text("value")?, arguments.text("text")?);
    let with = arguments.text("with")?;
    arguments.finish()?;
    let what = if place.is_some() { "`place`, whose writes are all listed" } else { "the comparison of two requests" };
    let is_of_block = value.is_some() || text.is_some();
    refuse_unused([("at", at.is_some() && !is_of_block && (place.is_some() || with.is_some()))], what)?;
    door.workspace.request(&request).map_err(on("request"))?;
    match (place, value, text, with) {
        (Some(place), None, None, None) => writers(door, &request, &place, page),
        (None, Some(value), None, None) => {
            let at = place_of_block("value")?;
            origin::origin(door, &request, &WhyQuery { at, value: Some(value), ..WhyQuery::default() }, page)
        }
        (None, None, Some(text), None) => {
            let at = place_of_block("text")?;
            origin::origin(door, &request, &WhyQuery { at, text: Some(text), ..WhyQuery::default() }, page)
        }
        (None, None, None, Some(with)) => first_difference(door, &request, &with, page),
        (None, None, None, None) => Err(Refused(
            "one of the arguments `place`, `value`, `text` and `with` is missing: what to explain".to_owned(),
        )),
        _ => Err(Refused("arguments `place`, `value`, `text` and `with`: give one of them".to_owned())),
    }
}

/// Who wrote a place of state: the newest write first, because it explains what is there.
fn writers(door: &Door, request: &str, place: &str, page: Page) -> Result<Answer, Refused> {
    let mut writes = door.workspace.history(request, place).map_err(on("place"))?;
    writes.reverse();
    let no_block = |write: &WriteRow| match write.operation.as_str() {
        "edit" => "the fork's edit",
        _ => "the request itself",
    };
    let last = writes.first().map(|write| write.by.clone());
    let by_no_block = writes.first().map_or("the request itself", no_block);
    let mut answer = Answer::new(match &last {
        None => format!("No block of {} wrote {}.", name(request), name(place)),
        Some(by) => format!(
            "{} was written {} in {}, last by {}.",
            name(place),
            times(writes.len() as u64),
            name(request),
            by.as_deref().map_or(by_no_block.to_owned(), name)
        ),
    });
    answer.total = Some(writes.len() as u64);
    for write in &writes {
        let address = Address::Event { request: request.to_owned(), seq: write.seq };
        let side = |value: &Option<runner::Json>| {
            value.as_ref().map(|value| shown(&value.0, page.bytes_of_value(IN_ROW), &address))
        };
        let (old, new) = (side(&write.old), side(&write.new));
        let text = format!(
            "event {} · {} by {} · {} -> {}",
            write.seq,
            name(&write.operation),
            write.by.as_deref().map_or(no_block(write).to_owned(), name),
            old.as_ref().map_or("nothing", |old| &old.text),
            new.as_ref().map_or("nothing", |new| &new.text)
        );
        let json = json!({ "seq": write.seq, "operation": write.operation, "by": write.by,
            "old": old.map(|old| old.json), "new": new.map(|new| new.json) });
        answer.row(text, json);
    }
    if writes.is_empty()
        && let Some(earlier) = door.workspace.written_before(request, place, u64::MAX >> 1)?
    {
        let address = Address::Event { request: earlier.request_id.clone(), seq: earlier.write.seq };
        let value = earlier.write.new.as_ref().map(|value| shown(&value.0, page.bytes_of_value(IN_ROW), &address));
        let by = earlier.write.by.as_deref().map_or("the request".to_owned(), name);
        let text = format!(
            "before it: {} event {} by {by} -> {}",
            name(&earlier.request_id),
            earlier.write.seq,
            value.as_ref().map_or("nothing", |value| &value.text)
        );
        answer.row(
            text,
            json!({ "request": earlier.request_id, "seq": earlier.write.seq, "by": earlier.write.by,
            "new": value.map(|value| value.json) }),
        );
        return Ok(answer.then("why", json!({ "request": earlier.request_id, "place": place })));
    }
    Ok(match last.flatten() {
        Some(by) => answer.then("look", json!({ "request": request, "at": by })),
        None => answer,
    })
}
