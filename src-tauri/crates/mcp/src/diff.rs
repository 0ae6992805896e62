//! The tool `diff`: the differences of state between two instants of a request, or between two requests.

use runner::{Change, ComparedQuery, EndOfRequest, Json};
use serde_json::{Value, json};

use crate::address::Address;
use crate::answer::{Answer, Page, Row};
use crate::arguments::{Arguments, Refused, on};
use crate::door::Door;
use crate::shown::{IN_ROW, cut, name, shown, word};

/// How many differing blocks are listed.
const BLOCKS: u32 = 40;

pub(crate) fn diff(door: &Door, mut arguments: Arguments, page: Page) -> Result<Answer, Refused> {
    let request = arguments.required("request", "the id of a request")?;
    let (from, to) = (arguments.at("from")?, arguments.at("to")?);
    let with = arguments.text("with")?;
    arguments.finish()?;
    door.workspace.request(&request).map_err(on("request"))?;
    if let Some(other) = &with {
        door.workspace.request(other).map_err(on("with"))?;
    }
    let from = from.map(|from| from.of(door, &request, "from")).transpose()?;
    let later = with.as_deref().unwrap_or(&request);
    let to = to.map(|to| to.of(door, later, "to")).transpose()?;
    let changes = door.workspace.diff(&request, from.as_ref(), to.as_ref(), with.as_deref());
    let changes = changes.map_err(on("from` or `to"))?;
    let mut answer = Answer::default();
    let (mut first, mut differing) = (None, 0);
    if let Some(other) = &with {
        (first, differing) = of_two(door, &mut answer, &request, other, page)?;
    }
    let count = changes.len();
    answer.rows.extend(changes.iter().map(|change| row(&request, change, page)));
    answer.sentence = match &with {
        None => format!("{count} differences of state in {}.", name(&request)),
        Some(other) => {
            format!("{} and {}: {differing} blocks and {count} state paths differ.", name(&request), name(other))
        }
    };
    answer.total = Some(answer.rows.len() as u64);
    if let (Some(path), Some(other)) = (first, &with) {
        for id in [&request, other] {
            if door.workspace.block_at(id, &path, None).is_ok() {
                answer = answer.then("look", json!({ "request": id, "at": path }));
            }
        }
        return Ok(answer);
    }
    Ok(match changes.iter().find(|change| change.by.is_some()) {
        Some(change) => answer.then("why", json!({ "request": request, "place": place(change) })),
        None => answer,
    })
}

/// The address of a change as `why` takes it.
fn place(change: &Change) -> String {
    let scope = match &change.instance_id {
        // `REQUEST:PATH:ATTEMPT` is addressed by its path.
        Some(instance) => {
            let path = instance.split_once(':').and_then(|(_, rest)| Some(rest.rsplit_once(':')?.0));
            format!("{}[{}]", change.scope, path.unwrap_or(instance))
        }
        None => change.scope.clone(),
    };
    match change.path.as_str() {
        "" => scope,
        path if path.starts_with('[') => format!("{scope}{path}"),
        path => format!("{scope}.{path}"),
    }
}

fn row(request: &str, change: &Change, page: Page) -> Row {
    let address = Address::Event { request: request.to_owned(), seq: change.seq.unwrap_or_default() };
    let side =
        |value: &Option<Json>| value.as_ref().map(|value| shown(&value.0, page.bytes_of_value(IN_ROW), &address));
    let (old, new) = (side(&change.old), side(&change.new));
    let before = old.as_ref().map_or("nothing", |old| &old.text);
    let after = new.as_ref().map_or("nothing", |new| &new.text);
    let by = match (&change.by, change.seq) {
        (Some(by), Some(seq)) => format!(" · by {} at event {seq}", name(by)),
        (None, Some(seq)) if change.is_edit => format!(" · by the fork's edit at event {seq}"),
        _ => String::new(),
    };
    let text = format!("{} {}: {before} -> {after}{by}", word(&change.kind), name(&place(change)));
    let json = json!({ "place": place(change), "kind": change.kind, "old": old.map(|old| old.json),
        "new": new.map(|new| new.json), "by": change.by, "seq": change.seq });
    Row::new(text, json)
}

