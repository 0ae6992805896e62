//! State at any instant equals the fold of everything before it.

use std::collections::HashSet;
use std::sync::Arc;

use engine::event::{Event, EventKind, Outcome, Seq};
use engine::log::{AppendMode, Log};
use engine::operation::Operation;
use engine::scope::{ScopeKey, ScopeKind};
use engine::state::State;
use serde_json::{Value, json};
use store::{EventQuery, Liveness, Options, Owners, Store};

use crate::support::*;

/// The slow and obvious answer for a scope that lives in one request; `at_rest` where nobody runs it any more.
fn naive_shared(events: &[Event], scope: &ScopeKey, seq: Seq, at_rest: bool) -> Value {
    let mut withdrawn: HashSet<(Arc<str>, u32)> = HashSet::new();
    let mut open: HashSet<(Arc<str>, u32)> = HashSet::new();
    // What callbacks settled counts from the start, or never.
    let (mut stays, mut superseded) = (HashSet::new(), HashSet::new());
    for event in events {
        if let EventKind::CallbackReturned { events, superseded: gone, .. } = &event.kind {
            stays.extend(events.iter().copied());
            superseded.extend(gone.iter().copied());
        }
    }
    for event in events.iter().filter(|event| event.seq <= seq) {
        let attempt = event.path.clone().map(|path| (path, event.attempt));
        match (&event.kind, attempt) {
            (EventKind::BlockStarted { .. }, Some(attempt)) => drop(open.insert(attempt)),
            (EventKind::BlockFinished { outcome, .. }, Some(attempt)) => match outcome {
                Outcome::Abandoned | Outcome::Suspended => {
                    open.remove(&attempt);
                    withdrawn.insert(attempt);
                }
                _ => {
                    open.remove(&attempt);
                }
            },
            (EventKind::RequestResumed { .. }, _) => withdrawn.extend(open.drain()),
            _ => {}
        }
    }
    if at_rest {
        withdrawn.extend(open);
    }
    let mut state = State::default();
    for event in events.iter().filter(|event| event.seq <= seq) {
        match &event.kind {
            EventKind::StateInitialized { scope: of, state: Value::Object(fields), .. } if of == scope => {
                state.fill_in(fields);
            }
            EventKind::StateChanged { scope: of, operation, .. } if of == scope => {
                let attempt = event.path.clone().map(|path| (path, event.attempt));
                let is_gone =
                    attempt.is_some_and(|attempt| withdrawn.contains(&attempt)) && !stays.contains(&event.seq);
                if !is_gone && !superseded.contains(&event.seq) {
                    operation.apply(&mut state);
                }
            }
            _ => {}
        }
    }
    state.to_json()
}

fn taken_over() -> EventKind {
    EventKind::RequestResumed {
        owner: "p2".to_owned(),
        epoch: 2,
        code_hash: "c".to_owned(),
        mock: None,
        keeps_ended: false,
    }
}

fn random_operation(chance: &mut Chance) -> Operation {
    let field = format!("f{}", chance.below(6));
    let key = format!("k{}", chance.below(5));
    let value = match chance.below(12) {
        0 => {
            let bytes = chance.below(6_000) as usize;
            json!(chance.noise(bytes))
        }
        1 => json!((0..chance.below(300)).map(|n| json!({"n": n, "t": "a text of some length"})).collect::<Vec<_>>()),
        2 => json!({"$payload": "x", "deep": {"$value": [null]}}),
        _ => json!(chance.below(1_000)),
    };
    match chance.below(9) {
        0 | 1 => patch(json!({field: value, "z": 1.5})),
        2 => Operation::Update { field, value },
        3 if chance.below(10) == 0 => Operation::Set { state: object(json!({field: value})) },
        4 => Operation::Increment { by: object(json!({format!("n{field}"): 3})) },
        5 => push(&format!("l{field}"), value),
        6 => Operation::SetRecord { field: format!("r{field}"), key, value },
        7 => Operation::DeleteRecord { field: format!("r{field}"), key },
        _ => Operation::Atomic { fields: object(json!({field: value})) },
    }
}

