//! Watches the workspace's files: tells that something changed, and does nothing else.
//!
//! What is installed or hidden is not watched: each watched folder takes one of the system's watches, and
//! `node_modules` has more folders than there are. Folders that are built stay, because a flow may import them.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use notify::{Config, EventKind, RecommendedWatcher, RecursiveMode};
use notify_debouncer_full::{DebounceEventResult, DebouncedEvent, Debouncer, RecommendedCache, new_debouncer_opt};

use crate::core::fault::Fault;
use crate::core::own_writes::OwnWrites;
use crate::core::sync::lock;

/// How long a burst of writes may last before it is told once.
const QUIET: Duration = Duration::from_millis(60);
/// How many folders are watched at the most. A change in others is seen when flows are asked for.
const MAX_FOLDERS: usize = 20_000;
/// What flows are made of: code, and what they import as text; and the runs that were kept of them.
const SOURCES: [&str; 21] = [
    "ts", "tsx", "mts", "cts", "js", "jsx", "mjs", "cjs", "json", "md", "mdx", "txt", "prompt", "yaml", "yml", "html",
    "xml", "csv", "sql", "hbs", "run",
];

/// The watch of a workspace's files, if it is wanted.
#[derive(Default)]
pub(crate) struct Watching {
    /// Files written by this process. Changes to them are not reported.
    pub(crate) own: Arc<OwnWrites>,
    watch: Mutex<Option<Watch>>,
}

impl Watching {
    /// Begins to watch a folder. Calls `changed` when a source file changes, except for writes of this process.
    pub(crate) fn begin(&self, root: &Path, changed: impl Fn() + Send + 'static) -> Result<(), Fault> {
        *lock(&self.watch) = Some(watch(root, self.own.clone(), changed)?);
        Ok(())
    }
}

