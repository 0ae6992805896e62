//! The settings of a folder and of a person, for the window.

use serde::Serialize;

use super::Json;

/// The settings of a folder: its `flowglass.json`, and the effective values.
#[derive(Clone, Debug, Serialize, specta::Type)]
#[serde(rename_all = "camelCase")]
pub struct SettingsView {
    /// The file's full path.
    pub file: String,
    /// The content of the file; empty if there is no file.
    pub text: String,
    /// The stamp of this content; absent if there is no file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stamp: Option<String>,
    /// Whether the folder is open with these settings. New settings take effect when it is opened again.
    pub is_in_force: bool,
    /// Why the file is invalid.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    /// Models that settings name, or that were called.
    pub models: Vec<ModelSetting>,
    /// The effective limits, also those that the file does not set.
    pub limits: Vec<LimitSetting>,
    /// The environment of flows.
    pub env: Vec<EnvSetting>,
    /// The failures that a commit survives: `process`, `power` or `each`.
    pub durability: String,
    /// Where runs are stored.
    pub data: DataSetting,
    /// Whether keys may go to addresses that the file names.
    pub sends_keys: bool,
}

/// The changes that a new text of the file would make.
#[derive(Clone, Debug, Serialize, specta::Type)]
pub struct SettingsPlan {
    /// The lines that differ, with lines around them.
    pub difference: String,
    /// The stamp of the content that it is compared with; absent if there is no file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stamp: Option<String>,
}

/// A model and its provider.
#[derive(Clone, Debug, Serialize, specta::Type)]
#[serde(rename_all = "camelCase")]
pub struct ModelSetting {
    /// The name that flows use.
    pub name: String,
    /// Whether the file names it.
    pub is_configured: bool,
    /// Whether a recorded run called it.
    pub is_called: bool,
    /// Its provider, if that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    /// The environment variable of its API key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub variable: Option<String>,
    /// Whether that variable is set.
    pub has_key: bool,
    /// Why a call of it would fail.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    /// US dollars for a million tokens: input, cached input, and output.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub price: Option<[f64; 3]>,
}

/// A limit, and whether the file sets it.
#[derive(Clone, Debug, Serialize, specta::Type)]
#[serde(rename_all = "camelCase")]
pub struct LimitSetting {
    /// Its name in `limits`.
    pub name: String,
    /// The effective value.
    pub value: u64,
    /// Whether the file does not set it.
    pub is_default: bool,
}

/// A variable that flows see.
#[derive(Clone, Debug, Serialize, specta::Type)]
#[serde(rename_all = "camelCase")]
pub struct EnvSetting {
    /// Its name.
    pub name: String,
    /// This program's environment variable with its value; absent if the value is in the file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub variable: Option<String>,
    /// Whether that variable is not set.
    pub is_missing: bool,
}

/// Where the runs of a folder are stored, and the size of the files.
#[derive(Clone, Debug, Serialize, specta::Type)]
#[serde(rename_all = "camelCase")]
pub struct DataSetting {
    /// The database.
    pub file: String,
    /// Its size, including its write-ahead log.
    pub bytes: u64,
    /// The size of the cache of bundled flows, which is rebuilt when needed.
    pub cache_bytes: u64,
    /// Copies of the database that were made before its format changed.
    pub backups: Vec<BackupRow>,
}

/// A copy of the database in an older format.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, specta::Type)]
pub struct BackupRow {
    /// Its name, in the folder of the database.
    pub name: String,
    /// Its size.
    pub bytes: u64,
}

/// The result of a test call of a model.
#[derive(Clone, Debug, Serialize, specta::Type)]
#[serde(rename_all = "camelCase")]
pub struct ModelTest {
    /// How long it took.
    pub ms: u64,
    /// The provider's name of the model that answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Why it did not answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// A person's settings for all folders.
#[derive(Clone, Debug, Serialize, specta::Type)]
#[serde(rename_all = "camelCase")]
pub struct OwnSettingsView {
    /// The file of these settings.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// Its content.
    pub settings: Json,
    /// Why it cannot be read. In this case, it is not written either.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

impl From<crate::core::own_settings::OwnSettings> for OwnSettingsView {
    fn from(own: crate::core::own_settings::OwnSettings) -> Self {
        OwnSettingsView {
            file: own.file.map(|file| file.display().to_string()),
            settings: Json(serde_json::Value::Object(own.settings)),
            problem: own.problem,
        }
    }
}
