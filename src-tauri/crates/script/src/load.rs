//! Loading of a flow file, and its description for a catalogue.

pub(crate) mod worker;

use std::collections::HashMap;
use std::path::Path;
use std::rc::Rc;

use engine::data::from_json;
use engine::effects::EffectKind;
use engine::error::{FlowError, Location};
use engine::flow::{Conflict, Flow, SharedState, shared_states};
use engine::request::Run;
use engine::scope::ScopeKind;
use engine::views::shape::{BlockShape, shape};
use rquickjs::Function;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::bundle::Bundle;
use crate::bundle::default_org::counts_on_org;
use crate::bundle::error::{LoadError, LoadErrorKind};
use crate::describe::actions::EntryDescription;
use crate::describe::impossible;
use crate::describe::registry::{BuildError, Registry};
use crate::describe::wire::{WireAction, WireFlow};
use crate::host::async_calls::drive;
use crate::host::fire::{Fired, Given};
use crate::host::sync_calls::sync;
use crate::vm::calls::ScriptRaceSignals;
use crate::vm::load_time::LoadTime;
use crate::vm::probed::{Asked, Probed};
use crate::vm::{Limits, Vm};

/// How the address of a schedule begins.
const SCHEDULE: &str = "schedule:";

/// A loaded flow file, of which one flow is described. It serves one request.
pub struct Loaded {
    /// The flow, if the file exports one. Its functions can be called for as long as this value lives.
    pub flow: Option<Rc<Flow>>,
    /// The kinds of all flows that the file exports, each its own.
    pub kinds: Vec<String>,
    defined_at: Option<Location>,
    client: bool,
    declares_org: Option<bool>,
    isolated: Vec<ScopeKind>,
    description: Option<String>,
    entries: HashMap<String, EntryDescription>,
    resolves: bool,
    vm: Rc<Vm>,
    registry: Rc<Registry>,
}

/// What in a file that exports no flow may have been meant as one.
#[derive(Deserialize)]
struct MissingFlow {
    /// Flows that were defined, by their kinds and the stacks of their definitions.
    made: Vec<(String, String)>,
    /// The kind of a default export that looks like the definition of a flow.
    plain: Option<String>,
}

/// Returns an error if a file that exports no flow seems to be meant as a flow file. Other files without a flow are for
/// others to import.
fn missing_flow(vm: &Vm, bundle: &Bundle, workspace: &Path) -> Option<LoadError> {
    let json = vm.enter(|_, host| host.get::<_, Function>("missed")?.call::<_, String>(())).ok()?;
    let MissingFlow { made, plain } = from_json(&json).ok()?;
    let of_this_file = made.iter().find_map(|(kind, stack)| {
        let place = crate::bundle::callsite::of_stack(&vm.shared.trace, &bundle.code, stack)?;
        (place.file == bundle.file).then_some((kind, place))
    });
    if let Some((kind, place)) = of_this_file {
        let message = format!(
            "flow \"{kind}\" is not exported, so nothing can run it; write: export default defineFlow({{ … }})"
        );
        return Some(LoadError::at(LoadErrorKind::Conflict, &bundle.file, Some(place), message));
    }
    let kind = plain?;
    let message = format!(
        "the default export looks like the definition of flow \"{kind}\", but defineFlow made no flow of it; \
         write: export default defineFlow({{ kind: \"{kind}\", actions: {{ … }} }})"
    );
    let text = std::fs::read_to_string(workspace.join(&bundle.file)).unwrap_or_default();
    let line = text.lines().position(|line| line.trim_start().starts_with("export default"));
    let place = line.map(|line| Location { file: bundle.file.clone(), line: line as u32 + 1, column: 1 });
    Some(LoadError::at(LoadErrorKind::Conflict, &bundle.file, place, message))
}

/// Returns the error that the description of a flow is, where a definition of its file is wrong.
fn wrong_definition(vm: &Vm, bundle: &Bundle, json: &str) -> Option<LoadError> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Wrong {
        wrong: String,
        defined_at: String,
    }
    let Wrong { wrong, defined_at } = json.starts_with("{\"wrong\"").then(|| from_json(json).ok())??;
    let place = crate::bundle::callsite::of_stack(&vm.shared.trace, &bundle.code, &defined_at);
    Some(LoadError::at(LoadErrorKind::Thrown, &bundle.file, place, wrong))
}