#[test]
fn shared_memory_is_the_fold_of_what_counts() {
    for seed in 0..4 {
        let bed = later_bed();
        let mut chance = Chance(seed * 7 + 1);
        let scopes = [request_scope("r"), ScopeKey::new(ScopeKind::Sequencer, "r:root:0")];
        let mut request = Request::begin(&bed, "r");
        request
            .append(vec![initialized(&scopes[0], json!({"f0": 0, "default": true}))], AppendMode::Committed)
            .unwrap();
        let mut attempts = [0_u32; 4];
        let mut running = [false; 4];
        let mut versions = [0, 0];
        // What each block wrote since it began, for a callback to settle.
        let mut written: [Vec<Seq>; 4] = Default::default();
        for step in 0..900 {
            let block = chance.below(4) as usize;
            let path = format!("root/step:b{block}");
            let kind = match chance.below(40) {
                0 => EventKind::RequestResumed {
                    owner: "p".to_owned(),
                    epoch: 2,
                    code_hash: "c".to_owned(),
                    mock: None,
                    keeps_ended: false,
                },
                1..6 if running[block] => {
                    let outcomes = [Outcome::Completed, Outcome::Failed, Outcome::Suspended, Outcome::Abandoned];
                    block_finished(outcomes[chance.below(4) as usize], None)
                }
                6..8 if running[block] && !written[block].is_empty() => {
                    let mut events = std::mem::take(&mut written[block]);
                    let superseded = events.drain(..events.len() / 3).collect();
                    callback_returned(events, superseded)
                }
                _ if !running[block] => block_started("b"),
                _ => {
                    let at = chance.below(2) as usize;
                    versions[at] += 1;
                    changed(&scopes[at], random_operation(&mut chance), versions[at])
                }
            };
            match &kind {
                EventKind::BlockStarted { .. } => {
                    running[block] = true;
                    written[block].clear();
                }
                EventKind::StateChanged { .. } => written[block].push(request.last + 1),
                EventKind::BlockFinished { .. } => {
                    running[block] = false;
                    attempts[block] += 1;
                }
                EventKind::RequestResumed { .. } => {
                    for other in 0..4 {
                        attempts[other] += u32::from(running[other]);
                        running[other] = false;
                    }
                    request.append_at(vec![(None, 0, kind)], AppendMode::Committed).unwrap();
                    continue;
                }
                _ => {}
            }
            let attempt = attempts[block] - u32::from(matches!(kind, EventKind::BlockFinished { .. }));
            let durability = if step % 3 == 0 { AppendMode::Committed } else { AppendMode::Evidence };
            request.append_at(vec![(Some(&path), attempt, kind)], durability).unwrap();
        }
        request.commit(note("all is written")).unwrap();
        let events = bed.events("r", &EventQuery::default()).unwrap();
        let mut check = |store: &Store, count: u64| {
            for _ in 0..count {
                let seq = chance.below(request.last) + 1;
                for scope in &scopes {
                    let found = store.state_at(scope, "r", seq).unwrap().state.to_json();
                    assert_eq!(found, naive_shared(&events, scope, seq, false), "{scope} at {seq}, seed {seed}");
                    let found = store.state_at_rest(scope, "r", seq).unwrap().state.to_json();
                    assert_eq!(found, naive_shared(&events, scope, seq, true), "{scope} at rest at {seq}, seed {seed}");
                }
            }
        };
        check(&bed, 120);
        let reopened = open_in(&bed.folder);
        check(&reopened, 20);
    }
}

