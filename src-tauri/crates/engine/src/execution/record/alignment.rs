//! Which operation of today's code each recorded operation is (ARCHITECTURE §4.2).
//!
//! Operations without a name, and several of the same name, are numbered by their place in the chain: `map~2`,
//! `step:charge~2`. When the code has changed since they ran, fingerprints say which of today's operations a record
//! belongs to: first the one with the same source, then the one at the same place. The events of other code are then
//! read as if they had been recorded at today's paths. Events without fingerprints, and those of today's code, stay
//! as they are. Must not change a log.

mod assign;
mod evidence;
mod renumber;
mod sources;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::rc::Rc;
use std::sync::Arc;

use serde_json::Value;

use crate::model::error::FlowError;
use crate::model::event::{BlockKind, Event, EventKind, Seq};
use crate::model::flow::{Action, Block, Body, Flow, Step};
use crate::model::identity::{InstanceId, StateOwner};
use crate::model::path::{ROOT, encode, join, path_below};
use crate::model::scope::ScopeKind;
use assign::{ChainNumbers, RecordedOperation, assign_group};
use evidence::{Evidence, Operations};
use renumber::{Chain, split};

/// One version of the code that recorded a request's events: an index, in the order in which versions first appear.
/// Code that kept what had ended at the same paths goes on with the version before it.
type Code = usize;

/// The path of one chain in each version of the code that ran it.
type ChainPaths = Vec<(Code, String)>;

/// How recorded paths translate to today's paths.
#[derive(Default)]
pub(crate) struct Alignment {
    /// From which event on which version of the code recorded.
    code_changes: Vec<(Seq, Code)>,
    /// The version that runs now, if it recorded events.
    today: Option<Code>,
    evidence: Vec<Evidence>,
    /// The chains whose operations have other numbers today: for each version, by the path in that version.
    chains: Vec<HashMap<String, Chain>>,
    /// The chains that were compared, by today's path.
    compared: HashSet<String>,
    /// Chains whose records are ambiguous: equal sources at several places. By today's path.
    ambiguous: HashMap<String, FlowError>,
    /// Chains of blocks that a factory makes while the flow runs, by today's path.
    dynamic: HashMap<String, ChainPaths>,
    /// Whether a recorded block that runs others has another name or kind today.
    has_other_blocks: bool,
}

impl Alignment {
    /// Compares the log of a request with the flow of today.
    pub(crate) fn read(events: &[Event], flow: &Flow, action: Option<&Action>) -> Alignment {
        // The newest code of each version.
        let mut codes: Vec<Option<&str>> = Vec::new();
        let mut alignment = Alignment::default();
        for event in events {
            let code = match &event.kind {
                // The events a fork shares with another request were recorded by that request's code.
                EventKind::RequestStarted { forked_from: Some(_), .. } => None,
                EventKind::RequestResumed { code_hash, keeps_ended: true, .. } => {
                    if let Some((_, code)) = alignment.code_changes.last() {
                        codes[*code] = Some(code_hash);
                    }
                    continue;
                }
                EventKind::RequestStarted { code_hash, .. } | EventKind::RequestResumed { code_hash, .. } => {
                    Some(code_hash.as_str())
                }
                _ => continue,
            };
            let code = codes.iter().position(|known| *known == code).unwrap_or_else(|| {
                codes.push(code);
                codes.len() - 1
            });
            alignment.code_changes.push((event.seq, code));
        }
        alignment.today = codes.iter().position(|code| *code == Some(flow.code_hash.as_str()));
        if codes.iter().enumerate().all(|(code, _)| alignment.today == Some(code)) {
            return Alignment::default();
        }
        alignment.evidence.resize_with(codes.len(), Evidence::default);
        alignment.chains.resize_with(codes.len(), HashMap::new);
        for event in events {
            let code = alignment.code_of(event.seq);
            alignment.evidence[code].read(event);
        }
        for (path, block) in roots(flow, action) {
            let known = (0..codes.len()).filter(|code| alignment.evidence[*code].blocks.contains_key(&path));
            let known = known.map(|code| (code, path.clone())).collect();
            alignment.walk(path, &block, known);
        }
        alignment.find_dynamic_chains();
        alignment
    }

