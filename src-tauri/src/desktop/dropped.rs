//! Files that are dropped on the window. The page checks each as an import does and asks before anything is written.

use std::path::PathBuf;

use tauri::{AppHandle, DragDropEvent, WindowEvent};

use super::{DesktopEvent, tell};

/// Tells the page of the first file of a drop: one question is asked at a time.
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
    fn the_first_of_several_files_is_told() {
        let paths = ["/a b/one.jsonl", "/two.jsonl"].map(PathBuf::from);
        assert_eq!(first_file(&paths), Some(DesktopEvent::Dropped { file: "/a b/one.jsonl".to_owned() }));
        assert_eq!(first_file(&[]), None);
    }
}
