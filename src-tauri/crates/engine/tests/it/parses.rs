//! A schema parses a value once on its way into a block, whichever blocks around it have the same schema
//! (SEMANTICS §2.3).

use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;

use engine::abort::Abort;
use engine::callable::{Field, Issue, Schema, SchemaRef};
use engine::data::Data;
use engine::error::FlowError;
use engine::event::{Event, EventKind, RequestStatus};
use engine::flow::{Block, Flow};
use engine::memory_log::MemoryLog;
use engine::request::{PriorRun, Run};
use engine::written::{flow, handler, sequencer, step};
use serde_json::{Value, json};

use crate::runs::{Counted, asked, run, run_flow, settling};

/// Doubles a number, and counts how often it is asked.
#[derive(Default)]
struct Doubling {
    asked: Cell<u32>,
}

impl Schema for Doubling {
    fn parse(&self, data: &Data) -> Result<Data, Vec<Issue>> {
        self.asked.set(self.asked.get() + 1);
        Ok(json!(data.to_json().as_i64().unwrap_or_default() * 2).into())
    }
    fn check_field(&self, _field: &str, _value: &Value) -> Result<(), Vec<Issue>> {
        Ok(())
    }
    fn fields(&self) -> Option<&[Field]> {
        None
    }
    fn converts(&self) -> bool {
        true
    }
    fn describe(&self) -> Value {
        json!({ "type": "number" })
    }
}

/// A block with an input schema.
fn with_schema(mut block: Rc<Block>, schema: &SchemaRef) -> Rc<Block> {
    Rc::get_mut(&mut block).expect("no other block has it yet").input_schema = Some(schema.clone());
    block
}

fn same(name: &str) -> Rc<Block> {
    handler(name, |value: Value, _| async move { Ok(value) })
}

/// A flow whose action has the schema of its block.
fn flow_of(root: &Rc<Block>) -> Flow {
    let mut flow = flow("test", root);
    flow.actions["run"].input_schema = root.input_schema.clone();
    flow
}

#[test]
fn an_input_that_the_action_has_parsed_goes_into_the_block_as_it_is() {
    let doubling = Rc::new(Doubling::default());
    let schema: SchemaRef = doubling.clone();
    let root = with_schema(same("twice"), &schema);
    let (ended, _) = run_flow(&Arc::default(), "request", flow_of(&root), json!(10));
    assert_eq!((ended.output.to_json(), doubling.asked.get()), (json!(10), 0));
}

#[test]
fn a_chain_and_its_first_step_parse_with_one_schema_once() {
    let doubling = Rc::new(Doubling::default());
    let schema: SchemaRef = doubling.clone();
    let root = with_schema(sequencer("root", vec![step(&with_schema(same("twice"), &schema))]), &schema);
    let (ended, _) = run(&Arc::default(), "request", &root, json!(5));
    assert_eq!((ended.output.to_json(), doubling.asked.get()), (json!(10), 1));
}

#[test]
fn a_value_that_a_block_has_made_is_parsed_again() {
    let schema: SchemaRef = Rc::new(Doubling::default());
    let add = handler("add", |value: Value, _| async move { Ok(json!(value.as_i64().unwrap_or_default() + 1)) });
    let last = with_schema(same("twice"), &schema);
    let root = with_schema(sequencer("root", vec![step(&add), step(&last)]), &schema);
    let (ended, _) = run(&Arc::default(), "request", &root, json!(5));
    assert_eq!(ended.output.to_json(), json!(22));
}

#[test]
fn schemas_that_differ_parse_in_turn() {
    let (one, other): (SchemaRef, SchemaRef) = (Rc::new(Doubling::default()), Rc::new(Doubling::default()));
    let root = with_schema(sequencer("root", vec![step(&with_schema(same("twice"), &other))]), &one);
    let (ended, _) = run(&Arc::default(), "request", &root, json!(5));
    assert_eq!(ended.output.to_json(), json!(20));
}

/// Resumes a chain whose only step fails the first time, from its events as `change` leaves them.
fn resumed(change: impl Fn(&mut Event)) -> Value {
    let log = Arc::new(MemoryLog::default());
    let schema: SchemaRef = Rc::new(Doubling::default());
    let has_failed = Rc::new(Cell::new(false));
    let fails = handler("fails", move |value: Value, _| {
        let fails = !has_failed.replace(true);
        async move { if fails { Err(FlowError::plain("not yet")) } else { Ok(value) } }
    });
    let root = with_schema(sequencer("root", vec![step(&with_schema(fails, &schema))]), &schema);
    let (ended, mut events) = run(&log, "request", &root, json!(5));
    assert_eq!(ended.status, RequestStatus::Failed);
    change(&mut events[0]);
    let prior = PriorRun { events: &events, prior_status: RequestStatus::Failed, answers: &[] };
    let effects = Rc::new(Counted::after(events.last().map_or(0, |event| event.at)));
    let (flow, asked) = (Rc::new(flow("test", &root)), asked("request", json!(5)));
    let resumed = Run::after(prior, flow, asked, log, effects, Abort::default());
    let work = {
        let run = resumed.clone();
        async move {
            let input = run.begin_resumed(Vec::new()).await.expect("memory takes everything");
            run.execute(input).await
        }
    };
    settling(&resumed, work).expect("it does not stand still").output.to_json()
}

#[test]
fn a_resume_parses_as_the_request_began() {
    assert_eq!(resumed(|_| {}), json!(10));
    let by_an_older_version = |event: &mut Event| {
        if let EventKind::RequestStarted { parses_once, .. } = &mut event.kind {
            *parses_once = false;
        }
    };
    assert_eq!(resumed(by_an_older_version), json!(20));
}
