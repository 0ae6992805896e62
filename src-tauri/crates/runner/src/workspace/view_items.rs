//! The items of an open request, in windows.

use std::sync::Arc;

use engine::event::Seq;
use engine::scope::{ScopeKey, ScopeKind};
use engine::views::Events;
use engine::views::items::follow::AUDIENCES;
use engine::views::items::{Few, Item, item_of_few};
use serde_json::{Map, Value};

use super::Workspace;
use super::items::{as_seen, is_left_out_of_history};
use super::request_view::ViewSource;
use crate::core::fault::Fault;
use crate::request_view::item_list::{ItemList, MAX_SHOWN_BYTES, Place, Wanted};
use crate::request_view::{RequestView, Source};
use crate::views::{AudienceCounts, ItemRow, ItemsQuery, ItemsUpdate, RequestRow, ViewItem, ViewItems};

/// The most items that one question gets.
const MAX_ITEMS: u32 = 200;
/// The most entries of one list that a window of items has.
const MAX_SHOWN_ENTRIES: usize = 100;

impl Workspace {
    /// A window of the items of a view, as an audience sees them.
    pub fn view_items(&self, view: u64, query: ItemsQuery) -> Result<ViewItems, Fault> {
        if query.limit > MAX_ITEMS {
            return Err(Fault::invalid(format!("at most {MAX_ITEMS} items are read at once, not {}", query.limit)));
        }
        self.with_view(view, |view, source| {
            let row = self.request(source.request)?;
            view.is_left_out = is_left_out_of_history(row.status);
            let list = view.item_list.get_or_insert_with(ItemList::new);
            self.bring_items_up_to_date(list, &row)?;
            let audience = query.audience;
            let is_newest = query.at.is_none_or(|at| at >= list.last());
            let window = self.items_window(list, source, query)?;
            Ok(if is_newest && view.is_left_out { window.without_history(audience) } else { window })
        })
    }

    /// Says whether somebody wants to hear of what becomes of a view's items.
    pub fn view_watch_items(&self, view: u64, is_watching: bool) -> Result<(), Fault> {
        self.with_view(view, |view, _| {
            view.is_watching_items = is_watching;
            Ok(())
        })
    }

    /// Takes in what was committed since.
    pub(super) fn bring_items_up_to_date(&self, list: &mut ItemList, row: &RequestRow) -> Result<(), Fault> {
        let last = self.store.item_facts(&row.id, list.last(), |event| list.push(event)).map_err(Fault::internal)?;
        list.set_last(last, !row.status.is_terminal());
        Ok(())
    }

    /// What changed of the items of a view since that was last told, where somebody wants to hear of it.
    pub(super) fn items_update(&self, view: &mut RequestView, row: &RequestRow) -> Result<Option<ItemsUpdate>, Fault> {
        let is_left_out = is_left_out_of_history(row.status);
        // All marks are other ones then.
        let are_marks_other = view.is_left_out != is_left_out;
        let Some(list) = view.item_list.as_mut().filter(|_| view.is_watching_items) else { return Ok(None) };
        self.bring_items_up_to_date(list, row)?;
        let changed = list.take_changed().filter(|_| !are_marks_other).or(are_marks_other.then_some([0; 4]));
        view.is_left_out = is_left_out;
        Ok(changed.map(|from| {
            let mut counts = AudienceCounts::from(list.counts());
            if is_left_out {
                counts.history = 0;
            }
            ItemsUpdate { counts, changed_from: from.into() }
        }))
    }

    fn items_window(&self, list: &ItemList, source: &ViewSource<'_>, query: ItemsQuery) -> Result<ViewItems, Fault> {
        // The newest instant is that of a request whose process may be gone.
        let at = query.at.filter(|at| *at < list.last());
        let counts = list.counts_at(at);
        let seqs = list.window(query.audience, query.offset, query.limit as usize, at);
        let wanted: Vec<Wanted> = seqs.into_iter().filter_map(|seq| list.wanted(seq, at)).collect();
        let page = wanted.iter().map(|wanted| self.view_item(source, wanted, at.unwrap_or(list.last())));
        let page = page.collect::<Result<Vec<_>, _>>()?.into_iter().flatten();
        let page = page.map(|one| ViewItem { item: as_seen(one.item, query.audience), ..one }).collect();
        let audience = AUDIENCES.iter().position(|known| *known == query.audience).unwrap_or_default();
        let seq = at.unwrap_or(list.last());
        Ok(ViewItems { seq, total: counts[audience], counts: counts.into(), offset: query.offset, page })
    }