/// After a start the writer must know which attempts are under way as well as before.
#[test]
fn a_resume_in_another_process_withdraws_what_was_cut_off() {
    let bed = bed();
    let scope = request_scope("r");
    let mut request = Request::begin(&bed, "r");
    for (path, value) in [("root/step:done", 1), ("root/step:cut", 2)] {
        request.commit_at(path, 0, block_started("b"));
        request.commit_at(path, 0, changed(&scope, patch(json!({path: value})), value));
        if path.ends_with("done") {
            request.commit_at(path, 0, block_finished(Outcome::Completed, None));
        }
    }
    let cut = request.last;
    let other = open_later(&bed.folder);
    let mut resumed = Request { store: &other, id: "r".to_owned(), last: cut, lease: request.lease.clone() };
    resumed.commit(taken_over()).unwrap();
    let state = |seq| other.state_at(&scope, "r", seq).unwrap().state.to_json();
    assert_eq!(state(cut), json!({"root/step:done": 1, "root/step:cut": 2}));
    assert_eq!(state(cut + 1), json!({"root/step:done": 1}));
}

/// The writer keeps the numbers of so many paths only, but of a request all it needs to go on.
#[test]
fn a_request_of_very_many_paths_withdraws_what_its_first_attempts_wrote() {
    let bed = bed();
    let scope = request_scope("r");
    let mut request = Request::begin(&bed, "r");
    request.commit_at("root", 0, block_started("chain"));
    request.commit_at("root", 0, changed(&scope, patch(json!({"n": 1})), 1));
    for part in 0..30 {
        let paths: Vec<String> = (0..1_000).map(|n| format!("root/forEach:b[{}]", part * 1_000 + n)).collect();
        let both = |path| {
            let path = Some(String::as_str(path));
            [(path, 0, block_started("b")), (path, 0, block_finished(Outcome::Completed, None))]
        };
        request.append_at(paths.iter().flat_map(both).collect(), AppendMode::Committed).unwrap();
    }
    let before = request.last;
    request.commit_at("root", 0, block_finished(Outcome::Suspended, None));
    let state = |seq| bed.state_at(&scope, "r", seq).unwrap().state.to_json();
    assert_eq!((state(before), state(before + 1)), (json!({"n": 1}), json!({})));
    assert!(bed.check().unwrap().problems.is_empty());
}

/// Who is refused a request leaves what the writer knows of its attempts as it was.
#[test]
fn a_refused_resume_leaves_the_attempts_under_way() {
    let folder = tempfile::tempdir().unwrap();
    let owners = Owners::new(|_| Liveness::Alive);
    let path = folder.path().join("log.db");
    let store = Store::open(&path, Options { create: true, owners, ..Options::default() }).unwrap();
    let scope = request_scope("r");
    let mut request = Request::begin(&store, "r");
    request.commit_at("root", 0, block_started("chain"));
    // Another process writes, so the writer has to read what it knows again.
    Request::begin(&open_in(&folder), "other").finish();
    let mut taker = Request { store: &store, id: "r".to_owned(), last: request.last, lease: request.lease.clone() };
    assert!(taker.commit(taken_over()).is_err());
    request.commit_at("root", 0, changed(&scope, patch(json!({"n": 1})), 1));
    request.commit_at("root", 0, block_finished(Outcome::Suspended, None));
    let last = request.last;
    assert_eq!(store.state_at(&scope, "r", last).unwrap().state.to_json(), json!({}));
    assert!(store.check().unwrap().problems.is_empty());
}

