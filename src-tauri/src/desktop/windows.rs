//! Which windows are open, so that the next start opens again what a quit or a crash closed. A window is a process of
//! its own, so each has a file, which its process holds locked. A file that no process holds is of a window that was
//! left; a person who closes a window takes its file away.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};

/// No more windows are opened at once.
const MOST: usize = 12;
/// The ends of the names of files: of a window, of one that is being made, and of the wish that a window closes.
const OF_WINDOW: &str = "json";
const BEING_MADE: &str = "new";
const TO_CLOSE: &str = "close";

/// What is kept of a window.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct WindowRecord {
    /// The folder that is open, and its database; empty where none is.
    pub(crate) dir: String,
    pub(crate) data: String,
    /// What of it is shown, as the page's address; empty where that is not known yet.
    pub(crate) address: String,
    /// Whether a person started its program, and not another window.
    pub(crate) is_first: bool,
    pub(crate) frame: Option<Frame>,
}

/// Where it is, in pixels of the desktop.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Frame {
    pub(crate) x: i32,
    pub(crate) y: i32,
    pub(crate) width: u32,
    pub(crate) height: u32,
    pub(crate) is_maximized: bool,
}

/// See the module.
#[derive(Debug)]
pub(crate) struct OpenWindows {
    folder: PathBuf,
    id: String,
    own: Mutex<(File, WindowRecord)>,
    /// Set once all windows are closed together: their files stay.
    is_quitting: AtomicBool,
}

impl OpenWindows {
    /// The windows as the process of a window knows them: of a new one, or of the one that an id names.
    pub(crate) fn begin(folder: &Path, id: Option<&str>) -> io::Result<OpenWindows> {
        fs::create_dir_all(folder)?;
        let (id, file, record) = match id {
            Some(id) => {
                let file = open(&path_of(folder, id, OF_WINDOW)?)?;
                file.try_lock().map_err(|_| io::Error::new(ErrorKind::ResourceBusy, "the window is open already"))?;
                let record = read(&file).unwrap_or_default();
                (id.to_owned(), file, record)
            }
            None => {
                let record = WindowRecord { is_first: true, ..WindowRecord::default() };
                let (id, file) = make(folder, &record)?;
                (id, file, record)
            }
        };
        let own = Mutex::new((file, record));
        let windows = OpenWindows { folder: folder.to_owned(), id, own, is_quitting: AtomicBool::new(false) };
        // Left by a process that had the same number.
        windows.is_told_to_close();
        windows.is_quitting.store(false, Ordering::Relaxed);
        Ok(windows)
    }

    /// What is kept of this window.
    pub(crate) fn record(&self) -> WindowRecord {
        self.own().1.clone()
    }

    fn own(&self) -> MutexGuard<'_, (File, WindowRecord)> {
        self.own.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps something else of this window.
    pub(crate) fn keep(&self, change: impl FnOnce(&mut WindowRecord)) -> io::Result<()> {
        let mut own = self.own();
        let (file, record) = &mut *own;
        let before = record.clone();
        change(record);
        if *record == before { Ok(()) } else { write(file, record) }
    }

    /// Makes room for a window that another process will be; answers its id.
    pub(crate) fn reserve(&self, record: &WindowRecord) -> io::Result<String> {
        make(&self.folder, record).map(|(id, _)| id)
    }

    /// What a start opens again of the windows that were left, by their ids. A first window that showed the folder
    /// which is open now is this one, so it is taken away and not opened again; where no folder is open, the page opens
    /// the newest one, and that is so of any first window.
    pub(crate) fn take_left(
        &self,
        data: Option<&str>,
    ) -> io::Result<(Option<WindowRecord>, Vec<(String, WindowRecord)>)> {
        let mut names: Vec<PathBuf> =
            fs::read_dir(&self.folder)?.filter_map(|entry| Some(entry.ok()?.path())).collect();
        names.sort();
        let (mut own, mut others) = (None, Vec::new());
        for path in names {
            let id = path.file_stem().and_then(|id| id.to_str()).unwrap_or_default().to_owned();
            if id == self.id || path.extension().is_none_or(|end| end != OF_WINDOW) {
                continue;
            }
            let Ok(file) = open(&path) else { continue };
            if file.try_lock().is_err() {
                continue;
            }
            match read(&file).filter(|record| Path::new(&record.dir).is_dir()) {
                Some(record) if record.is_first && own.is_none() && data.is_none_or(|data| data == record.data) => {
                    own = Some(record);
                    fs::remove_file(&path)?;
                }
                Some(record) if others.len() < MOST => others.push((id, record)),
                // Its folder is gone, or nothing was kept of it yet.
                _ => fs::remove_file(&path)?,
            }
        }
        Ok((own, others))
    }

