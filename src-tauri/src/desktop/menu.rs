//! The native menu. Its entries are the commands of the page's table, which stays the one source of their names and
//! keys: the page sends them when it begins, and later which of them can be done.

use std::collections::{HashMap, HashSet};
use std::sync::Mutex;

use serde::Deserialize;
use tauri::menu::{Menu, MenuBuilder, MenuItem, PredefinedMenuItem, Submenu, SubmenuBuilder};
use tauri::{AppHandle, Manager};

use super::{Desktop, DesktopEvent, restored, tell};
use crate::window::lock;

/// Closes the window, and all windows: the entries that are no commands of the page.
const CLOSE: &str = "window.close";
const QUIT: &str = "window.quit";

/// An entry, as the page names it.
#[derive(Clone, Debug, PartialEq, Deserialize, specta::Type)]
#[serde(rename_all = "camelCase")]
pub(crate) struct MenuEntry {
    /// The command's id, which is sent back when it is chosen.
    id: String,
    /// The title of the menu that it stands in. Menus come in the order of their first entries.
    menu: String,
    /// What it says.
    title: String,
    /// The keys that do the same, such as `Ctrl+k`; none where the page alone hears its keys.
    keys: Option<String>,
    /// Whether there is anything to do it to.
    enabled: bool,
}

/// The entries that are shown, by id.
#[derive(Default)]
pub(crate) struct MenuItems(Mutex<HashMap<String, MenuItem<tauri::Wry>>>);

/// The menu until the page has sent its commands: as high as it will be, so that the page does not move.
pub(crate) fn first(app: &AppHandle) -> tauri::Result<Menu<tauri::Wry>> {
    // F10 steps over a statement; the menu bar would take it before the page hears of it.
    #[cfg(target_os = "linux")]
    if let Some(settings) = gtk::Settings::default() {
        gtk::prelude::ObjectExt::set_property(&settings, "gtk-menu-bar-accel", None::<&str>);
    }
    MenuBuilder::new(app).item(&SubmenuBuilder::new(app, "Go").build()?).build()
}

/// Shows these entries, and no others.
pub(crate) fn show(app: &AppHandle, entries: &[MenuEntry]) -> tauri::Result<()> {
    let mut items = HashMap::new();
    let mut menus: Vec<(&str, Submenu<tauri::Wry>)> = Vec::new();
    for entry in entries {
        let menu = match menus.iter().find(|(title, _)| *title == entry.menu) {
            Some((_, menu)) => menu.clone(),
            None => {
                let menu = SubmenuBuilder::new(app, &entry.menu).build()?;
                menus.push((&entry.menu, menu.clone()));
                menu
            }
        };
        let item = MenuItem::with_id(app, &entry.id, literal(&entry.title), entry.enabled, entry.keys.as_deref())?;
        menu.append(&item)?;
        items.insert(entry.id.clone(), item);
    }
    if let Some((_, first)) = menus.first() {
        first.append(&PredefinedMenuItem::separator(app)?)?;
        first.append(&MenuItem::with_id(app, CLOSE, "Close the window", true, Some("Ctrl+w"))?)?;
        first.append(&MenuItem::with_id(app, QUIT, "Quit", true, Some("Ctrl+q"))?)?;
    }
    let menu = Menu::new(app)?;
    for (_, submenu) in &menus {
        menu.append(submenu)?;
    }
    app.set_menu(menu)?;
    *lock(&app.state::<Desktop>().menu.0) = items;
    Ok(())
}

/// Says which entries can be chosen. The keys of others go on to the page.
pub(crate) fn enable(app: &AppHandle, ids: &HashSet<String>) -> tauri::Result<()> {
    let items: Vec<(bool, MenuItem<tauri::Wry>)> =
        lock(&app.state::<Desktop>().menu.0).iter().map(|(id, item)| (ids.contains(id), item.clone())).collect();
    for (is_enabled, item) in items {
        if item.is_enabled()? != is_enabled {
            item.set_enabled(is_enabled)?;
        }
    }
    Ok(())
}

/// An entry was chosen, with the mouse or with its keys.
pub(crate) fn chosen(app: &AppHandle, id: &str) {
    match id {
        CLOSE => restored::close_windows(app),
        QUIT => restored::quit(app),
        id => tell(app, DesktopEvent::Command { id: id.to_owned() }),
    }
}

/// A text of a menu as it is: there `&` marks the letter that chooses an entry.
fn literal(text: &str) -> String {
    text.replace('&', "&&")
}
