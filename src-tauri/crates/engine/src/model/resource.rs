//! Resources: named durable records of a session, a user or a project, separate from its state.
//!
//! Operations, transactions, compare-and-set, state at an instant and resume are those of every other durable record.
//! This module has declarations of resources, conflicts between them, the keys of their records, and their texts. Must
//! not run anything.

pub mod due;
pub mod pattern;
pub mod reaction;
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
use reaction::Reaction;

/// A resource definition under the name it is reached by.
pub struct Resource {
    /// Its number among the flow's resources.
    pub id: u32,
    /// The number of the definition, which may have several names.
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
    /// Whether each flow has a record of its own.
    pub isolated: bool,
    /// One record, or many.
    pub shape: Shape,
    /// Checks writes.
    pub schema: Option<SchemaRef>,
    /// The initial fields.
    pub initial: Map<String, Value>,
    /// Its text until a flow writes one.
    pub content: Option<String>,
    /// False makes every write fail.
    pub writable: bool,
    /// The blocks that run when it was written.
    pub reactions: Vec<Reaction>,
}

/// One record, or many.
pub enum Shape {
    /// One record that always exists; the path is the `ref`.
    Single(String),
    /// One record for each instance.
    Collection(Box<Collection>),
}

/// The settings of a collection.
pub struct Collection {
    /// The pattern of its instances' paths.
    pub pattern: Pattern,
    /// At most this many at once.
    pub max: Option<usize>,
    /// Which instance is deleted for a new one.
    pub eviction: Eviction,
    /// Whether an instance whose state names no organization gets that of the request, in [`ORG_FIELD`].
    pub stamps_org: bool,
    /// `onInstanceCreated(key, state, ctx)`
    pub on_created: Option<Fun>,
    /// `onInstanceUpdated(key, state, previous, ctx)`
    pub on_updated: Option<Fun>,
    /// `onInstanceDeleted(key, ctx)`
    pub on_deleted: Option<Fun>,
}

/// The field of an organization in the state of an instance.
pub const ORG_FIELD: &str = "orgId";

/// Which instance is deleted when a collection is full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Eviction {
    /// None: creating one more fails.
    None,
    /// The least recently read, created or written one.
    Lru,
    /// The one created first.
    Oldest,
}

impl Resource {
    /// Returns its name in errors and notes.
    pub fn title(&self) -> String {
        let path = match &self.shape {
            Shape::Single(path) => path,
            Shape::Collection(collection) => collection.pattern.text(),
        };
        format!("{}/{path}", self.scope.as_str())
    }

    /// Returns the settings of a collection, or an error for a single resource.
    pub fn collection(&self) -> Result<&Collection, FlowError> {
        match &self.shape {
            Shape::Collection(collection) => Ok(collection),
            Shape::Single(_) => Err(FlowError::plain(format!("Resource \"{}\" is not a collection", self.accessor))),
        }
    }

    /// Returns the text of a record as it was written, also if it is a template. `None` if it has no text.
    pub fn text(&self, state: &State) -> Option<String> {
        record::content(state).or(self.content.as_deref()).map(str::to_owned)
    }

    /// Returns whether two resources may both be reachable: their names differ, or both were declared in places that
    /// name their (different) scopes.
    fn may_share_name(&self, other: &Resource) -> bool {
        self.accessor != other.accessor || (self.nested && other.nested && self.scope != other.scope)
    }

    /// Returns whether two definitions would use the same record.
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

/// Two conflicting definitions.
pub struct ResourceConflict {
    /// The `SchemaConflictError`.
    pub error: FlowError,
    /// The second of them, by the number that [`Resource::definition`] has.
    pub definition: u32,
}

impl Resources {
    /// Merges the declarations of a flow and of its blocks. The flow's replace those of blocks; two blocks that declare
    /// different definitions under one name are an error (SEMANTICS §4.6).
    pub fn gather(own: Vec<Rc<Resource>>, blocks: &[Rc<Block>]) -> Result<Resources, ResourceConflict> {
        let mut all: Vec<Rc<Resource>> = Vec::new();
        let flow_level = own.len();
        for (at, resource) in own.iter().chain(blocks.iter().flat_map(|block| &block.resources)).enumerate() {
            let known = all.iter().position(|known| !known.may_share_name(resource));
            match known {
                None => all.push(resource.clone()),
                Some(known) if all[known].definition == resource.definition => {}
                // The flow's own come first in the iteration.
                Some(known) if known < flow_level && at >= flow_level => {}
                Some(known) => {
                    let message = format!(
                        "Resource conflict: \"{}\" is one definition in {} and another in {}; \
                         share one definition, or rename one of them",
                        resource.accessor, all[known].owner, resource.owner
                    );
                    return Err(ResourceConflict { error: conflict(&message), definition: resource.definition });
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
                return Err(ResourceConflict { error: conflict(&message), definition: two.definition });
            }
        }
        Ok(Resources(all))
    }

    /// Iterates over the blocks that react to a resource.
    pub fn reactions(&self) -> impl Iterator<Item = &Rc<Block>> {
        self.0.iter().flat_map(|resource| resource.reactions.iter().map(|reaction| &reaction.block))
    }

    /// Returns the resource with this number.
    pub fn get(&self, id: u32) -> Option<&Rc<Resource>> {
        self.0.iter().find(|resource| resource.id == id)
    }

    /// Returns the resources that a block can reach: the flow's, and `late` ones of blocks that a factory made.
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
