//! Hooks and the end of an aborted request.

use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::rc::Rc;
use std::sync::Arc;
use std::task::Poll;

use engine::event::{EventKind, RequestStatus};
use engine::flow::{Block, Flow, Operation, RequestHooks};
use engine::memory_log::MemoryLog;
use engine::written::{child, flow, handler, sequencer, step};
use serde_json::{Value, json};

use crate::runs::run_flow;

/// What ran, in order.
type Ran = Rc<RefCell<Vec<String>>>;

/// A block that only notes that it ran.
fn noting(ran: &Ran, name: &str) -> Rc<Block> {
    let (ran, own) = (ran.clone(), name.to_owned());
    handler(name, move |input, _| {
        ran.borrow_mut().push(own.clone());
        std::future::ready(Ok(input))
    })
}

/// A flow whose every hook of a request notes that it ran.
fn hooked(ran: &Ran, root: &Rc<Block>) -> Flow {
    let hook = |name: &str| Some(noting(ran, name));
    let hooks = RequestHooks {
        on_started: hook("started"),
        on_completed: hook("completed"),
        on_errored: hook("errored"),
        on_finished: hook("finished"),
        on_step_errored: hook("step errored"),
    };
    Flow { hooks, ..flow("test", root) }
}

/// Lets everything else go on for a while.
async fn others() {
    let turns = Cell::new(0);
    poll_fn(|task| {
        turns.set(turns.get() + 1);
        task.waker().wake_by_ref();
        if turns.get() > 100 { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
}

fn run(ran: &Ran, root: &Rc<Block>) -> (RequestStatus, Vec<engine::event::Event>) {
    let (ended, events) = run_flow(&Arc::new(MemoryLog::default()), "r", hooked(ran, root), json!(1));
    (ended.status, events)
}

#[test]
fn nothing_follows_the_last_event() {
    let ran = Ran::default();
    let (status, events) = run(&ran, &noting(&ran, "root"));
    assert_eq!(status, RequestStatus::Completed);
    assert_eq!(*ran.borrow(), ["started", "root", "completed", "finished"]);
    assert!(matches!(events.last().map(|event| &event.kind), Some(EventKind::RequestFinished { .. })));
}

#[test]
fn an_aborted_request_runs_no_hook_any_more() {
    let ran = Ran::default();
    let root = handler("root", |_, cx| async move {
        cx.run.abort.set();
        std::future::pending::<()>().await;
        Ok(Value::Null)
    });
    assert_eq!(run(&ran, &root).0, RequestStatus::Aborted);
    assert_eq!(*ran.borrow(), ["started"]);
}

#[test]
fn an_abort_of_the_work_beside_a_finished_root_aborts_the_request() {
    let ran = Ran::default();
    let late = handler("late", |_, cx| async move {
        others().await;
        cx.run.abort.set();
        Ok(Value::Null)
    });
    let work = Operation::Work { condition: None, child: child(&late), name: None };
    let root = sequencer("root", vec![work, step(&noting(&ran, "next"))]);
    let (status, events) = run(&ran, &root);
    assert_eq!(status, RequestStatus::Aborted);
    assert_eq!(*ran.borrow(), ["started", "next"]);
    let finished = events.iter().any(|event| {
        event.path.as_deref() == Some("root") && matches!(event.kind, EventKind::BlockFinished { error: None, .. })
    });
    assert!(finished, "the root had ended before");
}