    /// An item as of an event.
    pub(super) fn view_item(
        &self,
        source: &ViewSource<'_>,
        wanted: &Wanted,
        at: Seq,
    ) -> Result<Option<ViewItem>, Fault> {
        let request: Arc<str> = source.request.into();
        let events = self.store.events_with_references(source.request, &wanted.events).map_err(Fault::internal)?;
        let continued = match &wanted.continued {
            Some(Place::Number(number)) => source.path_texts(&[*number])?.pop().map(|path| path.to_string()),
            Some(Place::Text(text)) => Some(text.clone()),
            Some(Place::Nowhere) | None => None,
        };
        let few = Few { seq: wanted.seq, newest: wanted.newest, from: wanted.from, continued };
        let Some(mut item) = item_of_few(&request, Events::new(&events), &few) else { return Ok(None) };
        item.status = wanted.status.unwrap_or(item.status);
        match item.item_type.as_str() {
            "continuation" => drop(item.payload.insert("priorItemCount".to_owned(), wanted.before.into())),
            "state_snapshot" => self.snapshot_at(&mut item, wanted, at)?,
            _ => {}
        }
        let number = self.store.items_before(source.request, item.seq).map_err(Fault::internal)?;
        item.item_index = number.unwrap_or(wanted.before).try_into().unwrap_or(u32::MAX);
        let is_long = wanted.text_bytes.is_some_and(|bytes| bytes > MAX_SHOWN_BYTES as u64);
        let is_tail = wanted.is_growing && is_long;
        let whole = text_bytes(&item.payload);
        let mut is_cut = is_long;
        for value in item.payload.values_mut() {
            is_cut |= cut(value, is_tail);
        }
        let text_bytes = wanted.text_bytes.or(if is_cut { whole } else { None });
        Ok(Some(ViewItem { item: ItemRow::from(item), text_bytes, is_tail, is_cut }))
    }

    /// Puts the state as of an event into a snapshot. Which step changed it last is told by its block's detail.
    fn snapshot_at(&self, item: &mut Item, wanted: &Wanted, at: Seq) -> Result<(), Fault> {
        let scope = ScopeKey::new(ScopeKind::Sequencer, &*item.provenance.block_instance_id);
        let record = self.store.state_at(&scope, &item.request_id, at).map_err(Fault::internal)?;
        if record.version > 0 {
            item.payload.insert("state".to_owned(), record.state.to_json());
            item.payload.insert("version".to_owned(), record.version.into());
            item.payload.retain(|field, _| field != "stepName" && field != "stepIndex");
        }
        item.payload.insert("terminal".to_owned(), wanted.is_over.into());
        Ok(())
    }
}

/// An item that is whole, with long texts and values cut.
pub(super) fn view_item(mut item: ItemRow) -> ViewItem {
    let whole = text_bytes(&item.payload);
    let mut is_cut = false;
    for value in item.payload.values_mut() {
        is_cut |= cut(value, false);
    }
    ViewItem { item, text_bytes: whole.filter(|_| is_cut), is_tail: false, is_cut }
}

/// How many bytes the text of an item has: of its parts, or of the field that says it.
fn text_bytes(payload: &Map<String, Value>) -> Option<u64> {
    let of_part = |part: &Value| {
        let field = ["text", "transcript"].iter().find_map(|field| part.get(*field).and_then(Value::as_str));
        field.or(part.as_str()).map_or(0, str::len)
    };
    let of = |value: &Value| match value {
        Value::Array(parts) => parts.iter().map(of_part).sum::<usize>(),
        value => value.as_str().map_or(0, str::len),
    };
    let fields = ["content", "summary", "message", "title", "url"];
    let mut known = fields.iter().filter_map(|field| payload.get(*field)).map(of);
    known.find(|bytes| *bytes > 0).map(|bytes| bytes as u64)
}

