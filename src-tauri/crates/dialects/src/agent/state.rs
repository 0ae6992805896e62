//! The `FlowState` while an agent runs: what it holds, and how it is written.
//!
//! It is the state of the agent's block (a sub-prompt's is that of its own block), written by ordinary state
//! operations of whichever block runs: so its value at any instant, who wrote it, and what a resume finds of it are
//! what they are for every state. `views::flow_state` gives it the names that authors know.

use std::rc::Rc;
use std::sync::Arc;

use serde_json::{Map, Value};

use super::working_history;
use engine::context::{Change, Context, Target};
use engine::error::FlowError;
use engine::flow::{Agent, AgentDefinitions, AgentPart, Body, Side};
use engine::frame::Frame;
use engine::operation::Operation;
use engine::scope::ScopeKind;
use engine::state::State;
use engine::views::flow_state;

/// The `FlowState` of one agent's execution or of one sub-prompt, as seen and written by one block.
#[derive(Clone)]
pub(super) struct FlowState {
    pub(super) cx: Context,
    frame: Rc<Frame>,
}

impl FlowState {
    /// That of the execution itself.
    pub(super) fn root(cx: &Context) -> Result<FlowState, FlowError> {
        FlowState::find(cx, |part| matches!(part, AgentPart::Conversation(_)))
    }

    /// That of the nearest sub-prompt around, or of the execution.
    pub(super) fn own(cx: &Context) -> Result<FlowState, FlowError> {
        FlowState::find(cx, |part| matches!(part, AgentPart::Conversation(_) | AgentPart::SubPrompt(..)))
    }

    fn find(cx: &Context, is_it: impl Fn(&AgentPart) -> bool) -> Result<FlowState, FlowError> {
        let frame = cx.frame.chain().find(|frame| match &frame.block.body {
            Body::Agent(part, ..) => is_it(part),
            _ => false,
        });
        let frame = frame.ok_or_else(|| FlowError::plain("no agent runs here, so there is no FlowState"))?;
        Ok(FlowState { cx: cx.clone(), frame })
    }

    /// That of the execution, seen from here.
    pub(super) fn root_of(&self) -> Result<FlowState, FlowError> {
        FlowState::root(&self.cx)
    }

    /// Whether it is that of a sub-prompt.
    pub(super) fn is_child(&self) -> bool {
        matches!(&self.frame.block.body, Body::Agent(AgentPart::SubPrompt(..), ..))
    }

    /// What the file defines.
    pub(super) fn definitions(&self) -> Rc<AgentDefinitions> {
        match &self.frame.block.body {
            Body::Agent(part, ..) => part.definitions().clone(),
            // `find` takes no other frame.
            _ => unreachable!("a FlowState is that of an agent's block"),
        }
    }

    /// Its fields now.
    pub(super) fn read(&self) -> Arc<State> {
        self.frame.own.as_ref().map(|own| own.read().1).unwrap_or_default()
    }

    /// One field; null where it is not there.
    pub(super) fn get(&self, field: &str) -> Value {
        self.read().get(field).map_or(Value::Null, |value| (**value).clone())
    }

    /// Applies one operation.
    pub(super) async fn write(&self, operation: Operation) -> Result<(), FlowError> {
        let target = Target::Instance(self.frame.instance.to_string());
        if self.cx.apply_at_once(&target, operation.clone()).is_some() {
            return Ok(());
        }
        self.cx.apply(&target, Change::Ready(operation)).await.map(drop)
    }

    /// Writes one field.
    pub(super) async fn set(&self, field: &str, value: impl Into<Value>) -> Result<(), FlowError> {
        self.write(Operation::Update { field: field.to_owned(), value: value.into() }).await
    }

    /// Writes several fields as one operation.
    pub(super) async fn patch(&self, fields: Value) -> Result<(), FlowError> {
        match fields {
            Value::Object(fields) => self.write(Operation::Patch { fields }).await,
            _ => Ok(()),
        }
    }

