//! The flows of a workspace: their files, their definitions, and their load errors.
//!
//! A file that stops loading keeps its last good version running and shows the error.

mod cross_flow;
mod files;
pub(crate) mod runnable;

pub(crate) use files::{has_flows, is_workspace};

pub(crate) mod bundling;
pub(crate) mod ended;
pub(crate) mod fatal_signals;
pub(crate) mod loading;
pub(crate) mod trust;
pub(crate) mod watch;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use script::{Bundle, FlowDescription, LoadError, LoadErrorKind};
use serde::Serialize;

use crate::catalogue::ended::{EndRecord, Ended};
use crate::catalogue::files::{FlowFiles, Sightings};
use crate::catalogue::loading::{Loading, cached, is_current};
use crate::catalogue::runnable::what_runs;
use crate::core::fault::Fault;
use crate::views::{ActionRow, EntryRow, LoadErrorRow};

/// The stack of threads that evaluate flows, which recurse deeply into JavaScript and values.
pub(crate) const STACK: usize = 64 << 20;

/// A flow, or a file that does not load.
#[derive(Clone, Debug, Serialize, specta::Type)]
#[serde(rename_all = "camelCase")]
pub struct FlowRow {
    /// The name to run it by; the file's stem if it does not load and its name is not known from an earlier load.
    pub kind: String,
    /// Relative to the workspace.
    pub file: String,
    /// For people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Its actions.
    pub actions: Vec<ActionRow>,
    /// Entries that persons do not call: schedules, webhooks, bots, dispatchers.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub entries: Vec<EntryRow>,
    /// Whether there is a mock script beside it.
    pub has_mock: bool,
    /// Why its newest version does not load.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<LoadErrorRow>,
    /// Whether it is not loaded because its last load or run crashed a process; a person can load it anyway.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_held_back: bool,
    /// Probable mistakes of its author.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<LoadErrorRow>,
}

/// One file's last good version and its newest error.
#[derive(Clone, Debug, Default)]
pub(crate) struct Entry {
    /// Empty for a module that defines no flow.
    flows: Vec<Known>,
    error: Option<LoadError>,
    inputs: Vec<(PathBuf, String)>,
    /// If the file is held back: the kinds of its flows, as far as they are known.
    held_back: Option<Vec<String>>,
}

/// A flow of a file, and its conflicts with other files, which every refresh determines again.
#[derive(Clone, Debug)]
struct Known {
    loaded_flow: Arc<LoadedFlow>,
    /// Set if another flow, or a flow of a file that is held back, has the same kind.
    refusal: Option<LoadError>,
    /// Whether another file exports the same flow and lists it.
    is_elsewhere: bool,
    /// Set if its shared state conflicts with that of an earlier flow.
    clash: Option<LoadError>,
}

/// A version of a flow that loads.
#[derive(Debug)]
pub(crate) struct LoadedFlow {
    pub(crate) bundle: Arc<Bundle>,
    pub(crate) flow: FlowDescription,
    /// The record that stays if it crashes this process.
    pub(crate) end_record: Arc<EndRecord>,
}

impl Entry {
    /// The entry of a file that is not loaded automatically.
    fn held_back(ended: Ended) -> Entry {
        let Ended { inputs, kinds, error, .. } = ended;
        Entry { flows: Vec::new(), error: Some(error), inputs, held_back: Some(kinds) }
    }

    /// The names by which a file is listed whose flows are not loaded.
    fn names(&self, file: &Path) -> Vec<String> {
        self.held_back.clone().filter(|kinds| !kinds.is_empty()).unwrap_or_else(|| vec![name_of(file)])
    }
}

/// All flow files by path.
#[derive(Clone, Debug, Default)]
pub(crate) struct Catalogue {
    entries: BTreeMap<PathBuf, Entry>,
    sightings: Sightings,
    found: Arc<FlowFiles>,
}

