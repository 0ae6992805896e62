//! A resume refers to finished blocks and records nothing for them, however many there are (SEMANTICS §10.2).

use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;

use engine::abort::Abort;
use engine::context::{Change, Target};
use engine::error::FlowError;
use engine::event::{Event, EventKind, RequestStatus};
use engine::flow::Block;
use engine::memory_log::MemoryLog;
use engine::operation::Operation;
use engine::request::{PriorRun, Run};
use engine::views::Events;
use engine::views::blocks::{BlockStatus, blocks};
use engine::written::{flow, handler, sequencer, step};
use serde_json::{Value, json};

use crate::runs::{Counted, asked, run, settling};

/// A step that adds one to the request's count.
fn counts(name: &str) -> Rc<Block> {
    handler(name, |value: Value, cx| async move {
        let by = json!({ "count": 1 }).as_object().cloned().unwrap_or_default();
        cx.apply(&Target::Request, Change::Ready(Operation::Increment { by })).await?;
        Ok(value)
    })
}

/// A chain of steps, of which the last counts and then fails the first time.
fn failing_once(steps: usize) -> Rc<Block> {
    let has_failed = Rc::new(Cell::new(false));
    let fails = handler("fails", move |value: Value, cx| {
        let fails = !has_failed.replace(true);
        async move {
            let by = json!({ "count": 1 }).as_object().cloned().unwrap_or_default();
            cx.apply(&Target::Request, Change::Ready(Operation::Increment { by })).await?;
            if fails { Err(FlowError::plain("not yet")) } else { Ok(value) }
        }
    });
    let inner = sequencer("inner", (0..steps).map(|n| step(&counts(&format!("s{n}")))).collect());
    sequencer("root", vec![step(&inner), step(&fails)])
}

/// Runs a chain until it fails, and resumes it. Returns the events, and the count in the memory of the resumed run.
fn resumed(steps: usize) -> (Vec<Event>, Value) {
    let (log, root) = (Arc::new(MemoryLog::default()), failing_once(steps));
    let (ended, events) = run(&log, "request", &root, json!(1));
    assert_eq!(ended.status, RequestStatus::Failed);
    let prior = PriorRun { events: &events, prior_status: RequestStatus::Failed, answers: &[] };
    let flow = Rc::new(flow("test", &root));
    let effects = Rc::new(Counted::after(events.last().map_or(0, |event| event.at)));
    let resumed = Run::after(prior, flow, asked("request", json!(1)), log.clone(), effects, Abort::default());
    let work = {
        let run = resumed.clone();
        async move {
            let input = run.begin_resumed(Vec::new()).await.expect("memory takes everything");
            run.execute(input).await
        }
    };
    let ended = settling(&resumed, work).expect("it does not stand still");
    assert_eq!(ended.status, RequestStatus::Completed);
    (log.events("request"), resumed.state.read().1.to_json())
}

/// The events that a resume writes before the first block begins.
fn written_before_the_first_step(events: &[Event]) -> Vec<&str> {
    let resumed = events.iter().skip_while(|event| !matches!(event.kind, EventKind::RequestResumed { .. }));
    let before = resumed.take_while(|event| !matches!(event.kind, EventKind::BlockStarted { .. }));
    before.map(|event| event.kind.name()).collect()
}

#[test]
fn a_resume_writes_the_same_after_few_and_many_finished_steps() {
    for steps in [1, 100, 200] {
        let (events, _) = resumed(steps);
        assert_eq!(written_before_the_first_step(&events), ["request_resumed", "block_resumed"], "{steps} steps");
    }
}

#[test]
fn writes_of_a_failed_step_that_runs_again_count_once() {
    let (events, state) = resumed(3);
    assert_eq!(state, json!({ "count": 4 }), "three steps, and the last one once");
    let rows: Vec<_> = blocks(Events::new(&events), false)
        .into_iter()
        .map(|block| (block.path.to_string(), block.attempt, block.status, block.changes, block.gaps.len()))
        .collect();
    let done = BlockStatus::Completed;
    assert_eq!(
        rows,
        [
            ("root".to_owned(), 0, done, 0, 1),
            ("root/step:inner".to_owned(), 0, done, 0, 0),
            ("root/step:inner/step:s0".to_owned(), 0, done, 1, 0),
            ("root/step:inner/step:s1".to_owned(), 0, done, 1, 0),
            ("root/step:inner/step:s2".to_owned(), 0, done, 1, 0),
            ("root/step:fails".to_owned(), 0, BlockStatus::Failed, 0, 0),
            ("root/step:fails".to_owned(), 1, done, 1, 0),
        ]
    );
}
