//! `ctx.resources` while a flow runs: collections, lists and texts. Must not enforce rules: the engine does.

use engine::context::{Context as Cx, Create, Target};
use engine::data::{from_json, parse};
use engine::error::FlowError;
use engine::resource::{Resource, Shape};
use serde::Deserialize;
use serde_json::{Map, Value, json};

/// An operation on a collection. Returns an entry, or for `delete` whether the instance existed.
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

/// The synchronous host functions of resources.
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
