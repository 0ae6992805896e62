//! The settings page of the window: the settings of the folder, and those of the person.

use runner::{Fault, ModelTest, OwnSettings, OwnSettingsView, SettingsPlan, SettingsView};
use serde::Deserialize;
use serde_json::Value;
use tauri::State;

use super::off_the_main_thread;
use crate::window::WindowState;

/// Returns the folder's settings: its `flowglass.json`, and the effective values.
#[tauri::command]
#[specta::specta]
pub(super) async fn settings(state: State<'_, WindowState>) -> Result<SettingsView, Fault> {
    off_the_main_thread(state, |workspace| workspace.settings()).await
}

/// Returns what a new text of `flowglass.json` would change. Writes nothing.
#[tauri::command]
#[specta::specta]
pub(super) async fn plan_settings(state: State<'_, WindowState>, text: String) -> Result<SettingsPlan, Fault> {
    off_the_main_thread(state, move |workspace| workspace.plan_settings(&text)).await
}

/// Writes a new text to `flowglass.json`, if the file still has this stamp; null means that there is no file.
#[tauri::command]
#[specta::specta]
pub(super) async fn write_settings(
    state: State<'_, WindowState>,
    text: String,
    stamp: Option<String>,
) -> Result<SettingsView, Fault> {
    off_the_main_thread(state, move |workspace| workspace.write_settings(&text, stamp.as_deref())).await
}

/// Asks a model for one word, which may cost money.
#[tauri::command]
#[specta::specta]
pub(super) async fn test_model(state: State<'_, WindowState>, model: String) -> Result<ModelTest, Fault> {
    off_the_main_thread(state, move |workspace| workspace.test_model(&model)).await
}

/// Deletes a copy of the database that was made before its format changed.
#[tauri::command]
#[specta::specta]
pub(super) async fn delete_backup(state: State<'_, WindowState>, name: String) -> Result<(), Fault> {
    off_the_main_thread(state, move |workspace| workspace.delete_backup(&name)).await
}

/// Deletes the cache, which is rebuilt when needed.
#[tauri::command]
#[specta::specta]
pub(super) async fn clear_cache(state: State<'_, WindowState>) -> Result<(), Fault> {
    off_the_main_thread(state, |workspace| workspace.clear_cache()).await
}

/// Returns a person's settings for all folders.
#[tauri::command]
#[specta::specta]
pub(super) async fn own_settings() -> Result<OwnSettingsView, Fault> {
    super::blocking(|| Ok(OwnSettings::read().into())).await
}

/// A field of a person's settings, and its new value; null removes it.
#[derive(Debug, Deserialize, specta::Type)]
pub(super) struct OwnChange {
    field: String,
    #[specta(type = specta_typescript::Unknown)]
    #[serde(deserialize_with = "engine::json::exact")]
    value: Value,
}

/// Changes fields of a person's settings for all folders; other fields stay unchanged.
#[tauri::command]
#[specta::specta]
pub(super) async fn change_own_settings(changes: Vec<OwnChange>) -> Result<OwnSettingsView, Fault> {
    let changes = changes.into_iter().map(|change| (change.field, change.value)).collect();
    super::blocking(move || OwnSettings::change(changes).map(OwnSettingsView::from)).await
}
