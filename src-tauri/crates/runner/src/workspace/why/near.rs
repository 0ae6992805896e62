//! Finds the equal earlier value that is nearest by the structure of a run: the output of a branch, an entry of a list,
//! or the output of the previous step.
//!
//! The log does not prove that the value was copied from there. Must compare only values next to a block.

use std::collections::HashMap;

use engine::event::{BlockKind, EventKind};
use serde_json::Value;

use super::log::RequestLog;
use super::pointer;
use super::record::{NO_EXECUTION, Part, Record, base_of};
use super::spot::Spot;
use crate::views::WhyPlace;

/// A value that equals another, and how the two are related.
pub(super) type Near = (Spot, &'static str);

/// The group of a block, and the position of the block's output in the group's value: `parallel/a` is at `a`,
/// `forEach:each[1]` and `stepAll[1]` at `1`.
fn place_in_group<'p>(path: &'p str, around: &str) -> Option<(&'p str, &'p str)> {
    let rest = path.strip_prefix(around)?.strip_prefix('/')?;
    // An iteration of a loop is not a block.
    let at = rest.rfind("]/").filter(|_| rest.starts_with("loop")).map_or(0, |at| at + 2);
    let segment = &rest[at..];
    if let Some((group, key)) = segment.split_once('/') {
        return (head(group) == "parallel").then_some((&rest[..at + group.len()], key));
    }
    let (group, number) = segment.strip_suffix(']')?.rsplit_once('[')?;
    matches!(head(group), "forEach" | "stepAll").then_some((&rest[..at + group.len()], number))
}

/// The operation of a segment: `forEach` of `forEach:each~2`.
fn head(segment: &str) -> &str {
    segment.split([':', '~', '[']).next().unwrap_or_default()
}

fn group_of(log: &RequestLog, execution: u32) -> Option<(&str, &str)> {
    let own = log.executions.get(execution as usize)?;
    let around = log.executions.get(own.parent as usize)?;
    place_in_group(&own.path, &around.path)
}

/// The newest execution inside another one that ended before an event, and is not in the same group as `own`.
pub(super) fn last_inside(log: &RequestLog, around: u32, before: u64, own: Option<u32>) -> Option<u32> {
    let own_group = own.and_then(|own| group_of(log, own)).map(|(group, _)| group);
    let is_sibling = |at: u32| own_group.is_some() && group_of(log, at).map(|(group, _)| group) == own_group;
    let ended = (0_u32..).zip(&log.executions).filter(|(_, one)| one.parent == around && !one.is_given_up);
    let ended = ended.filter(|(at, one)| one.end.is_some_and(|end| end < before) && !is_sibling(*at));
    ended.max_by_key(|(_, one)| one.end).map(|(at, _)| at)
}

pub(super) fn output_of(log: &RequestLog, execution: u32) -> Option<usize> {
    log.records_at(execution, WhyPlace::Output).pop()
}

/// The parts of a group's value: the pointer to each part, and the output that equals it. Empty if a part equals no
/// output.
pub(super) fn joined(spot: &Spot) -> Vec<(String, Spot)> {
    let (log, record) = (&spot.log, spot.record());
    if !spot.pointer.is_empty() || spot.span.is_some() {
        return Vec::new();
    }
    let (Some(whole), Some(members)) = (spot.value(), group_before(log, &record)) else { return Vec::new() };
    let keys: Vec<String> = match &*whole {
        Value::Array(items) => (0..items.len()).map(|at| at.to_string()).collect(),
        Value::Object(fields) => fields.keys().cloned().collect(),
        _ => return Vec::new(),
    };
    let many = keys.len();
    let parts = keys.into_iter().filter_map(|key| {
        let output = *members.get(&*key)?;
        let pointer = pointer_to(&key);
        let part = pointer::find(&whole, &pointer).ok()?;
        let of = Spot::new(log, output, "");
        (of.value().as_deref() == Some(part)).then_some((pointer, of))
    });
    let parts: Vec<(String, Spot)> = parts.collect();
    if parts.len() == many { parts } else { Vec::new() }
}

/// The outputs of the group that ended last before a value was recorded, by their positions in the group's value.
fn group_before<'l>(log: &'l RequestLog, record: &Record) -> Option<HashMap<&'l str, usize>> {
    let own = log.executions.get(record.execution as usize)?;
    let (around, before, of) = match record.place {
        WhyPlace::Input if is_given(log, record) => (own.parent, own.start, Some(record.execution)),
        WhyPlace::Output if own.kind == BlockKind::Sequencer => (record.execution, record.seq, None),
        _ => return None,
    };
    let last = last_inside(log, around, before, of)?;
    let (group, _) = group_of(log, last)?;
    let mut members = HashMap::new();
    let end = log.records.partition_point(|record| record.seq < before);
    for (at, record) in log.records[..end].iter().enumerate().filter(|(_, record)| record.place == WhyPlace::Output) {
        let own = log.executions.get(record.execution as usize);
        if own.is_none_or(|own| own.parent != around || own.is_given_up) {
            continue;
        }
        // The latest attempt counts.
        if let Some((_, key)) = group_of(log, record.execution).filter(|(of, _)| *of == group) {
            members.insert(key, at);
        }
    }
    Some(members)
}

pub(super) fn is_given(log: &RequestLog, record: &Record) -> bool {
    matches!(log.event(record).kind, EventKind::BlockStarted { .. })
}