/// Returns the place of a definition by its number. `of` is the host function that has its stack: `site` for a block,
/// `definedAt` for a resource, `flowDefinedAt` for a flow.
fn place(vm: &Vm, bundle: &Bundle, of: &str, number: u32) -> Option<Location> {
    let stack = vm.enter(|_, host| host.get::<_, Function>(of)?.call::<_, String>((number,))).ok()?;
    crate::bundle::callsite::of_stack(&vm.shared.trace, &bundle.code, &stack)
}

/// The description of a flow in a catalogue.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct FlowDescription {
    /// The name it is run by.
    pub kind: String,
    /// For people.
    #[serde(default)]
    pub description: Option<String>,
    /// In the author's order, entries last.
    pub actions: Vec<ActionDescription>,
    /// Where it is defined, which may be a file that this one imports.
    #[serde(default)]
    pub defined_at: Option<Location>,
    /// Whether it has projections of its state for clients.
    #[serde(default)]
    pub client: bool,
    /// Whether its requests have an organisation where none is named.
    #[serde(default)]
    pub counts_on_org: bool,
    /// Whose state, the user's or the project's, it keeps apart from other flows.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub isolated: Vec<ScopeKind>,
    /// The states that it shares with other flows.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shared: Vec<SharedState>,
    /// Whether it finds schedules by a function of its own.
    #[serde(default)]
    pub resolves: bool,
    /// Warnings.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<LoadError>,
}

/// The description of an action in a catalogue.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ActionDescription {
    /// Its name; of an entry, its address.
    pub name: String,
    /// For people.
    pub description: Option<String>,
    /// What starts it, where that is no person's call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entry: Option<EntryDescription>,
    /// Whether it refuses to run without a project.
    #[serde(default)]
    pub requires_project: bool,
    /// JSON Schema of its input.
    #[serde(default, deserialize_with = "engine::json::exact")]
    pub input_schema: Option<Value>,
    /// The [`BlockShape`] of its root block and all below, as JSON: only lists of flows read it, and that of ten
    /// thousand steps would take more memory than running them.
    root: Box<str>,
}

impl ActionDescription {
    /// Returns its root block and all below. Fails if somebody has edited the text.
    pub fn root(&self) -> Result<BlockShape, serde_json::Error> {
        from_json(&self.root)
    }
}

impl Loaded {
    /// Evaluates a bundle and reads one of its flows: that of a kind, or its first.
    pub fn load(
        bundle: &Bundle,
        kind: Option<&str>,
        workspace: &Path,
        limits: Limits,
        load_time: LoadTime,
    ) -> Result<Loaded, LoadError> {
        Loaded::load_form(bundle, kind, workspace, limits, load_time, None)
    }

    /// As [`Loaded::load`], of a bundle with probes, which record what is asked. If they `follow`, they also record
    /// which statements each execution runs.
    pub fn load_probed(
        bundle: &Bundle,
        kind: &str,
        workspace: &Path,
        limits: Limits,
        load_time: LoadTime,
        (asked, follow): (Asked, bool),
    ) -> Result<Loaded, LoadError> {
        Loaded::load_form(bundle, Some(kind), workspace, limits, load_time, Some((asked, follow)))
    }

