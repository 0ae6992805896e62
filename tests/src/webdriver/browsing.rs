//! A file in a browser: WebKit's own small one, which comes with the library that the window is drawn by.

use std::path::{Path, PathBuf};

use serde_json::json;

use super::Window;

/// Where the browser is, below the folder of an architecture.
const BROWSER: &str = "webkit2gtk-4.1/MiniBrowser";

impl Window {
    /// Opens a file in a browser of its own.
    #[track_caller]
    pub fn browse(file: &Path) -> Window {
        let window = Window::open(&browser(), &["--automation"]);
        let address = format!("file://{}", file.display());
        window.page.send("POST", "/url", json!({ "url": address })).unwrap_or_else(|error| panic!("{error}"));
        window
    }
}

fn browser() -> PathBuf {
    let folders = std::fs::read_dir("/usr/lib").into_iter().flatten().flatten().map(|entry| entry.path().join(BROWSER));
    let found = folders.chain([PathBuf::from("/usr/libexec").join(BROWSER)]).find(|file| file.is_file());
    found.unwrap_or_else(|| panic!("{BROWSER} is missing: it is in Debian's package libwebkit2gtk-4.1-0"))
}
