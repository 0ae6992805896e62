//! Opens a value of an answer by running the code again up to the same statement.

use script::{Asked, Question};
use serde_json::Value;

use super::super::Workspace;
use super::handle::Handle;
use super::print::checked;
use crate::core::fault::Fault;
use crate::views::{Captured, OpenedEntry, OpenedValue, PrintedValue};

impl Workspace {
    /// Opens a value of an answer: returns its parts, one level deep. The code runs again up to the same statement.
    pub fn open_value(&self, handle: &str) -> Result<OpenedValue, Fault> {
        let handle = Handle::read(handle)?;
        let gone = || Fault::not_found("the value is gone: its request does not come to the same statement any more");
        let (row, events) = self.whole_log_of(&handle.request)?;
        let code = self.probed_code(&handle.code)?.ok_or_else(gone)?;
        let site = code.table.sites.get(handle.site as usize).ok_or_else(gone)?;
        checked(&handle.expression, &site.file)?;
        let question = Question {
            expressions: vec![handle.expression.clone()],
            sites: Some(vec![handle.site]),
            ..Question::default()
        };
        let of = script::Execution { path: handle.path.as_str().into(), attempt: handle.attempt };
        let open = Some(Value::Array(handle.keys.clone()));
        let asked = Asked::Values { of: Some(of), ticks: (handle.tick, handle.tick), limit: 1, open };
        let answer = self.ask(&row, events, &code, question, asked)?;
        let hit = answer.replayed.probed.hits.into_iter().next().ok_or_else(gone)?;
        let opened = &hit.values[0];
        if let Some(error) = opened.get("error") {
            return Err(Fault::invalid(format!(
                "the value cannot be opened: {}",
                error["message"].as_str().unwrap_or("")
            )));
        }
        let entry = |entry: &Value| {
            let text = handle.inside(&entry["key"]).text();
            let value = match PrintedValue::read(&entry["value"], || text) {
                PrintedValue::Captured(value) => value,
                PrintedValue::Failed { error } => {
                    Captured { kind: "cut".to_owned(), preview: error.message, json: None, handle: None }
                }
            };
            OpenedEntry { name: entry["name"].as_str().unwrap_or_default().to_owned(), value }
        };
        Ok(OpenedValue {
            kind: opened["kind"].as_str().unwrap_or_default().to_owned(),
            preview: opened["preview"].as_str().unwrap_or_default().to_owned(),
            entries: opened["entries"].as_array().into_iter().flatten().map(entry).collect(),
            total: opened["total"].as_u64().unwrap_or(0),
        })
    }
}