fn pointer_to(segment: &str) -> String {
    let mut pointer = String::new();
    pointer::push(&mut pointer, segment);
    pointer
}

/// The part of a group's value that contains a value, and the output that it equals.
pub(super) fn of_member(spot: &Spot) -> Option<Near> {
    let value = spot.value()?;
    let segments = pointer::segments(&spot.pointer);
    let key = segments.first()?;
    let record = spot.record();
    if !matches!(record.place, WhyPlace::Input | WhyPlace::Output) {
        return None;
    }
    let members = group_before(&spot.log, &record)?;
    let of = Spot { record: *members.get(&**key)?, pointer: rest(&segments[1..]), ..spot.clone() };
    let is_list = spot.log.value(&record).is_some_and(|whole| whole.is_array());
    (of.value()? == value).then_some((of, if is_list { "entry" } else { "branch" }))
}

fn rest(segments: &[String]) -> String {
    let mut pointer = String::new();
    segments.iter().for_each(|segment| pointer::push(&mut pointer, segment));
    pointer
}

/// The list entry that a block of a `forEach` got: from the previous step, or from the chain's function.
pub(super) fn entry_given(spot: &Spot) -> Option<Near> {
    let (log, record) = (&spot.log, spot.record());
    if record.place != WhyPlace::Input || !is_given(log, &record) {
        return None;
    }
    let own = log.executions.get(record.execution as usize)?;
    let (group, number) = group_of(log, record.execution)?;
    if head(group) != "forEach" {
        return None;
    }
    let whole = log.value(&record)?;
    let number: usize = number.parse().ok()?;
    let before = last_inside(log, own.parent, own.start, Some(record.execution)).and_then(|at| output_of(log, at));
    let around = given_around(log, own.parent);
    let returned =
        log.records_at(own.parent, WhyPlace::Returned).into_iter().rfind(|at| log.records[*at].seq < own.start);
    let first =
        before.or(around).into_iter().chain(around).chain(returned).filter(|at| log.records[*at].seq < record.seq);
    for at in first {
        let Some(value) = log.value(&log.records[at]) else { continue };
        if let Some(list) = list_with(&value, number, &whole) {
            let pointer = format!("{list}/{number}{}", spot.pointer);
            return Some((Spot { record: at, pointer, ..spot.clone() }, "entry"));
        }
    }
    None
}

/// The pointer to a list (the value itself or one of its fields) that has this entry at this index.
fn list_with(value: &Value, number: usize, entry: &Value) -> Option<String> {
    let has = |value: &Value| value.as_array().and_then(|items| items.get(number)) == Some(entry);
    if has(value) {
        return Some(String::new());
    }
    let fields = value.as_object()?;
    fields.iter().find(|(_, field)| has(field)).map(|(name, _)| pointer_to(name))
}

/// The input of the enclosing block, or of the request.
pub(super) fn given_around(log: &RequestLog, around: u32) -> Option<usize> {
    match around {
        NO_EXECUTION => log.record_of(log.events.first()?.seq),
        around => log.records_at(around, WhyPlace::Input).pop(),
    }
}

/// The name of a value's field.
pub(super) fn field_of(spot: &Spot) -> Option<String> {
    let record = spot.record();
    let base = match record.part {
        Part::Stored(_) => String::new(),
        _ => base_of(&spot.log.event(&record).kind),
    };
    let is_name = |segment: &String| segment != "-" && !segment.bytes().all(|byte| byte.is_ascii_digit());
    pointer::segments(&format!("{base}{}", spot.pointer)).into_iter().rfind(is_name)
}

/// The outermost field with this name and this value.
pub(super) fn named(whole: &Value, name: &str, wanted: &Value) -> Option<String> {
    let mut level: Vec<(String, &Value)> = vec![(String::new(), whole)];
    // Deeper fields of the same name are others.
    for _ in 0..4 {
        let mut inner = Vec::new();
        for (at, here) in level {
            let Value::Object(fields) = here else { continue };
            if fields.get(name) == Some(wanted) {
                return Some(format!("{at}{}", pointer_to(name)));
            }
            inner.extend(fields.iter().map(|(key, field)| (format!("{at}{}", pointer_to(key)), field)));
        }
        level = inner;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_place_of_a_block_in_its_group_is_read_from_its_path() {
        assert_eq!(place_in_group("root/parallel/a", "root"), Some(("parallel", "a")));
        assert_eq!(place_in_group("root/parallel~2/b", "root"), Some(("parallel~2", "b")));
        assert_eq!(place_in_group("root/forEach:each[12]", "root"), Some(("forEach:each", "12")));
        assert_eq!(place_in_group("root/stepAll~2[0]", "root"), Some(("stepAll~2", "0")));
        assert_eq!(place_in_group("root/loop[3]/parallel/a", "root"), Some(("loop[3]/parallel", "a")));
        assert_eq!(place_in_group("root/step:a", "root"), None);
        assert_eq!(place_in_group("root/doUntil:turn[1]", "root"), None);
        assert_eq!(place_in_group("root/race[1]", "root"), None);
    }

    #[test]
    fn a_field_by_its_name_is_the_outermost_one_with_the_value() {
        let whole = serde_json::json!({ "a": { "tier": "gold" }, "tier": "low" });
        assert_eq!(named(&whole, "tier", &"gold".into()).as_deref(), Some("/a/tier"));
        assert_eq!(named(&whole, "tier", &"low".into()).as_deref(), Some("/tier"));
        assert_eq!(named(&whole, "tier", &"vip".into()), None);
    }
}
