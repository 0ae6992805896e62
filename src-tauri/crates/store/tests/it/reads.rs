//! Rows, lists and totals follow the events.

use engine::error::FlowError;
use engine::event::{Event, EventKind, Outcome, Recorded, RequestStatus};
use engine::item::{ItemStatus, NewItem};
use engine::log::{AppendMode, Log, NoteKind};
use engine::scope::{ScopeKey, ScopeKind};
use serde_json::json;
use store::{EventQuery, NoteQuery, RequestQuery, SessionOrder, SessionQuery};

use crate::support::*;

fn item(transient: bool) -> EventKind {
    EventKind::ItemAdded {
        item: NewItem {
            item_type: "message".to_owned(),
            status: ItemStatus::Completed,
            key: None,
            transient,
            agent_type: None,
            agent_name: None,
            item_visibility: None,
            owned_by: None,
            payload: object(json!({"text": "hello"})),
        },
    }
}

#[test]
fn a_request_row_follows_its_events() {
    let bed = bed();
    let mut request = Request::begin(&bed, "r");
    let row = |name: &str| bed.request(name).unwrap().unwrap();
    assert_eq!(row("r").status, RequestStatus::InProgress);
    assert_eq!((row("r").session, row("r").flow, row("r").user), ("ses".into(), "support".into(), "ada".into()));
    assert_eq!((row("r").project, row("r").owner, row("r").last_seq), (Some("apollo".into()), "process-1".into(), 1));
    request.commit(EventKind::RequestStatus { status: RequestStatus::Suspended }).unwrap();
    assert_eq!((row("r").status, row("r").finished_at), (RequestStatus::Suspended, None));
    let kind = EventKind::RequestResumed {
        owner: "process-2".to_owned(),
        epoch: 2,
        code_hash: "c".to_owned(),
        mock: Some("m".to_owned()),
        keeps_ended: false,
    };
    request.commit(kind).unwrap();
    assert_eq!(
        (row("r").status, row("r").owner, row("r").mock),
        (RequestStatus::InProgress, "process-2".into(), Some("m".into()))
    );
    let error = FlowError::plain("no");
    request
        .commit(EventKind::RequestFinished { status: RequestStatus::Failed, output: None, error: Some(error.clone()) })
        .unwrap();
    assert_eq!((row("r").status, row("r").error, row("r").last_seq), (RequestStatus::Failed, Some(error), 4));
    assert_eq!(row("r").finished_at, Some(1_700_000_000_004));
    assert!(bed.request("x").unwrap().is_none());
}

/// After an import, a request that was inserted last may have begun first.
#[test]
fn requests_of_all_sessions_are_listed_by_their_start() {
    let bed = bed();
    for (id, session, at) in [("late", "s1", 3_000), ("early", "s2", 1_000), ("between", "s1", 2_000)] {
        let event = Event { at, ..event(1, None, 0, started(session)) };
        wait(bed.append(id, &first(), vec![event], AppendMode::Committed)).unwrap().unwrap();
    }
    let ids =
        |query: RequestQuery| -> Vec<String> { bed.requests(&query).unwrap().into_iter().map(|row| row.id).collect() };
    assert_eq!(ids(RequestQuery::default()), ["late", "between", "early"]);
    assert_eq!(ids(RequestQuery { limit: Some(1), offset: Some(1), ..RequestQuery::default() }), ["between"]);
}

#[test]
fn an_event_is_found_by_its_time_between_two_others() {
    let bed = bed();
    let mut request = Request::begin(&bed, "r");
    request.append((2..=40).map(|n| note(n.to_string())).collect(), AppendMode::Committed).unwrap();
    let at = |seq| bed.time_of("r", seq).unwrap();
    assert_eq!((at(1), at(40), at(41)), (Some(1_700_000_000_001), Some(1_700_000_000_040), None));
    assert_eq!(bed.time_of("x", 1).unwrap(), None);
    let seq = |between, ms: i64| bed.seq_at("r", between, 1_700_000_000_000 + ms).unwrap();
    for ms in 1..=40 {
        assert_eq!(seq((0, 40), ms), ms as u64);
    }
    assert_eq!((seq((0, 40), 0), seq((0, 40), 99), seq((7, 7), 30)), (0, 40, 7));
    // Never outside the given range.
    assert_eq!((seq((10, 20), 3), seq((10, 20), 15), seq((10, 20), 33), seq((30, 90), 35)), (10, 15, 20, 35));
}

