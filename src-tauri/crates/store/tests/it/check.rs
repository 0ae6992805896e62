//! A database is looked at from its events alone: a sound one is sound, and each way to damage a copy of
//! one is found and named.

use engine::event::{EventKind, Outcome, Recorded, RequestStatus};
use engine::log::{AppendMode, Log};
use engine::operation::Operation;
use engine::scope::{ScopeKey, ScopeKind};
use rusqlite::Connection;
use serde_json::json;
use store::{Checked, Cleared, Options, Store};

use crate::support::*;

fn shared(id: &str) -> ScopeKey {
    ScopeKey::new(ScopeKind::Sequencer, format!("{id}:root:0"))
}

/// Requests of two sessions with state of every kind, large values, attempts that came to nothing, a
/// journal, a failure, one that goes on, and keyframes.
fn written(bed: &Bed) {
    let user = ScopeKey::new(ScopeKind::User, "ada");
    let mut chance = Chance(11);
    for n in 0..6_u64 {
        let id = format!("r{n}");
        let mut request = Request::begin_in(&bed.store, &id, if n % 2 == 0 { "even" } else { "odd" });
        let own = shared(&id);
        request.commit_at("root", 0, initialized(&own, json!({ "n": 0 })));
        let large = json!({ "text": chance.noise(5_000), "n": n });
        request.commit(EventKind::BlockInput { input: Recorded::Value(large) }).unwrap();
        for (attempt, outcome) in [(0, Outcome::Abandoned), (1, Outcome::Completed)] {
            request.commit_at("root/step:a", attempt, block_started("a"));
            for version in 1..=90 {
                request.commit_at(
                    "root/step:a",
                    attempt,
                    changed(&own, push("list", json!(chance.noise(400))), version),
                );
            }
            request.commit_at("root/step:a", attempt, block_finished(outcome, Some(json!(n))));
        }
        for step in 0..20 {
            let version = bed.store.record(&user).unwrap().version;
            let by = Operation::Increment { by: object(json!({ "n": step })) };
            request.write(&user, version, &[by, push("seen", json!(chance.noise(1_500)))]).unwrap();
        }
        let session = ScopeKey::new(ScopeKind::Session, if n % 2 == 0 { "even" } else { "odd" });
        let version = bed.store.record(&session).unwrap().version;
        request.write(&session, version, &[patch(json!({ "last": n }))]).unwrap();
        request.commit_at("root", 0, EventKind::MetadataSet { metadata: json!({ "title": format!("title {n}") }) });
        request.commit_at("root", 0, EventKind::JournalAppended { entry: json!({ "text": "noted" }) });
        match n {
            4 => request.commit(finished(RequestStatus::Failed)).unwrap(),
            5 => request.append(vec![note("still going")], AppendMode::Committed).unwrap(),
            _ => request.finish(),
        }
    }
}

fn check(bed: &Bed) -> Checked {
    bed.store.check().unwrap()
}

#[test]
fn a_sound_database_is_sound_and_stays_so_when_a_session_is_deleted() {
    let bed = bed();
    assert_eq!(check(&bed), Checked::default(), "an empty one");
    written(&bed);
    let all = check(&bed);
    assert_eq!((all.requests, all.problems), (6, Vec::new()));
    let stats = bed.stats().unwrap();
    assert_eq!(all.events, stats.events);
    let keyframes: u64 = Connection::open(bed.store.path())
        .unwrap()
        .query_row("SELECT count(*) FROM keyframe", (), |row| row.get(0))
        .unwrap();
    assert!(keyframes > 6, "{keyframes} keyframes: the test looks at too few");
    // Owners of this store all live, as far as it knows.
    assert_eq!(bed.delete_session("odd").unwrap(), Cleared::Busy("r5".to_owned()));
    assert!(matches!(bed.delete_session("even").unwrap(), Cleared::Done(_)));
    assert_eq!(check(&bed).problems, Vec::new());
    let mut request = Request::begin_in(&bed.store, "again", "even");
    let user = ScopeKey::new(ScopeKind::User, "ada");
    let version = bed.store.record(&user).unwrap().version;
    assert_eq!(version, 240);
    request.write(&user, version, &[push("seen", json!("again"))]).unwrap();
    request.finish();
    let left = check(&bed);
    assert_eq!((left.requests, left.problems), (4, Vec::new()));
}