/// Ends the watch when dropped.
struct Watch(#[cfg_attr(not(test), expect(dead_code, reason = "held for its drop"))] Shared);

type Shared = Arc<Mutex<Watched>>;

/// What watches, and which folders.
#[derive(Default)]
struct Watched {
    debouncer: Option<Debouncer<RecommendedWatcher, RecommendedCache>>,
    folders: BTreeSet<PathBuf>,
}

/// Watches a folder. Calls `changed` when a source file changes, except for writes of this process.
fn watch(root: &Path, own: Arc<OwnWrites>, changed: impl Fn() + Send + 'static) -> Result<Watch, Fault> {
    let watched = Shared::default();
    let itself = Arc::downgrade(&watched);
    let base = root.to_owned();
    let heard = move |result: DebounceEventResult| {
        // The system's queue overflowed, or the watch failed: any file may have changed.
        let events = match result {
            Ok(events) if !events.iter().any(|event| event.need_rescan()) => events,
            _ => {
                follow_again(&itself, &base);
                return changed();
            }
        };
        // Files inside a new folder produce no events of their own, so a new folder counts as a change.
        let has_folder = follow_new(&itself, &base, &events);
        let is_news = |path: &PathBuf| is_source(&base, path) && !own.is_own(path);
        let is_source = |event: &DebouncedEvent| event.paths.iter().any(is_news);
        if has_folder || events.iter().any(|event| !event.kind.is_access() && is_source(event)) {
            changed();
        }
    };
    // A link may lead to the root of the disk.
    let config = Config::default().with_follow_symlinks(false);
    let cache = RecommendedCache::new();
    let debouncer =
        new_debouncer_opt::<_, RecommendedWatcher, _>(QUIET, None, heard, cache, config).map_err(Fault::internal)?;
    let mut all = lock(&watched);
    all.debouncer = Some(debouncer);
    // The folder itself must be watched; of those in it, as many as the system allows.
    all.follow(root).map_err(Fault::internal)?;
    drop(all);
    Ok(Watch(watched))
}

/// Watches folders that came. Returns whether there was one.
fn follow_new(watched: &Weak<Mutex<Watched>>, root: &Path, events: &[DebouncedEvent]) -> bool {
    let came = |event: &&DebouncedEvent| matches!(event.kind, EventKind::Create(_) | EventKind::Modify(_));
    let folders: Vec<&PathBuf> = events
        .iter()
        .filter(came)
        .flat_map(|event| &event.paths)
        .filter(|path| !is_left_out(root, path) && path.symlink_metadata().is_ok_and(|about| about.is_dir()))
        .collect();
    let Some(watched) = watched.upgrade().filter(|_| !folders.is_empty()) else { return false };
    let mut watched = lock(&watched);
    for folder in folders {
        // One that is gone again, or that the system allows no watch for, is seen when flows are asked for.
        let _ = watched.follow(folder);
    }
    true
}

/// Watches the folders that there are now: those that came while events were lost, and not those that are gone.
fn follow_again(watched: &Weak<Mutex<Watched>>, root: &Path) {
    let Some(watched) = watched.upgrade() else { return };
    let mut watched = lock(&watched);
    watched.folders.retain(|folder| folder.is_dir());
    // A root that is gone is told when flows are asked for.
    let _ = watched.follow(root);
}

impl Watched {
    /// Watches a folder and those in it. Fails if it cannot be watched itself.
    fn follow(&mut self, folder: &Path) -> notify::Result<()> {
        let Some(debouncer) = &mut self.debouncer else { return Ok(()) };
        if self.folders.len() >= MAX_FOLDERS {
            self.folders.retain(|folder| folder.is_dir());
        }
        if self.folders.len() >= MAX_FOLDERS && !self.folders.contains(folder) {
            return Ok(());
        }
        // One that was watched may have been replaced.
        debouncer.watch(folder, RecursiveMode::NonRecursive)?;
        self.folders.insert(folder.to_owned());
        let inner = std::fs::read_dir(folder).into_iter().flatten().flatten();
        let inner = inner.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
        for entry in inner.filter(|entry| !is_skipped(&entry.file_name().to_string_lossy())) {
            if let Err(error) = self.follow(&entry.path()) {
                tracing::warn!(folder = %entry.path().display(), %error, "changes in a folder are not seen at once");
            }
        }
        Ok(())
    }
}

/// Our own data and other people's packages are not sources.
fn is_skipped(name: &str) -> bool {
    name.starts_with('.') || name == "node_modules"
}

fn is_left_out(root: &Path, path: &Path) -> bool {
    let inside = path.strip_prefix(root).unwrap_or(path);
    inside.components().any(|part| is_skipped(&part.as_os_str().to_string_lossy()))
}

fn is_source(root: &Path, path: &Path) -> bool {
    let kind = path.extension().map(|extension| extension.to_string_lossy().into_owned());
    !is_left_out(root, path) && kind.is_some_and(|kind| SOURCES.contains(&kind.as_str()))
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test")]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;

    /// Waits for news of what `act` does; nothing where none comes.
    #[track_caller]
    fn heard(of: &std::sync::mpsc::Receiver<()>, act: impl FnOnce()) -> bool {
        while of.recv_timeout(Duration::from_millis(300)).is_ok() {}
        act();
        of.recv_timeout(Duration::from_secs(5)).is_ok()
    }

    #[test]
    fn folders_that_come_later_are_watched_and_packages_are_not() {
        let folder = tempfile::tempdir().unwrap();
        let dir = std::fs::canonicalize(folder.path()).unwrap();
        std::fs::create_dir_all(dir.join("node_modules/a")).unwrap();
        std::fs::create_dir_all(dir.join("src/flows/chat")).unwrap();
        let (sender, news) = channel();
        let own = Arc::new(OwnWrites::default());
        let watch = watch(&dir, own.clone(), move || _ = sender.send(())).unwrap();
        let write = |name: &str| std::fs::write(dir.join(name), "x").unwrap();
        assert!(heard(&news, || write("src/flows/chat/flow.ts")));
        assert!(heard(&news, || write("src/flows/chat/prompt.md")));
        let made = || {
            std::fs::create_dir_all(dir.join("packages/new/src")).unwrap();
            write("packages/new/src/flow.ts");
        };
        assert!(heard(&news, made));
        assert!(heard(&news, || write("packages/new/src/flow.ts")));
        assert_eq!(lock(&watch.0).folders.len(), 7, "the root, src, flows, chat, packages, new, src");
        assert!(!heard(&news, || write("node_modules/a/index.ts")));
        // What this process writes is no news, and what another writes there is.
        own.note(&dir.join("src/report.xml"), b"x");
        assert!(!heard(&news, || write("src/report.xml")));
        assert!(heard(&news, || std::fs::write(dir.join("src/report.xml"), "y").unwrap()));
    }
}
