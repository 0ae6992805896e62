//! What an event changes about the items of its request, without their values, for lists that are updated live.
//!
//! Must agree with [`items`](super::items), which reads a whole log.

use serde_json::{Map, Value};

use super::Audience;
use super::rules::is_told_failure;
use crate::model::effects::EffectKind;
use crate::model::event::{EventKind, Outcome, RequestStatus, Seq};
use crate::model::item::{ItemStatus, NewItem, resolve_item_visibility};
use crate::model::resource::record::Address;
use crate::model::scope::ScopeKind;
use crate::views::attempts::{Verdict, end};

/// All audiences, in the order of their bits.
pub const AUDIENCES: [Audience; 4] = [Audience::All, Audience::Client, Audience::History, Audience::Trace];

/// A possible item.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Candidate {
    /// One bit for each audience that sees it, as in [`AUDIENCES`].
    pub audiences: u8,
    /// Whether it is added in progress.
    pub is_in_progress: bool,
    /// Whether it only becomes an item when a commit names it.
    pub waits_for_commit: bool,
    /// See [`Mark`](super::rules::Mark).
    pub is_shared_write: bool,
    /// See [`Mark`](super::rules::Mark).
    pub is_question: bool,
    /// See [`Mark`](super::rules::Mark).
    pub is_told_failure: bool,
    /// See [`Mark`](super::rules::Mark).
    pub is_of_run: bool,
    /// Its identity: a later item with the same identity replaces it.
    pub identity: Option<String>,
    /// The id of the question that it answers.
    pub answers: Option<String>,
    /// The length of its text in bytes.
    pub text: usize,
}

/// What an event changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ItemFact {
    /// An item, or a possible one, was added.
    Added(Candidate),
    /// A piece of text was added to an item.
    Grew { of: Seq, bytes: usize },
    /// Fields of an item changed; if `text` has a length, its text too.
    Patched { of: Seq, text: Option<usize> },
    /// The newest answer to a question was refused or withdrawn.
    TakenBack { id: String },
    /// An item became final.
    Done { of: Seq, text: Option<usize> },
    /// A block began, possibly because the previous attempt failed.
    Began { replaces_failed: bool },
    /// A block continued after an interruption.
    WentOn,
    /// A block has its converted input.
    Input,
    /// A model answered a block.
    ModelAnswered,
    /// A block ended.
    Ended { outcome: Outcome, stopped: bool, memoized: bool, item: Option<Candidate>, commits: Vec<Seq> },
    /// A callback returned.
    Returned { events: Vec<Seq>, superseded: Vec<Seq>, memoized: bool, commits: Vec<Seq> },
    /// Writes took effect.
    Committed(Vec<Seq>),
    /// The request began.
    RequestBegan,
    /// The request was resumed.
    Resumed,
    /// The request's status changed to one in which it does not continue by itself.
    Paused,
    /// The request ended.
    Finished { item: Option<Candidate>, failed_at: Option<String> },
}

fn candidate(new: &NewItem) -> Candidate {
    let visibility = resolve_item_visibility(&new.item_type, new.agent_type, new.item_visibility);
    let audiences = AUDIENCES.iter().enumerate();
    let bits = audiences.map(|(bit, audience)| u8::from(audience.sees_what(visibility, new.transient)) << bit);
    Candidate {
        audiences: bits.sum(),
        is_in_progress: new.status == ItemStatus::InProgress,
        identity: new.key.as_ref().map(|key| super::identity(new, key)),
        text: text_in(&new.payload).unwrap_or_default(),
        ..Candidate::default()
    }
}

fn plain(item_type: &str, transient: bool) -> Candidate {
    candidate(&NewItem { transient, ..NewItem::plain(item_type, ItemStatus::Completed, Map::new()) })
}

/// The bytes of the last part of a text, to which pieces are added.
fn text_in(payload: &Map<String, Value>) -> Option<usize> {
    last_text(payload).map(str::len)
}

/// The last part of an item's text, at whose end new text is added: empty if the text has no part yet, `None` if the
/// item has no text.
pub fn last_text(payload: &Map<String, Value>) -> Option<&str> {
    let parts = payload.get("content").or_else(|| payload.get("summary"))?.as_array()?;
    Some(parts.last().and_then(|part| part.get("text")).and_then(Value::as_str).unwrap_or_default())
}

