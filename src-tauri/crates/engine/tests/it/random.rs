//! Laws of random flows: what they compute, that they compute it again, and that every view is a
//! function of the events alone.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use engine::context::{Change, Target};
use engine::error::FlowError;
use engine::event::{Event, EventKind, Outcome, Seq};
use engine::flow::{Arm, Block, Child, Each, Operation as Op};
use engine::log::Log;
use engine::memory_log::MemoryLog;
use engine::operation::Operation;
use engine::scope::{ScopeKey, ScopeKind};
use engine::views::Events;
use engine::views::blocks::{BlockStatus, blocks};
use engine::views::items::items;
use engine::written::{Function, handler, sequencer, step};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::runs::run;

/// A flow on numbers, small enough to compute by hand.
#[derive(Clone, Debug)]
enum Plan {
    /// Adds to the value.
    Add(i64),
    /// Adds the value to the session's sum, and hands it on.
    Keep,
    /// Fails above a number.
    FailAbove(i64),
    /// One after another.
    Chain(Vec<Plan>),
    /// Together; the sum of the branches goes on.
    Together(Vec<Plan>),
    /// For each number below a few; the sum goes on.
    ForEach(u8, Box<Plan>),
    /// Again until the value has grown by a step, a few times at most.
    Until(u8, Box<Plan>),
    /// The second where the first fails.
    Rescued(Box<Plan>),
}

/// What a plan makes of a value, and what it adds to the session's sum.
fn compute(plan: &Plan, value: i64, sum: &mut i64) -> Result<i64, ()> {
    match plan {
        Plan::Add(by) => Ok(value + by),
        Plan::Keep => {
            *sum += value;
            Ok(value)
        }
        Plan::FailAbove(most) => {
            if value > *most {
                Err(())
            } else {
                Ok(value)
            }
        }
        Plan::Chain(plans) => plans.iter().try_fold(value, |value, plan| compute(plan, value, sum)),
        Plan::Together(plans) => {
            // Every branch ends, whatever the others come to.
            let ends: Vec<_> = plans.iter().map(|plan| compute(plan, value, sum)).collect();
            ends.into_iter().sum()
        }
        Plan::ForEach(count, plan) => {
            let ends: Vec<_> = (0..i64::from(*count)).map(|n| compute(plan, value + n, sum)).collect();
            ends.into_iter().sum()
        }
        Plan::Until(times, plan) => {
            let mut value = value;
            let goal = value + i64::from(*times);
            for _ in 0..=250 {
                value = compute(plan, value, sum)?;
                value += 1;
                if value >= goal {
                    return Ok(value);
                }
            }
            Err(())
        }
        Plan::Rescued(plan) => compute(plan, value, sum).or(Ok(0)),
    }
}

thread_local! {
    /// What the blocks of a flow saw of the items of their own request, and when.
    static LOOKS: RefCell<Vec<(Seq, Vec<Value>)>> = RefCell::default();
}

fn number(value: &Value) -> i64 {
    value.as_i64().unwrap_or_default()
}

fn map(f: impl Fn(&Value) -> Value + 'static) -> Op {
    Op::Map(Rc::new(Function(move |value: Value, _| {
        let mapped = f(&value);
        async move { Ok(mapped) }
    })))
}

fn total() -> Op {
    map(|value| value.as_array().map_or(0, |list| list.iter().map(number).sum::<i64>()).into())
}

fn child(block: Rc<Block>) -> Child {
    engine::written::child(&block)
}

/// The plan as a block; names repeat, so that paths need their numbers.
fn build(plan: &Plan) -> Rc<Block> {
    match plan {
        Plan::Add(by) => {
            let by = *by;
            handler("add", move |value, _| async move { Ok(json!(number(&value) + by)) })
        }
        Plan::Keep => handler("keep", |value, cx| async move {
            let by = json!({ "sum": number(&value) }).as_object().cloned().unwrap_or_default();
            cx.apply(&Target::Session, Change::Ready(Operation::Increment { by })).await?;
            let by = json!({ "kept": 1 }).as_object().cloned().unwrap_or_default();
            cx.apply(&Target::Request, Change::Ready(Operation::Increment { by })).await?;
            cx.emit_message("assistant", value.to_string().into(), Default::default());
            LOOKS.with_borrow_mut(|looks| {
                looks.push((cx.run.recorder.last(), cx.request_items().expect("the log is in memory")))
            });
            Ok(value)
        }),
        Plan::FailAbove(most) => {
            let most = *most;
            handler("fail", move |value, _| async move {
                if number(&value) > most { Err(FlowError::plain("too much")) } else { Ok(value) }
            })
        }
        Plan::Chain(plans) => sequencer("chain", plans.iter().map(|plan| step(&build(plan))).collect()),
        Plan::Together(plans) => {
            let arms = plans.iter().map(|plan| Arm { key: String::new(), condition: None, child: child(build(plan)) });
            sequencer("together", vec![Op::StepAll { arms: arms.collect(), limit: None }, total()])
        }
        Plan::ForEach(count, plan) => {
            let count = i64::from(*count);
            let each = Each::Block(build(plan));
            sequencer(
                "each",
                vec![
                    map(move |value| (0..count).map(|n| json!(number(value) + n)).collect()),
                    Op::ForEach { connector: None, each, limit: Some(2) },
                    total(),
                ],
            )
        }
        Plan::Until(times, plan) => {
            let times = i64::from(*times);
            // The goal travels with the value.
            let inner = build(plan);
            let open = map(|pair| pair["value"].clone());
            let body = sequencer("turn", vec![open, step(&inner)]);
            let turn = sequencer(
                "pass",
                vec![
                    Op::StepAll {
                        arms: vec![
                            Arm { key: String::new(), condition: None, child: child(body) },
                            Arm {
                                key: String::new(),
                                condition: None,
                                child: child(handler("goal", |pair, _| async move { Ok(pair["goal"].clone()) })),
                            },
                        ],
                        limit: None,
                    },
                    map(|pair| json!({ "value": number(&pair[0]) + 1, "goal": pair[1] })),
                ],
            );
            let reached =
                Function(|pair: Value, _| async move { Ok(json!(number(&pair["value"]) >= number(&pair["goal"]))) });
            sequencer(
                "until",
                vec![
                    map(move |value| json!({ "value": value, "goal": number(value) + times })),
                    Op::Loop { condition: Rc::new(reached), until: true, child: child(turn) },
                    map(|pair| pair["value"].clone()),
                ],
            )
        }
        Plan::Rescued(plan) => {
            let failing = sequencer("tried", vec![step(&build(plan))]);
            let zero = handler("zero", |_, _| async move { Ok(json!(0)) });
            sequencer(
                "rescued",
                vec![Op::StepAny {
                    arms: [failing, zero]
                        .map(|block| Arm { key: String::new(), condition: None, child: child(block) })
                        .into(),
                }],
            )
        }
    }
}