impl Catalogue {
    /// Keeps unchanged files and takes cached ones, at the cost of a hash for each file. Returns the files to load.
    pub(crate) fn look(&mut self, loading: &Loading<'_>) -> Result<Vec<PathBuf>, Fault> {
        let found = files::flow_files(loading.workspace, loading.folders, &mut self.sightings)?;
        let files = &found.files;
        self.entries.retain(|file, _| files.binary_search(file).is_ok());
        let mut stale = Vec::new();
        for file in files {
            // Another process may have written or removed the record since.
            if let Some(ended) = Ended::read(loading, file) {
                self.entries.insert(file.clone(), Entry::held_back(ended));
                continue;
            }
            let is_known = self.entries.get(file).is_some_and(|known| {
                known.held_back.is_none() && !known.inputs.is_empty() && is_current(&known.inputs)
            });
            if is_known {
                continue;
            }
            match cached(loading, file) {
                Some(entry) => drop(self.entries.insert(file.clone(), entry)),
                None => stale.push(file.clone()),
            }
        }
        self.found = Arc::new(found);
        self.refuse();
        Ok(stale)
    }

    /// Describes where flows were searched, and what to do if there are none.
    pub(crate) fn whereabouts(&self, loading: &Loading<'_>) -> String {
        self.found.whereabouts(loading.workspace, loading.folders)
    }

    /// Sets the entry of a file. When all files are loaded, [`refuse`](Self::refuse) must follow, which compares every
    /// flow with others.
    fn insert(&mut self, file: PathBuf, mut new: Entry) {
        if new.error.is_some() && new.held_back.is_none() {
            new.flows = self.entries.remove(&file).map(|known| known.flows).unwrap_or_default();
        }
        self.entries.insert(file, new);
    }

    /// Marks the flows that have the kind of another flow, and those whose shared state conflicts with that of an
    /// earlier flow.
    fn refuse(&mut self) {
        self.refuse_doubles();
        let is_listed = |known: &Known| known.refusal.is_none() && !known.is_elsewhere;
        let flows = self.entries.values().flat_map(|entry| &entry.flows).filter(|known| is_listed(known));
        let flows = flows.map(|Known { loaded_flow: own, .. }| (&own.flow, own.bundle.file.as_str()));
        let mut conflicts = cross_flow::conflicts(flows).into_iter();
        for known in self.entries.values_mut().flat_map(|entry| &mut entry.flows) {
            known.clash = if is_listed(known) { conflicts.next().flatten() } else { None };
        }
    }

    /// The path of a flow file by its path in the workspace.
    pub(crate) fn file_at(&self, workspace: &Path, file: &str) -> Option<PathBuf> {
        let wanted = workspace.join(file);
        self.entries.keys().find(|known| **known == wanted).cloned()
    }

    /// Whether a file of the workspace defines flows, or does not load. Other modules in its folder do neither.
    pub(crate) fn is_flow_file(&self, workspace: &Path, file: &str) -> bool {
        let known = self.entries.get(&workspace.join(file));
        known.is_some_and(|entry| !entry.flows.is_empty() || entry.error.is_some())
    }

    /// Whether no file is known.
    pub(crate) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Refuses flows with the kind of another flow. The flow of the file that defines it keeps the kind, or else the
    /// first by path. A flow that another file only re-exports does not count.
    fn refuse_doubles(&mut self) {
        let mut owners: BTreeMap<&str, &Arc<LoadedFlow>> = BTreeMap::new();
        for Known { loaded_flow, .. } in self.entries.values().flat_map(|entry| &entry.flows) {
            let owner = owners.entry(&loaded_flow.flow.kind).or_insert(loaded_flow);
            if !owner.is_defined_in_its_file() && loaded_flow.is_defined_in_its_file() {
                *owner = loaded_flow;
            }
        }
        // A file that re-exports such a flow runs the same code.
        let held: Vec<(PathBuf, Vec<String>, LoadError)> = self.entries.iter().filter_map(held_flows).collect();
        let held_back = |own: &LoadedFlow| {
            let mut of = held.iter().filter(|(file, ..)| own.bundle.inputs.contains(file));
            of.find(|(_, kinds, _)| kinds.contains(&own.flow.kind)).map(|(.., error)| error.clone())
        };
        let owners: BTreeMap<String, Arc<LoadedFlow>> =
            owners.into_iter().map(|(kind, owner)| (kind.to_owned(), owner.clone())).collect();
        for known in self.entries.values_mut().flat_map(|entry| &mut entry.flows) {
            let (own, kind) = (&known.loaded_flow, &known.loaded_flow.flow.kind);
            let Some(owner) = owners.get(kind).filter(|owner| owner.bundle.file != own.bundle.file) else {
                (known.refusal, known.is_elsewhere) = (held_back(own), false);
                continue;
            };
            known.is_elsewhere = own.is_defined_with(owner);
            known.refusal = (!known.is_elsewhere).then(|| {
                let first = &owner.bundle.file;
                let message = format!(
                    "flow kind \"{kind}\" is already defined in {first}; give this one another kind, or as an \
                     instance of a collection another id"
                );
                LoadError::in_file(LoadErrorKind::Conflict, &own.bundle.file, message)
            });
        }
    }