/// Adds the differences in input, output and status of two requests, and the blocks that differ. Returns the path of
/// the first differing block, and how many differ.
fn of_two(
    door: &Door,
    answer: &mut Answer,
    left: &str,
    right: &str,
    page: Page,
) -> Result<(Option<String>, u64), Refused> {
    let ends = door.workspace.compare_ends(left, right)?;
    let side = |what: &str, end: &EndOfRequest, value: &Option<Json>| {
        let id = end.request.id.clone();
        let address = if what == "input" { Address::Input(id) } else { Address::Output(id) };
        value.as_ref().map(|value| shown(&value.0, page.bytes_of_value(IN_ROW), &address))
    };
    for (what, one, other) in
        [("input", &ends.left.input, &ends.right.input), ("output", &ends.left.output, &ends.right.output)]
    {
        if one == other {
            continue;
        }
        let (one, other) = (side(what, &ends.left, one), side(what, &ends.right, other));
        let text =
            |side: &Option<crate::shown::Shown>| side.as_ref().map_or("nothing".to_owned(), |side| side.text.clone());
        let (before, after) = (text(&one), text(&other));
        answer.row(
            format!("{what}: {before} | {after}"),
            json!({ "differs": what, "left": one.map(|one| one.json), "right": other.map(|other| other.json) }),
        );
    }
    let (one, other) = (ends.left.request.status, ends.right.request.status);
    if one != other {
        answer.row(
            format!("status: {} | {}", one.as_str(), other.as_str()),
            json!({ "differs": "status", "left": one, "right": other }),
        );
    }
    let query = ComparedQuery { offset: 0, limit: BLOCKS, all: false };
    let (head, rows) = door.workspace.compare_once(left, right, query).map_err(on("with"))?;
    for row in rows.iter().filter(|row| !row.differs.is_empty()) {
        let differs: Vec<String> = row.differs.iter().map(word).collect();
        answer.row(
            format!("block {}: {}", name(&row.path), differs.join(", ")),
            json!({ "block": row.path, "differs": differs }),
        );
    }
    let told = answer.rows.iter().filter(|row| row.json.get("block").is_some()).count() as u64;
    if head.differing > told {
        let more = head.differing - told;
        answer.row(format!("{more} more blocks differ"), json!({ "moreBlocks": more }));
    }
    Ok((head.first.map(|first| first.path), head.differing))
}

/// The first difference between two requests, for `why`.
pub(crate) fn first_difference(door: &Door, left: &str, right: &str, page: Page) -> Result<Answer, Refused> {
    let query = ComparedQuery { offset: 0, limit: 0, all: false };
    let (head, _) = door.workspace.compare_once(left, right, query).map_err(on("with"))?;
    let Some(first) = &head.first else {
        return Ok(Answer::new(format!("No block of {} differs from {}.", name(left), name(right))));
    };
    let differs: Vec<String> = first.differs.iter().map(word).collect();
    let mut answer = Answer::new(format!(
        "{} and {} differ first in {} ({}); {} of {} blocks differ.",
        name(left),
        name(right),
        name(&first.path),
        differs.join(", "),
        head.differing,
        head.pairs
    ));
    for (id, block) in [(left, &first.left), (right, &first.right)] {
        let Some(block) = block else {
            answer.row(format!("{} has no such block", name(id)), json!({ "request": id, "block": Value::Null }));
            continue;
        };
        let detail = door.workspace.block(id, &block.instance_id)?;
        let at = |part| Address::Block {
            request: id.to_owned(),
            path: first.path.clone(),
            attempt: Some(detail.block.attempt),
            part,
        };
        for (what, value, part) in [
            ("input", &detail.input, crate::address::Part::Input),
            ("output", &detail.output, crate::address::Part::Output),
        ] {
            if let Some(value) = value {
                let shown = shown(&value.0, page.bytes_of_value(500), &at(part));
                answer.row(format!("{} {what} {}", name(id), shown.text), json!({ "request": id, what: shown.json }));
            }
        }
        if let Some(error) = &detail.block.error {
            let text = crate::shown::quoted(&error.message, page.bytes_of_value(IN_ROW));
            answer.row(
                format!("{} error {text}", name(id)),
                json!({ "request": id, "error": cut(&error.message, page.bytes_of_value(IN_ROW)) }),
            );
        }
    }
    Ok(answer.then("look", json!({ "request": left, "at": first.path })))
}
