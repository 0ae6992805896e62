//! Watches the workspace's files: tells that something changed, and does nothing else.

use std::path::{Path, PathBuf};
use std::time::Duration;

use notify::{Config, RecommendedWatcher, RecursiveMode};
use notify_debouncer_full::{DebounceEventResult, Debouncer, RecommendedCache, new_debouncer_opt};

use crate::core::fault::Fault;

/// How long a burst of writes may last before it is told once.
const QUIET: Duration = Duration::from_millis(60);

/// Ends the watch when dropped.
pub(crate) struct Watch(
    #[expect(dead_code, reason = "held for its drop")] Debouncer<RecommendedWatcher, RecommendedCache>,
);

/// Watches folders; `changed` hears of files that flows are made of.
pub(crate) fn watch(folders: &[PathBuf], changed: impl Fn() + Send + 'static) -> Result<Watch, Fault> {
    let heard = move |result: DebounceEventResult| {
        let Ok(events) = result else { return };
        let counts =
            events.iter().any(|event| !event.kind.is_access() && event.paths.iter().any(|path| is_source(path)));
        if counts {
            changed();
        }
    };
    // A link may lead to the root of the disk.
    let config = Config::default().with_follow_symlinks(false);
    let cache = RecommendedCache::new();
    let mut debouncer =
        new_debouncer_opt::<_, RecommendedWatcher, _>(QUIET, None, heard, cache, config).map_err(Fault::internal)?;
    for folder in folders {
        debouncer.watch(folder, RecursiveMode::Recursive).map_err(Fault::internal)?;
    }
    Ok(Watch(debouncer))
}

/// Our own data and other people's packages are not sources.
fn is_source(path: &Path) -> bool {
    let hidden = path.components().any(|part| {
        let name = part.as_os_str().to_string_lossy();
        name == "node_modules" || name == ".flowglass" || name == ".git"
    });
    let kind = path.extension().map(|extension| extension.to_string_lossy().into_owned());
    !hidden && kind.is_some_and(|kind| ["ts", "js", "mjs", "json"].contains(&kind.as_str()))
}
