//! Whole runs over a log in memory: values, events, transactions, conflicts.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;

use engine::context::{Change, EmitOptions, Target};
use engine::error::FlowError;
use engine::event::{EventKind, RequestStatus};
use engine::flow::{Block, Operation, Rescue, Retry};
use engine::log::{Log, Record};
use engine::memory_log::MemoryLog;
use engine::operation::Operation as Op;
use engine::scope::{ScopeKey, ScopeKind};
use engine::suspension::SuspendOptions;
use engine::views::Events;
use engine::views::blocks::{BlockStatus, blocks};
use engine::written::{Function, child, handler, parallel, sequencer, step};
use serde_json::{Value, json};

use crate::runs::run;

fn add(name: &str, by: i64) -> Rc<Block> {
    handler(name, move |input, _| async move { Ok(json!(input.as_i64().unwrap_or(0) + by)) })
}

fn patch(field: &str, value: Value) -> Change {
    let fields = [(field.to_owned(), value)].into_iter().collect();
    Change::Ready(Op::Patch { fields })
}

fn session() -> ScopeKey {
    ScopeKey::new(ScopeKind::Session, "session")
}

#[track_caller]
fn check(root: &Rc<Block>, input: Value, expected: Result<Value, &str>) -> Vec<String> {
    let log = Arc::new(MemoryLog::default());
    let (ended, events) = run(&log, "r", root, input);
    match expected {
        Ok(output) => assert_eq!((ended.error, ended.output.to_json()), (None, output)),
        Err(message) => assert_eq!(ended.error.map(|error| error.message).as_deref(), Some(message)),
    }
    let view = Events::new(&events);
    blocks(view, false).iter().map(|block| block.path.to_string()).collect()
}

#[test]
fn a_chain_passes_values_on_and_numbers_repeated_segments() {
    let one = add("one", 1);
    let paths = check(&sequencer("s", vec![step(&one), step(&one), step(&one)]), json!(0), Ok(json!(3)));
    assert_eq!(paths, ["root", "root/step:one", "root/step:one~2", "root/step:one~3"]);
}

#[test]
fn names_are_encoded_in_paths() {
    let paths = check(&sequencer("s", vec![step(&add("a/b:c[0]~%", 1))]), json!(0), Ok(json!(1)));
    assert_eq!(paths[1], "root/step:a%2Fb%3Ac%5B0%5D%7E%25");
}

#[test]
fn an_empty_chain_returns_its_input() {
    check(&sequencer("s", Vec::new()), json!({"x": 1}), Ok(json!({"x": 1})));
}

#[test]
fn a_loop_stops_at_its_guard() {
    let never = Rc::new(Function(|_, _| async { Ok(json!(false)) }));
    let child = child(&add("one", 1));
    let root = sequencer("s", vec![Operation::Loop { condition: never, until: true, child }]);
    check(&root, json!(0), Err("doUntil exceeded max loop guard (250)"));
}

#[test]
fn a_failing_block_keeps_its_writes() {
    let log = Arc::new(MemoryLog::default());
    let root = handler("h", |_, cx| async move {
        cx.apply(&Target::Session, patch("a", json!(1))).await?;
        Err(FlowError::plain("no"))
    });
    let (ended, _) = run(&log, "r", &root, Value::Null);
    assert_eq!(ended.status, RequestStatus::Failed);
    assert_eq!(log.record(&session()).expect("memory").state.to_json(), json!({"a": 1}));
}

/// Two requests write one record. A push is applied again to the newer record. A value that was computed from the older
/// record makes the body run again. So no write is lost.
#[test]
fn no_write_is_lost_if_another_request_changes_the_record() {
    let log = Arc::new(MemoryLog::default());
    let other = log.clone();
    let tries = Rc::new(Cell::new(0));
    let count = tries.clone();
    let root = handler("h", move |_, cx| {
        let (other, count) = (other.clone(), count.clone());
        async move {
            count.set(count.get() + 1);
            let seen = cx.read(&Target::Session).map(|(_, state)| state.to_json()).unwrap_or_default();
            let all = seen["all"].as_i64().unwrap_or(0) + 1;
            let fields = [("all".to_owned(), json!(all)), ("by".to_owned(), json!("h"))].into_iter().collect();
            cx.apply(&Target::Session, Change::Ready(Op::Patch { fields })).await?;
            if count.get() == 1 {
                let record = Record {
                    version: 5,
                    state: Arc::new(serde_json::from_value(json!({"all": 41})).expect("a state")),
                };
                other.set_record(session(), record);
            }
            Ok(json!(all))
        }
    });
    let (ended, events) = run(&log, "r", &root, Value::Null);
    assert_eq!((ended.output.to_json(), tries.get()), (json!(42), 2));
    assert_eq!(log.record(&session()).expect("memory").state.to_json(), json!({"all": 42, "by": "h"}));
    let statuses: Vec<_> = blocks(Events::new(&events), false).iter().map(|block| block.status).collect();
    assert_eq!(statuses, [BlockStatus::Abandoned, BlockStatus::Completed]);
    let numbers: Vec<u64> = events.iter().map(|event| event.seq).collect();
    assert_eq!(numbers, (1..=events.len() as u64).collect::<Vec<_>>(), "the log stays dense");
}

