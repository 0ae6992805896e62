//! Resources: named containers of a session, a user or a project, kept apart from its state.
//!
//! A resource is one more durable record, so operations, transactions, compare-and-set, time travel
//! and resume are those of every other record. Here is what makes it a resource: how it is declared,
//! which declarations fit together, where its record lies, and what its text looks like.
//! It must not run anything: `execution` does.

pub mod pattern;
pub mod record;

use std::rc::Rc;
use std::sync::Arc;

use serde_json::{Map, Value};

use crate::model::callable::{Fun, SchemaRef};
use crate::model::error::FlowError;
use crate::model::flow::Block;
use crate::model::scope::ScopeKind;
use crate::model::state::State;
use pattern::Pattern;

/// A definition under the name it is reached by.
pub struct Resource {
    /// Its number among the flow's resources.
    pub id: u32,
    /// The number of the definition, which may stand under several names.
    pub definition: u32,
    /// The name in `ctx.resources`.
    pub accessor: Arc<str>,
    /// Who declares it: `flow "chat"` or `block "planner"`.
    pub owner: String,
    /// Declared in an older place that names the scope (`user.resources`, `userResources`), so that
    /// another scope may use the same name.
    pub nested: bool,
    /// Session, user or project.
    pub scope: ScopeKind,
    /// Whether flows keep it apart from each other.
    pub isolated: bool,
    /// One record, or many.
    pub shape: Shape,
    /// Checks writes.
    pub schema: Option<SchemaRef>,
    /// What a new one starts as.
    pub initial: Map<String, Value>,
    /// Where its text comes from until somebody writes one.
    pub content: Option<Content>,
    /// False makes every write fail.
    pub writable: bool,
}

/// One record, or many.
pub enum Shape {
    /// Always there; the path is the `ref`.
    Single(String),
    /// As many as were created.
    Collection(Box<Collection>),
}

/// What a collection adds.
pub struct Collection {
    /// Which paths its instances have.
    pub pattern: Pattern,
    /// At most this many at once.
    pub max: Option<usize>,
    /// Which one gives way to a new one.
    pub eviction: Eviction,
    /// `onInstanceCreated(key, state, ctx)`
    pub on_created: Option<Fun>,
    /// `onInstanceUpdated(key, state, previous, ctx)`
    pub on_updated: Option<Fun>,
    /// `onInstanceDeleted(key, ctx)`
    pub on_deleted: Option<Fun>,
}

/// Which instance gives way when a collection is full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Eviction {
    /// None: creating one more fails.
    None,
    /// The one not read, created or written for the longest time.
    Lru,
    /// The one created first.
    Oldest,
}

/// Where a text comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// As written.
    Text(String),
    /// With `{{field}}` placeholders that the state fills.
    Template(String),
}

impl Resource {
    /// How errors and notes call it.
    pub fn title(&self) -> String {
        let path = match &self.shape {
            Shape::Single(path) => path,
            Shape::Collection(collection) => collection.pattern.text(),
        };
        format!("{}/{path}", self.scope.as_str())
    }

    /// What a collection adds; a single resource is refused.
    pub fn collection(&self) -> Result<&Collection, FlowError> {
        match &self.shape {
            Shape::Collection(collection) => Ok(collection),
            Shape::Single(_) => Err(FlowError::plain(format!("Resource \"{}\" is not a collection", self.accessor))),
        }
    }

    /// The text of a record: as it lies there, and with placeholders filled.
    pub fn text(&self, state: &State) -> Option<(String, String)> {
        let raw = match (record::content(state), &self.content) {
            (Some(written), _) => written.to_owned(),
            (None, Some(Content::Text(text) | Content::Template(text))) => text.clone(),
            (None, None) => return None,
        };
        let filled = match &self.content {
            Some(Content::Template(_)) => fill_template(&raw, state),
            _ => raw.clone(),
        };
        Some((raw, filled))
    }

    /// Whether two can stand under one name: each in a scope that its own place names.
    fn may_share_name(&self, other: &Resource) -> bool {
        self.accessor != other.accessor || (self.nested && other.nested && self.scope != other.scope)
    }