#[test]
fn lists_are_newest_first_and_filtered() {
    let bed = bed();
    for n in 0..6 {
        let mut request = Request::begin_in(&bed, &format!("r{n}"), &format!("s{}", n % 3));
        if n != 4 {
            request.finish();
        }
    }
    let ids =
        |query: RequestQuery| -> Vec<String> { bed.requests(&query).unwrap().into_iter().map(|row| row.id).collect() };
    assert_eq!(ids(RequestQuery::default()), ["r5", "r4", "r3", "r2", "r1", "r0"]);
    assert_eq!(ids(RequestQuery { session: Some("s1".to_owned()), ..RequestQuery::default() }), ["r4", "r1"]);
    assert_eq!(ids(RequestQuery { limit: Some(2), offset: Some(1), ..RequestQuery::default() }), ["r4", "r3"]);
    assert_eq!(ids(RequestQuery { status: Some(RequestStatus::InProgress), ..RequestQuery::default() }), ["r4"]);
    assert_eq!(ids(RequestQuery { offset: Some(u64::MAX), ..RequestQuery::default() }), [""; 0]);
    let sessions =
        |query: SessionQuery| -> Vec<String> { bed.sessions(&query).unwrap().into_iter().map(|row| row.id).collect() };
    assert_eq!(sessions(SessionQuery { status: Some(RequestStatus::InProgress), ..SessionQuery::default() }), ["s1"]);
    assert_eq!(sessions(SessionQuery { search: Some("S2".to_owned()), ..SessionQuery::default() }), ["s2"]);
    assert_eq!(sessions(SessionQuery { search: Some("%".to_owned()), ..SessionQuery::default() }), [""; 0]);
    assert_eq!(sessions(SessionQuery { user: Some("eve".to_owned()), ..SessionQuery::default() }), [""; 0]);
    assert_eq!(sessions(SessionQuery { project: Some("apollo".to_owned()), ..SessionQuery::default() }).len(), 3);
    let ordered = |order| sessions(SessionQuery { order, ..SessionQuery::default() });
    assert_eq!(ordered(SessionOrder::Created), ["s2", "s1", "s0"]);
    assert_eq!(ordered(SessionOrder::Changed), ["s2", "s1", "s0"]);
    assert_eq!(sessions(SessionQuery { since: Some(i64::MAX), ..SessionQuery::default() }), [""; 0]);
    assert_eq!(sessions(SessionQuery { since: Some(0), ..SessionQuery::default() }).len(), 3);
    assert_eq!(
        bed.input_words(&["r1", "none", "r2"]).unwrap(),
        [Some("why?".to_owned()), None, Some("why?".to_owned())]
    );
    let people = || (bed.users().unwrap(), bed.projects().unwrap());
    assert_eq!(people(), (vec!["ada".to_owned()], vec!["apollo".to_owned()]));
    // States that a flow isolates add no names. A user without a request is known by the state.
    let mut request = Request::begin_in(&bed, "r7", "s1");
    request.write(&ScopeKey::isolated(ScopeKind::User, "ada", "support"), 0, &[push("list", json!(1))]).unwrap();
    request.write(&ScopeKey::isolated(ScopeKind::Project, "apollo", "support"), 0, &[push("list", json!(1))]).unwrap();
    request.write(&ScopeKey::new(ScopeKind::User, "eve"), 0, &[push("list", json!(1))]).unwrap();
    assert_eq!(people(), (vec!["ada".to_owned(), "eve".to_owned()], vec!["apollo".to_owned()]));
}