    /// Returns the version to run of a kind.
    pub(crate) fn find(&self, kind: &str) -> Result<Arc<LoadedFlow>, Fault> {
        let all =
            || self.entries.values().flat_map(|entry| &entry.flows).filter(|known| known.loaded_flow.flow.kind == kind);
        let own = all().find(|known| known.refusal.is_none() && !known.is_elsewhere);
        if let Some(known) = own.or_else(|| all().next()) {
            return match &known.refusal {
                Some(held) if held.kind == LoadErrorKind::Abnormal => {
                    Err(Fault::NotLoaded { message: held.to_string() })
                }
                _ => match &known.clash {
                    Some(clash) => Err(Fault::NotLoaded { message: clash.to_string() }),
                    None => Ok(known.loaded_flow.clone()),
                },
            };
        }
        let broken = self
            .entries
            .iter()
            .find(|(file, entry)| entry.error.is_some() && entry.names(file).iter().any(|name| name == kind));
        if let Some((_, Entry { error: Some(error), .. })) = broken {
            return Err(Fault::NotLoaded { message: error.to_string() });
        }
        let mut kinds: Vec<String> = Vec::new();
        for flow in self.flows().filter(|flow| !flow.actions.is_empty()) {
            // Two files may claim one kind.
            if !kinds.contains(&flow.kind) {
                kinds.push(flow.kind.clone());
            }
        }
        let not_loaded = self.entries.iter().find(|(_, entry)| entry.error.is_some()).map(|(file, _)| file);
        let known = match (kinds.is_empty(), not_loaded) {
            (true, None) => "there are none in this folder".to_owned(),
            (true, Some(file)) => {
                format!("no flow of this folder loads; `flowglass check` says why: {}", file.display())
            }
            (false, _) => format!("there are: {}", kinds.join(", ")),
        };
        Err(Fault::not_found(format!("unknown flow \"{kind}\"; {known}")))
    }

    /// Like [`find`](Self::find), but never an earlier version of a file whose current version does not load.
    pub(crate) fn find_as_it_is(&self, kind: &str) -> Result<Arc<LoadedFlow>, Fault> {
        let found = self.find(kind)?;
        let is_of = |entry: &&Entry| entry.flows.iter().any(|known| Arc::ptr_eq(&known.loaded_flow, &found));
        match self.entries.values().find(is_of).and_then(|entry| entry.error.as_ref()) {
            Some(error) => Err(Fault::NotLoaded { message: error.to_string() }),
            None => Ok(found),
        }
    }

    /// The flows that load, including those with the kind of another flow.
    fn flows(&self) -> impl Iterator<Item = &FlowDescription> {
        self.entries.values().flat_map(|entry| &entry.flows).map(|known| &known.loaded_flow.flow)
    }

    /// The warnings about a flow.
    pub(crate) fn warnings(&self, kind: &str) -> Vec<LoadErrorRow> {
        let those = self.flows().filter(|flow| flow.kind == kind);
        those.flat_map(|flow| &flow.warnings).map(LoadErrorRow::from).collect()
    }