    /// Whether two definitions would use one record.
    fn shares_place(&self, other: &Resource) -> bool {
        let same = match (&self.shape, &other.shape) {
            (Shape::Single(one), Shape::Single(two)) => one == two,
            (Shape::Collection(one), Shape::Collection(two)) => one.pattern == two.pattern,
            _ => false,
        };
        same && self.scope == other.scope && self.isolated == other.isolated
    }
}

/// All resources of a flow, each once.
#[derive(Default)]
pub struct Resources(Vec<Rc<Resource>>);

/// Two definitions that cannot both be had.
pub struct Clash {
    /// The `SchemaConflictError`.
    pub error: FlowError,
    /// The second of them, by the number that [`Resource::definition`] has.
    pub definition: u32,
}

impl Resources {
    /// The flow's own declarations with those of its blocks under them: the flow's win, and two
    /// blocks that mean different things by one name are refused (SEMANTICS §4.6).
    pub fn gather(own: Vec<Rc<Resource>>, blocks: &[Rc<Block>]) -> Result<Resources, Clash> {
        let mut all: Vec<Rc<Resource>> = Vec::new();
        let flow_level = own.len();
        for (at, resource) in own.iter().chain(blocks.iter().flat_map(|block| &block.resources)).enumerate() {
            let known = all.iter().position(|known| !known.may_share_name(resource));
            match known {
                None => all.push(resource.clone()),
                Some(known) if all[known].definition == resource.definition => {}
                // All of the flow's own were taken before the first of a block's.
                Some(known) if known < flow_level && at >= flow_level => {}
                Some(known) => {
                    let message = format!(
                        "Resource conflict: \"{}\" is one definition in {} and another in {}; \
                         share one definition, or rename one of them",
                        resource.accessor, all[known].owner, resource.owner
                    );
                    return Err(Clash { error: conflict(&message), definition: resource.definition });
                }
            }
        }
        for (at, two) in all.iter().enumerate() {
            let clash = all[..at].iter().find(|one| one.definition != two.definition && one.shares_place(two));
            if let Some(one) = clash {
                let message = format!(
                    "Resource conflict: \"{}\" of {} ({}) and \"{}\" of {} ({}) are different definitions of one \
                     place; give one of them another ref or pattern",
                    one.accessor,
                    one.owner,
                    one.title(),
                    two.accessor,
                    two.owner,
                    two.title()
                );
                return Err(Clash { error: conflict(&message), definition: two.definition });
            }
        }
        Ok(Resources(all))
    }

    /// The one of a number.
    pub fn get(&self, id: u32) -> Option<&Rc<Resource>> {
        self.0.iter().find(|resource| resource.id == id)
    }

    /// Those that a block can reach: the flow's, and what blocks made while it runs bring along.
    pub fn with<'a>(&'a self, late: impl Iterator<Item = &'a Rc<Resource>>) -> Vec<&'a Rc<Resource>> {
        let mut all: Vec<&Rc<Resource>> = self.0.iter().collect();
        for resource in late {
            if all.iter().all(|known| known.may_share_name(resource)) {
                all.push(resource);
            }
        }
        all
    }
}

fn conflict(message: &str) -> FlowError {
    FlowError { code: Some("schema_conflict".to_owned()), ..FlowError::new("SchemaConflictError", message) }
}

/// A template with its `{{field}}` and `{{field.inner}}` placeholders filled from a state. Text is
/// put in as it is, other values as JSON, and what is not there leaves nothing.
pub fn fill_template(template: &str, state: &State) -> String {
    let mut filled = String::with_capacity(template.len());
    let mut rest = template;
    while let Some((before, after)) = rest.split_once("{{") {
        let Some((name, after)) = after.split_once("}}") else { break };
        filled.push_str(before);
        let mut names = name.trim().split('.');
        let first = names.next().and_then(|field| state.get(field)).map(|value| &**value);
        match names.try_fold(first, |value, name| value.map(|value| value.get(name))).flatten() {
            None | Some(Value::Null) => {}
            Some(Value::String(text)) => filled.push_str(text),
            Some(other) => filled.push_str(&other.to_string()),
        }
        rest = after;
    }
    filled.push_str(rest);
    filled
}