    /// Returns whether each recorded operation is known to have the path today that it was recorded at, and each block
    /// that runs others to be the same. Of a chain that a factory makes it is not known before the chain is made, and a
    /// resume that has begun by reference counts as having known it.
    pub(crate) fn keeps_paths(&self) -> bool {
        !self.moves_paths() && self.ambiguous.is_empty() && self.dynamic.is_empty() && !self.has_other_blocks
    }

    fn moves_paths(&self) -> bool {
        self.chains.iter().any(|chains| !chains.is_empty())
    }

    /// Returns the events as if they had been recorded at today's paths.
    pub(crate) fn translate<'e>(&self, events: &'e [Event]) -> Cow<'e, [Event]> {
        if !self.moves_paths() {
            return Cow::Borrowed(events);
        }
        let moved = events.iter().map(|event| {
            let code = self.code_of(event.seq);
            if self.chains[code].is_empty() { event.clone() } else { self.moved(code, event) }
        });
        Cow::Owned(moved.collect())
    }

    /// Raises the next attempt of each path above all recorded ones: what runs there now must be a new instance.
    pub(crate) fn keep_attempts_apart(&self, events: &[Event], next: &mut rustc_hash::FxHashMap<Arc<str>, u32>) {
        if !self.moves_paths() {
            return;
        }
        let began = events.iter().filter(|event| matches!(event.kind, EventKind::BlockStarted { .. }));
        for event in began {
            let Some(path) = &event.path else { continue };
            let next = next.entry(path.clone()).or_insert(0);
            *next = (*next).max(event.attempt + 1);
        }
    }

    /// Returns `ReplayDriftError` for a chain whose records are ambiguous.
    pub(crate) fn check(&self, path: &str, steps: &[Step]) -> Result<(), FlowError> {
        if let Some(error) = self.ambiguous.get(path) {
            return Err(error.clone());
        }
        let Some(known) = self.dynamic.get(path).filter(|_| !self.compared.contains(path)) else {
            return Ok(());
        };
        // The chain exists only now. Its events have been read under the old numbers, so a moved one is an error.
        for (_, numbers) in self.assign(path, steps, known)? {
            if let Some((group, before, now)) = numbers.first_moved() {
                return Err(ambiguous(
                    path,
                    &[label(&group, before)],
                    &now.map(|now| label(&group, now)).into_iter().collect::<Vec<_>>(),
                ));
            }
        }
        Ok(())
    }

    fn code_of(&self, seq: Seq) -> Code {
        let at = self.code_changes.partition_point(|(from, _)| *from <= seq);
        at.checked_sub(1).map_or(0, |at| self.code_changes[at].1)
    }

    /// Compares the block at a path of today, and everything below it.
    fn walk(&mut self, path: String, block: &Rc<Block>, known: ChainPaths) {
        if known.is_empty() {
            return;
        }
        let recorded = known.iter().filter_map(|(code, old)| self.evidence[*code].blocks.get(old));
        self.has_other_blocks |= recorded.into_iter().any(|recorded| recorded.is_another(block));
        if let Body::Sequencer { steps, .. } = &block.body {
            self.compared.insert(path.clone());
            match self.assign(&path, steps, &known) {
                Ok(numbers) => {
                    for (code, numbers) in numbers {
                        let old = known.iter().find(|(one, _)| *one == code).map(|(_, old)| old.clone());
                        if let Some(old) = old.filter(|_| numbers.first_moved().is_some()) {
                            self.chains[code].insert(old, Chain { numbers });
                        }
                    }
                }
                Err(error) => drop(self.ambiguous.insert(path.clone(), error)),
            }
        }
        let inside = Inside::of(block);
        let mut below: BTreeMap<String, (Rc<Block>, ChainPaths)> = BTreeMap::new();
        for (code, old) in &known {
            for child in self.evidence[*code].children.get(old).into_iter().flatten() {
                let now = self.path(*code, child);
                let Some(rest) = path_below(&now, &path) else { continue };
                let Some(inner) = inside.find(rest) else { continue };
                below.entry(now).or_insert_with(|| (inner, ChainPaths::new())).1.push((*code, child.clone()));
            }
        }
        for (path, (block, known)) in below {
            self.walk(path, &block, known);
        }
    }

    /// Returns the numbers that the recorded operations of a chain have today, for each other version of the code.
    fn assign(&self, path: &str, steps: &[Step], known: &ChainPaths) -> Result<HashMap<Code, ChainNumbers>, FlowError> {
        let mut by_group: HashMap<&str, BTreeMap<u32, &Step>> = HashMap::new();
        for step in steps {
            let label = split(&step.label);
            by_group.entry(label.head).or_default().insert(label.number, step);
        }
        let groups: HashSet<&str> = by_group.keys().copied().collect();
        let mut recorded: Vec<(Code, Operations)> = Vec::new();
        for (code, old) in known {
            recorded.push((*code, self.evidence[*code].operations(old, &groups)));
        }
        let names: BTreeSet<&String> = recorded.iter().flat_map(|(_, groups)| groups.keys()).collect();
        let mut all: HashMap<Code, ChainNumbers> = HashMap::new();
        for group in names {
            let now = by_group.remove(group.as_str()).unwrap_or_default();
            let by_code: Vec<(Code, &BTreeMap<u32, RecordedOperation>)> =
                recorded.iter().filter_map(|(code, groups)| Some((*code, groups.get(group)?))).collect();
            let settled = assign_group(&by_code, &now, self.today).map_err(|(was, is)| {
                let labels =
                    |numbers: Vec<u32>| numbers.into_iter().map(|number| label(group, number)).collect::<Vec<_>>();
                ambiguous(path, &labels(was), &labels(is))
            })?;
            for (code, numbers) in settled {
                all.entry(code).or_insert_with(|| ChainNumbers::of(&groups)).insert(group, numbers);
            }
        }
        Ok(all)
    }

    /// Finds the recorded chains that are not in the flow's description: a factory makes their blocks while it runs.
    fn find_dynamic_chains(&mut self) {
        for code in (0..self.evidence.len()).filter(|code| self.today != Some(*code)) {
            let evidence = &self.evidence[code];
            for old in evidence.children.keys().chain(evidence.functions.keys()).collect::<BTreeSet<_>>() {
                if evidence.blocks.get(old).is_none_or(|began| began.kind != BlockKind::Sequencer) {
                    continue;
                }
                let now = self.path(code, old);
                if !self.compared.contains(&now) {
                    self.dynamic.entry(now).or_default().push((code, old.clone()));
                }
            }
        }
    }

    /// Translates a path of another version to today's.
    fn path(&self, code: Code, path: &str) -> String {
        renumber::path(&self.chains[code], path)
    }

    /// Translates an event of another version to today's paths.
    fn moved(&self, code: Code, event: &Event) -> Event {
        let mut event = event.clone();
        let old = event.path.take();
        let now = |path: &str| self.path(code, path);
        event.path = old.as_deref().map(|path| now(path).into());
        let callback = |name: &str| {
            let chain = old.as_deref().and_then(|old| self.chains[code].get(old));
            chain.map_or_else(|| name.to_owned(), |chain| chain.callback(name))
        };
        match &mut event.kind {
            EventKind::BlockStarted { parent: Some(parent), .. } => {
                if let Some(instance) = InstanceId::parse(parent) {
                    *parent = moved_instance(instance, now).into();
                }
            }
            EventKind::CallbackReturned { callback: name, .. } => *name = callback(name),
            EventKind::Suspended(asking) => asking.callback = asking.callback.as_deref().map(callback),
            EventKind::Drift { callback: Some(name), .. } => *name = callback(name),
            EventKind::StateInitialized { scope, .. } | EventKind::StateChanged { scope, .. }
                if matches!(scope.kind, ScopeKind::Sequencer | ScopeKind::Block) =>
            {
                // `request:path:attempt`
                if let Some(StateOwner { request, instance }) = StateOwner::parse(&scope.id) {
                    scope.id = format!("{request}:{}", moved_instance(instance, now)).into();
                }
            }
            EventKind::StateEdited { of: Some(of), .. } => *of = now(of),
            EventKind::ItemAdded { item } if item.item_type == "step_error" => {
                if let Some(path) = item.payload.get("path").and_then(Value::as_str).map(now) {
                    item.payload.insert("path".to_owned(), path.into());
                }
            }
            EventKind::RequestFinished { error: Some(error), .. }
            | EventKind::BlockFinished { error: Some(error), .. } => {
                error.path = error.path.as_deref().map(now);
            }
            _ => {}
        }
        event
    }
}