/// What is done to a copy, the request that is named, and words of what is told.
const DAMAGES: &[(&str, &str, &str)] = &[
    (
        "UPDATE payload SET body = CAST(replace(CAST(body AS TEXT), 'a', 'b') AS BLOB), bytes = bytes WHERE n = 2",
        "",
        "payload",
    ),
    ("UPDATE payload SET body = zeroblob(length(body)) WHERE n = 1", "", "payload"),
    ("DELETE FROM payload WHERE n = 1", "", "is missing"),
    ("UPDATE payload SET bytes = bytes + 1 WHERE n = 1", "", "payload"),
    ("DELETE FROM event WHERE seq = 7 AND request = 2", "r1", "the event is missing"),
    ("DELETE FROM event WHERE request = 3 AND seq BETWEEN 10 AND 12", "r2", "10 to 12 are missing"),
    ("DELETE FROM event WHERE id = (SELECT max(id) FROM event WHERE request = 1)", "r0", "its status is completed"),
    ("DELETE FROM event WHERE request = 2", "r1", "has no events"),
    ("UPDATE event SET body = '{' WHERE request = 1 AND seq = 3", "r0", "cannot be read"),
    (
        "UPDATE event SET body = replace(body, '\"from\":2,', '\"from\":3,') WHERE kind = 'committed'",
        "r0",
        "from version 3, which is at version 2",
    ),
    (
        "UPDATE event SET body = replace(body, '\"version\":4', '\"version\":5') WHERE kind = 'committed' AND request = 1",
        "r0",
        "from version 2 to 5 by 2 operations",
    ),
    (
        "UPDATE event SET body = replace(body, '\"n\":3', '\"n\":4') WHERE kind = 'state_changed' AND request = 2",
        "",
        "user:ada",
    ),
    (
        "UPDATE event SET kind = 'noted', body = '{\"text\":\"x\"}' WHERE kind = 'state_changed' AND request = 2 AND seq = 200",
        "r1",
        "which is no write to user:ada",
    ),
    ("UPDATE request SET status = 'failed' WHERE id = 'r2'", "r2", "its status is failed; its events say completed"),
    ("UPDATE request SET finished_at = 1 WHERE id = 'r2'", "r2", "its end is"),
    ("UPDATE request SET action = 'other' WHERE id = 'r2'", "r2", "its action is"),
    (
        "UPDATE session SET requests = requests + 1 WHERE id = 'odd'",
        "",
        "\"odd\": its count of requests is 4; its events say 3",
    ),
    ("UPDATE session SET items = 9 WHERE id = 'odd'", "", "its count of items"),
    ("UPDATE session SET flow_title = 'other' WHERE id = 'odd'", "", "its title"),
    ("UPDATE session SET updated_at = 5 WHERE id = 'odd'", "", "its last change"),
    ("DELETE FROM journal WHERE event = (SELECT min(event) FROM journal)", "", "its journal"),
    ("UPDATE total SET indexed_events = indexed_events + 1", "", "the total of events"),
    ("UPDATE total SET items = 1", "", "the total of items"),
    ("UPDATE total SET payload_bytes = payload_bytes - 1", "", "the total of bytes of values"),
    ("UPDATE total SET unique_payload_bytes = unique_payload_bytes + 1", "", "the total of unique bytes"),
    ("UPDATE scope SET version = version + 1 WHERE kind = 'user'", "", "user:ada: its row has version"),
    ("UPDATE scope SET last = 1 WHERE kind = 'user'", "", "user:ada: its row names event 1"),
    ("DELETE FROM scope WHERE kind = 'session' AND id = 'odd'", "", "session:odd was written, and has no row"),
    ("INSERT INTO scope (kind, id, request, version, last) VALUES ('block', 'x', 1, 0, 0)", "r0", "block:x has a row"),
    (
        "UPDATE change SET version = version + 1 WHERE event = (SELECT max(event) FROM change)",
        "",
        "that its events do not say",
    ),
    (
        "UPDATE change SET operations = '1' WHERE operations = '2,1' AND version = 4",
        "r0",
        "user:ada lacks the step to version 4",
    ),
    (
        "DELETE FROM attempt_rollback WHERE scope = (SELECT min(scope) FROM attempt_rollback)",
        "r0",
        "rolled-back attempts",
    ),
    (
        "UPDATE keyframe SET version = version + 1 WHERE event = (SELECT min(event) FROM keyframe)",
        "r0",
        "the keyframe of",
    ),
    ("UPDATE keyframe SET body = '{\"n\":1}' WHERE event = (SELECT max(event) FROM keyframe)", "", "the keyframe of"),
    (
        "UPDATE filter_block SET trigram_filter = zeroblob(length(trigram_filter)) WHERE n = 1",
        "r0",
        "search would not find",
    ),
    ("UPDATE span_page SET body = x'0000' WHERE request = 1", "r0", "are not what they say"),
    ("DELETE FROM span_page WHERE request = 1", "r0", "the spans of the events 1 to"),
    ("UPDATE path_event SET seqs = x'0107' WHERE request = 1", "r0", "the list of a path's events"),
    ("INSERT INTO path_event VALUES (1, 1, 9999, x'00')", "r0", "1 lists of events of paths too many"),
    ("DELETE FROM filter_block WHERE n = 2", "r0", "search has filters up to event"),
    ("UPDATE request SET unindexed_from = NULL WHERE id = 'r5'", "r5", "search does not look"),
    ("UPDATE request SET unindexed_from = unindexed_from - 1 WHERE id = 'r5'", "", "the total of events"),
    ("UPDATE request SET unindexed_from = unindexed_from + 1 WHERE id = 'r5'", "", "the total of events"),
    ("DELETE FROM path WHERE text = 'root'", "r0", "its path is not there"),
    (
        "DROP INDEX request_by_user; CREATE INDEX request_by_user ON request (user) WHERE n > 3; \
      UPDATE sqlite_schema SET sql = 'CREATE INDEX request_by_user ON request (user)' WHERE name = 'request_by_user'",
        "",
        "the file is damaged",
    ),
];

