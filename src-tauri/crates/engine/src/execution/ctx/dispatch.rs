//! Sending an entry on its way (SEMANTICS §1.8). Must be called within `ctx.runOnce`, which keeps what it came to.

use serde::Deserialize;
use serde_json::{Value, json};

use super::Context;
use crate::model::effects::{Dispatch, DispatchTo, DispatchedBy, EffectKind};
use crate::model::error::FlowError;

/// What a dispatcher computed.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Asked {
    #[serde(rename = "type")]
    entry_type: String,
    target: String,
    #[serde(default)]
    flow_kind: Option<String>,
    session: DispatchTo,
    #[serde(default, deserialize_with = "crate::model::json::given")]
    payload: Option<Value>,
    place: String,
    /// The key of the `ctx.runOnce` around it.
    once: String,
}

impl Context {
    /// Starts an entry as a request of its own. Returns where it runs, or why nothing was started, as JSON.
    pub async fn dispatch(&self, asked: &str) -> Result<String, FlowError> {
        let asked: Asked = crate::model::data::from_json(asked)
            .map_err(|error| FlowError::validation(format!("dispatch: {error}"), None))?;
        let ordinal = self.note_dispatch(&asked)?;
        if let Some(recorded) = self.recorded_dispatch(ordinal).await {
            return recorded;
        }
        let start = &self.run.start;
        let call = Dispatch {
            entry_type: asked.entry_type,
            target: asked.target,
            flow: asked.flow_kind,
            to: asked.session,
            payload: asked.payload,
            place: asked.place,
            own_flow: self.run.flow.kind.to_string(),
            user: start.user.to_string(),
            project: start.project.as_deref().map(str::to_owned),
            mock: start.mock.clone(),
            by: DispatchedBy {
                request: self.run.request.to_string(),
                session: start.session.to_string(),
                path: self.frame.path.to_string(),
            },
            sender: start.dispatched_by.clone(),
        };
        let answer = match self.run.effects.dispatch(call).await {
            Ok(dispatched) => serde_json::to_string(&dispatched),
            Err(refusal) => serde_json::to_string(&refusal),
        };
        answer.map_err(|error| FlowError::plain(error.to_string()))
    }

    /// Keeps what is sent for the end of the `ctx.runOnce` around it, and returns the ordinal of that. Several may run
    /// at the same time, so they are found by their keys.
    fn note_dispatch(&self, asked: &Asked) -> Result<u32, FlowError> {
        let session = match &asked.session {
            DispatchTo::Key(key) => json!({ "key": key }),
            DispatchTo::Id(id) => json!({ "id": id }),
            DispatchTo::From(from) => json!({ "from": from }),
        };
        let mut dispatch = json!({ "type": asked.entry_type, "target": asked.target, "session": session });
        if let Some(flow) = &asked.flow_kind {
            dispatch["flowKind"] = flow.as_str().into();
        }
        // Earlier versions recorded no null.
        if let Some(payload) = asked.payload.as_ref().filter(|payload| !payload.is_null()) {
            dispatch["payload"] = payload.clone();
        }
        let mut open = self.frame.open_onces.borrow_mut();
        let once = open.get_mut(&asked.once);
        let once = once.ok_or_else(|| FlowError::plain(format!("no ctx.runOnce \"{}\" is open", asked.once)))?;
        once.sent = Some(dispatch);
        Ok(once.ordinal)
    }

    /// Returns the name of what a function sends next, which is the same in each attempt and after a resume. It counts
    /// by callback: one that a resume takes from the log does not count again.
    pub fn next_send(&self) -> String {
        let place = format!("{}:{}", self.caller().request, self.frame.path);
        match &self.call {
            Some(call) => format!("{place} {} {}", call.name, call.next_send_ordinal()),
            None => format!("{place} {}", self.ordinal("send")),
        }
    }

    /// Returns the recorded result in a replay: that of the `ctx.runOnce` around the dispatch. A dispatch that was not
    /// recorded ends the replay.
    async fn recorded_dispatch(&self, ordinal: u32) -> Option<Result<String, FlowError>> {
        let effect_log = self.run.effect_log.clone()?;
        let (path, attempt) = (&self.frame.path, self.frame.attempt);
        let Some(recorded) = effect_log.effect(path, attempt, EffectKind::Once, ordinal) else {
            if effect_log.note_missing(path, attempt, EffectKind::Once, ordinal) {
                self.diverge();
                return Some(Err(FlowError::aborted()));
            }
            return std::future::pending().await;
        };
        effect_log.wait_until_due(&recorded).await;
        let answer = recorded.result.get(0).cloned().unwrap_or_default();
        Some(recorded.error.map_or_else(|| Ok(answer.to_string()), Err))
    }
}
