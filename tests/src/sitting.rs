//! What a person does in the window again and again, for the tests that sit in front of it.

use std::path::Path;

use serde_json::Value;

use crate::bench::{Place, program};
use crate::webdriver::{Settings, Window, hook, key};

/// Opens the window on a place.
pub fn open(place: &Place, more: &[&str]) -> Window {
    open_with(Settings::default(), place, more)
}

/// The same with settings.
pub fn open_with(settings: Settings, place: &Place, more: &[&str]) -> Window {
    let (dir, data) = (place.dir().display().to_string(), place.database().display().to_string());
    Window::open_with(settings, &program(), &[&["open", &dir, "--data", &data], more].concat())
}

/// Opens the window as it was left at a home.
pub fn open_at(home: &Path, place: &Place, more: &[&str]) -> Window {
    open_with(Settings { home: Some(home.to_owned()), ..Settings::default() }, place, more)
}

impl Window {
    /// Does a command by its name, as every command can be done.
    #[track_caller]
    pub fn palette(&self, title: &str) {
        self.control('k');
        self.press("[role=dialog] input", title);
        self.wait_for_text("[role=option][aria-selected=true]", title);
        self.press("[role=dialog] input", key::ENTER);
    }

    /// Waits until the request that is open stands so.
    #[track_caller]
    pub fn until_status(&self, status: &str) {
        self.wait_for(&format!("{}[data-status={status}]", hook("request-header")));
    }

    /// Selects a block of the timeline by its path.
    #[track_caller]
    pub fn choose_block(&self, path: &str) {
        self.click(&format!("{}[data-path=\"{path}\"]", hook("timeline-row")));
        self.wait_for_text(&hook("block-path"), path);
    }

    /// Waits until the timeline has these rows, by their paths.
    #[track_caller]
    pub fn until_rows(&self, paths: &[&str]) {
        let rows = hook("timeline-row");
        let script = format!(
            "const found = [...document.querySelectorAll('{}')].map((row) => row.dataset.path);
            return JSON.stringify(found) === {}",
            rows.replace('\'', "\\'"),
            Value::String(serde_json::to_string(paths).unwrap_or_default())
        );
        self.until_script(&script);
    }

    /// Moves the slider to an event.
    #[track_caller]
    pub fn go_to_event(&self, seq: u64) {
        self.script(
            "const at = new URLSearchParams(location.hash.slice(1)); at.set('seq', arguments[0]); location.hash = at",
            &[&seq.to_string()],
        );
        self.until_script(&format!("return new URLSearchParams(location.hash.slice(1)).get('seq') === '{seq}'"));
    }
}

/// The id of the newest request, which is not one of those that are known.
#[track_caller]
pub fn newest(place: &Place, known: &[&str]) -> String {
    let rows = place.get("requests");
    let ids = rows.as_array().expect("a list").iter().filter_map(|row| row["id"].as_str());
    ids.map(str::to_owned).find(|id| !known.contains(&id.as_str())).expect("there is a new one")
}

/// How often a block of a request ran, without what a resume took from the log.
#[track_caller]
pub fn times_run(place: &Place, request: &str, path: &str) -> usize {
    let shown = place.get(&format!("show {request}"));
    let blocks = shown["blocks"].as_array().expect("blocks");
    blocks.iter().filter(|block| block["path"] == path && block["memoized"] != true).count()
}

/// The number of the event that ended a block.
#[track_caller]
pub fn end_of(place: &Place, request: &str, path: &str) -> u64 {
    let shown = place.get(&format!("show {request}"));
    let blocks = shown["blocks"].as_array().expect("blocks");
    let block = blocks.iter().find(|block| block["path"] == path).expect("the block ran");
    block["seqEnd"].as_u64().expect("it ended")
}
