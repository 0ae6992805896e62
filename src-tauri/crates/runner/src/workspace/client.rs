//! What a client sees of a session's state: the projections of the flow of today.

use std::path::Path;

use engine::redaction::Redaction;
use engine::scope::{ScopeKey, ScopeKind};
use serde_json::{Map, Value, json};
use store::Owner;

use super::{At, Workspace, settings_file};
use crate::catalogue::STACK;
use crate::catalogue::fatal_signals::FlowOnThread;
use crate::core::fault::Fault;
use crate::views::{Json, StateView};

impl Workspace {
    /// The variables that the settings name for secrets and that this environment does not have: recorded values of
    /// them cannot be recognized, and so not hidden.
    pub fn missing_secrets(&self) -> Vec<String> {
        self.config.missing_variables()
    }

    /// The variables that the settings name for secrets.
    pub fn secret_variables(&self) -> Vec<String> {
        self.config.secret_variables()
    }

    /// As [`missing_secrets`](Self::missing_secrets), of a folder that is not opened.
    pub fn missing_secrets_at(dir: &Path) -> Result<Vec<String>, Fault> {
        Ok(settings_file::read(dir)?.missing_variables())
    }

    /// As [`secret_variables`](Self::secret_variables), of a folder that is not opened.
    pub fn secret_variables_at(dir: &Path) -> Result<Vec<String>, Fault> {
        Ok(settings_file::read(dir)?.secret_variables())
    }

    /// What is said of expressions that may read the environment: they do not see its secrets. `None` if there are
    /// none, or no expression names it.
    pub(super) fn hidden_env<'e>(&self, mut expressions: impl Iterator<Item = &'e String>) -> Option<String> {
        let names = self.config.secret_names();
        let is_read = !names.is_empty() && expressions.any(|text| text.contains("env"));
        is_read
            .then(|| format!("expressions see [redacted] in place of values that valueEnv names: {}", names.join(", ")))
    }

    /// A value without the values of known secrets: those that `flowglass.json` names by `valueEnv`, wherever flows put
    /// them. Costs the length of the value.
    pub fn hide_secrets(&self, mut value: Value) -> Value {
        self.config.redaction().known(&mut value);
        value
    }

    /// Hides what is left of secrets where texts for people were cut; the field `head` of an object is the beginning of
    /// a longer text.
    pub fn hide_cut_secrets(&self, mut value: Value) -> Value {
        fn hide(redaction: &Redaction, value: &mut Value, is_cut: bool) {
            match value {
                Value::String(text) => redaction.cut_text(text, is_cut),
                Value::Array(items) => items.iter_mut().for_each(|item| hide(redaction, item, false)),
                Value::Object(fields) => {
                    fields.iter_mut().for_each(|(name, field)| hide(redaction, field, name == "head"));
                }
                _ => {}
            }
        }
        hide(&self.config.redaction(), &mut value, false);
        value
    }

    /// The newest state of a session, with what a client sees of it and of its user and project.
    pub fn session_state(&self, session: &str) -> Result<StateView, Fault> {
        let row = self.session(session)?;
        let mut view = self.record_state(ScopeKey::new(ScopeKind::Session, session))?;
        let mut all = view.clone();
        let mut around = vec![(ScopeKind::User, row.user_id.as_str())];
        around.extend(row.project_id.as_deref().map(|id| (ScopeKind::Project, id)));
        let owners = self.newest_owners(session)?;
        for (kind, id) in around {
            let is_fork = row.forked_from.is_some();
            let key = if is_fork { ScopeKey::overlay(kind, id, session) } else { ScopeKey::new(kind, id) };
            // A user has other records in each organisation, and the newest request says whose it saw.
            let is_seen = |owner: &&Owner| owner.key == key || (kind, owner.key.kind) == (ScopeKind::User, kind);
            let owner = owners.iter().find(is_seen);
            let mut other = self.records_of(owner.map_or(&key, |owner| &owner.key).clone())?;
            if let Some(owner) = owner.filter(|owner| owner.state != owner.key) {
                let own = self.records_of(owner.state.clone())?;
                (other.user, other.project) = (own.user, own.project);
            }
            all.user = all.user.or(other.user);
            all.project = all.project.or(other.project);
            all.resources.extend(other.resources);
        }
        self.add_client_data(&row.flow, &all, &mut view);
        Ok(view)
    }

    /// Whose records the newest request of a session sees. It says which of them its flow kept apart when it began: the
    /// flow of today may keep others.
    fn newest_owners(&self, session: &str) -> Result<Vec<Owner>, Fault> {
        let Some(row) = self.store.session(session).map_err(Fault::internal)? else { return Ok(Vec::new()) };
        self.store.owners_of(&row.last_request).map_err(Fault::internal)
    }

    /// Every scope's state at an instant of a request, with what a client sees of it.
    pub fn request_state(&self, request: &str, at: Option<&At>) -> Result<StateView, Fault> {
        let row = self.request(request)?;
        let mut view = self.state_at(request, at)?;
        let all = view.clone();
        self.add_client_data(&row.flow, &all, &mut view);
        Ok(view)
    }

    /// Adds the projections of a flow on these states: nothing where the flow has none, or does not
    /// load. A projection that fails says why; the state is shown all the same.
    fn add_client_data(&self, flow: &str, states: &StateView, view: &mut StateView) {
        match self.client_data(flow, states) {
            Ok(seen) => view.client_data = seen,
            Err(problem) => view.client_data_error = Some(problem),
        }
    }

    fn client_data(&self, flow: &str, view: &StateView) -> Result<Option<Json>, String> {
        // A state is worth seeing even where today's flows cannot be read.
        let loaded_flow = self.with_catalogue(|catalogue| catalogue.find(flow)).ok();
        let Some(loaded_flow) = loaded_flow.filter(|loaded_flow| loaded_flow.flow.client) else { return Ok(None) };
        let mut states = Map::new();
        for (scope, state) in
            [("request", &view.request), ("session", &view.session), ("user", &view.user), ("project", &view.project)]
        {
            states.extend(state.as_ref().map(|state| (scope.to_owned(), state.0.clone())));
        }
        states.insert("resources".to_owned(), json!(view.resources));
        let (dir, limits, env) = (self.dir.clone(), self.config.script_limits(), self.config.flow_env());
        let thread = std::thread::Builder::new().stack_size(STACK).spawn(move || {
            let _flow = FlowOnThread::on_this_thread(&loaded_flow.end_record);
            let (bundle, kind) = (&loaded_flow.bundle, Some(loaded_flow.flow.kind.as_str()));
            let load_time = crate::effects::outside::live(&[], env);
            let loaded = script::Loaded::load(bundle, kind, &dir, limits, load_time);
            let loaded = loaded.map_err(|error| error.to_string())?;
            loaded.client_data(&Value::Object(states)).map_err(|error| error.to_string())
        });
        let thread = thread.map_err(|error| error.to_string())?;
        let seen = thread.join().map_err(|_| "the thread of the flow's projections ended early".to_owned())?;
        seen.map(|seen| Some(Json(seen)))
    }
}
