//! What of a flow can be run: its actions, and its entries by whatever starts them.

use engine::flow::EntryType;
use engine::views::shape::BlockShape;
use script::{ActionDescription, FlowDescription};
use serde_json::{Map, Value};

use crate::core::fault::Fault;
use crate::views::{ActionRow, EntryRow, Json};

/// The rows of a flow's actions and of its entries.
pub(super) fn what_runs(flow: &FlowDescription) -> Result<(Vec<ActionRow>, Vec<EntryRow>), Fault> {
    let (mut actions, mut entries) = (Vec::new(), Vec::new());
    for action in &flow.actions {
        let root = root(action)?;
        let description = action.description.clone();
        // Of JSON Schema: anything.
        let input_schema = Json(action.input_schema.clone().unwrap_or_else(|| Value::Object(Map::new())));
        match &action.entry {
            None => actions.push(ActionRow { name: action.name.clone(), description, input_schema, root }),
            Some(entry) => entries.push(EntryRow {
                address: action.name.clone(),
                entry_type: entry.entry_type,
                name: entry.name.clone(),
                description,
                cron: entry.cron.clone(),
                timezone: entry.timezone.clone(),
                enabled: entry.enabled,
                input_schema,
                root,
            }),
        }
    }
    Ok((actions, entries))
}

fn root(action: &ActionDescription) -> Result<BlockShape, Fault> {
    action.root().map_err(|error| {
        Fault::internal(format!(
            "the blocks of action \"{}\" in .flowglass/cache cannot be read ({error}); delete that folder",
            action.name
        ))
    })
}

/// What a person names: an action, or an entry of these types.
pub(crate) enum Wanted {
    /// An action that anybody may call.
    Action,
    /// What only a dispatcher reaches.
    Internal,
    /// What an event, or a clock, fires.
    Fired,
}

/// The name that the engine knows what is wanted by. Refused, with what would be right, where it is something else.
pub(crate) fn named(flow: &FlowDescription, name: &str, wanted: &Wanted) -> Result<String, Fault> {
    let kind = &flow.kind;
    let entries = flow.actions.iter().filter_map(|action| Some((action, action.entry.as_ref()?)));
    let same: Vec<_> = entries.filter(|(action, entry)| is_meant(&action.name, entry, name)).collect();
    let is_action = flow.actions.iter().any(|action| action.entry.is_none() && action.name == name);
    let fits = |entry_type: EntryType| match wanted {
        Wanted::Action => false,
        Wanted::Internal => !entry_type.is_fired(),
        Wanted::Fired => entry_type.is_fired(),
    };
    if is_action && matches!(wanted, Wanted::Action) {
        return Ok(name.to_owned());
    }
    let meant: Vec<_> = same.iter().filter(|(_, entry)| fits(entry.entry_type)).collect();
    match (meant.as_slice(), same.first()) {
        ([(action, _)], _) => Ok(action.name.clone()),
        ([], _) if is_action => Err(Fault::invalid(format!(
            "\"{name}\" is an action of flow \"{kind}\": run it with `flowglass run {kind} {name}`"
        ))),
        ([], Some((action, entry))) => Err(Fault::invalid(format!(
            "\"{name}\" is {} of flow \"{kind}\", which {}: {}",
            what(entry.entry_type),
            starter(entry.entry_type),
            how(kind, &action.name, entry.entry_type)
        ))),
        // The flow's own function is asked for it when it is fired.
        ([], None) if flow.resolves && matches!(wanted, Wanted::Fired) && !name.starts_with("webhook:") => {
            Ok(format!("schedule:{}", name.strip_prefix("schedule:").unwrap_or(name)))
        }
        ([], None) => Err(Fault::not_found(unknown(flow, name, wanted))),
        (several, _) => {
            let addresses: Vec<&str> = several.iter().map(|(action, _)| action.name.as_str()).collect();
            Err(Fault::invalid(format!(
                "\"{name}\" may be any of several entries of flow \"{kind}\"; name one of: {}",
                addresses.join(", ")
            )))
        }
    }
}

/// Whether a name is that of an entry: its address, its name, or that of its event alone.
fn is_meant(address: &str, entry: &script::EntryDescription, name: &str) -> bool {
    if name == address || name == entry.name {
        return true;
    }
    let Some((provider, event)) = entry.name.split_once('/').filter(|_| entry.entry_type == EntryType::Webhook) else {
        return false;
    };
    let spelt = name
        .strip_prefix(provider)
        .is_some_and(|rest| rest.strip_prefix(['.', ':', '/']).is_some_and(|rest| rest == event));
    name == event || spelt
}

fn what(entry_type: EntryType) -> &'static str {
    match entry_type {
        EntryType::Internal => "an internal entry",
        EntryType::Task => "a task entry",
        EntryType::Webhook => "a webhook's entry",
        EntryType::Chat => "an entry for a bot's event",
        EntryType::Schedule => "a schedule",
    }
}

fn starter(entry_type: EntryType) -> &'static str {
    match entry_type {
        EntryType::Internal | EntryType::Task => "only a dispatcher reaches",
        EntryType::Webhook | EntryType::Chat => "an event fires",
        EntryType::Schedule => "a clock fires",
    }
}

fn how(kind: &str, address: &str, entry_type: EntryType) -> String {
    if entry_type.is_fired() {
        format!("fire it by hand with `flowglass trigger {kind} {address}`")
    } else {
        format!("run it with `flowglass run {kind} {address} --internal`")
    }
}

fn unknown(flow: &FlowDescription, name: &str, wanted: &Wanted) -> String {
    let is_wanted = |action: &&ActionDescription| match (&action.entry, wanted) {
        (None, Wanted::Action) => true,
        (Some(entry), Wanted::Internal) => !entry.entry_type.is_fired(),
        (Some(entry), Wanted::Fired) => entry.entry_type.is_fired(),
        _ => false,
    };
    let names: Vec<&str> = flow.actions.iter().filter(is_wanted).map(|action| action.name.as_str()).collect();
    let known =
        if names.is_empty() { "it has none at all".to_owned() } else { format!("there are: {}", names.join(", ")) };
    let what = match wanted {
        Wanted::Action => "action",
        Wanted::Internal => "internal or task entry",
        Wanted::Fired => "entry that can be fired",
    };
    format!("flow \"{}\" has no {what} \"{name}\"; {known}", flow.kind)
}
