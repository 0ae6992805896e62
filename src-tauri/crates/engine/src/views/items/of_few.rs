//! One item, from the few events that say what it shows.

use std::sync::Arc;

use super::facts::Facts;
use super::{Item, grow, refuse};
use crate::model::event::{EventKind, Seq};
use crate::model::item::{NewItem, resolve_item_visibility};
use crate::views::Events;
use crate::views::snapshots::snapshots;

/// Which item is wanted.
#[derive(Clone, Debug, Default)]
pub struct Few {
    /// The event that added it.
    pub seq: Seq,
    /// The event that its fields are of: another one, where a keyed component was emitted again.
    pub newest: Seq,
    /// The event of its provenance; it differs from `seq` if the first attempt no longer counts.
    pub from: Seq,
    /// For a continuation: the block that the request had come to.
    pub continued: Option<String>,
}

/// One item as [`items`](super::items) shows it, from its own events: what added it, patches and pieces of text, and
/// for its block the begin, the input, the answers of models and the commit. What decides whether it is shown, its
/// number among the items, and the writes to a snapshot's state are not looked at.
pub fn item_of_few(request: &Arc<str>, events: Events<'_>, wanted: &Few) -> Option<Item> {
    let mut facts = Facts::gather(events, true);
    let (event, newest, from) = (events.get(wanted.seq)?, events.get(wanted.newest)?, events.get(wanted.from)?);
    if matches!(event.kind, EventKind::RequestResumed { .. }) {
        facts.continued.insert(event.seq, wanted.continued.as_deref());
    }
    let new_of = |event| match snapshots(request, events, true).remove(&wanted.seq) {
        Some(snapshot) => Some(snapshot.item()),
        None => facts.item_of(request, events, event),
    };
    let mut new: NewItem = new_of(newest)?;
    if let Some(key) = &new.key {
        new.payload.insert("key".to_owned(), key.as_str().into());
    }
    let mut item = Item {
        id: format!("item_{}_{}_{}", new.item_type, request, event.seq),
        visibility: resolve_item_visibility(&new.item_type, new.agent_type, new.item_visibility),
        item_type: new.item_type,
        status: new.status,
        request_id: request.clone(),
        item_index: 0,
        ts: event.at,
        seq: event.seq,
        provenance: facts.provenance(request, from),
        transient: new.transient,
        agent_type: new.agent_type,
        agent_name: new.agent_name,
        item_visibility: new.item_visibility,
        owned_by: new.owned_by,
        payload: new.payload,
    };
    // What came before a newer version of a component is replaced by it.
    for event in events.iter().filter(|event| event.seq > wanted.newest) {
        match &event.kind {
            EventKind::ItemDelta { of, text } if *of == wanted.seq => grow(&mut item, text),
            EventKind::ItemUpdated { of, patch } if *of == wanted.seq => item.payload.extend(patch.clone()),
            EventKind::ItemDone { of, status, patch } if *of == wanted.seq => {
                item.payload.extend(patch.clone());
                item.status = *status;
            }
            EventKind::SuspensionReopened { id } if item.payload.get("suspensionId").is_some_and(|of| of == id) => {
                refuse(&mut item);
            }
            _ => {}
        }
    }
    Some(item)
}