    /// A person closes this window: it is not opened again.
    pub(crate) fn close(&self) -> io::Result<()> {
        if self.is_quitting.load(Ordering::Relaxed) {
            return Ok(());
        }
        match fs::remove_file(self.path(OF_WINDOW)) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    /// All windows are to be closed, and opened again by the next start.
    pub(crate) fn quit(&self) -> io::Result<()> {
        self.is_quitting.store(true, Ordering::Relaxed);
        for entry in fs::read_dir(&self.folder)? {
            let path = entry?.path();
            let is_other = path.extension().is_some_and(|end| end == OF_WINDOW) && path != self.path(OF_WINDOW);
            if is_other && open(&path).is_ok_and(|file| file.try_lock().is_err()) {
                fs::write(path.with_extension(TO_CLOSE), "")?;
            }
        }
        Ok(())
    }

    /// Whether another window said that all are to be closed.
    pub(crate) fn is_told_to_close(&self) -> bool {
        let is_told = fs::remove_file(self.path(TO_CLOSE)).is_ok();
        if is_told {
            self.is_quitting.store(true, Ordering::Relaxed);
        }
        is_told
    }

    fn path(&self, end: &str) -> PathBuf {
        self.folder.join(format!("{}.{end}", self.id))
    }
}

/// Starts the program of another window; a thread waits for its end.
pub(crate) fn start(record: &WindowRecord, id: Option<&str>, flags: &[String], is_trusted: bool) -> io::Result<()> {
    let mut command = Command::new(std::env::current_exe()?);
    command.arg("open").arg(&record.dir).arg(format!("--data={}", record.data)).args(flags);
    if let Some(id) = id {
        command.arg(format!("--window={id}"));
    }
    if is_trusted {
        command.arg("--trust");
    }
    let mut window = command.stdin(Stdio::null()).spawn()?;
    // Somebody has to wait for it, or it stays as a dead process until this one ends.
    std::thread::Builder::new().name("window".to_owned()).spawn(move || window.wait())?;
    Ok(())
}

/// A file of a folder. An id comes from a command line.
fn path_of(folder: &Path, id: &str, end: &str) -> io::Result<PathBuf> {
    let is_id = !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
    if is_id {
        Ok(folder.join(format!("{id}.{end}")))
    } else {
        Err(io::Error::new(ErrorKind::InvalidInput, "no id of a window"))
    }
}

fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).write(true).open(path)
}

/// Makes the file of a window, locked before others see it.
fn make(folder: &Path, record: &WindowRecord) -> io::Result<(String, File)> {
    for n in 0_u32.. {
        let id = format!("{}-{n}", std::process::id());
        let made = path_of(folder, &id, BEING_MADE)?;
        if path_of(folder, &id, OF_WINDOW)?.exists() {
            continue;
        }
        let mut file = match OpenOptions::new().create_new(true).read(true).write(true).open(&made) {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                fs::remove_file(&made)?;
                continue;
            }
            Err(error) => return Err(error),
        };
        file.try_lock().map_err(|_| io::Error::from(ErrorKind::ResourceBusy))?;
        write(&mut file, record)?;
        fs::rename(&made, path_of(folder, &id, OF_WINDOW)?)?;
        return Ok((id, file));
    }
    Err(io::Error::from(ErrorKind::AlreadyExists))
}

/// A process that is killed meanwhile leaves the end of what was there before, which reading ignores.
fn write(file: &mut File, record: &WindowRecord) -> io::Result<()> {
    let text = serde_json::to_vec(record)?;
    file.seek(SeekFrom::Start(0))?;
    file.write_all(&text)?;
    file.set_len(text.len() as u64)
}