/// Cuts what is long in a value: of texts the begin stays, or the end. Answers whether something was cut.
fn cut(value: &mut Value, keeps_end: bool) -> bool {
    match value {
        Value::String(text) if text.len() > MAX_SHOWN_BYTES => {
            *text = if keeps_end {
                let begin = text.ceil_char_boundary(text.len() - MAX_SHOWN_BYTES);
                text[begin..].to_owned()
            } else {
                text[..text.floor_char_boundary(MAX_SHOWN_BYTES)].to_owned()
            };
            true
        }
        Value::Array(entries) => {
            let is_long = entries.len() > MAX_SHOWN_ENTRIES;
            entries.truncate(MAX_SHOWN_ENTRIES);
            entries.iter_mut().fold(is_long, |is_cut, entry| cut(entry, keeps_end) || is_cut)
        }
        Value::Object(fields) => {
            let is_long = fields.len() > MAX_SHOWN_ENTRIES;
            fields.retain({
                let mut seen = 0;
                move |_, _| {
                    seen += 1;
                    seen <= MAX_SHOWN_ENTRIES
                }
            });
            fields.values_mut().fold(is_long, |is_cut, field| cut(field, keeps_end) || is_cut)
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

    use engine::views::items::follow::AUDIENCES;
    use serde_json::json;

    use super::{cut, text_bytes};
    use crate::run::synthetic::{Shape, Synthetic};
    use crate::views::ItemsQuery;
    use crate::workspace::{OpenOptions, Workspace};

    #[test]
    fn the_length_of_a_text_that_is_cut_is_that_of_the_whole() {
        let text = "é".repeat(500_000);
        let payloads = [
            json!({ "role": "assistant", "content": [{ "type": "text", "text": text }] }),
            json!({ "content": [{ "type": "audio", "transcript": text }, { "type": "image" }] }),
            json!({ "summary": [text] }),
            json!({ "content": text }),
            json!({ "content": [], "message": text }),
        ];
        for mut payload in payloads {
            assert_eq!(payload.as_object().and_then(text_bytes), Some(1_000_000));
            assert!(cut(&mut payload, false));
            assert!(payload.as_object().and_then(text_bytes).is_some_and(|bytes| bytes <= 4_096));
        }
        assert_eq!(json!({ "value": text }).as_object().and_then(text_bytes), None);
    }

    #[test]
    fn windows_show_what_the_whole_log_shows() {
        let dir = tempfile::tempdir().unwrap();
        let workspace = Workspace::open(OpenOptions { dir: dir.path().to_owned(), ..OpenOptions::default() }).unwrap();
        let wanted = Synthetic { events: 3_000, requests: 1, seed: 1, shape: Shape::Mixed, rate: None, at_once: 0 };
        let id = workspace.synthesize(&wanted).unwrap().requests.remove(0);
        let view = workspace.open_view(&id).unwrap().view;
        for audience in AUDIENCES {
            let all = workspace.items(None, Some(&id), audience, None).unwrap();
            let mut shown = 0;
            while shown < all.len() {
                let query = ItemsQuery { audience, offset: shown as u64, limit: 200, at: None };
                let window = workspace.view_items(view, query).unwrap();
                assert_eq!(window.total, all.len() as u64);
                assert!(!window.page.is_empty());
                for item in window.page {
                    let (mine, known) = (serde_json::to_value(&item.item).unwrap(), &all[shown]);
                    // A snapshot leaves out the step that wrote it last.
                    if !item.is_cut && known.item_type != "state_snapshot" {
                        assert_eq!(mine, serde_json::to_value(known).unwrap());
                    }
                    assert_eq!(item.item.id, known.id);
                    shown += 1;
                }
            }
            assert!(audience != engine::views::items::Audience::All || shown > 100, "{shown}");
        }
        let query = ItemsQuery { audience: AUDIENCES[0], offset: 0, limit: 201, at: None };
        assert!(workspace.view_items(view, query).unwrap_err().to_string().contains("at most 200"));
    }
}
