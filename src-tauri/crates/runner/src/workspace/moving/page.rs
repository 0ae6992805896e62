//! A page for people without Flowglass: one HTML file with a request inside, which any browser shows without a network.
//!
//! The page shows what the window shows and answers from data that is derived here from the log: it has no engine. What
//! an audience may not see is not in the file. Must not know how the page looks: the file that was built is given.

mod blocks;
mod columns;
mod file;
mod items;
mod states;
mod track;
mod values;

use std::path::Path;

use engine::event::Event;
use engine::views::Events;
use engine::views::items::{Audience, items};
use engine::views::model_requests::Requests;
use serde_json::{Map, Value, json};
use store::NoteQuery;

use self::blocks::BlockLogs;
use self::columns::columns;
use self::file::PageFile;
use self::items::{WholeItems, short};
use self::values::Values;
use crate::core::fault::Fault;
use crate::effects::outside::now_ms;
use crate::request_view::RequestView;
use crate::request_view::item_list::ItemList;
use crate::views::*;
use crate::workspace::Workspace;
use crate::workspace::checkpoints::checkpoints_of;
use crate::workspace::export_format::{self, Line};
use crate::workspace::request_view::ViewSource;

/// The form of the data in a page. The page that was built reads this one.
const FORMAT: u32 = 1;
/// How many events, and how many blocks, a chunk has.
const EVENTS: usize = 1_024;
const BLOCKS: usize = 256;
/// How many items a chunk has.
const ITEMS: usize = 4_096;
/// How many levels of an event, an item and the state of a scope are in no other value.
const EVENT_LEVELS: usize = 2;
const ITEM_LEVELS: usize = 4;
const TRACK_LEVELS: usize = 3;
/// How much JSON a chunk of states has.
const STATE_BYTES: usize = 512 << 10;
/// How often a view and the items of a running request are read until both are of one instant.
const MAX_LOOKS: u32 = 1_000;
/// In how many parts the critical path of a request is told at most.
const CRITICAL_PARTS: u32 = 2_000;

impl Workspace {
    /// Writes one request into an HTML file that any browser opens. `template` is the page that was built. A running
    /// request is written as it is now. An existing file is replaced only if `replace` says so, and never if it is of
    /// the workspace itself.
    pub fn export_html(
        &self,
        request: &str,
        (file, replace): (&Path, bool),
        view: Audience,
        template: &str,
    ) -> Result<Exported, Fault> {
        let row = self.request(request)?;
        self.check_export_file(file, replace)?;
        let mut page = PageFile::default();
        let (name, events, items) = match view {
            Audience::All => {
                let (events, items) = self.add_everything(&mut page, request)?;
                ("all", events, items)
            }
            Audience::Client => ("client", 0, self.add_shown(&mut page, &row, (view, "client"))?),
            Audience::History => ("history", 0, self.add_shown(&mut page, &row, (view, "history"))?),
            Audience::Trace => {
                return Err(Fault::invalid("--view trace cannot be exported: one of client, history, all"));
            }
        };
        let html = page.into_html(template)?;
        export_format::put(file, replace, html.as_bytes())?;
        Ok(Exported {
            file: file.display().to_string(),
            view: name.to_owned(),
            requests: vec![row.id],
            events,
            items,
            bytes: html.len() as u64,
        })
    }

    /// An audience's items, and of the request what it knows anyway. Answers how many items.
    fn add_shown(
        &self,
        page: &mut PageFile,
        row: &RequestRow,
        (audience, name): (Audience, &str),
    ) -> Result<u64, Fault> {
        let lines = self.shown_to(None, Some(&row.id), std::slice::from_ref(row), audience)?;
        let mut values = Values::new(self.config.redaction());
        let (mut request, mut items) = (Value::Null, Vec::new());
        for line in lines {
            match line {
                Line::Request { request: known } => request = known,
                Line::Item { item } => items.push(values.document(item, ITEM_LEVELS)),
                _ => {}
            }
        }
        add_lists(page, "items", &items, ITEMS)?;
        let chunks = json!({ "items": items.len().div_ceil(ITEMS), "values": add_values(page, values)? });
        page.add("head", &self.head_text(name, json!({ "request": request, "chunks": chunks })))?;
        Ok(items.len() as u64)
    }

