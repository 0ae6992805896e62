//! The items of a page: each as it was at any instant, and who saw it when.

use std::collections::HashMap;

use engine::event::Seq;
use serde_json::{Value, json};

use super::blocks::BlockLogs;
use super::values::Values;
use crate::core::fault::Fault;
use crate::request_view::item_list::ItemList;
use crate::request_view::item_list::whole::Standing;
use crate::views::{ItemRow, RequestRow};
use crate::workspace::Workspace;
use crate::workspace::items::is_left_out_of_history;
use crate::workspace::request_view::ViewSource;
use crate::workspace::view_items::view_item;

impl Workspace {
    /// What is or was an item of a request, in order. `newest` are its items as they are now, by their events.
    pub(super) fn whole_items(
        &self,
        row: &RequestRow,
        list: &ItemList,
        newest: &[ItemRow],
    ) -> Result<WholeItems, Fault> {
        let source = ViewSource { workspace: self, request: &row.id };
        let newest: HashMap<Seq, &ItemRow> = newest.iter().map(|item| (item.seq, item)).collect();
        let (mut items, mut places) = (Vec::new(), HashMap::new());
        for standing in list.standings() {
            let seq = standing.seq;
            let (item, is_whole) = self.whole_item(list, &source, standing, newest.get(&seq).copied())?;
            if is_whole {
                places.insert(seq, items.len());
            }
            items.push(item);
        }
        Ok(WholeItems { items, places, is_left_out: is_left_out_of_history(row.status) })
    }

    /// An item, and whether its newest form is whole.
    fn whole_item(
        &self,
        list: &ItemList,
        source: &ViewSource<'_>,
        standing: Standing,
        newest: Option<&ItemRow>,
    ) -> Result<(Value, bool), Fault> {
        let is_there = standing.shown.last().is_some_and(|shown| shown.until.is_none());
        // One that never changed, and of which nothing has to be read.
        if let (Some(item), [_], [], true) = (newest, &*standing.changes, &*standing.pieces, is_there)
            && item.item_type != "state_snapshot"
        {
            let form = view_item(item.clone());
            let is_whole = !form.is_cut;
            let shown = standing.shown.iter().map(|shown| json!([shown.from, shown.until, shown.audiences]));
            let shown = shown.collect::<Vec<_>>();
            return Ok((json!({ "shown": shown, "forms": [[standing.changes[0], form]] }), is_whole));
        }
        let mut forms = Vec::new();
        for (n, from) in standing.changes.iter().enumerate() {
            let Some(shown) = standing.shown.iter().rfind(|shown| shown.from <= *from) else { continue };
            let next = standing.changes.get(n + 1).copied();
            // As it is at the end of the stretch: until then only pieces of its text come.
            let until = [next, shown.until].into_iter().flatten().min();
            let at = until.map(|until| until - 1).filter(|at| *at < list.last());
            let Some(wanted) = list.wanted(standing.seq, at) else { continue };
            if let Some(item) = self.view_item(source, &wanted, at.unwrap_or(list.last()))? {
                forms.push(json!([from, item]));
            }
        }
        let shown = standing.shown.iter().map(|shown| json!([shown.from, shown.until, shown.audiences]));
        let mut document = json!({ "shown": shown.collect::<Vec<_>>(), "forms": forms });
        if !standing.pieces.is_empty() {
            document["pieces"] = json!(standing.pieces);
        }
        Ok((document, false))
    }
}

/// An item without what follows from its block's row, its type and its event.
pub(super) fn short(values: &Values, logs: &BlockLogs<'_>, document: &mut Value) {
    let forms = document["forms"].as_array_mut().into_iter().flatten();
    for item in forms.filter_map(|form| form[1]["item"].as_object_mut()) {
        let text = |name: &str| item.get(name).and_then(Value::as_str).unwrap_or_default();
        let request = text("requestId").to_owned();
        if text("id") == format!("item_{}_{request}_{}", text("type"), item["seq"]) {
            item.retain(|field, _| field != "id" && field != "requestId");
        }
        let from = &item["provenance"];
        let row = from["blockInstanceId"].as_str().and_then(|instance| values.row_of(instance));
        let Some(row) = row.filter(|_| is_usual(from)) else { continue };
        let place = (from["path"].as_str().unwrap_or_default(), from["attempt"].as_u64().unwrap_or_default());
        let output = if item["type"] == "block_output" { logs.output_item(place) } else { None };
        item["provenance"] = json!([row, from["blockName"], from["phase"]]);
        if let Some(output) = output.filter(|fields| fields.iter().all(|(name, value)| item.get(name) == Some(value))) {
            item.retain(|field, _| !output.contains_key(field));
            item.insert("ofBlock".to_owned(), output.contains_key("input").into());
        }
    }
}

/// What says where an item comes from; the path, the instance and the attempt are those of the block's row.
const PROVENANCE: [&str; 5] = ["blockName", "path", "blockInstanceId", "attempt", "phase"];

fn is_usual(from: &Value) -> bool {
    from.as_object().is_some_and(|fields| fields.keys().eq(PROVENANCE))
}

/// The items of a page.
pub(super) struct WholeItems {
    pub(super) items: Vec<Value>,
    /// The places in the list of those that it has whole, as they are now.
    pub(super) places: HashMap<Seq, usize>,
    /// Whether later model calls leave out all of them.
    pub(super) is_left_out: bool,
}
