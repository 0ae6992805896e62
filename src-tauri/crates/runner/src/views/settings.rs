//! What the window shows of settings: of a folder, and of a person.

use serde::Serialize;

use super::Json;

/// The settings of a folder: its `flowglass.json`, and what is in force.
#[derive(Clone, Debug, Serialize, specta::Type)]
#[serde(rename_all = "camelCase")]
pub struct SettingsView {
    /// The file's full path.
    pub file: String,
    /// The content of the file; empty if there is no file.
    pub text: String,
    /// What names this content; absent where there is no file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stamp: Option<String>,
    /// Whether the folder is open with these settings. It is opened again for others to come into force.
    pub is_in_force: bool,
    /// What is wrong with the file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    /// Models that settings name, or that were called.
    pub models: Vec<ModelSetting>,
    /// What is in force, also where the file does not say.
    pub limits: Vec<LimitSetting>,
    /// What flows see as their environment.
    pub env: Vec<EnvSetting>,
    /// What a commit survives: `process`, `power` or `each`.
    pub durability: String,
    /// Where runs are kept.
    pub data: DataSetting,
    /// Whether keys may go to addresses that the file names.
    pub sends_keys: bool,
}

/// What another text of the file would change.
#[derive(Clone, Debug, Serialize, specta::Type)]
pub struct SettingsPlan {
    /// The lines that differ, with those around them.
    pub difference: String,
    /// What names the content that it is compared with; absent where there is no file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stamp: Option<String>,
}

/// A model, and who answers it.
#[derive(Clone, Debug, Serialize, specta::Type)]
#[serde(rename_all = "camelCase")]
pub struct ModelSetting {
    /// The name that flows use.
    pub name: String,
    /// Whether the file names it.
    pub is_configured: bool,
    /// Whether a recorded run called it.
    pub is_called: bool,
    /// Who answers it, if that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    /// The variable of the environment that has its key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub variable: Option<String>,
    /// Whether the environment has that variable.
    pub has_key: bool,
    /// Why a call of it would fail.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    /// US dollars for a million tokens: told, told from the provider's cache, and said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub price: Option<[f64; 3]>,
}

/// A limit, and whether the file sets it.
#[derive(Clone, Debug, Serialize, specta::Type)]
#[serde(rename_all = "camelCase")]
pub struct LimitSetting {
    /// Its name in `limits`.
    pub name: String,
    /// What is in force.
    pub value: u64,
    /// Whether the file says nothing of it.
    pub is_default: bool,
}

/// A variable that flows see.
#[derive(Clone, Debug, Serialize, specta::Type)]
#[serde(rename_all = "camelCase")]
pub struct EnvSetting {
    /// Its name.
    pub name: String,
    /// The variable of this program that has its value; absent where the file has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub variable: Option<String>,
    /// Whether that variable is not there.
    pub is_missing: bool,
}

/// Where the runs of a folder are kept, and how much room that takes.
#[derive(Clone, Debug, Serialize, specta::Type)]
#[serde(rename_all = "camelCase")]
pub struct DataSetting {
    /// The database.
    pub file: String,
    /// Its bytes, with its write-ahead log.
    pub bytes: u64,
    /// The bytes of bundled flows, which are made again when they are missing.
    pub cache_bytes: u64,
    /// Copies of the database that were made before its format changed.
    pub backups: Vec<BackupRow>,
}

/// A copy of the database in an older format.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, specta::Type)]
pub struct BackupRow {
    /// Its name, in the folder of the database.
    pub name: String,
    /// Its bytes.
    pub bytes: u64,
}

/// What came of a test call of a model.
#[derive(Clone, Debug, Serialize, specta::Type)]
#[serde(rename_all = "camelCase")]
pub struct ModelTest {
    /// How long it took.
    pub ms: u64,
    /// The model that answered, in the provider's words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// What it answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Why it did not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// What a person chose for all folders.
#[derive(Clone, Debug, Serialize, specta::Type)]
#[serde(rename_all = "camelCase")]
pub struct OwnSettingsView {
    /// The file that they are kept in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// What is in it.
    pub settings: Json,
    /// Why it cannot be read. Nothing is written then.
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