    /// All that the window shows of a request. Answers how many events and items.
    fn add_everything(&self, page: &mut PageFile, request: &str) -> Result<(u64, u64), Fault> {
        let (mut view, mut list) = (RequestView::new(request), ItemList::new());
        let (row, mut events) = self.at_one_instant(&mut view, &mut list, request)?;
        let source = ViewSource { workspace: self, request };
        let mut values = Values::new(self.config.redaction());

        view.find_critical();
        let overview = view.overview(CRITICAL_PARTS, None, None);
        let rows = view.whole(&source)?;
        for (at, whole) in rows.iter().enumerate() {
            if let (Some(path), Some(attempt)) = (&whole.row.path, whole.row.attempt) {
                values.name_row(at, request, (path, attempt));
            }
        }
        let tracks = self.tracks(&row, &events)?;
        let mut logs = BlockLogs::of(&row, &events, &tracks);
        let newest: Vec<ItemRow> = items(&request.into(), Events::new(&events), !row.status.is_terminal())
            .into_iter()
            .map(ItemRow::from)
            .collect();
        let WholeItems { items, places, is_left_out } = self.whole_items(&row, &list, &newest)?;
        let items = items.into_iter().map(|mut item| {
            short(&values, &logs, &mut item);
            values.document(item, ITEM_LEVELS)
        });
        let items: Vec<String> = items.collect();
        logs.put_items(newest, places);
        let mut blocks = Vec::new();
        let mut earlier: Map<String, Value> = Map::new();
        let mut shown: Vec<Map<String, Value>> = Vec::with_capacity(rows.len());
        for (at, whole) in rows.into_iter().enumerate() {
            if let (Some(path), Some(attempt)) = (&whole.row.path, whole.row.attempt) {
                blocks.push(logs.text(self, (path, attempt), &mut values)?);
            }
            if !whole.earlier.is_empty() {
                earlier.insert(at.to_string(), json!(whole.earlier));
            }
            shown.push(flat(&whole.row));
        }
        drop(logs);
        let states: Vec<String> =
            tracks.into_iter().map(|track| values.document(states::document(track), TRACK_LEVELS)).collect();
        let checkpoints = checkpoints_of(request, &events);
        self.store.put_in_force(request, &mut events).map_err(Fault::internal)?;
        let requests = Requests::of(&events);
        let event_text = |event: &Event| {
            let EventRow { kind, instance_id, payload, .. } =
                EventRow::new(request, requests.resolve(event).as_ref().unwrap_or(event));
            values.document(json!([kind, instance_id, payload]), EVENT_LEVELS)
        };
        let of_events: Vec<String> = events.iter().map(event_text).collect();

        let (from, to) = view.range().unwrap_or((row.started_at, row.started_at));
        let stops = view.stops();
        let head = ViewHead {
            view: 1,
            seq: view.seq(),
            rows: shown.len() as u64,
            page: Vec::new(),
            counts: view.counts(),
            sums: view.sums(),
            kept: view.kept(),
            shared: view.shared(),
            from,
            to,
            start: view.start(),
            root: view.root(&source)?,
            words: self.input_words(request)?,
            cause: self.cause_in(&view, &source, &row)?,
            request: row.clone(),
        };
        let has_calls = head.counts.ticks > 0;
        page.add("rows", &values.plain(json!({ "table": columns(&shown), "earlier": earlier })))?;
        page.add("overview", &json!({ "gaps": overview.gaps, "critical": overview.critical }).to_string())?;
        let stops = json!({ "End": stops.ends, "Failure": stops.failures, "Boundary": stops.boundaries });
        page.add("stops", &columns_of_lists(&stops).to_string())?;
        let times: Vec<Value> = events.iter().map(|event| event.at.into()).collect();
        page.add("times", &differences(&times).to_string())?;
        let lists = json!({
            "calls": has_calls.then(|| view.calls(&source, 0)).transpose()?,
            "checkpoints": checkpoints,
            "journal": self.own_journal(&row)?,
        });
        page.add("lists", &values.document(lists, 0))?;
        add_lists(page, "blocks", &blocks, BLOCKS)?;
        add_lists(page, "events", &of_events, EVENTS)?;
        add_lists(page, "items", &items, ITEMS)?;
        // Of blocks and events one is read, so the size of a chunk is told; of the others how many chunks there are.
        let chunks = json!({
            "blocks": BLOCKS,
            "events": EVENTS,
            "items": items.len().div_ceil(ITEMS),
            "states": add_by_bytes(page, "states", &states)?,
            "values": add_values(page, values)?,
        });
        let counts = (events.len() as u64, items.len() as u64);
        let head = json!({ "view": head, "isLeftOut": is_left_out, "chunks": chunks });
        page.add("head", &self.head_text("all", head))?;
        Ok(counts)
    }

