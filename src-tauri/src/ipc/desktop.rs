//! The window's commands about what lies around the page: the menu, and what is done outside of the page.

use std::collections::HashSet;

use runner::Fault;
use tauri::{AppHandle, State, Theme, WebviewWindow};

use crate::desktop::menu::{self, MenuEntry};
use crate::desktop::{Desktop, DesktopEvent, restored};
use crate::window::WindowState;

fn fault(error: impl std::fmt::Display) -> Fault {
    Fault::Internal { message: format!("the menu cannot be shown: {error}") }
}

/// Tells the page what is chosen in the menu, dropped on the window, or clicked in a notification.
#[tauri::command]
#[specta::specta]
pub(super) async fn desktop_events(
    desktop: State<'_, Desktop>,
    on_event: tauri::ipc::Channel<DesktopEvent>,
) -> Result<(), Fault> {
    desktop.watch(on_event);
    Ok(())
}

/// Makes the text of the window larger or smaller, in percent of the size it was made in.
#[tauri::command]
#[specta::specta]
pub(super) async fn set_zoom(window: WebviewWindow, percent: u32) -> Result<(), Fault> {
    // Sizes at which nothing can be read, or nothing fits, would leave no way back.
    let scale = f64::from(percent.clamp(50, 300)) / 100.0;
    window.set_zoom(scale).map_err(|error| Fault::Internal { message: format!("the size stays as it is: {error}") })
}

/// Colours what the system draws around the page, such as the menu: `light`, `dark`, or as the system has it.
#[tauri::command]
#[specta::specta]
pub(super) async fn set_theme(window: WebviewWindow, theme: String) -> Result<(), Fault> {
    let theme = match theme.as_str() {
        "light" => Some(Theme::Light),
        "dark" => Some(Theme::Dark),
        _ => None,
    };
    window.set_theme(theme).map_err(|error| Fault::Internal { message: format!("the theme stays as it is: {error}") })
}

/// Shows these commands in the menu, and no others.
#[tauri::command]
#[specta::specta]
pub(super) async fn show_menu(app: AppHandle, entries: Vec<MenuEntry>) -> Result<(), Fault> {
    menu::show(&app, &entries).map_err(fault)
}

/// Says which commands of the menu can be done now, by their ids.
#[tauri::command]
#[specta::specta]
pub(super) async fn enable_in_menu(app: AppHandle, ids: Vec<String>) -> Result<(), Fault> {
    menu::enable(&app, &ids.into_iter().collect::<HashSet<_>>()).map_err(fault)
}

/// The flags that say which place a window shows.
const PLACE_FLAGS: [&str; 10] = [
    "--request=",
    "--session=",
    "--flow=",
    "--action=",
    "--at=",
    "--block=",
    "--attempt=",
    "--tab=",
    "--view=",
    "--pane=",
];

/// Opens another window at a place of the folder that is open: a process of its own, which ends with its window.
#[tauri::command]
#[specta::specta]
pub(super) async fn open_window(
    app: AppHandle,
    state: State<'_, WindowState>,
    flags: Vec<String>,
) -> Result<(), Fault> {
    if let Some(wrong) = flags.iter().find(|flag| !PLACE_FLAGS.iter().any(|known| flag.starts_with(known))) {
        return Err(Fault::Invalid { message: format!("\"{wrong}\" names no place of a window"), details: Vec::new() });
    }
    super::off_the_main_thread(state, move |workspace| restored::open_another(&app, &workspace, &flags)).await
}

/// Keeps what the window shows, as the page's address: the next start opens it again if the program is quit or killed.
#[tauri::command]
#[specta::specta]
pub(super) async fn keep_window(app: AppHandle, state: State<'_, WindowState>, address: String) -> Result<(), Fault> {
    let workspace = state.opened();
    super::blocking(move || restored::keep_address(&app, workspace.as_deref(), address)).await
}