    /// Writes several fields, and with them all others as they are: a block that a resume takes from the log has the
    /// operations on its state again, and not what that state began with.
    pub(super) async fn begin(&self, fields: Value) -> Result<(), FlowError> {
        let mut all = self.read().to_json();
        if let (Value::Object(all), Value::Object(fields)) = (&mut all, fields) {
            all.extend(fields);
        }
        self.patch(all).await
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.get("stopped") == true
    }

    pub(super) fn side(&self) -> Side {
        Side::parse(self.get("currentSide").as_str().unwrap_or_default()).unwrap_or(Side::A)
    }

    pub(super) fn turn_count(&self) -> u64 {
        self.get("turnCount").as_f64().map_or(0, |count| count as u64)
    }

    /// How many turns ended. `turnCount`, which authors may write, begins with it.
    pub(super) fn turns(&self) -> u64 {
        self.get("turns").as_u64().unwrap_or_default()
    }

    /// The agent that has the conversation: the file's, until it is handed over.
    pub(super) fn agent_name(&self) -> String {
        self.get("agent").as_str().unwrap_or_default().to_owned()
    }

    /// That agent, of the definitions of its file.
    pub(super) fn agent<'a>(&self, of: &'a AgentDefinitions) -> Result<&'a Agent, FlowError> {
        let name = self.agent_name();
        of.agents.get(&name).ok_or_else(|| FlowError::plain(format!("agent \"{name}\" is not defined")))
    }

    /// The messages of the thread, oldest first, with what this execution changed of them.
    pub(super) fn rows(&self) -> Vec<Value> {
        let own = match self.root_of() {
            Ok(root) => root.read(),
            Err(_) => self.read(),
        };
        flow_state::rows(&own, self.session().as_deref())
    }

    /// A message of the thread.
    pub(super) fn message(&self, id: &str) -> Option<Value> {
        self.rows().into_iter().find(|row| row["id"] == id)
    }

    /// Puts a message into the thread, or its new form.
    pub(super) async fn put_message(&self, id: &str, row: Value) -> Result<(), FlowError> {
        let root = self.root_of()?;
        working_history::follow(&root, id, &row).await?;
        if self.is_child() {
            working_history::follow(self, id, &row).await?;
        }
        root.write(Operation::SetRecord { field: "messages".to_owned(), key: id.to_owned(), value: row }).await
    }

    /// Takes a message out of the thread. What is left says that it was there, because the thread may hold it.
    pub(super) async fn remove_message(&self, id: &str) -> Result<(), FlowError> {
        self.put_message(id, Value::Null).await
    }

    /// The session's state, with what this block wrote to it. The thread's messages and storage are there.
    pub(super) fn session(&self) -> Option<Arc<State>> {
        let key = self.cx.run.durable_key(ScopeKind::Session)?;
        self.cx.transaction().read(&key).map(|(_, state)| state)
    }

    /// Writes a field of the session's state, as part of the block that runs.
    pub(super) async fn write_session(&self, operation: Operation) -> Result<(), FlowError> {
        if self.cx.apply_at_once(&Target::Session, operation.clone()).is_some() {
            return Ok(());
        }
        self.cx.apply(&Target::Session, Change::Ready(operation)).await.map(drop)
    }

    /// The id of a message that a block stores, the same whenever the block runs again.
    pub(super) fn message_id(&self, of: &str) -> String {
        let origin = self.root_of().map_or(Value::Null, |root| root.get("origin"));
        let key = format!("{}\u{0}{of}", origin.as_str().unwrap_or_default());
        format!("msg_{}", &blake3::hash(key.as_bytes()).to_hex()[..16])
    }

    /// When the next message is created, in microseconds: the execution's beginning and how many messages it has. Real
    /// time would put messages that a resume stores again behind those that it finds.
    pub(super) fn next_created_at(&self) -> u64 {
        let root = self.root_of().map(|root| root.read()).unwrap_or_default();
        let base = root.get("base").and_then(|base| base.as_u64()).unwrap_or_default();
        let count = root.get("messages").and_then(|rows| rows.as_object().map(Map::len)).unwrap_or_default();
        base + count as u64
    }
}
