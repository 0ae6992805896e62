//! SEMANTICS.md lists every stored word: its tables are held against the code.

use std::collections::BTreeSet;

use engine::effects::EffectKind;
use engine::event::{KINDS, RequestStatus};
use engine::item::ITEM_TYPES;
use engine::redaction::NAMES;
use engine::scope::ScopeKind;
use engine::suspension::SuspensionStatus;

const PAPER: &str = include_str!("../../SEMANTICS.md");

/// A section, from its heading to the next one.
#[track_caller]
fn section(number: &str) -> &'static str {
    let heading = if number.contains('.') { format!("\n### {number} ") } else { format!("\n## {number}. ") };
    let at = PAPER.find(&heading).unwrap_or_else(|| panic!("there is no section {number}"));
    let rest = &PAPER[at + 1..];
    &rest[..rest.find("\n##").unwrap_or(rest.len())]
}

/// What a text names in code.
fn coded(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

/// The words in code in the first column of a section's table.
fn first_column(number: &str) -> BTreeSet<&'static str> {
    let rows = section(number).lines().filter(|line| line.starts_with('|'));
    rows.filter_map(|row| row.split('|').nth(1)).flat_map(coded).collect()
}

#[test]
fn every_kind_of_event_has_its_row() {
    let mut known: BTreeSet<&str> = KINDS.iter().copied().collect();
    // Never written by the engine: a mark of the store, and what a reader makes of damage.
    known.extend(["records_imported", "damaged"]);
    assert_eq!(first_column("11.2"), known);
}

#[test]
fn every_status_has_its_row() {
    let statuses = first_column("1.2");
    assert_eq!(statuses.len(), 8);
    for status in statuses {
        assert!(RequestStatus::parse(status).is_some(), "{status} is no status");
    }
    let all: BTreeSet<&str> = SuspensionStatus::ALL.iter().map(|status| status.as_str()).collect();
    assert_eq!(first_column("9.2"), all);
}

#[test]
fn every_scope_and_effect_has_its_row() {
    for scope in first_column("4.1") {
        assert!(ScopeKind::parse(scope).is_some(), "{scope} is no scope");
    }
    let effects = first_column("8.1");
    assert_eq!(effects.len(), 7);
    for effect in effects {
        let read: Result<EffectKind, _> = serde_json::from_value(effect.into());
        assert!(read.is_ok_and(|read| read.as_str() == effect), "{effect} is no effect");
    }
}

#[test]
fn every_type_of_item_has_its_row() {
    let documented: BTreeSet<&str> = first_column("7.1");
    for item_type in ITEM_TYPES {
        assert!(documented.contains(item_type), "{item_type} is missing");
    }
}

#[test]
fn every_name_of_a_secret_is_listed() {
    let plain = |name: &str| name.to_lowercase().replace(['-', '_'], "");
    let documented: BTreeSet<String> = coded(section("14")).flat_map(|words| words.split(' ')).map(plain).collect();
    for name in NAMES {
        assert!(documented.contains(name), "{name} is missing");
    }
}
