//! Parsers for the values of flags; an error lists the allowed words.

use std::path::PathBuf;

use engine::event::RequestStatus;
use engine::suspension::SuspensionStatus;
use runner::{At, Audience, Durability, SessionOrder};

pub(super) fn status(text: &str) -> Result<RequestStatus, String> {
    RequestStatus::parse(text).ok_or_else(|| {
        "one of queued, in_progress, completed, incomplete, failed, suspended, interrupted, aborted".to_owned()
    })
}

pub(super) fn suspension_status(text: &str) -> Result<SuspensionStatus, String> {
    let found = SuspensionStatus::ALL.into_iter().find(|status| status.as_str() == text);
    found.ok_or_else(|| format!("one of {}", SuspensionStatus::ALL.map(SuspensionStatus::as_str).join(", ")))
}

pub(super) fn order(text: &str) -> Result<SessionOrder, String> {
    match text {
        "changed" => Ok(SessionOrder::Changed),
        "created" => Ok(SessionOrder::Created),
        "requests" => Ok(SessionOrder::Requests),
        "items" => Ok(SessionOrder::Items),
        _ => Err("one of changed, created, requests, items".to_owned()),
    }
}

pub(super) fn durability(text: &str) -> Result<Durability, String> {
    match text {
        "process" => Ok(Durability::Process),
        "power" => Ok(Durability::Power),
        "each" => Ok(Durability::Each),
        _ => Err("one of process, power, each".to_owned()),
    }
}

/// A file name. It may be empty, which means that the flag has no value.
pub(super) fn file() -> impl clap::builder::TypedValueParser<Value = PathBuf> {
    clap::builder::TypedValueParser::map(clap::builder::OsStringValueParser::new(), PathBuf::from)
}

/// A tab of the window's request page.
pub(super) fn tab(text: &str) -> Result<String, String> {
    const TABS: [&str; 8] = ["timeline", "items", "state", "events", "journal", "checkpoints", "agent", "calls"];
    TABS.contains(&text).then(|| text.to_owned()).ok_or_else(|| format!("one of {}", TABS.join(", ")))
}

pub(super) fn audience(text: &str) -> Result<Audience, String> {
    Audience::parse(text).ok_or_else(|| "one of all, client, history, trace".to_owned())
}

/// An audience for an export.
pub(super) fn exported(text: &str) -> Result<Audience, String> {
    match Audience::parse(text) {
        Some(Audience::Trace) | None => Err("one of client, history, all".to_owned()),
        Some(audience) => Ok(audience),
    }
}

pub(super) fn kind(text: &str) -> Result<String, String> {
    if engine::event::KINDS.contains(&text) {
        Ok(text.to_owned())
    } else {
        Err(format!("one of {}", engine::event::KINDS.join(", ")))
    }
}

/// A type of items in its canonical spelling.
pub(super) fn item_type(text: &str) -> Result<String, String> {
    let canonical = engine::item::canonical_item_type(text);
    if engine::item::ITEM_TYPES.contains(&canonical) {
        Ok(canonical.to_owned())
    } else {
        Err(format!("one of {}", engine::item::ITEM_TYPES.join(", ")))
    }
}

pub(super) fn at(text: &str) -> Result<At, String> {
    match text.parse() {
        Ok(seq) => Ok(At::Seq(seq)),
        Err(_) if text.starts_with("root") => Ok(At::Path(text.to_owned())),
        Err(_) => Err("an event's number, or a path that begins with root".to_owned()),
    }
}