/// Returns what an event changes about items, if anything.
pub fn item_fact(kind: &EventKind, has_path: bool) -> Option<ItemFact> {
    let commits = || -> Vec<Seq> {
        let named = kind
            .commits()
            .iter()
            .flat_map(|commit| commit.operations.iter().filter(|seq| commit.in_force(**seq).is_some()).copied());
        named.collect()
    };
    Some(match kind {
        EventKind::ItemAdded { item } => {
            ItemFact::Added(Candidate { is_told_failure: is_told_failure(kind), ..candidate(item) })
        }
        EventKind::ItemDelta { of, text } => ItemFact::Grew { of: *of, bytes: text.len() },
        EventKind::ItemUpdated { of, patch } => ItemFact::Patched { of: *of, text: text_in(patch) },
        EventKind::ItemDone { of, patch, .. } => ItemFact::Done { of: *of, text: text_in(patch) },
        EventKind::BlockStarted { replaces_failed, .. } if has_path => {
            ItemFact::Began { replaces_failed: *replaces_failed }
        }
        EventKind::BlockResumed { .. } if has_path => ItemFact::WentOn,
        EventKind::BlockInput { .. } if has_path => ItemFact::Input,
        EventKind::EffectFinished { effect: EffectKind::Model, .. } if has_path => ItemFact::ModelAnswered,
        EventKind::BlockFinished { outcome, error, memoized, transient, .. } => {
            let has_item = !memoized && matches!(outcome, Outcome::Completed | Outcome::Failed);
            ItemFact::Ended {
                outcome: *outcome,
                stopped: end(*outcome, error.as_ref()) == Verdict::RolledBack && *outcome == Outcome::Failed,
                memoized: *memoized,
                item: has_item.then(|| Candidate { is_of_run: true, ..plain("block_output", *transient) }),
                commits: commits(),
            }
        }
        EventKind::CallbackReturned { events, superseded, memoized, .. } => ItemFact::Returned {
            events: events.clone(),
            superseded: superseded.clone(),
            memoized: *memoized,
            commits: commits(),
        },
        EventKind::Committed { .. } => ItemFact::Committed(commits()),
        EventKind::StateInitialized { scope, .. } if has_path && scope.kind == ScopeKind::Sequencer => {
            ItemFact::Added(Candidate { is_of_run: true, ..plain("state_snapshot", true) })
        }
        EventKind::StateChanged { scope, .. } if has_path => {
            let waits_for_commit = scope.kind.is_durable();
            let kind = if scope.kind == ScopeKind::Resource {
                // Changes of an index are not items.
                Address::parse(&scope.id)?.path()?;
                plain("resource_change", true)
            } else {
                plain("state_change", false)
            };
            ItemFact::Added(Candidate { waits_for_commit, is_shared_write: !waits_for_commit, ..kind })
        }
        EventKind::RouteDecided { .. } => ItemFact::Added(plain("router_decision", false)),
        EventKind::Suspended(_) => ItemFact::Added(Candidate { is_question: true, ..plain("suspension", false) }),
        EventKind::SuspensionResolved(resolved) => {
            let answers = Some(resolved.id.clone());
            ItemFact::Added(Candidate { answers, ..plain("suspension_resume", false) })
        }
        EventKind::SuspensionReopened { id } => ItemFact::TakenBack { id: id.clone() },
        EventKind::RequestStarted { .. } => ItemFact::RequestBegan,
        EventKind::RequestStatus { status: RequestStatus::Suspended | RequestStatus::Interrupted } => ItemFact::Paused,
        EventKind::RequestResumed { .. } => ItemFact::Resumed,
        EventKind::RequestFinished { error, .. } => ItemFact::Finished {
            item: error.as_ref().filter(|error| !error.is_abort()).map(|_| plain("error", false)),
            failed_at: error.as_ref().and_then(|error| error.path.as_ref().map(|path| path.to_string())),
        },
        _ => return None,
    })
}

/// The item of a request that was continued.
pub fn continuation() -> Candidate {
    plain("continuation", false)
}
