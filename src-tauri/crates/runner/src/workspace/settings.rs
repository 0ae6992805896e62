//! The settings of the folder: what `flowglass.json` says, what is in force, and another text in its place.
//!
//! The file is the person's: a text is written only after it was shown, and only while the file is what was read.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Instant;

use engine::effects::ModelCall;
use serde_json::json;

use super::Workspace;
use super::settings_file::{check_editable, checked};
use crate::catalogue::trust;
use crate::core::config::{Config, Durability, FILE};
use crate::core::difference::difference;
use crate::core::fault::Fault;
use crate::core::guarded_file::{self, Replaced};
use crate::models::{self, Models};
use crate::views::{
    BackupRow, DataSetting, EnvSetting, LimitSetting, ModelSetting, ModelTest, SettingsPlan, SettingsView,
};

/// The longest name of a model that is tested.
const MAX_MODEL_CHARS: usize = 200;
/// How many tokens a test call may answer with. Some providers refuse fewer.
const TEST_TOKENS: u32 = 16;

impl Workspace {
    /// The folder's settings.
    pub fn settings(&self) -> Result<SettingsView, Fault> {
        let text = Config::text(&self.dir)?;
        let stamp = text.as_ref().map(|text| guarded_file::stamp_of(text.as_bytes()));
        let parsed = text.as_deref().map_or_else(|| Ok(Config::default()), checked);
        let problem = parsed.as_ref().err().map(Fault::to_string);
        // What cannot be read is shown with what is in force.
        let config = parsed.unwrap_or_else(|_| self.config.clone());
        let durability = match config.durability.unwrap_or(Durability::Process) {
            Durability::Process | Durability::Scratch => "process",
            Durability::Power => "power",
            Durability::Each => "each",
        };
        Ok(SettingsView {
            file: self.dir.join(FILE).display().to_string(),
            is_in_force: problem.is_none() && stamp == self.config.stamp,
            text: text.unwrap_or_default(),
            stamp,
            problem,
            models: self.model_settings(&config)?,
            limits: limits(&config),
            env: env(&config),
            durability: durability.to_owned(),
            data: self.data_setting(),
            sends_keys: self.trust,
        })
    }

    /// What another text in `flowglass.json` would change of it, if it is one. Writes nothing. Refused if the
    /// file is not valid.
    pub fn plan_settings(&self, text: &str) -> Result<SettingsPlan, Fault> {
        let before = Config::text(&self.dir)?;
        check_editable(before.as_deref())?;
        checked(text)?;
        let stamp = before.as_ref().map(|text| guarded_file::stamp_of(text.as_bytes()));
        Ok(SettingsPlan { difference: difference(before.as_deref().unwrap_or_default(), text), stamp })
    }

    /// Puts another text into `flowglass.json`, if it is one, and if the file is still what was read: `stamp` names
    /// that. It comes into force when the folder is opened again. Refused if the file is not valid.
    pub fn write_settings(&self, text: &str, stamp: Option<&str>) -> Result<SettingsView, Fault> {
        self.check_trusted()?;
        // Whatever file takes the place of this one afterwards has another stamp.
        check_editable(Config::text(&self.dir)?.as_deref())?;
        let config = checked(text)?;
        match guarded_file::replace(&self.dir.join(FILE), stamp, text.as_bytes())? {
            Replaced::Done => {}
            Replaced::Changed => {
                return Err(Fault::refused(format!(
                    "{FILE} was changed by something else since it was read, and stays as it is; look at it again"
                )));
            }
        }
        // The person saw which hosts these are: the answer for the folder goes on to hold.
        if config.hosts() != self.config.hosts() && trust::is_trusted(&self.dir, &self.config.hosts()) {
            trust::keep(&self.dir, &config.hosts())?;
        }
        self.settings()
    }

    /// Whether keys may go to addresses that the file names.
    pub fn sends_keys(&self) -> bool {
        self.trust
    }

    /// Whether the file is another one than the folder was opened with.
    pub fn are_settings_changed(&self) -> bool {
        let text = Config::text(&self.dir).ok().flatten();
        text.map(|text| guarded_file::stamp_of(text.as_bytes())) != self.config.stamp
    }

    /// Asks a model for a word, with the settings that are in force. Only a person's click does this: it may cost.
    pub fn test_model(&self, model: &str) -> Result<ModelTest, Fault> {
        self.check_trusted()?;
        if model.is_empty() || model.chars().count() > MAX_MODEL_CHARS {
            return Err(Fault::invalid(format!("a model's name has 1 to {MAX_MODEL_CHARS} characters")));
        }
        let call: ModelCall = serde_json::from_value(json!({
            "generator": "", "model": model, "step": 0, "maxTokens": TEST_TOKENS,
            "messages": [{ "role": "user", "content": "Answer with the word OK." }],
        }))
        .map_err(Fault::internal)?;
        let models = Models::new(self.config.models.clone(), self.trust, self.config.limits);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let began = Instant::now();
        let answer = runtime.block_on(models.answer(call, None));
        let ms = began.elapsed().as_millis() as u64;
        Ok(match answer {
            Ok(reply) => ModelTest { ms, model: reply.model, text: reply.text, error: None },
            Err(error) => ModelTest { ms, model: None, text: None, error: Some(error.message) },
        })
    }

    /// Deletes a copy of the database that was made before its format changed.
    pub fn delete_backup(&self, name: &str) -> Result<(), Fault> {
        self.check_writable()?;
        // Only what is in the list, so that no other file can be named.
        if !self.backups().iter().any(|backup| backup.name == name) {
            return Err(Fault::not_found(format!("there is no copy \"{name}\" beside the database")));
        }
        let folder = self.data.path().parent().unwrap_or(&self.dir);
        std::fs::remove_file(folder.join(name))
            .map_err(|error| Fault::internal(format!("{name} cannot be deleted: {error}")))
    }