fn plans() -> impl Strategy<Value = Plan> {
    let leaf = prop_oneof![(-3_i64..4).prop_map(Plan::Add), Just(Plan::Keep), (5_i64..40).prop_map(Plan::FailAbove)];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Plan::Chain),
            prop::collection::vec(inner.clone(), 1..4).prop_map(Plan::Together),
            (0_u8..4, inner.clone()).prop_map(|(count, plan)| Plan::ForEach(count, Box::new(plan))),
            // A turn that takes away more than it adds would run into the guard of 250.
            (0_u8..3, (0_i64..3).prop_map(Plan::Add)).prop_map(|(times, plan)| Plan::Until(times, Box::new(plan))),
            inner.prop_map(|plan| Plan::Rescued(Box::new(plan))),
        ]
    })
}

/// Everything a person can see of a request, as text.
fn seen(events: &[Event]) -> String {
    let view = Events::new(events);
    let items = serde_json::to_string(&items(&"request".into(), view, false)).expect("items are JSON");
    format!("{items}{:?}", blocks(view, false))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    #[test]
    fn a_random_flow_computes_what_it_should_twice(plan in plans(), input in -5_i64..6) {
        let root = build(&plan);
        let mut sum = 0;
        let expected = compute(&plan, input, &mut sum).ok();
        let mut logs = Vec::new();
        for _ in 0..2 {
            let log = Arc::new(MemoryLog::default());
            let (ended, events) = run(&log, "request", &root, json!(input));
            prop_assert_eq!(ended.output.as_value().map(number), expected, "{:?}", ended.error);
            let record = log.record(&ScopeKey::new(ScopeKind::Session, "session")).expect("memory answers");
            let kept = record.state.get("sum").map_or(0, |sum| number(sum));
            prop_assert_eq!(kept, sum);
            logs.push(events);
        }
        prop_assert_eq!(&logs[0], &logs[1]);
    }

    #[test]
    fn a_flow_sees_of_its_own_request_what_its_events_show(plan in plans(), input in -5_i64..6) {
        LOOKS.take();
        let log = Arc::new(MemoryLog::default());
        let (_, events) = run(&log, "request", &build(&plan), json!(input));
        for (last, mut seen) in LOOKS.take() {
            // Beside its fields, a flow gets an item's payload in short.
            seen.iter_mut().filter_map(Value::as_object_mut).for_each(|item| drop(item.remove("payload")));
            let until = Events::new(&events[..last as usize]);
            prop_assert_eq!(json!(seen), json!(items(&"request".into(), until, true)));
        }
    }

    #[test]
    fn views_are_functions_of_the_events(plan in plans(), input in -5_i64..6, cut in 0.0_f64..1.0) {
        let log = Arc::new(MemoryLog::default());
        let (_, events) = run(&log, "request", &build(&plan), json!(input));
        prop_assert_eq!(events.iter().map(|event| event.seq).collect::<Vec<_>>(), (1..=events.len() as u64).collect::<Vec<_>>());

        // The same events read back from their text show the same.
        let text = serde_json::to_string(&events).expect("events are JSON");
        let again: Vec<Event> = serde_json::from_str(&text).expect("events are JSON");
        prop_assert_eq!(seen(&events), seen(&again));

        // At any instant every block that began is there once, and what has ended stays ended.
        let part = &events[..(events.len() as f64 * cut) as usize];
        let then = blocks(Events::new(part), true);
        let begun = part.iter().filter(|event| matches!(event.kind, EventKind::BlockStarted { .. })).count();
        prop_assert_eq!(then.len(), begun);
        let later = blocks(Events::new(&events), false);
        for (then, later) in then.iter().zip(&later) {
            prop_assert_eq!(&then.path, &later.path);
            prop_assert!(then.status == BlockStatus::Running || then.status == later.status);
        }

        // An item keeps its id and its number from the instant it is there.
        let id: Arc<str> = "request".into();
        let all = items(&id, Events::new(&events), false);
        let abandoned: Vec<String> = events
            .iter()
            .filter(|event| matches!(event.kind, EventKind::BlockFinished { outcome: Outcome::Abandoned, .. }))
            .filter_map(|event| Some(format!("{id}:{}:{}", event.path.as_ref()?, event.attempt)))
            .collect();
        for item in items(&id, Events::new(part), true) {
            let is_there = all.iter().any(|other| other.id == item.id && other.item_index == item.item_index);
            // What a body emitted that a conflict made run again came to nothing.
            prop_assert!(is_there || abandoned.contains(&item.provenance.block_instance_id), "{item:?}\n{events:#?}");
        }
    }
}