    fn load_form(
        bundle: &Bundle,
        kind: Option<&str>,
        workspace: &Path,
        limits: Limits,
        load_time: LoadTime,
        asked: Option<(Asked, bool)>,
    ) -> Result<Loaded, LoadError> {
        let vm = Vm::load(bundle, workspace, limits, load_time, asked, sync)?;
        let registry = Rc::new(Registry::default());
        let wrong = |kind, message: String| LoadError::in_file(kind, &bundle.file, message);
        let kinds: Vec<String> = vm
            .enter(|_, host| host.get::<_, Function>("flows")?.call::<_, String>(()))
            .map_err(|error| wrong(LoadErrorKind::Thrown, vm.load_message(&error)))
            .and_then(|json| from_json(&json).map_err(|error| wrong(LoadErrorKind::Thrown, error.to_string())))?;
        if let Some(twice) = kinds.iter().enumerate().find_map(|(at, kind)| kinds[..at].contains(kind).then_some(kind))
        {
            let message =
                format!("flow kind \"{twice}\" is defined twice in this file; give one of them another kind or id");
            return Err(wrong(LoadErrorKind::Conflict, message));
        }
        if kinds.is_empty() {
            if let Some(error) = missing_flow(&vm, bundle, workspace) {
                return Err(error);
            }
            return Ok(Loaded {
                flow: None,
                kinds,
                defined_at: None,
                client: false,
                declares_org: None,
                isolated: Vec::new(),
                description: None,
                entries: HashMap::new(),
                resolves: false,
                vm,
                registry,
            });
        }
        let at = match kind {
            Some(kind) => kinds.iter().position(|known| known == kind).ok_or_else(|| {
                let message = format!("the file exports no flow \"{kind}\" any more; it has {}", kinds.join(", "));
                wrong(LoadErrorKind::Conflict, message)
            })?,
            None => 0,
        };
        let defined_at = place(&vm, bundle, "flowDefinedAt", at as u32);
        let json = vm
            .enter(|_, host| host.get::<_, Function>("describe")?.call::<_, String>((at,)))
            .map_err(|error| wrong(LoadErrorKind::Thrown, vm.load_message(&error)))?;
        if let Some(error) = wrong_definition(&vm, bundle, &json) {
            return Err(error);
        }
        let mut wire: WireFlow = from_json(&json).map_err(|error| wrong(LoadErrorKind::Thrown, error.to_string()))?;
        // That of a large flow has megabytes.
        drop(json);
        let (client, declares_org, resolves) = (wire.client, wire.declares_org, wire.resolves);
        let (isolated, description) = (std::mem::take(&mut wire.isolated), wire.description.take());
        let entry = |(name, action): (&String, &mut WireAction)| Some((name.clone(), action.entry.take()?));
        let entries = wire.actions.iter_mut().filter_map(entry).collect();
        let flow = registry.flow(&vm, wire, &bundle.hash).map_err(|BuildError { error, definition }| {
            let place = definition.and_then(|number| place(&vm, bundle, "definedAt", number));
            LoadError::at(LoadErrorKind::Conflict, &bundle.file, place, error.message)
        })?;
        Ok(Loaded {
            flow: Some(Rc::new(flow)),
            kinds,
            defined_at,
            client,
            declares_org,
            isolated,
            description,
            entries,
            resolves,
            vm,
            registry,
        })
    }

    /// Serves the asynchronous calls of the flow. Must be polled together with the engine.
    pub fn drive(&self) -> impl Future<Output = ()> + use<> {
        drive(self.vm.clone(), self.registry.clone())
    }

    /// Fails all calls that have not returned with `NeverSettlesError`. For a caller that has found that nothing can
    /// settle their promises any more. Returns whether there were any.
    pub fn fail_waiting_calls(&self) -> bool {
        self.vm.fail_waiting_calls()
    }

    /// Records the clock and random values that the file got while it loaded, and fires the signals of its races. Must
    /// be called before any block runs.
    pub fn attach(&self, run: &Rc<Run>) {
        self.vm.shared.load_time.attach(run);
        run.set_race_signals(Box::new(ScriptRaceSignals(Rc::downgrade(&self.vm))));
    }

    /// Returns the first clock or random value that the file asked for and the log does not have; `None` if the log has
    /// no such values at all.
    pub fn unrecorded(&self) -> Option<(EffectKind, u32)> {
        self.vm.shared.load_time.missing()
    }

    /// Returns and forgets what the probes have recorded.
    pub fn probed(&self) -> Probed {
        self.vm.shared.probe.as_ref().map(|probe| probe.take()).unwrap_or_default()
    }

    /// Whether the probes have recorded all that was asked for.
    pub fn is_answered(&self) -> bool {
        self.vm.shared.probe.as_ref().is_some_and(|probe| probe.is_done())
    }