#[test]
fn durable_records_follow_their_commits_not_their_operations() {
    let bed = bed();
    let scope = session_scope();
    let mut chance = Chance(5);
    let mut requests: Vec<Request<'_>> = (0..3).map(|n| Request::begin(&bed, &format!("r{n}"))).collect();
    let mut waiting: Vec<Vec<(Seq, Operation)>> = vec![Vec::new(); 3];
    let mut truth = State::default();
    let mut version = 0;
    let mut history: Vec<(usize, Seq, u64, Value)> = Vec::new();
    for _ in 0..700 {
        let at = chance.below(3) as usize;
        let request = &mut requests[at];
        if chance.below(3) > 0 {
            let operation = random_operation(&mut chance);
            request.append(vec![changed(&scope, operation.clone(), version + 1)], AppendMode::Evidence).unwrap();
            waiting[at].push((request.last, operation));
            continue;
        }
        let operations = std::mem::take(&mut waiting[at]);
        if operations.is_empty() {
            continue;
        }
        let next = version + operations.len() as u64;
        let seqs = operations.iter().map(|(seq, _)| *seq).collect();
        request.commit(EventKind::Committed { commits: vec![commit(&scope, version, next, seqs)] }).unwrap();
        version = next;
        for (_, operation) in &operations {
            operation.apply(&mut truth);
        }
        history.push((at, request.last, version, truth.to_json()));
        let record = bed.record(&scope).unwrap();
        assert_eq!((record.version, record.state.to_json()), (version, truth.to_json()));
    }
    for (at, seq, version, state) in &history {
        let record = bed.state_at(&scope, &format!("r{at}"), *seq).unwrap();
        assert_eq!((record.version, record.state.to_json()), (*version, state.clone()));
    }
    let steps = bed.state_history(&scope, None).unwrap();
    let mut folded = State::default();
    for step in &steps {
        let EventKind::StateChanged { operation, .. } = &step.event.kind else { panic!("{step:?}") };
        operation.apply(&mut folded);
    }
    assert_eq!(folded.to_json(), truth.to_json());
    assert_eq!(steps.last().unwrap().version, version);
    let of_one = bed.state_history(&scope, Some("r1")).unwrap();
    assert!(of_one.iter().all(|step| &*step.request == "r1") && of_one.len() < steps.len());
}

#[test]
fn defaults_take_effect_with_their_commit_and_fill_only_gaps() {
    let bed = bed();
    let scope = session_scope();
    let mut request = Request::begin(&bed, "r");
    let defaults = initialized(&scope, json!({"n": 0, "list": []}));
    request.append(vec![defaults.clone()], AppendMode::Evidence).unwrap();
    request.commit(EventKind::Committed { commits: vec![commit(&scope, 0, 0, vec![2])] }).unwrap();
    assert_eq!(bed.state_at(&scope, "r", 2).unwrap().state.to_json(), json!({}));
    let record = bed.record(&scope).unwrap();
    assert_eq!((record.version, record.state.to_json()), (0, json!({"n": 0, "list": []})));
    request.write(&scope, 0, &[patch(json!({"n": 5}))]).unwrap();
    let more = initialized(&scope, json!({"n": 0, "late": 1}));
    let from = request.last + 1;
    let commit = EventKind::Committed { commits: vec![commit(&scope, 1, 2, vec![from, from + 1])] };
    request.append(vec![more, changed(&scope, push("list", json!(9)), 2), commit], AppendMode::Committed).unwrap();
    let record = bed.record(&scope).unwrap();
    assert_eq!((record.version, record.state.to_json()), (2, json!({"n": 5, "list": [9], "late": 1})));
}

#[test]
fn before_a_request_stands_what_others_left() {
    let bed = bed();
    let scope = session_scope();
    Request::begin(&bed, "a").write(&scope, 0, &[patch(json!({"by": "a"}))]).unwrap();
    Request::begin(&bed, "b").write(&scope, 1, &[patch(json!({"by": "b"}))]).unwrap();
    let state = |request, seq| bed.state_at(&scope, request, seq).unwrap().state.to_json();
    assert_eq!(state("b", 0), json!({"by": "a"}));
    assert_eq!(state("b", 2), json!({"by": "a"}));
    assert_eq!(state("b", 3), json!({"by": "b"}));
    assert_eq!(state("b", 999), json!({"by": "b"}));
    assert_eq!(state("a", 999), json!({"by": "a"}));
    assert_eq!(state("nobody", 1), json!({}));
}
