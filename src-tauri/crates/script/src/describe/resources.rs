//! The resources that a bundle declares: from the SDK's descriptions to the engine's types.

use std::rc::Rc;

use engine::error::FlowError;
use engine::resource::pattern::Pattern;
use engine::resource::reaction::{ChangeKind, Reaction};
use engine::resource::{Collection, Eviction, Resource, Shape};
use engine::scope::ScopeKind;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::describe::registry::Registry;
use crate::describe::wire::WireState;
use crate::vm::Vm;

/// A resource definition under a name, as the SDK describes it.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct WireResource {
    id: u32,
    definition: u32,
    accessor: String,
    owner: String,
    nested: bool,
    scope: String,
    isolated: bool,
    schema: Option<WireState>,
    #[serde(deserialize_with = "engine::json::exact")]
    initial: Map<String, Value>,
    content: Option<String>,
    template: Option<String>,
    writable: bool,
    path: Option<String>,
    pattern: Option<String>,
    max: Option<usize>,
    eviction: Option<String>,
    #[serde(default)]
    stamps_org: bool,
    on_created: Option<u32>,
    on_updated: Option<u32>,
    on_deleted: Option<u32>,
    #[serde(default)]
    reactions: Vec<WireReaction>,
}

/// A block that runs when the resource changes: `reactTo`.
#[derive(Deserialize)]
struct WireReaction {
    kind: String,
    block: u32,
    when: Option<u32>,
}

impl Registry {
    pub(crate) fn resource(self: &Rc<Self>, vm: &Rc<Vm>, wire: WireResource) -> Result<Rc<Resource>, FlowError> {
        let function = |id: Option<u32>| id.map(|id| self.function(vm, id));
        let shape = match wire.pattern {
            None => Shape::Single(wire.path.unwrap_or_else(|| wire.accessor.clone())),
            Some(pattern) => Shape::Collection(Box::new(Collection {
                pattern: Pattern::parse(&pattern).map_err(FlowError::plain)?,
                max: wire.max,
                eviction: match wire.eviction.as_deref() {
                    Some("lru") => Eviction::Lru,
                    Some("oldest") => Eviction::Oldest,
                    _ => Eviction::None,
                },
                stamps_org: wire.stamps_org,
                on_created: function(wire.on_created),
                on_updated: function(wire.on_updated),
                on_deleted: function(wire.on_deleted),
            })),
        };
        let scope = ScopeKind::parse(&wire.scope)
            .ok_or_else(|| FlowError::plain(format!("\"{}\" is not a scope of resources", wire.scope)))?;
        let reactions = wire.reactions.into_iter().map(|wire| {
            let on = ChangeKind::parse(&wire.kind)
                .ok_or_else(|| FlowError::plain(format!("\"{}\" is no change of a resource", wire.kind)))?;
            Ok(Reaction { on, kind: wire.kind, block: self.block(wire.block)?, when: function(wire.when) })
        });
        let reactions = reactions.collect::<Result<Vec<_>, FlowError>>()?;
        Ok(Rc::new(Resource {
            id: wire.id,
            definition: wire.definition,
            accessor: wire.accessor.into(),
            owner: wire.owner,
            nested: wire.nested,
            scope,
            isolated: wire.isolated,
            shape,
            schema: wire.schema.map(|schema| schema.build(vm)),
            initial: wire.initial,
            content: wire.template.or(wire.content),
            writable: wire.writable,
            reactions,
        }))
    }
}