#[test]
fn a_push_is_applied_again_without_running_the_body_again() {
    let log = Arc::new(MemoryLog::default());
    let other = log.clone();
    let root = handler("h", move |_, cx| {
        let other = other.clone();
        async move {
            cx.apply(&Target::Session, Change::Ready(Op::Push { field: "l".to_owned(), value: json!("mine") })).await?;
            let record = Record {
                version: 1,
                state: Arc::new(serde_json::from_value(json!({"l": ["theirs"]})).expect("a state")),
            };
            other.set_record(session(), record);
            Ok(Value::Null)
        }
    });
    let (ended, events) = run(&log, "r", &root, Value::Null);
    assert_eq!(ended.status, RequestStatus::Completed);
    assert_eq!(log.record(&session()).expect("memory").state.to_json(), json!({"l": ["theirs", "mine"]}));
    assert_eq!(events.iter().filter(|event| matches!(event.kind, EventKind::BlockStarted { .. })).count(), 1);
    assert!(!events.iter().any(|event| matches!(event.kind, EventKind::CommitRefused { .. })), "it checked first");
}

/// Branches that write one record queue: each costs as much as it does alone, no write is lost, and branches that read
/// before they wrote run again.
#[test]
fn the_cost_of_writers_of_one_record_is_linear() {
    let arms = |blind: bool| {
        (0..60)
            .map(|n| {
                let block = handler(&format!("w{n}"), move |_, cx| async move {
                    let seen = cx.read(&Target::Session).map(|(_, state)| state.to_json()).unwrap_or_default();
                    let by = |n: i64| [("n".to_owned(), json!(n))].into_iter().collect();
                    let change = if blind {
                        Op::Increment { by: by(1) }
                    } else {
                        Op::Set { state: by(seen["n"].as_i64().unwrap_or(0) + 1) }
                    };
                    cx.apply(&Target::Session, Change::Ready(change)).await.map(Value::from)
                });
                engine::flow::Arm { key: n.to_string(), condition: None, child: child(&block) }
            })
            .collect()
    };
    for blind in [true, false] {
        let log = Arc::new(MemoryLog::default());
        let root = sequencer("s", vec![Operation::Parallel { arms: arms(blind), limit: None }]);
        let (ended, events) = run(&log, "r", &root, Value::Null);
        assert_eq!(ended.error, None);
        assert_eq!(log.record(&session()).expect("memory").state.to_json(), json!({"n": 60}));
        assert!(events.len() < 60 * 8, "{} events", events.len());
    }
}

/// A callback that loses a conflict runs again; the child before it does not.
#[test]
fn a_callback_that_lost_a_conflict_runs_again_without_the_children() {
    let log = Arc::new(MemoryLog::default());
    let ran = Rc::new(Cell::new(0));
    let count = ran.clone();
    let child = handler("child", move |_, _| {
        count.set(count.get() + 1);
        async { Ok(json!(1)) }
    });
    let (other, calls) = (log.clone(), Rc::new(Cell::new(0)));
    let map = Rc::new(Function(move |_, cx: engine::context::Context| {
        let (other, calls) = (other.clone(), calls.clone());
        async move {
            calls.set(calls.get() + 1);
            let seen = cx.read(&Target::Session).map(|(_, state)| state.to_json()).unwrap_or_default();
            let state = [("n".to_owned(), json!(seen["n"].as_i64().unwrap_or(0) + 1))].into_iter().collect();
            cx.apply(&Target::Session, Change::Ready(Op::Set { state })).await?;
            if calls.get() == 1 {
                other.set_record(
                    session(),
                    Record { version: 9, state: Arc::new(serde_json::from_value(json!({"n": 5})).expect("a state")) },
                );
            }
            Ok(json!(calls.get()))
        }
    }));
    let (ended, _) = run(&log, "r", &sequencer("s", vec![step(&child), Operation::Map(map)]), Value::Null);
    assert_eq!((ended.output.to_json(), ran.get()), (json!(2), 1));
    assert_eq!(log.record(&session()).expect("memory").state.to_json(), json!({"n": 6}));
}