#[test]
fn a_session_row_has_counts_and_a_title() {
    let bed = bed();
    let mut request = Request::begin(&bed, "r");
    request.append(vec![item(false), item(true), item(false)], AppendMode::Committed).unwrap();
    request.commit(EventKind::MetadataSet { metadata: json!({"title": "A talk", "mood": 1}) }).unwrap();
    request.commit(EventKind::MetadataSet { metadata: json!({"mood": 2}) }).unwrap();
    request.finish();
    Request::begin(&bed, "r2").commit(item(false)).unwrap();
    let row = bed.session("ses").unwrap().unwrap();
    assert_eq!((row.requests, row.items, row.title.as_deref()), (2, 3, Some("A talk")));
    assert_eq!((row.last_status, row.last_owner.as_str()), (RequestStatus::InProgress, "process-1"));
    assert!(row.updated_at >= row.created_at && !row.ephemeral);
    let stats = bed.stats().unwrap();
    assert_eq!((stats.requests, stats.sessions, stats.items, stats.events), (2, 1, 3, 9));
}

#[test]
fn events_are_selected_by_number_kind_and_page() {
    let bed = bed();
    let mut request = Request::begin(&bed, "r");
    for n in 0..10 {
        request
            .commit(if n % 2 == 0 { note(n.to_string()) } else { EventKind::RouteDecided { route: n.to_string() } })
            .unwrap();
    }
    let seqs = |query: EventQuery| -> Vec<u64> {
        bed.events("r", &query).unwrap().into_iter().map(|event| event.seq).collect()
    };
    assert_eq!(seqs(EventQuery { from: Some(9), ..EventQuery::default() }), [9, 10, 11]);
    assert_eq!(seqs(EventQuery { from: Some(3), to: Some(5), ..EventQuery::default() }), [3, 4, 5]);
    let noted = EventQuery { kind: Some("noted".to_owned()), limit: Some(2), offset: Some(1), ..EventQuery::default() };
    assert_eq!(seqs(noted), [4, 6]);
    assert_eq!(bed.event_at("r", 1).unwrap().unwrap().kind, started("ses"));
    assert!(bed.event_at("r", 12).unwrap().is_none());
    assert_eq!((bed.last_seq("r").unwrap(), bed.last_seq("x").unwrap()), (11, 0));
}

#[test]
fn a_request_shows_its_own_scopes_and_those_around_it() {
    let bed = bed();
    let block = ScopeKey::new(ScopeKind::Block, "r:root/step:a:0");
    let sequencer = ScopeKey::new(ScopeKind::Sequencer, "r:root:0");
    let mut request = Request::begin(&bed, "r");
    request
        .append(vec![initialized(&block, json!({})), initialized(&sequencer, json!({"n": 1}))], AppendMode::Committed)
        .unwrap();
    let around = [session_scope(), ScopeKey::new(ScopeKind::User, "ada"), ScopeKey::new(ScopeKind::Project, "apollo")];
    assert_eq!(bed.scopes_of("r").unwrap(), [&around[..], &[sequencer.clone(), block.clone()]].concat());
    request.commit(changed(&request_scope("r"), patch(json!({"a": 1})), 1)).unwrap();
    assert_eq!(bed.scopes_of("r").unwrap()[0], request_scope("r"));
    assert!(bed.scopes_of("x").unwrap().is_empty());
    for scope in around.iter().chain([&block, &sequencer, &request_scope("r")]) {
        assert!(bed.exists(scope).unwrap(), "{scope}");
    }
    for kind in [ScopeKind::Session, ScopeKind::User, ScopeKind::Project, ScopeKind::Request, ScopeKind::Block] {
        assert!(!bed.exists(&ScopeKey::new(kind, "nobody")).unwrap());
    }
    assert_eq!(bed.record_of(&around[0]).unwrap(), None);
    assert_eq!(bed.record_of(&sequencer).unwrap().unwrap().state.to_json(), json!({"n": 1}));
}

