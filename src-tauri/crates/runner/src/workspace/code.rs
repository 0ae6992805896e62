//! The code that requests ran: kept when they begin, shown whenever somebody asks.

use std::sync::Arc;

use engine::event::{Event, EventKind};
use engine::views::Events;
use engine::views::blocks::blocks;
use script::Code;
use serde_json::json;

use super::Workspace;
use crate::catalogue::LoadedFlow;
use crate::core::fault::Fault;
use crate::run::on_accept::OnAccept;
use crate::views::{BlockSource, ImportedSource, SourceView};

impl Workspace {
    /// Keeps the code of a bundle when a request is accepted. Others may have dropped it since it ran here last, and
    /// may again before the request names it.
    pub(super) fn keep_code(&self, loaded_flow: &Arc<LoadedFlow>) -> OnAccept {
        let (loaded_flow, store, dir) = (loaded_flow.clone(), self.store.clone(), self.dir.clone());
        OnAccept::new(move || {
            let hash = loaded_flow.bundle.hash.clone();
            let make = move || json!(Code::of(&loaded_flow.bundle, &dir));
            if !store.has_code(&hash).unwrap_or_default() {
                // A request whose code cannot be kept runs all the same; what shows it later says that it is missing.
                let _ = store.keep_code(&hash, make());
            }
            store.offer_code(&hash, make)
        })
    }

    /// The file in which a block of a request was defined, as it ran, and its lines there.
    pub fn block_source(&self, request: &str, path: &str) -> Result<BlockSource, Fault> {
        self.request(request)?;
        let events = self.store.events_of_block(request, path).map_err(Fault::internal)?;
        let name = events.iter().rev().find_map(|event| match &event.kind {
            EventKind::BlockStarted { name, .. } if event.path.as_deref() == Some(path) => Some(name.clone()),
            _ => None,
        });
        let missing = || Fault::not_found(format!("request \"{request}\" has no block at {path}"));
        let name = name.ok_or_else(missing)?;
        let (hash, code) = self.code_that_ran(request, &events)?;
        let Some((source, line, text)) = code.definition(&name) else {
            let text = code.sources.iter().find(|source| source.file == code.file);
            let text = text.map(|source| source.text.clone()).unwrap_or_default();
            return Ok(BlockSource { file: code.file, hash, text, from: None, to: None });
        };
        let lines = u32::try_from(text.trim_end().lines().count()).unwrap_or(1).max(1);
        let (file, text) = (source.file.clone(), source.text.clone());
        Ok(BlockSource { file, hash, text, from: Some(line), to: Some(line + lines - 1) })
    }

    /// The author's files that a request ran, as they were; its flow's file first.
    pub fn files_that_ran(&self, request: &str) -> Result<Vec<ImportedSource>, Fault> {
        let (_, events) = self.log_of(request)?;
        let (_, code) = self.code_that_ran(request, &events)?;
        let (of_flow, others): (Vec<_>, Vec<_>) = code.sources.into_iter().partition(|source| source.file == code.file);
        let all = of_flow.into_iter().chain(others);
        Ok(all.map(|source| ImportedSource { file: source.file, text: source.text }).collect())
    }

    /// The newest code that a request ran, and its hash.
    fn code_that_ran(&self, request: &str, events: &[Event]) -> Result<(String, Code), Fault> {
        Self::check_not_foreign(&self.request(request)?)?;
        let hash = events.iter().rev().find_map(|event| match &event.kind {
            EventKind::RequestStarted { code_hash, .. } | EventKind::RequestResumed { code_hash, .. } => {
                Some(code_hash.clone())
            }
            _ => None,
        });
        let hash = hash.unwrap_or_default();
        let code = self.store.code(&hash).map_err(Fault::internal)?.ok_or_else(|| {
            Fault::not_found(format!(
                "the code that request \"{request}\" ran is not in this database: it was recorded by a version that \
                 kept none, or is damaged (hash {hash})"
            ))
        })?;
        Ok((hash, engine::json::from_value(code).map_err(Fault::internal)?))
    }

    /// The code that a request ran, newest life: the file of its flow and those that it imported, or what defines the
    /// block at a path.
    pub fn code_of(&self, request: &str, path: Option<&str>) -> Result<SourceView, Fault> {
        let (row, events) = self.log_of(request)?;
        let block = match path {
            None => None,
            Some(path) => {
                let known = blocks(Events::new(&events), !row.status.is_terminal());
                let found = known.iter().rev().find(|block| *block.path == *path);
                let missing = || Fault::not_found(format!("request \"{request}\" has no block at {path}"));
                Some(found.ok_or_else(missing)?.name.to_string())
            }
        };
        let (hash, code) = self.code_that_ran(request, &events)?;
        if let Some((source, line, text)) = block.as_deref().and_then(|name| code.definition(name)) {
            let (file, text) = (source.file.clone(), text.to_owned());
            return Ok(SourceView { file, hash, line: Some(line), text, imports: Vec::new() });
        }
        let (of_flow, others): (Vec<_>, Vec<_>) = code.sources.into_iter().partition(|source| source.file == code.file);
        let text = of_flow.into_iter().next().map(|source| source.text).unwrap_or_default();
        let others = others.into_iter().filter(|_| path.is_none());
        let imports = others.map(|source| ImportedSource { file: source.file, text: source.text }).collect();
        Ok(SourceView { file: code.file, hash, line: None, text, imports })
    }
}