    /// What a page reads first.
    fn head_text(&self, audience: &str, mut head: Value) -> String {
        head["format"] = FORMAT.into();
        head["audience"] = audience.into();
        head["flowglass"] = env!("CARGO_PKG_VERSION").into();
        head["madeAt"] = now_ms().into();
        self.config.redaction().known(&mut head);
        head.to_string()
    }

    /// Brings a view and a list of items to one instant, and reads the log up to it. A running request writes on
    /// meanwhile; what it writes after that instant is not in the page.
    fn at_one_instant(
        &self,
        view: &mut RequestView,
        list: &mut ItemList,
        request: &str,
    ) -> Result<(RequestRow, Vec<Event>), Fault> {
        let mut read = None;
        for _ in 0..MAX_LOOKS {
            let log = self.store.log_id(request).map_err(Fault::internal)?;
            if read != log {
                (*list, read) = (ItemList::new(), log);
            }
            let mut row = self.bring_up_to_date(view, request)?;
            self.bring_items_up_to_date(list, &row)?;
            if list.last() == view.seq() {
                let (_, mut events) = self.log_of(request)?;
                if self.store.log_id(request).map_err(Fault::internal)? == log {
                    events.retain(|event| event.seq <= view.seq());
                    row.last_seq = view.seq();
                    return Ok((row, events));
                }
            }
        }
        Err(Fault::refused(format!(
            "request \"{request}\" changes faster than it can be read; export it a little later"
        )))
    }

    /// The entries of the session's journal that a request made.
    fn own_journal(&self, row: &RequestRow) -> Result<Vec<Value>, Fault> {
        let notes = self.store.notes_of(&row.session_id, engine::log::NoteKind::Journal, NoteQuery::default());
        let own = notes.map_err(Fault::internal)?.into_iter();
        let own = own.filter(|note| *note.request == *row.id && note.seq <= row.last_seq);
        Ok(own.map(|note| note.entry).collect())
    }
}

/// A row with its sums beside its own fields, so that they are columns as well.
fn flat(row: &ViewRow) -> Map<String, Value> {
    let mut fields = match json!(row) {
        Value::Object(fields) => fields,
        _ => Map::new(),
    };
    // What follows from the order of the rows.
    for name in ["instanceId", "path", "hidden", "position", "siblings", "matches", "hasChildren"] {
        fields.remove(name);
    }
    // A path is that of the block around and the label; a group has none.
    if let Some(path) = row.path.as_deref().filter(|path| **path == row.label) {
        fields.insert("path".to_owned(), path.into());
    }
    if let Some(Value::Object(sums)) = fields.remove("sums") {
        fields.extend(sums.into_iter().map(|(name, sum)| (format!("sums.{name}"), sum)));
    }
    fields
}

fn differences(numbers: &[Value]) -> Value {
    let row = |number: &Value| Map::from_iter([("n".to_owned(), number.clone())]);
    columns(&numbers.iter().map(row).collect::<Vec<_>>())
}

/// Lists of numbers, each as one column.
fn columns_of_lists(lists: &Value) -> Value {
    let lists = lists.as_object().into_iter().flatten();
    Value::Object(
        lists.map(|(name, list)| (name.clone(), differences(list.as_array().map_or(&[], Vec::as_slice)))).collect(),
    )
}

/// Adds chunks of so many texts.
fn add_lists(page: &mut PageFile, name: &str, texts: &[String], size: usize) -> Result<(), Fault> {
    let chunks: Vec<String> = texts.chunks(size).map(|chunk| format!("[{}]", chunk.join(","))).collect();
    page.add_all(name, &chunks)
}

/// Adds chunks of texts, by their length; answers how many chunks there are.
fn add_by_bytes(page: &mut PageFile, name: &str, texts: &[String]) -> Result<usize, Fault> {
    let mut chunks: Vec<String> = Vec::new();
    for text in texts {
        match chunks.last_mut().filter(|chunk| chunk.len() < STATE_BYTES) {
            Some(chunk) => {
                chunk.push(',');
                chunk.push_str(text);
            }
            None => chunks.push(format!("[{text}")),
        }
    }
    chunks.iter_mut().for_each(|chunk| chunk.push(']'));
    page.add_all(name, &chunks)?;
    Ok(chunks.len())
}

/// Adds the table of values; answers the number of the first of each chunk.
fn add_values(page: &mut PageFile, values: Values) -> Result<Vec<u64>, Fault> {
    let (chunks, firsts) = values.into_chunks();
    page.add_all("values", &chunks)?;
    Ok(firsts)
}