/// Returns the blocks without a parent, with their paths.
fn roots(flow: &Flow, action: Option<&Action>) -> Vec<(String, Rc<Block>)> {
    let mut found: Vec<(String, Rc<Block>)> = Vec::new();
    found.extend(action.map(|action| (ROOT.to_owned(), action.block.clone())));
    let hooks = [
        ("request.onStarted", &flow.hooks.on_started),
        ("request.onCompleted", &flow.hooks.on_completed),
        ("request.onErrored", &flow.hooks.on_errored),
        ("request.onFinished", &flow.hooks.on_finished),
    ];
    let of_action = action.map(|action| {
        [("action.onCompleted", &action.hooks.on_completed), ("action.onErrored", &action.hooks.on_errored)]
    });
    for (place, hook) in hooks.into_iter().chain(of_action.into_iter().flatten()) {
        found.extend(hook.iter().map(|block| (format!("{place}:{}", encode(&block.name)), block.clone())));
    }
    found
}

/// The blocks inside a block, found by the ends of their paths. It is made once for all of them.
struct Inside<'b> {
    block: &'b Block,
    /// Of a chain: its operations by group and number.
    steps: HashMap<(&'b str, u32), &'b Step>,
    groups: HashSet<&'b str>,
}

impl<'b> Inside<'b> {
    fn of(block: &'b Block) -> Inside<'b> {
        let steps: &[Step] = match &block.body {
            Body::Sequencer { steps, .. } => steps,
            _ => &[],
        };
        let mut inside = Inside { block, steps: HashMap::new(), groups: HashSet::new() };
        for step in steps {
            let label = split(&step.label);
            inside.groups.insert(label.head);
            // The first one of a label counts.
            inside.steps.entry((label.head, label.number)).or_insert(step);
        }
        inside
    }

    /// Returns the block whose path ends with `rest`, where the flow's description has it.
    fn find(&self, rest: &str) -> Option<Rc<Block>> {
        let named = |place: &str, blocks: &[Rc<Block>]| -> Option<Rc<Block>> {
            let name = rest.strip_prefix(place)?;
            let name = name.split('[').next().unwrap_or(name);
            blocks.iter().find(|block| encode(&block.name) == name).cloned()
        };
        let rescues: Vec<Rc<Block>> = self.block.rescue.iter().map(|rescue| rescue.block.clone()).collect();
        if let Some(rescue) = named("rescue:", &rescues) {
            return Some(rescue);
        }
        match &self.block.body {
            Body::Sequencer { .. } => {
                let (group, number, key) = renumber::place_of(rest, |group| self.groups.contains(group))?;
                let step = self.steps.get(&(group.as_str(), number))?;
                let found = step.operation.blocks_by_key().into_iter().find(|(one, _)| *one == key);
                found.map(|(_, block)| block.clone())
            }
            Body::Router { routes, .. } => named("route:", routes),
            Body::Generator(generator) => named("tool:", &generator.tools),
            Body::Tool { block, .. } => named("tool:", std::slice::from_ref(block)),
            Body::Handler { .. } | Body::Agent(..) | Body::Calls(..) => None,
        }
    }
}

/// Returns an instance with its path translated.
fn moved_instance(instance: InstanceId<'_>, now: impl Fn(&str) -> String) -> String {
    InstanceId { path: &now(instance.path), ..instance }.to_string()
}

/// Returns the label of an operation: `map`, `map~2`.
fn label(group: &str, number: u32) -> String {
    if number == 1 { group.to_owned() } else { format!("{group}~{number}") }
}

/// Returns the error for records and operations of equal source at different places.
fn ambiguous(chain: &str, was: &[String], is: &[String]) -> FlowError {
    let list = |labels: &[String]| {
        let all: Vec<String> = labels.iter().map(|label| join(chain, label)).collect();
        if all.is_empty() { "no place".to_owned() } else { all.join(" and ") }
    };
    let (recorded, found) =
        (format!("records of equal source at {}", list(was)), format!("that source at {}", list(is)));
    let mut error = FlowError::new(
        "ReplayDriftError",
        format!(
            "in {chain} the log has {recorded}, but the flow now has {found}, and nothing tells which is which; \
             change it back, or run anew"
        ),
    );
    error.classes.insert(1, "FlowError".to_owned());
    error.code = Some("replay_drift".to_owned());
    error.details = Some(serde_json::json!({ "path": chain, "recorded": recorded, "found": found }));
    error
}