#[test]
fn every_damage_is_found_and_named() {
    let bed = bed();
    written(&bed);
    wait_for_filters(&bed.store);
    let original = bed.folder.path().join("original.db");
    Connection::open(bed.store.path()).unwrap().execute("VACUUM INTO ?1", (original.to_string_lossy(),)).unwrap();
    let mut missed = Vec::new();
    for (number, (damage, request, words)) in DAMAGES.iter().enumerate() {
        let path = bed.folder.path().join(format!("copy-{number}.db"));
        std::fs::copy(&original, &path).unwrap();
        let connection = Connection::open(&path).unwrap();
        connection.execute_batch("PRAGMA foreign_keys = OFF; PRAGMA writable_schema = ON").unwrap();
        // What checksums find they find at once; here they are not there, as in a database of before.
        connection.execute_batch("UPDATE event SET body_checksum = NULL").unwrap();
        connection.execute_batch(damage).unwrap_or_else(|error| panic!("{damage}: {error}"));
        drop(connection);
        let found = Store::open(&path, Options::default()).unwrap().check().unwrap();
        let is_named = found.problems.iter().any(|problem| {
            problem.what.contains(words) && (request.is_empty() || problem.request.as_deref() == Some(request))
        });
        if !is_named {
            let shown: Vec<_> = found.problems.iter().take(4).collect();
            missed.push(format!("{damage}\n{shown:#?}"));
        }
    }
    assert!(missed.is_empty(), "{} of {}:\n{}", missed.len(), DAMAGES.len(), missed.join("\n"));
}
