//! The code that requests ran: kept when they begin, shown whenever somebody asks.

use std::sync::Arc;

use engine::event::{Event, EventKind, Seq};
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

    /// The file in which a block of a request was defined, as an attempt of it ran, and its lines there. Without an
    /// attempt: as the newest one ran.
    pub fn block_source(&self, request: &str, path: &str, attempt: Option<u32>) -> Result<BlockSource, Fault> {
        let (hash, name, code) = self.code_of_block(request, path, attempt)?;
        let Some((source, line, text)) = code.definition(&name) else {
            let text = code.sources.iter().find(|source| source.file == code.file);
            let text = text.map(|source| source.text.clone()).unwrap_or_default();
            return Ok(BlockSource { file: code.file, hash, text, from: None, to: None });
        };
        let lines = u32::try_from(text.trim_end().lines().count()).unwrap_or(1).max(1);
        let (file, text) = (source.file.clone(), source.text.clone());
        Ok(BlockSource { file, hash, text, from: Some(line), to: Some(line + lines - 1) })
    }

    /// The hash and the code that an attempt of a block ran, and the block's name in it. Without an attempt: the newest
    /// one.
    pub(super) fn code_of_block(
        &self,
        request: &str,
        path: &str,
        attempt: Option<u32>,
    ) -> Result<(String, Arc<str>, Code), Fault> {
        self.request(request)?;
        let events = self.store.events_of_block(request, path).map_err(Fault::internal)?;
        let is_it = |event: &&Event| {
            event.path.as_deref() == Some(path) && attempt.is_none_or(|attempt| event.attempt == attempt)
        };
        let begun = events.iter().rev().filter(is_it).find_map(|event| match &event.kind {
            EventKind::BlockStarted { name, .. } => Some((name.clone(), event.seq)),
            _ => None,
        });
        let missing = || Fault::not_found(format!("request \"{request}\" has no block at {path}"));
        let (name, begun) = begun.ok_or_else(missing)?;
        let (hash, code) = self.code_that_ran(request, &events, begun)?;
        Ok((hash, name, code))
    }

    /// The author's files that a request ran, as they were; its flow's file first. `code` is the hash of one of the
    /// codes that it ran; without it the newest.
    pub fn files_that_ran(&self, request: &str, code: Option<&str>) -> Result<Vec<ImportedSource>, Fault> {
        if let Some(code) = code {
            let mut versions = self.versions_that_ran(request)?;
            let found = versions.iter().position(|(hash, _)| hash == code);
            let missing = || Fault::not_found(format!("request \"{request}\" did not run the code {code}"));
            return Ok(versions.swap_remove(found.ok_or_else(missing)?).1);
        }
        let (_, events) = self.log_of(request)?;
        let (_, code) = self.code_that_ran(request, &events, Seq::MAX)?;
        let (of_flow, others): (Vec<_>, Vec<_>) = code.sources.into_iter().partition(|source| source.file == code.file);
        let all = of_flow.into_iter().chain(others);
        Ok(all.map(|source| ImportedSource { file: source.file, text: source.text }).collect())
    }

    /// The code that a request ran at an event, and its hash.
    fn code_that_ran(&self, request: &str, events: &[Event], at: Seq) -> Result<(String, Code), Fault> {
        Self::check_not_foreign(&self.request(request)?)?;
        let mut hash = String::new();
        for event in events {
            if let EventKind::RequestStarted { code_hash, .. } | EventKind::RequestResumed { code_hash, .. } =
                &event.kind
                && (hash.is_empty() || event.seq <= at)
            {
                hash.clone_from(code_hash);
            }
        }
        let code = self.store.code(&hash).map_err(Fault::internal)?.ok_or_else(|| {
            Fault::not_found(format!(
                "the code that request \"{request}\" ran is not in this database: it was recorded by a version that \
                 kept none, or is damaged (hash {hash})"
            ))
        })?;
        Ok((hash, engine::json::from_value(code).map_err(Fault::internal)?))
    }

    /// The newest code that a request ran: the file of its flow and those that it imported; or the code that the newest
    /// execution of the block at a path ran: what defines it.
    pub fn code_of(&self, request: &str, path: Option<&str>) -> Result<SourceView, Fault> {
        let (row, events) = self.log_of(request)?;
        let block = match path {
            None => None,
            Some(path) => {
                let known = blocks(Events::new(&events), !row.status.is_terminal());
                let found = known.iter().rev().find(|block| *block.path == *path);
                let missing = || Fault::not_found(format!("request \"{request}\" has no block at {path}"));
                let found = found.ok_or_else(missing)?;
                Some((found.name.to_string(), found.seq_start))
            }
        };
        let at = block.as_ref().map_or(Seq::MAX, |(_, begun)| *begun);
        let (hash, code) = self.code_that_ran(request, &events, at)?;
        if let Some((source, line, text)) = block.as_ref().and_then(|(name, _)| code.definition(name)) {
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