    /// Deletes what is kept of bundled flows and of questions about runs: it is made again when it is missing, by every
    /// process that looks for it.
    pub fn clear_cache(&self) -> Result<(), Fault> {
        let folder = self.cache();
        // What a link leads to is no cache of ours.
        let is_link = |path: &Path| std::fs::symlink_metadata(path).is_ok_and(|found| found.is_symlink());
        if is_link(&folder) || folder.parent().is_some_and(is_link) {
            return Err(Fault::refused(format!("{} is a link, so nothing in it is deleted", folder.display())));
        }
        let entries = match std::fs::read_dir(&folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(Fault::internal(format!("{} cannot be read: {error}", folder.display()))),
        };
        for entry in entries.flatten() {
            let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
            let path = entry.path();
            let removed = if is_folder { std::fs::remove_dir_all(&path) } else { std::fs::remove_file(&path) };
            match removed {
                // Another process was quicker, or writes there at this instant: what it writes is used again.
                Err(error)
                    if !matches!(
                        error.kind(),
                        std::io::ErrorKind::NotFound | std::io::ErrorKind::DirectoryNotEmpty
                    ) =>
                {
                    return Err(Fault::internal(format!("{} cannot be deleted: {error}", path.display())));
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn model_settings(&self, config: &Config) -> Result<Vec<ModelSetting>, Fault> {
        let called: BTreeSet<String> =
            self.store.models().map_err(Fault::internal)?.into_iter().map(|model| model.asked).collect();
        let names: BTreeSet<&String> = config.models.keys().chain(&called).collect();
        let settings = names.into_iter().filter(|name| !name.is_empty()).map(|name| {
            let who = models::who_answers(name, &config.models);
            ModelSetting {
                name: name.clone(),
                is_configured: config.models.contains_key(name),
                is_called: called.contains(name),
                provider: who.provider,
                has_key: who.has_key,
                variable: who.variable,
                problem: who.problem,
                price: config.token_prices(name, "").map(|price| price.map(|token| token * 1e6 / store::TRILLIONTHS)),
            }
        });
        Ok(settings.collect())
    }

    /// What the database takes on its disk, its write-ahead log included. A server `told` its size itself.
    pub(super) fn bytes_on_disk(&self, told: impl FnOnce() -> u64) -> u64 {
        let Some(file) = self.data.file() else { return told() };
        let size = |file: &Path| std::fs::metadata(file).map_or(0, |file| file.len());
        let mut log = file.as_os_str().to_owned();
        log.push("-wal");
        size(file) + size(log.as_ref())
    }

    fn data_setting(&self) -> DataSetting {
        DataSetting {
            file: self.data.to_string(),
            bytes: self.bytes_on_disk(|| self.store.stats().map_or(0, |stats| stats.bytes)),
            cache_bytes: bytes_in(&self.cache(), 0),
            backups: self.backups(),
        }
    }

    /// `flowglass.db.format-5` and the like, beside the database.
    fn backups(&self) -> Vec<BackupRow> {
        let Some(name) =
            self.data.file().and_then(Path::file_name).map(|name| format!("{}.format-", name.to_string_lossy()))
        else {
            return Vec::new();
        };
        let folder = self.data.path().parent().unwrap_or(&self.dir);
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        let mut found: Vec<BackupRow> = entries
            .filter_map(|entry| {
                let own = entry.file_name().into_string().ok()?;
                let number = own.strip_prefix(&name)?;
                let is_one = !number.is_empty() && number.chars().all(|digit| digit.is_ascii_digit());
                let file = entry.metadata().ok().filter(|file| is_one && file.is_file())?;
                Some(BackupRow { bytes: file.len(), name: own })
            })
            .collect();
        found.sort_by(|one, other| one.name.cmp(&other.name));
        found
    }
}

/// The bytes of the files in a folder, without those behind links.
fn bytes_in(folder: &Path, depth: u32) -> u64 {
    /// Deeper than any cache is.
    const DEEPEST: u32 = 16;
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let sizes = entries.map(|entry| match entry.metadata() {
        Ok(file) if file.is_dir() && depth < DEEPEST => bytes_in(&entry.path(), depth + 1),
        Ok(file) if file.is_file() => file.len(),
        _ => 0,
    });
    sizes.sum()
}

fn limits(config: &Config) -> Vec<LimitSetting> {
    let (limits, script) = (config.limits, config.script_limits());
    let usual = Config::default().limits;
    let row = |name: &str, value: u64, is_default: bool| LimitSetting { name: name.to_owned(), value, is_default };
    let sizes = [
        ("replyBytes", limits.reply_bytes, usual.reply_bytes),
        ("lineBytes", limits.line_bytes, usual.line_bytes),
        ("errorBytes", limits.error_bytes, usual.error_bytes),
        ("depth", limits.depth, usual.depth),
    ];
    let mut rows = vec![
        row("memoryMb", (script.memory_bytes >> 20) as u64, limits.memory_mb.is_none()),
        row("yieldMs", script.yield_ms, limits.yield_ms.is_none()),
        row("importBytes", limits.import_bytes, limits.import_bytes == usual.import_bytes),
    ];
    rows.extend(sizes.map(|(name, value, usual)| row(name, value as u64, value == usual)));
    rows
}

fn env(config: &Config) -> Vec<EnvSetting> {
    let rows = config.env.iter().map(|(name, value)| EnvSetting {
        name: name.clone(),
        variable: value.variable().map(str::to_owned),
        is_missing: value.missing_variable().is_some(),
    });
    rows.collect()
}