    /// The list for people, without modules that define no flow.
    pub(crate) fn rows(&self, workspace: &Path) -> Result<Vec<FlowRow>, Fault> {
        let mut rows = Vec::new();
        for (file, entry) in &self.entries {
            let row = |kind: String, error: Option<&LoadError>| FlowRow {
                kind,
                file: file.strip_prefix(workspace).unwrap_or(file).display().to_string(),
                description: None,
                actions: Vec::new(),
                entries: Vec::new(),
                has_mock: mock_file(file).is_file(),
                error: error.map(LoadErrorRow::from),
                is_held_back: entry.held_back.is_some(),
                warnings: Vec::new(),
            };
            // A server's settings need things that flows do not have. If flows were found without them, do not report
            // it.
            let is_beside_flows = is_host_settings(file) && self.flows().next().is_some();
            if entry.flows.is_empty() && entry.error.is_some() && !is_beside_flows {
                rows.extend(entry.names(file).into_iter().map(|name| row(name, entry.error.as_ref())));
            }
            for (at, known) in entry.flows.iter().enumerate().filter(|(_, known)| !known.is_elsewhere) {
                let Known { loaded_flow, refusal, clash, .. } = known;
                let flow = &loaded_flow.flow;
                let (actions, entries) = what_runs(flow)?;
                rows.push(FlowRow {
                    description: flow.description.clone(),
                    actions,
                    entries,
                    warnings: own_warnings(&entry.flows, at).map(LoadErrorRow::from).collect(),
                    ..row(flow.kind.clone(), entry.error.as_ref().or(refusal.as_ref()).or(clash.as_ref()))
                });
            }
        }
        Ok(rows)
    }
}

/// The flows of a file that is held back, and why.
fn held_flows((file, entry): (&PathBuf, &Entry)) -> Option<(PathBuf, Vec<String>, LoadError)> {
    Some((file.clone(), entry.held_back.clone()?, entry.error.clone()?))
}

/// The warnings of one of a file's flows. A warning about the file belongs to the flow that it names, or else to the
/// first listed flow of the file.
fn own_warnings(flows: &[Known], at: usize) -> impl Iterator<Item = &LoadError> {
    flows[at].loaded_flow.flow.warnings.iter().filter(move |warning| {
        let names = |known: &Known| warning.message.starts_with(&format!("Flow \"{}\"", known.loaded_flow.flow.kind));
        let has = |known: &Known| !known.is_elsewhere && known.loaded_flow.flow.warnings.contains(warning);
        flows.iter().position(names).or_else(|| flows.iter().position(has)) == Some(at)
    })
}

impl LoadedFlow {
    /// Whether two flows of one kind are the same definition in two bundles. The column may differ, because a module
    /// may be bundled in another form.
    fn is_defined_with(&self, other: &LoadedFlow) -> bool {
        let places = self.flow.defined_at.as_ref().zip(other.flow.defined_at.as_ref());
        places.is_some_and(|(one, other)| (&one.file, one.line) == (&other.file, other.line))
    }

    fn is_defined_in_its_file(&self) -> bool {
        self.flow.defined_at.as_ref().is_some_and(|place| place.file == self.bundle.file)
    }
}

/// Whether a file has the settings of a host of the framework.
fn is_host_settings(file: &Path) -> bool {
    file.file_name().and_then(|name| name.to_str()).is_some_and(script::is_host_settings)
}

/// The name of a flow whose file does not load: that of the file, or that of its folder if the file has a common name.
fn name_of(file: &Path) -> String {
    let stem = file.file_stem().unwrap_or_default();
    let folder = file.parent().and_then(Path::file_name);
    let name = if stem == "flow" || stem == "index" { folder.unwrap_or(stem) } else { stem };
    name.to_string_lossy().into_owned()
}

/// The mock script of a flow, in the same folder: `x.mock.json` for `x.ts`.
pub(crate) fn mock_file(flow: &Path) -> PathBuf {
    flow.with_extension("mock.json")
}
