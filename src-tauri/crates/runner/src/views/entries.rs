//! What of a flow is run by something else than a person's call.

use engine::flow::EntryType;
use engine::views::shape::BlockShape;
use serde::Serialize;

use super::Json;

/// An entry of a flow: what is run by something else than a person's call of an action (SEMANTICS §1.7).
#[derive(Clone, Debug, Serialize, specta::Type)]
#[serde(rename_all = "camelCase")]
pub struct EntryRow {
    /// What requests of it have as their action: `webhook:stripe/invoice.paid`.
    pub address: String,
    /// What starts it.
    #[serde(rename = "type")]
    pub entry_type: EntryType,
    /// What it is fired or run by: `stripe/invoice.paid`.
    pub name: String,
    /// For people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// When a schedule would be fired by whoever serves the flow.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cron: Option<String>,
    /// Where `cron` is read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timezone: Option<String>,
    /// Whether a schedule's author has switched it on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,
    /// JSON Schema of what its action gets; `{}` when anything goes. A fired entry makes that of an event.
    pub input_schema: Json,
    /// Its root block and all below.
    pub root: BlockShape,
}