fn read(mut file: &File) -> Option<WindowRecord> {
    let mut text = Vec::new();
    file.seek(SeekFrom::Start(0)).ok()?;
    file.read_to_end(&mut text).ok()?;
    serde_json::Deserializer::from_slice(&text).into_iter().next()?.ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(dir: &Path, data: &str, address: &str) -> WindowRecord {
        let frame = Some(Frame { x: 10, y: 20, width: 1100, height: 700, is_maximized: false });
        let dir = dir.display().to_string();
        WindowRecord { dir, data: data.to_owned(), address: address.to_owned(), is_first: false, frame }
    }

    #[test]
    fn what_was_left_is_opened_again_and_what_was_closed_is_not() {
        let home = tempfile::tempdir().expect("a temporary folder can be made");
        let folder = home.path().join("windows");
        let first = OpenWindows::begin(&folder, None).expect("the folder is writable");
        first
            .keep(|own| *own = WindowRecord { is_first: true, ..of(home.path(), "a.db", "#request=r1") })
            .expect("kept");
        let begin = |address: &str| {
            let id = first.reserve(&of(home.path(), "a.db", "")).expect("there is room");
            let window = OpenWindows::begin(&folder, Some(&id)).expect("it is there");
            window.keep(|own| own.address = address.to_owned()).expect("kept");
            (id, window)
        };
        let (second, third) = (begin("#request=r2"), begin("#request=r3&pane=inspector"));
        assert!(OpenWindows::begin(&folder, Some(&second.0)).is_err(), "it is open");
        third.1.close().expect("it is there");
        // Those that are open are nothing to be opened again.
        let other = OpenWindows::begin(&folder, None).expect("the folder is writable");
        assert_eq!(other.take_left(Some("a.db")).expect("it is read"), (None, Vec::new()));
        other.close().expect("it is there");
        let kept = first.record();
        drop((first, second.1, third.1, other));
        let again = OpenWindows::begin(&folder, None).expect("the folder is writable");
        let (own, others) = again.take_left(Some("a.db")).expect("it is read");
        assert_eq!(own, Some(kept), "it is this one");
        assert_eq!(others, [(second.0, of(home.path(), "a.db", "#request=r2"))]);
    }

    #[test]
    fn a_first_window_of_another_folder_is_opened_again_as_well() {
        let home = tempfile::tempdir().expect("a temporary folder can be made");
        let first = OpenWindows::begin(home.path(), None).expect("the folder is writable");
        first.keep(|own| *own = WindowRecord { is_first: true, ..of(home.path(), "a.db", "#") }).expect("kept");
        drop(first);
        let again = OpenWindows::begin(home.path(), None).expect("the folder is writable");
        let (own, others) = again.take_left(Some("b.db")).expect("it is read");
        assert_eq!((own, others.len()), (None, 1));
        // Where no folder is open, the page opens the newest one.
        assert!(again.take_left(None).expect("it is read").0.is_some());
        assert_eq!(again.take_left(None).expect("it is read"), (None, Vec::new()));
    }

    #[test]
    fn a_window_whose_folder_is_gone_is_forgotten() {
        let home = tempfile::tempdir().expect("a temporary folder can be made");
        let windows = OpenWindows::begin(home.path(), None).expect("the folder is writable");
        drop(windows.reserve(&of(&home.path().join("gone"), "a.db", "#")).expect("there is room"));
        fs::write(home.path().join("7-7.json"), "{\"dir\":").expect("the folder is writable");
        assert_eq!(windows.take_left(None).expect("it is read"), (None, Vec::new()));
        assert_eq!(fs::read_dir(home.path()).expect("it is there").count(), 1);
    }

    #[test]
    fn to_quit_tells_every_window_and_keeps_all() {
        let home = tempfile::tempdir().expect("a temporary folder can be made");
        let first = OpenWindows::begin(home.path(), None).expect("the folder is writable");
        let second = OpenWindows::begin(home.path(), None).expect("the folder is writable");
        second.keep(|own| *own = of(home.path(), "a.db", "#")).expect("kept");
        assert!(!second.is_told_to_close());
        first.quit().expect("all are told");
        assert!(second.is_told_to_close() && !second.is_told_to_close());
        for window in [&first, &second] {
            window.close().expect("it stays");
        }
        drop((first, second));
        let again = OpenWindows::begin(home.path(), None).expect("the folder is writable");
        assert_eq!(again.take_left(Some("b.db")).expect("it is read").1.len(), 1);
    }

    #[test]
    fn what_is_written_over_a_longer_record_is_read() {
        let mut file = tempfile::tempfile().expect("a temporary file can be made");
        write(&mut file, &of(Path::new("/a/long/folder"), "a.db", "#request=r1")).expect("written");
        let short = of(Path::new("/a"), "a.db", "#");
        file.seek(SeekFrom::Start(0)).expect("it is a file");
        file.write_all(&serde_json::to_vec(&short).expect("JSON")).expect("written");
        assert_eq!(read(&file), Some(short));
        assert!(path_of(Path::new("/a"), "../b", OF_WINDOW).is_err());
    }
}