#[test]
fn the_same_flow_twice_writes_the_same_log() {
    let root = sequencer("s", vec![step(&add("a", 1)), step(&add("b", 2))]);
    let logs = [0, 1].map(|_| run(&Arc::new(MemoryLog::default()), "r", &root, json!(1)).1);
    assert_eq!(logs[0], logs[1]);
}

/// Another process writes the session.
fn written_elsewhere(log: &MemoryLog, version: u64, state: Value) {
    log.set_record(session(), Record { version, state: Arc::new(serde_json::from_value(state).expect("a state")) });
}

/// A `map` that adds 1 to what it sees of `n`, and fails.
fn fails_after_a_write() -> Operation {
    Operation::Map(Rc::new(Function(|_, cx: engine::context::Context| async move {
        let seen = cx.read(&Target::Session).map(|(_, state)| state.to_json()).unwrap_or_default();
        cx.apply(&Target::Session, patch("n", json!(seen["n"].as_i64().unwrap_or(0) + 1))).await?;
        Err(FlowError::plain("no"))
    })))
}

/// The writes of a function wait for the end of its block, while a block inside commits. A write that was computed from
/// an older record must not overwrite those of other requests.
#[test]
fn a_commit_of_an_inner_block_does_not_hide_writes_of_other_requests() {
    for elsewhere in [true, false] {
        let log = Arc::new(MemoryLog::default());
        let other = log.clone();
        let handler = handler("counts", move |_, cx| {
            let other = other.clone();
            async move {
                let by = [("c".to_owned(), json!(1))].into_iter().collect();
                cx.apply(&Target::Session, Change::Ready(Op::Increment { by })).await?;
                if elsewhere {
                    written_elsewhere(&other, 5, json!({ "n": 41 }));
                }
                Ok(json!("rescued"))
            }
        });
        let root = sequencer("s", vec![fails_after_a_write()]);
        let mut root = Rc::try_unwrap(root).unwrap_or_else(|_| unreachable!("nobody else has it"));
        root.rescue = vec![Rescue { when: Vec::new(), block: handler }];
        let (ended, _) = run(&log, "r", &Rc::new(root), Value::Null);
        let state = log.record(&session()).expect("memory").state.to_json();
        if elsewhere {
            assert_eq!(state, json!({ "n": 41, "c": 1 }), "{:?}", ended.error);
            assert!(ended.error.is_some_and(|error| error.classes[0] == "ConcurrentModificationError"));
        } else {
            assert_eq!((state, ended.error), (json!({ "n": 1, "c": 1 }), None));
        }
    }
}

/// A failed function has written, and the hook after it loses a conflict and runs again. The writes of the failed
/// function stay visible to the hook, and count at the end of the block.
#[test]
fn writes_of_a_failed_function_survive_a_conflict_of_the_next_one() {
    let log = Arc::new(MemoryLog::default());
    let fails = Operation::Map(Rc::new(Function(|_, cx: engine::context::Context| async move {
        cx.apply(&Target::Session, patch("failed", json!("wrote"))).await?;
        Err(FlowError::plain("no"))
    })));
    let (other, calls) = (log.clone(), Rc::new(RefCell::new(Vec::new())));
    let calls_seen = calls.clone();
    let hook = Function(move |_, cx: engine::context::Context| {
        let (other, calls) = (other.clone(), calls_seen.clone());
        async move {
            let seen = cx.read(&Target::Session).map(|(_, state)| state.to_json()).unwrap_or_default();
            calls.borrow_mut().push(seen.clone());
            cx.apply(&Target::Session, patch("n", json!(seen["n"].as_i64().unwrap_or(0) + 1))).await?;
            if calls.borrow().len() == 1 {
                written_elsewhere(&other, 5, json!({ "n": 41 }));
            }
            Ok(Value::Null)
        }
    });
    let root = sequencer("s", vec![fails]);
    let mut root = Rc::try_unwrap(root).unwrap_or_else(|_| unreachable!("nobody else has it"));
    root.on_errored = Some(Rc::new(hook));
    let (ended, _) = run(&log, "r", &Rc::new(root), Value::Null);
    assert_eq!(ended.error.map(|error| error.message).as_deref(), Some("no"));
    assert_eq!(*calls.borrow(), [json!({ "failed": "wrote" }), json!({ "n": 41, "failed": "wrote" })]);
    let state = log.record(&session()).expect("memory").state.to_json();
    assert_eq!(state, json!({ "n": 42, "failed": "wrote" }));
}

