//! Starts a request. The action and the options are checked before anything is written.

use std::sync::Arc;

use engine::data::Data;
use engine::effects::DispatchedBy;
use engine::request::{Isolated, StartRequest};
use engine::scope::ScopeKind;
use script::{FlowDescription, own_time_zone};
use serde_json::Value;

use super::resume::Next;
use super::{RunOptions, Workspace, new_request, new_session};
use crate::catalogue::LoadedFlow;
use crate::catalogue::runnable::{Wanted, named};
use crate::core::fault::Fault;
use crate::core::id;
use crate::models::call_meter::SampleCalls;
use crate::run::{PriorEvents, Running, not_yours};

/// The organisation of requests that name none, equal to the SDK's `DEFAULT_ORG_ID`.
const DEFAULT_ORG: &str = "__fsd_default_org__";

/// What started a request that is not a person's call of an action.
#[derive(Default)]
pub(super) struct Origin {
    /// The event that an entry was fired with.
    pub(super) trigger: Option<Value>,
    /// Who sent it.
    pub(super) dispatched_by: Option<DispatchedBy>,
    /// The counter of its model calls, if it is a part of an experiment.
    pub(super) calls: Option<SampleCalls>,
}

impl Workspace {
    /// Starts an action. A refused start writes nothing.
    pub fn run(&self, options: RunOptions) -> Result<Running, Fault> {
        self.run_as(options, Origin::default())
    }

    /// Like [`run`](Self::run), with an origin.
    pub(super) fn run_as(&self, options: RunOptions, origin: Origin) -> Result<Running, Fault> {
        let (loaded_flow, options) = self.named_action(options)?;
        self.begin(loaded_flow, options, origin)
    }

    /// Makes those checks of [`run`](Self::run) that need no code of the flow. Writes nothing, and runs no block.
    pub fn check_run(&self, options: RunOptions) -> Result<(), Fault> {
        let (loaded_flow, options) = self.named_action(options)?;
        self.prepare(loaded_flow, options, Origin::default()).map(drop)
    }

    /// Refuses an invalid user id.
    pub fn check_user(user: &str) -> Result<(), Fault> {
        id::check_owner("user id", user)
    }

    /// Refuses a session in which a user cannot start anything: its id is malformed, or it belongs to another user.
    pub fn check_session_of(&self, session: &str, user: &str) -> Result<(), Fault> {
        id::check("session id", session)?;
        match self.store.session(session).map_err(Fault::internal)? {
            Some(known) if known.user != user => Err(not_yours(session, &known.user, user)),
            _ => Ok(()),
        }
    }

    /// Returns the flow of an action, and the options with the engine's name of the action.
    fn named_action(&self, options: RunOptions) -> Result<(Arc<LoadedFlow>, RunOptions), Fault> {
        self.check_writable()?;
        if options.user.trim().is_empty() {
            return Err(Fault::invalid(format!("Flow \"{}\" requires a userId: name one with --user", options.flow)));
        }
        let loaded_flow = self.with_catalogue(|catalogue| catalogue.find(&options.flow))?;
        let wanted = if options.internal { Wanted::Internal } else { Wanted::Action };
        let action = named(&loaded_flow.flow, &options.action, &wanted)?;
        Ok((loaded_flow, RunOptions { action, ..options }))
    }

    /// Starts a request of an action or an entry by the engine's name.
    pub(super) fn begin(
        &self,
        loaded_flow: Arc<LoadedFlow>,
        options: RunOptions,
        origin: Origin,
    ) -> Result<Running, Fault> {
        let (next, is_part) = self.prepare(loaded_flow, options, origin)?;
        if is_part {
            self.store.claim_part(&next.asked.request).map_err(Fault::internal)?;
        }
        Ok(self.start(next)?)
    }

    /// Prepares a request, and returns whether it is a part of an experiment. Writes nothing.
    fn prepare(
        &self,
        loaded_flow: Arc<LoadedFlow>,
        options: RunOptions,
        Origin { trigger, dispatched_by, calls }: Origin,
    ) -> Result<(Next, bool), Fault> {
        needs_project(&loaded_flow, &options)?;
        Self::check_user(&options.user)?;
        options.session.as_ref().map_or(Ok(()), |id| self.check_session_of(id, &options.user))?;
        options.project.as_ref().map_or(Ok(()), |id| id::check_owner("project id", id))?;
        let ephemeral = options.session.is_none();
        let session = options.session.clone().unwrap_or_else(new_session);
        let known = self.store.session(&session).map_err(Fault::internal)?;
        // All requests in a session of an experiment are parts of it; lists leave out both.
        let is_part = calls.is_some()
            && match &known {
                Some(known) => self.store.is_sample(&known.last_request).map_err(Fault::internal)?,
                None => true,
            };
        let project = org_of(&loaded_flow.flow, options.project, known.and_then(|known| known.project));
        let request = options.request.clone().unwrap_or_else(new_request);
        if request.contains(':') || request.trim().is_empty() {
            return Err(Fault::invalid(format!("request id \"{request}\" must not be empty or contain \":\"")));
        }
        id::check("request id", &request)?;
        if self.store.request(&request).map_err(Fault::internal)?.is_some() {
            return Err(Fault::refused(format!("request id \"{request}\" is already in use")));
        }
        let (mock, origin) = self.mock_of(&options.mock, &loaded_flow.bundle.file)?;
        let fork = self.fork_of(&session)?;
        let isolated = isolated_of(&loaded_flow.flow, project.as_deref());
        let asked = StartRequest {
            request: request.into(),
            action: options.action,
            input: Data::from(options.input),
            session: session.into(),
            ephemeral,
            user: options.user.into(),
            project: project.map(Into::into),
            mock: origin,
            owner: String::new(),
            retry_of: None,
            trigger,
            dispatched_by,
            claim: None,
            fork,
            isolated,
            time_zone: Some(own_time_zone().into()),
        };
        Ok((Next { loaded_flow, asked, script: mock, before: PriorEvents::default(), calls }, is_part))
    }
}

/// The organisation of a request: the named one, else that of its session, else the default one. A flow that does not
/// count on an organisation has none unless one is named (SEMANTICS §1.1).
pub(super) fn org_of(flow: &FlowDescription, named: Option<String>, of_session: Option<String>) -> Option<String> {
    let default = || of_session.unwrap_or_else(|| DEFAULT_ORG.to_owned());
    named.or_else(|| flow.counts_on_org.then(default))
}

/// Which states the current flow isolates in a request of an organisation (SEMANTICS §4.1).
pub(super) fn isolated_of(flow: &FlowDescription, org: Option<&str>) -> Isolated {
    let is_apart = flow.isolated.contains(&ScopeKind::User);
    let user_by_org = flow.counts_on_org && !is_apart && org.is_some_and(|org| org != DEFAULT_ORG);
    Isolated { flow: flow.kind.as_str().into(), kinds: flow.isolated.clone(), user_by_org }
}

/// Refuses to run without a project if a block requires one.
pub(super) fn needs_project(loaded_flow: &LoadedFlow, options: &RunOptions) -> Result<(), Fault> {
    let action = loaded_flow.flow.actions.iter().find(|action| action.name == options.action);
    // A request of the default organisation passes it on when it dispatches another, although no person named it.
    let is_named = options.project.as_ref().is_some_and(|project| project != DEFAULT_ORG);
    if is_named || !action.is_some_and(|action| action.requires_project) {
        return Ok(());
    }
    Err(Fault::invalid(format!(
        "\"{}\" of flow \"{}\" requires a project (requireProject, requireOrg): name one with --project",
        options.action, options.flow
    )))
}
