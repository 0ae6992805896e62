//! Adopting an arm: its model, prompt and parameters are written into the author's file, as an edit that is shown
//! first.

use script::{Code, OptionValue};
use serde_json::Value;

use super::axes::Arm;
use super::place::Place;
use super::variant::no_definition;
use crate::core::difference::difference;
use crate::core::fault::Fault;
use crate::views::{Adopted, LeftOut};
use crate::workspace::Workspace;

impl Workspace {
    /// The edit of the file that makes an arm what the flow does. It is written if `write` says so; refused if the file
    /// has changed meanwhile in a way that leaves no such definition.
    pub fn adopt(&self, experiment: &str, arm: &str, write: bool) -> Result<Adopted, Fault> {
        self.check_trusted()?;
        let stored = self.stored_experiment(experiment)?;
        let query = super::StoredBody::of(&stored)?.query;
        let arms = query.arms()?;
        let number = arm.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
        let Some(Arm { model, prompts, options, set, output, code: revision }) = number.and_then(|at| arms.get(at))
        else {
            let count = arms.len();
            if arm == "base" {
                return Err(Fault::invalid(format!("base is what the source has already; adopt one of 1 to {count}")));
            }
            return Err(Fault::not_found(format!(
                "experiment \"{experiment}\" has no arm \"{arm}\": it has 1 to {count}"
            )));
        };
        if model.is_none() && prompts.is_empty() && options.is_empty() {
            return Err(Fault::invalid(match (set.is_empty() && output.is_none(), revision) {
                (_, Some(revision)) => format!("arm {arm} runs revision {revision}: check it out with Git"),
                (false, _) => format!("arm {arm} changes state or output, not source code; nothing to write"),
                (true, _) => format!("arm {arm} changes nothing"),
            }));
        }
        let (row, events) = self.whole_log_of(&query.request)?;
        let generator = Place::find(&query.request, &events, &query.at)?.generator(&events)?;
        let loaded_flow = self.with_catalogue(|catalogue| catalogue.find(&row.flow))?;
        let mut code = Code::of(&loaded_flow.bundle, &self.dir);
        // Each with its name as an axis of the experiment.
        let mut edits: Vec<(&str, Vec<&str>, OptionValue)> = Vec::new();
        let of_model = model.as_ref().map(|model| OptionValue::Json(Value::from(model.as_str())));
        edits.extend(of_model.map(|model| ("model", vec!["model"], model)));
        edits.extend(prompts.iter().map(|prompt| {
            let field = prompt.field.name();
            (field, vec![field], OptionValue::Text(prompt.text.clone()))
        }));
        for (name, value) in options {
            let path = match name.as_str() {
                "maxTokens" | "maxOutputTokens" => vec!["maxTokens"],
                name => vec!["providerOptions", name],
            };
            edits.push((name, path, OptionValue::Json(value.clone())));
        }
        let mut values = Vec::new();
        let mut left_out: Vec<LeftOut> = Vec::new();
        let mut leave_out =
            |name: &str, why: &str| left_out.push(LeftOut { name: name.to_owned(), why: why.to_owned() });
        let (mut file, mut before) = (String::new(), String::new());
        for (name, path, value) in &edits {
            let edited = code
                .with_option(&generator, path, value)
                .map_err(|reason| no_definition(&generator, path.first().unwrap_or(&"prompt"), reason))?;
            let Some(source) = code.sources.iter_mut().find(|source| source.file == edited.file) else {
                leave_out(name, &format!("it is in {}, which is not one of the flow's own files", edited.file));
                continue;
            };
            if file.is_empty() {
                (file, before) = (edited.file.clone(), source.text.clone());
            }
            if edited.file != file {
                leave_out(name, &format!("it is in {}, and one file is written", edited.file));
                continue;
            }
            source.text = edited.text;
            values.push((*name).to_owned());
        }
        for (place, _) in set {
            leave_out(place, "a value in state is not in the source");
        }
        if output.is_some() {
            leave_out("output", "what the block gives is not in the source");
        }
        if let Some(revision) = revision {
            leave_out("code", &format!("the arm ran revision {revision}: check it out with Git"));
        }
        let after = code.sources.iter().find(|source| source.file == file).map(|source| source.text.clone());
        let after = after.unwrap_or_default();
        // A link is followed, and stays one.
        let path = std::fs::canonicalize(self.dir.join(&file))
            .map_err(|error| Fault::refused(format!("{file} cannot be read: {error}")))?;
        let on_disk = std::fs::read_to_string(&path)
            .map_err(|error| Fault::refused(format!("{file} cannot be read: {error}")))?;
        if on_disk != before {
            return Err(Fault::refused(format!(
                "{file} was changed and does not load as it is now: mend it first, so that nothing is lost"
            )));
        }
        if before == after {
            let (difference, is_written) = (String::new(), false);
            return Ok(Adopted { difference, file, before, after, values, left_out, is_written });
        }
        if write {
            let folder = path.parent().unwrap_or(&self.dir);
            let mut new = tempfile::NamedTempFile::new_in(folder)?;
            std::io::Write::write_all(&mut new, after.as_bytes())?;
            let permissions = std::fs::metadata(&path)?.permissions();
            new.as_file().set_permissions(permissions)?;
            new.persist(&path).map_err(|error| Fault::internal(error.error))?;
        }
        let difference = difference(&before, &after);
        Ok(Adopted { difference, file, before, after, values, left_out, is_written: write })
    }
}