    /// Fires `ctx.signal`. Its listeners run now, before the request is stopped.
    pub fn abort(&self) {
        // Fails if the runtime has failed: then no listener is left.
        let _ = self.vm.enter(|_, host| host.get::<_, Function>("abort")?.call::<_, ()>(()));
    }

    /// Ends the flow's code as soon as `is_over` returns true, even if it does not yield: calls that run and later
    /// calls fail as aborted.
    pub fn stop_when(&self, is_over: impl Fn() -> bool + 'static) {
        self.vm.shared.load_time.stop.when(is_over);
    }

    /// Returns what a client sees of these states: an object with `request`, `session`, `user`, `project`, and
    /// `resources` by `<scope>/<path>`.
    pub fn client_data(&self, states: &Value) -> Result<Value, FlowError> {
        crate::host::async_calls::client_data(&self.vm, &self.registry, states)
    }

    /// Returns the request that an entry makes of what it is fired with.
    pub fn fire(&self, address: &str, given: &Given) -> Result<Fired, FlowError> {
        crate::host::fire::fire(&self.vm, &self.registry, address, given)
    }

    /// Finds the action of a schedule that is not in the file but in what its own function gives. Must be called before
    /// the flow is run.
    pub fn resolve(&mut self, address: &str) -> Result<(), FlowError> {
        let is_known = self.flow.as_ref().is_none_or(|flow| flow.actions.contains_key(address));
        if is_known || !self.resolves || !address.starts_with(SCHEDULE) {
            return Ok(());
        }
        let action = crate::host::fire::resolve(&self.vm, &self.registry, address)?;
        if let Some(flow) = self.flow.as_mut().and_then(Rc::get_mut) {
            flow.actions.insert(address.to_owned(), action);
        }
        Ok(())
    }

    /// Returns the SDK's warnings, without duplicates, and those of schemas that no value satisfies.
    fn warnings(&self, bundle: &Bundle) -> Vec<LoadError> {
        let shown = self.vm.enter(|_, host| host.get::<_, Function>("takeWarnings")?.call::<_, String>(()));
        let shown: Vec<(String, String)> = shown.ok().and_then(|json| from_json(&json).ok()).unwrap_or_default();
        let mut found: Vec<LoadError> = Vec::new();
        for (message, stack) in shown {
            let place = crate::bundle::callsite::of_stack(&self.vm.shared.trace, &bundle.code, &stack);
            let warning = LoadError::at(LoadErrorKind::Warning, &bundle.file, place, message);
            if !found.contains(&warning) {
                found.push(warning);
            }
        }
        let flow = self.flow.iter();
        found.extend(flow.flat_map(|flow| impossible::warnings(flow, &bundle.file, &self.defined_at)));
        found
    }

    /// Describes the flow for a catalogue, with the input schemas of all actions. Fails if declarations of a scope's
    /// fields contradict each other (SEMANTICS §4.6).
    pub fn describe(&self, bundle: &Bundle) -> Result<Option<FlowDescription>, LoadError> {
        let Some(flow) = &self.flow else { return Ok(None) };
        engine::flow::check_declarations(flow).map_err(|Conflict { error, site }| {
            let message = format!("{}: {}", error.name, error.message);
            let place = site.and_then(|site| place(&self.vm, bundle, "site", site));
            LoadError::at(LoadErrorKind::Conflict, &bundle.file, place, message)
        })?;
        let actions = flow
            .actions
            .iter()
            .map(|(name, action)| ActionDescription {
                name: name.clone(),
                description: action.description.clone(),
                entry: self.entries.get(name).cloned(),
                requires_project: action.requires_project,
                input_schema: action.input_schema.as_ref().map(|schema| schema.describe()),
                root: serde_json::to_string(&shape(&action.block)).unwrap_or_default().into(),
            })
            .collect();
        Ok(Some(FlowDescription {
            kind: flow.kind.to_string(),
            description: self.description.clone(),
            actions,
            defined_at: self.defined_at.clone(),
            client: self.client,
            counts_on_org: counts_on_org(self.declares_org, &bundle.code),
            isolated: self.isolated.clone(),
            shared: shared_states(flow, &self.isolated),
            resolves: self.resolves,
            warnings: self.warnings(bundle),
        }))
    }
}
