//! Making a flow of a foreign request.

use std::path::{Path, PathBuf};

use engine::effects::EffectKind;
use engine::event::{Event, EventKind};
use serde_json::Value;

use crate::core::fault::Fault;
use crate::foreign::EMBEDDINGS;
use crate::foreign::skeleton::Skeleton;
use crate::views::MadeRunnable;
use crate::workspace::{Workspace, export_format};

/// The longest name of a flow.
const MAX_NAME: usize = 60;

impl Workspace {
    /// Writes a flow, a mock script and an input whose run repeats what a foreign request asked of models, and what
    /// they answered. Files that are there are replaced only if `replace` says so.
    pub fn make_runnable(&self, request: &str, name: &str, replace: bool) -> Result<MadeRunnable, Fault> {
        check_name(name)?;
        let (row, events) = self.log_of(request)?;
        let Some(emitter) = &row.received_from else {
            return Err(Fault::refused(format!(
                "request \"{request}\" is a run of flow \"{}\", which can be run as it is",
                row.flow
            )));
        };
        let events: Vec<Event> = events.into_iter().map(|event| self.hidden(event)).collect::<Result<_, _>>()?;
        let about = format!("Made from the trace {request} of {}: {} ({emitter}).", row.flow, row.action);
        let skeleton = Skeleton::of(name, &about, &events).ok_or_else(|| {
            let why = if has_calls_for_vectors(&events) {
                "only calls for vectors, which are left out, and no other model call that has ended"
            } else {
                "no model call that has ended"
            };
            Fault::refused(format!("request \"{request}\" has {why}, so there is nothing that a flow could repeat"))
        })?;
        let folder =
            self.dir.join(self.config.flows.as_ref().and_then(|all| all.first()).map_or(Path::new("flows"), |f| f));
        let file = |end: &str| folder.join(format!("{name}{end}"));
        let mut files = vec![(file(".ts"), &skeleton.flow), (file(".mock.json"), &skeleton.script)];
        files.extend(skeleton.input.as_ref().map(|input| (file(".input.json"), input)));
        if let Some((there, _)) = files.iter().find(|(file, _)| !replace && file.exists()) {
            return Err(Fault::refused(format!(
                "{} is there already: choose another name, or replace it with --force",
                there.display()
            )));
        }
        std::fs::create_dir_all(&folder)?;
        for (file, text) in &files {
            export_format::put(file, replace, text.as_bytes())?;
        }
        let shown = |file: &PathBuf| file.strip_prefix(&self.dir).unwrap_or(Path::new("")).display().to_string();
        Ok(MadeRunnable {
            flow: name.to_owned(),
            files: files.iter().map(|(file, _)| shown(file)).collect(),
            model_calls: skeleton.model_calls as u64,
            tools: skeleton.tools,
            differences: skeleton.differences,
        })
    }

    /// An event without the values that the workspace's settings keep secret.
    fn hidden(&self, event: Event) -> Result<Event, Fault> {
        let mut fields: Value = serde_json::to_value(&event).map_err(Fault::internal)?;
        let before = fields.clone();
        self.config.redaction().known(&mut fields);
        if fields == before { Ok(event) } else { serde_json::from_value(fields).map_err(Fault::internal) }
    }
}

fn has_calls_for_vectors(events: &[Event]) -> bool {
    events.iter().any(|event| match &event.kind {
        EventKind::EffectStarted { effect: EffectKind::Model, request: Some(request), .. } => {
            request["operation"] == EMBEDDINGS
        }
        _ => false,
    })
}

fn check_name(name: &str) -> Result<(), Fault> {
    let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    let begins = name.bytes().next().is_some_and(|byte| byte.is_ascii_lowercase());
    if begins && name.len() <= MAX_NAME && name.bytes().all(is_plain) {
        return Ok(());
    }
    Err(Fault::invalid(format!(
        "{name:?} cannot be the name of a flow here: at most {MAX_NAME} lower-case letters, digits and hyphens, a \
         letter first"
    )))
}
