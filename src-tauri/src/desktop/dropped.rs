//! Files that are dropped on the window. The page checks each as an import does and asks before anything is written.

use std::path::PathBuf;

use tauri::{AppHandle, DragDropEvent, WindowEvent};

use super::{DesktopEvent, tell};

/// Notifies the page of the first file of a drop only, because it asks one question at a time.
pub(crate) fn hear(app: &AppHandle, event: &WindowEvent) {
    if let WindowEvent::DragDrop(DragDropEvent::Drop { paths, .. }) = event
        && let Some(event) = first_file(paths)
    {
        tell(app, event);
    }
}

fn first_file(paths: &[PathBuf]) -> Option<DesktopEvent> {
    paths.first().map(|path| DesktopEvent::Dropped { file: path.display().to_string() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_first_dropped_file_is_reported() {
        let paths = ["/a b/one.jsonl", "/two.jsonl"].map(PathBuf::from);
        assert_eq!(first_file(&paths), Some(DesktopEvent::Dropped { file: "/a b/one.jsonl".to_owned() }));
        assert_eq!(first_file(&[]), None);
    }
}
