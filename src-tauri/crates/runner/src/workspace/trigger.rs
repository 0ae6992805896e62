//! Fires an entry by hand: a schedule's tick, a provider's delivery, a bot's event (SEMANTICS §1.7).
//!
//! The binding's functions make the request from the event, on a separate thread, before anything is written.

use std::sync::Arc;

use engine::error::FlowError;
use script::{Fired, Given};
use serde_json::Value;

use super::starting::Origin;
use super::{Mock, RunOptions, Workspace};
use crate::catalogue::fatal_signals::FlowOnThread;
use crate::catalogue::runnable::{Wanted, named};
use crate::catalogue::{LoadedFlow, STACK};
use crate::core::fault::Fault;
use crate::effects::outside::{live, now_ms};
use crate::run::Running;
use crate::run::prepare::load;

/// The entry and its event.
#[derive(Clone, Debug, Default)]
pub struct TriggerOptions {
    /// The flow's kind.
    pub flow: String,
    /// The entry's name or its address.
    pub entry: String,
    /// The user; if absent, the one that the entry names.
    pub user: Option<String>,
    /// The session; if absent, the one that the entry derives from the event, or a new one.
    pub session: Option<String>,
    /// The team.
    pub project: Option<String>,
    /// The request's id; if absent, a new one.
    pub request: Option<String>,
    /// The event's payload, or the whole event; for a schedule, an input that replaces its own.
    pub input: Option<Value>,
    /// Which mock script answers models.
    pub mock: Mock,
}

impl Workspace {
    /// Fires an entry: its request runs like that of an action. Nothing is written if it is refused or if the entry
    /// ignores the event.
    pub fn trigger(&self, options: TriggerOptions) -> Result<Running, Fault> {
        self.check_writable()?;
        let loaded_flow = self.with_catalogue(|catalogue| catalogue.find(&options.flow))?;
        let address = named(&loaded_flow.flow, &options.entry, &Wanted::Fired)?;
        let TriggerOptions { flow, user, session, project, request, input, mock, .. } = options;
        let origin = Origin { trigger: input.clone(), ..Origin::default() };
        let given = Given { input, user, session, project, now: now_ms() };
        let fired = self.fire(&loaded_flow, &address, given)?;
        if fired.ignored {
            return Err(Fault::invalid(format!(
                "entry \"{address}\" of flow \"{flow}\" lets this event pass: its `when` said no, so nothing runs"
            )));
        }
        let Fired { input, user, session, project, .. } = fired;
        let asked = RunOptions { flow, action: address, internal: false, user, session, project, request, input, mock };
        self.begin(loaded_flow, asked, origin)
    }

    /// Calls the functions of a binding.
    fn fire(&self, loaded_flow: &Arc<LoadedFlow>, address: &str, given: Given) -> Result<Fired, Fault> {
        let (dir, limits, env) = (self.dir.clone(), self.config.script_limits(), self.config.flow_env());
        let (loaded_flow, entry) = (loaded_flow.clone(), address.to_owned());
        let thread = std::thread::Builder::new().stack_size(STACK).spawn(move || {
            let _flow = FlowOnThread::on_this_thread(&loaded_flow.end_record);
            let loaded = load(&dir, &loaded_flow, limits, live(&[], env))?;
            loaded.fire(&entry, &given).map_err(|error| unmapped(&entry, &error))
        });
        let thread = thread.map_err(Fault::internal)?;
        thread.join().map_err(|_| Fault::internal("the thread that maps the event ended early"))?
    }
}

/// The error of a failed mapping: the entry does not accept the event.
fn unmapped(entry: &str, error: &FlowError) -> Fault {
    let place = error.location.as_ref().map(|place| format!(" ({}:{}:{})", place.file, place.line, place.column));
    Fault::invalid(format!(
        "entry \"{entry}\" could not make a request of this event: {}: {}{}; give another with --input",
        error.name,
        error.message,
        place.unwrap_or_default()
    ))
}
