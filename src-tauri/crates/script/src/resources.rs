//! Resources between the engine and a loaded bundle: their declarations one way, `ctx.resources`
//! the other. It must not decide anything: rules live in the engine.

use std::rc::Rc;

use engine::context::{Context as Cx, Create, Target};
use engine::data::{from_json, parse};
use engine::error::FlowError;
use engine::resource::pattern::Pattern;
use engine::resource::{Collection, Content, Eviction, Resource, Shape};
use engine::scope::ScopeKind;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::registry::Registry;
use crate::vm::Vm;
use crate::wire::WireState;

/// A definition under a name.
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
    on_created: Option<u32>,
    on_updated: Option<u32>,
    on_deleted: Option<u32>,
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
                on_created: function(wire.on_created),
                on_updated: function(wire.on_updated),
                on_deleted: function(wire.on_deleted),
            })),
        };
        let scope = ScopeKind::parse(&wire.scope)
            .ok_or_else(|| FlowError::plain(format!("\"{}\" is not a scope of resources", wire.scope)))?;
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
            content: wire.template.map(Content::Template).or(wire.content.map(Content::Text)),
            writable: wire.writable,
        }))
    }
}

/// An operation on a collection; the answer is an entry, or whether anything was there.
pub(crate) async fn collection(cx: &Cx, id: u32, op: &str, key: &Value, payload: &str) -> Result<String, FlowError> {
    #[derive(Deserialize)]
    struct Asked {
        #[serde(default, deserialize_with = "engine::json::exact")]
        fields: Map<String, Value>,
        #[serde(default, deserialize_with = "engine::json::exact")]
        only: Map<String, Value>,
    }
    let asked: Asked = from_json(payload).map_err(|error| FlowError::validation(error.to_string(), None))?;
    let how = match op {
        "find" => return Ok(json!(cx.find_instance(id, key).await?).to_string()),
        "get" => return Ok(json!(cx.get_instance(id, key).await?).to_string()),
        "delete" => return Ok(cx.delete_instance(id, key).await?.to_string()),
        "create" => Create::New,
        "replace" => Create::Replace,
        "getOrCreate" => Create::OrGet,
        "upsert" => Create::OrPatch(asked.only),
        other => return Err(FlowError::plain(format!("unknown operation \"{other}\""))),
    };
    Ok(json!(cx.create_instance(id, key, asked.fields, how).await?).to_string())
}

/// What flows ask of resources on the spot.
pub(crate) fn sync(cx: &Cx, op: &str, payload: &str) -> Result<Option<String>, String> {
    let parsed = || parse(payload).map_err(|error| error.to_string());
    let target = |value: &Value| match value.as_str().and_then(Target::parse) {
        Some(Target::Resource(id, key)) => Ok((id, key)),
        _ => Err("unknown resource".to_owned()),
    };
    match op {
        "resources" => Ok(Some(cx.resources().iter().map(|resource| listed(resource)).collect::<Value>().to_string())),
        "resource.list" => {
            let asked = parsed()?;
            let (id, _) = target(&asked[0])?;
            let prefix = asked[1].as_str().unwrap_or_default();
            Ok(Some(json!(cx.list_instances(id, prefix).map_err(|error| error.message)?).to_string()))
        }
        "resource.text" => {
            let (id, key) = target(&parsed()?)?;
            let text = cx.resource_text(id, key.as_deref()).map_err(|error| error.message)?;
            Ok(text.map(|text| json!(text).to_string()))
        }
        other => Err(format!("unknown operation \"{other}\"")),
    }
}

fn listed(resource: &Resource) -> Value {
    let (path, is_collection) = match &resource.shape {
        Shape::Single(path) => (path.as_str(), false),
        Shape::Collection(collection) => (collection.pattern.text(), true),
    };
    json!({
        "id": resource.id,
        "accessor": &*resource.accessor,
        "scope": resource.scope.as_str(),
        "path": path,
        "collection": is_collection,
    })
}