/// As before, but the later function loses every conflict: its writes are dropped, and those of the failed function
/// count at the end of the block.
#[test]
fn writes_of_a_failed_function_survive_a_next_one_that_gives_up() {
    let log = Arc::new(MemoryLog::default());
    let fails = Operation::Map(Rc::new(Function(|_, cx: engine::context::Context| async move {
        cx.apply(&Target::Session, patch("failed", json!("wrote"))).await?;
        Err(FlowError::plain("no"))
    })));
    let (other, calls) = (log.clone(), Rc::new(Cell::new(0)));
    let count = calls.clone();
    let hook = Function(move |_, cx: engine::context::Context| {
        let (other, calls) = (other.clone(), count.clone());
        async move {
            calls.set(calls.get() + 1);
            let seen = cx.read(&Target::Session).map(|(_, state)| state.to_json()).unwrap_or_default();
            cx.apply(&Target::Session, patch("n", json!(seen["n"].as_i64().unwrap_or(0) + 1))).await?;
            written_elsewhere(&other, 5 + calls.get(), json!({ "n": 40 + calls.get() }));
            Ok(Value::Null)
        }
    });
    let root = sequencer("s", vec![fails]);
    let mut root = Rc::try_unwrap(root).unwrap_or_else(|_| unreachable!("nobody else has it"));
    root.on_errored = Some(Rc::new(hook));
    let (ended, _) = run(&log, "r", &Rc::new(root), Value::Null);
    assert_eq!(ended.error.map(|error| error.message).as_deref(), Some("no"));
    assert!(calls.get() > 1);
    let state = log.record(&session()).expect("memory").state.to_json();
    assert_eq!(state, json!({ "n": 40 + calls.get(), "failed": "wrote" }));
}

/// Path and attempt must be separated in an id: `…/a` in attempt 10 and `…/a1` in attempt 0 are different.
#[test]
fn two_questions_never_have_one_id() {
    let asks = |name: &str, from: u32| {
        let block = handler(name, move |_, cx| async move {
            if cx.frame.attempt < from {
                return Err(FlowError::plain("once more"));
            }
            cx.suspend(SuspendOptions { reason: "approval".to_owned(), ..SuspendOptions::default() }).await?;
            Ok(Value::Null)
        });
        let mut block = Rc::try_unwrap(block).unwrap_or_else(|_| unreachable!("nobody else has it"));
        let (max_attempts, max_delay_ms) = (Some(from + 1), Some(10));
        block.retry = Some(Retry { max_attempts, base_delay_ms: Some(1), max_delay_ms, retryable_errors: None });
        Rc::new(block)
    };
    let root = sequencer("s", vec![parallel([("a", asks("later", 10)), ("a1", asks("first", 0))])]);
    let (ended, events) = run(&Arc::new(MemoryLog::default()), "r", &root, Value::Null);
    assert_eq!(ended.status, RequestStatus::Suspended);
    let mut asked: Vec<_> = events
        .iter()
        .filter_map(|event| match &event.kind {
            EventKind::Suspended(asking) => Some((event.path.as_deref(), event.attempt, &*asking.id)),
            _ => None,
        })
        .collect();
    asked.sort_by_key(|asked| asked.1);
    let [first, later] = asked[..] else { panic!("{asked:?}") };
    assert_eq!((first.0, first.1), (Some("root/parallel/a1"), 0));
    assert_eq!((later.0, later.1), (Some("root/parallel/a"), 10));
    assert_ne!(first.2, later.2);
}

/// Pieces of a text must not be joined with those of another block, or they would count as its text.
#[test]
fn only_pieces_of_one_attempt_join() {
    let kept = Rc::new(RefCell::new(None));
    let keeps = kept.clone();
    let first = handler("first", move |_, cx| {
        *keeps.borrow_mut() = Some((cx.emit_message("assistant", json!(""), EmitOptions::default()), cx));
        async { Ok(Value::Null) }
    });
    let second = handler("second", move |_, cx| {
        let (of, first) = kept.take().expect("it ran before");
        for (by, text) in [(&first, "a"), (&first, "b"), (&cx, "c"), (&cx, "d"), (&first, "e")] {
            by.grow_item(of, text.to_owned());
        }
        async { Ok(Value::Null) }
    });
    let log = Arc::new(MemoryLog::default());
    let (ended, events) = run(&log, "r", &sequencer("s", vec![step(&first), step(&second)]), Value::Null);
    assert_eq!(ended.error, None);
    let pieces: Vec<_> = events
        .iter()
        .filter_map(|event| match &event.kind {
            EventKind::ItemDelta { text, .. } => Some((event.path.as_deref(), &**text)),
            _ => None,
        })
        .collect();
    let (first, second) = (Some("root/step:first"), Some("root/step:second"));
    assert_eq!(pieces, [(first, "ab"), (second, "cd"), (first, "e")]);
}