#[test]
fn a_journal_is_the_sessions_notes_in_order() {
    let bed = bed();
    for (id, session) in [("a", "ses"), ("b", "other"), ("c", "ses")] {
        let mut request = Request::begin_in(&bed, id, session);
        // The note of an attempt without effect does not count.
        request.commit_at("root/step:x", 0, EventKind::JournalAppended { entry: json!({"text": "lost"}) });
        request.commit_at("root/step:x", 0, block_finished(Outcome::Abandoned, None));
        request.commit_at("root/step:x", 1, EventKind::JournalAppended { entry: json!({"text": id}) });
        request.commit_at("root/step:x", 1, block_finished(Outcome::Failed, None));
    }
    let notes = bed.notes_of("ses", NoteKind::Journal, NoteQuery::default()).unwrap();
    assert_eq!(notes.iter().map(|note| note.entry["text"].as_str().unwrap()).collect::<Vec<_>>(), ["a", "c"]);
    assert_eq!((&*notes[1].request, notes[1].seq, notes[1].path.as_deref()), ("c", 4, Some("root/step:x")));
}

/// A reader that pauses in the middle of a read does not block the writer, and does not see its commits.
#[test]
fn readers_and_the_writer_do_not_wait_for_each_other() {
    let bed = bed();
    let mut request = Request::begin(&bed, "r");
    let reader = rusqlite::Connection::open(bed.path()).unwrap();
    reader.execute_batch("BEGIN").unwrap();
    let count = || reader.query_row("SELECT count(*) FROM event", (), |row| row.get::<_, i64>(0)).unwrap();
    assert_eq!(count(), 1);
    for _ in 0..100 {
        request.commit_at("root", 0, block_finished(Outcome::Completed, Some(json!(1))));
    }
    assert_eq!(count(), 1);
    assert_eq!(bed.last_seq("r").unwrap(), 101);
    assert_eq!(bed.record(&session_scope()).unwrap().version, 0);
}

#[test]
fn a_block_is_described_by_its_input_without_reading_payloads() {
    let bed = bed();
    let mut request = Request::begin(&bed, "r");
    let mut called = |path: &str, input: Recorded| {
        let mut kind = block_started("read");
        if let EventKind::BlockStarted { input: own, .. } = &mut kind {
            *own = input;
        }
        request.commit_at(path, 0, kind);
        request.last
    };
    let long = "long ".repeat(4_000);
    let named = called("root/a[0]", Recorded::Value(json!({"text": long, "id": "A-200"})));
    let unnamed = called("root/a[1]", Recorded::Value(json!(long)));
    let nothing = called("root/a[2]", Recorded::Undefined);
    request.commit_at("root/a[0]", 0, block_finished(Outcome::Completed, Some(json!({"title": "Trees"}))));
    let output = request.last;
    let mut kind = block_started("read");
    if let EventKind::BlockStarted { input, .. } = &mut kind {
        *input = Recorded::Of(output);
    }
    request.commit_at("root/b[0]", 0, kind);
    let words = bed.block_words("r", &[request.last, named, unnamed, nothing, 9_999]).unwrap();
    assert_eq!(words, [Some("Trees".to_owned()), Some("A-200".to_owned()), None, None, None]);
}

#[test]
fn blocks_are_known_by_the_events_with_which_they_began() {
    let bed = bed();
    let mut request = Request::begin(&bed, "r");
    for path in ["root", "root/step:a", "root/step:a/tool:t[0.0]"] {
        request.commit_at(path, 0, block_started("b"));
    }
    request.commit_at("root/step:a", 0, block_finished(Outcome::Completed, None));
    let begun = |id: &str, range| bed.blocks_begun(id, range).unwrap();
    assert_eq!(begun("r", 3..=4), [(3, "root/step:a".into()), (4, "root/step:a/tool:t[0.0]".into())]);
    assert_eq!(begun("r", 4..=u64::MAX), [(4, "root/step:a/tool:t[0.0]".into())]);
    assert!(begun("x", 1..=9).is_empty());
}
