//! A library that a process loads first (`LD_PRELOAD`), and that ends it as a power failure does.
//!
//! What a process writes to a database file is kept by the kernel when the process is killed, so a kill does not show
//! what was never synced. This library stands between SQLite and the kernel: it remembers what was written to each
//! database file since its last `fsync`. Before the write or sync with the number `POWER_CUT_AFTER` it takes all of that
//! back, lets a chance that `POWER_CUT_SEED` begins decide what of it had reached the disk all the same (nothing, the
//! oldest writes, or any of them, the last one torn at a sector), and kills the process. A child does this: the process
//! must not run on, and read what is there, while its files go back.
//!
//! It knows the writes of one process, so no other one may write the database meanwhile. Shared memory (`-shm`) is not
//! restored: SQLite makes it anew when it is the first to open a database.

use std::collections::HashMap;
use std::ffi::{c_int, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, OnceLock};

/// What a disk writes as a whole, in bytes.
const SECTOR: usize = 512;

/// A change of a file that was not synced.
struct Change {
    kind: Kind,
    /// The file's length before.
    old_len: i64,
    /// The bytes that were overwritten or cut off, from `at` on.
    at: i64,
    old: Vec<u8>,
}

enum Kind {
    /// These bytes were written at `at`.
    Write(Vec<u8>),
    /// The file has this length now.
    Truncate(i64),
}

/// A database file: one descriptor of it, and its changes since the last sync in their order.
struct File {
    descriptor: c_int,
    unsynced: Vec<Change>,
}

#[derive(Default)]
struct Disk {
    /// By device and inode.
    files: HashMap<(u64, u64), File>,
    /// How many writes and syncs there were.
    count: u64,
}

fn disk() -> MutexGuard<'static, Disk> {
    static DISK: OnceLock<Mutex<Disk>> = OnceLock::new();
    DISK.get_or_init(Mutex::default).lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

fn setting(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

/// The device and inode of a descriptor, if it is of a database or its write-ahead log.
fn database(descriptor: c_int) -> Option<(u64, u64)> {
    static IS_ON: OnceLock<bool> = OnceLock::new();
    if descriptor < 3 || !*IS_ON.get_or_init(|| setting("POWER_CUT_AFTER").is_some()) {
        return None;
    }
    // SAFETY: `fstat` fills the structure, or fails.
    let about = unsafe {
        let mut about: libc::stat = std::mem::zeroed();
        (libc::fstat(descriptor, &mut about) == 0).then_some(about)?
    };
    if about.st_mode & libc::S_IFMT != libc::S_IFREG {
        return None;
    }
    let name = std::fs::read_link(format!("/proc/self/fd/{descriptor}")).ok()?;
    let is_database = |name: &Path| {
        name.as_os_str().as_bytes().ends_with(b".db") || name.as_os_str().as_bytes().ends_with(b".db-wal")
    };
    is_database(&name).then_some((about.st_dev, about.st_ino))
}

fn length(descriptor: c_int) -> i64 {
    // SAFETY: `fstat` fills the structure, or fails.
    unsafe {
        let mut about: libc::stat = std::mem::zeroed();
        if libc::fstat(descriptor, &mut about) == 0 { about.st_size } else { 0 }
    }
}

fn read(descriptor: c_int, at: i64, count: usize) -> Vec<u8> {
    let mut bytes = vec![0; count];
    // SAFETY: the buffer has room for `count` bytes.
    let read = unsafe { libc::pread64(descriptor, bytes.as_mut_ptr().cast(), count, at) };
    bytes.truncate(usize::try_from(read).unwrap_or(0));
    bytes
}

fn put(descriptor: c_int, at: i64, bytes: &[u8]) {
    // SAFETY: the buffer has these bytes. The system call, because the function of this name is ours.
    unsafe { libc::syscall(libc::SYS_pwrite64, descriptor, bytes.as_ptr(), bytes.len(), at) };
}

fn cut_to(descriptor: c_int, len: i64) {
    // SAFETY: no memory is touched.
    unsafe { libc::syscall(libc::SYS_ftruncate, descriptor, len) };
}

impl Disk {
    /// Counts a write or sync, and ends the process if it is the last one.
    fn count(&mut self) {
        self.count += 1;
        if setting("POWER_CUT_AFTER").is_some_and(|after| self.count >= after) {
            self.cut_power();
        }
    }

    fn note(&mut self, id: (u64, u64), descriptor: c_int, kind: Kind, at: i64) {
        let old_len = length(descriptor);
        let old = match &kind {
            Kind::Write(bytes) => read(descriptor, at, bytes.len()),
            Kind::Truncate(len) => read(descriptor, *len, usize::try_from(old_len - len).unwrap_or(0)),
        };
        // The newest descriptor, because older ones may be closed.
        let file = self.files.entry(id).or_insert_with(|| File { descriptor, unsynced: Vec::new() });
        file.descriptor = descriptor;
        file.unsynced.push(Change { kind, old_len, at, old });
    }

    fn cut_power(&mut self) -> ! {
        let mut seed = setting("POWER_CUT_SEED").unwrap_or(1);
        let mut below = |end: usize| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) as usize % end.max(1)
        };
        // SAFETY: the child touches only what this thread holds, and calls the kernel.
        unsafe {
            let parent = libc::getpid();
            if libc::fork() != 0 {
                loop {
                    libc::pause();
                }
            }
            libc::kill(parent, libc::SIGKILL);
            while libc::getppid() == parent {
                libc::usleep(100);
            }
        }
        for file in self.files.values() {
            for change in file.unsynced.iter().rev() {
                put(file.descriptor, change.at, &change.old);
                cut_to(file.descriptor, change.old_len);
            }
            let count = file.unsynced.len();
            let (mode, oldest) = (below(3), below(count + 1));
            let mut survivors: Vec<usize> = match mode {
                0 => Vec::new(),
                1 => (0..oldest).collect(),
                _ => (0..count).filter(|_| below(2) == 0).collect(),
            };
            let torn = if below(2) == 0 { survivors.pop() } else { None };
            for at in survivors {
                apply(file.descriptor, &file.unsynced[at], usize::MAX);
            }
            if let Some(at) = torn {
                apply(file.descriptor, &file.unsynced[at], below(16) * SECTOR);
            }
        }
        // SAFETY: the child has nothing to clean up. Whoever reads the process's output waits for this.
        unsafe { libc::_exit(0) }
    }
}

/// Does a change again, a write up to `most` bytes.
fn apply(descriptor: c_int, change: &Change, most: usize) {
    match &change.kind {
        Kind::Write(bytes) => put(descriptor, change.at, &bytes[..bytes.len().min(most)]),
        Kind::Truncate(len) => cut_to(descriptor, *len),
    }
}

/// # Safety
/// As `write(2)`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn write(descriptor: c_int, bytes: *const c_void, count: usize) -> isize {
    let known = database(descriptor);
    let mut disk = known.map(|_| disk());
    if let (Some(id), Some(disk)) = (known, &mut disk) {
        disk.count();
        // SAFETY: the caller's buffer has `count` bytes.
        let new = unsafe { std::slice::from_raw_parts(bytes.cast::<u8>(), count) }.to_vec();
        // SAFETY: no memory is touched.
        let at = unsafe { libc::lseek64(descriptor, 0, libc::SEEK_CUR) };
        disk.note(id, descriptor, Kind::Write(new), at);
    }
    // SAFETY: as the caller's call.
    unsafe { libc::syscall(libc::SYS_write, descriptor, bytes, count) as isize }
}

/// # Safety
/// As `pwrite(2)`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pwrite64(descriptor: c_int, bytes: *const c_void, count: usize, at: i64) -> isize {
    let known = database(descriptor);
    let mut disk = known.map(|_| disk());
    if let (Some(id), Some(disk)) = (known, &mut disk) {
        disk.count();
        // SAFETY: the caller's buffer has `count` bytes.
        let new = unsafe { std::slice::from_raw_parts(bytes.cast::<u8>(), count) }.to_vec();
        disk.note(id, descriptor, Kind::Write(new), at);
    }
    // SAFETY: as the caller's call.
    unsafe { libc::syscall(libc::SYS_pwrite64, descriptor, bytes, count, at) as isize }
}

/// # Safety
/// As `ftruncate(2)`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ftruncate64(descriptor: c_int, len: i64) -> c_int {
    let known = database(descriptor);
    let mut disk = known.map(|_| disk());
    if let (Some(id), Some(disk)) = (known, &mut disk) {
        disk.count();
        disk.note(id, descriptor, Kind::Truncate(len), len);
    }
    // SAFETY: as the caller's call.
    unsafe { libc::syscall(libc::SYS_ftruncate, descriptor, len) as c_int }
}

/// # Safety
/// As `fsync(2)`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fsync(descriptor: c_int) -> c_int {
    if let Some(id) = database(descriptor) {
        let mut disk = disk();
        disk.count();
        // Nothing is asked of the real disk: the process goes, the machine stays.
        if let Some(file) = disk.files.get_mut(&id) {
            file.unsynced.clear();
        }
        return 0;
    }
    // SAFETY: no memory is touched.
    unsafe { libc::syscall(libc::SYS_fsync, descriptor) as c_int }
}

/// # Safety
/// As `fdatasync(2)`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fdatasync(descriptor: c_int) -> c_int {
    // SAFETY: no memory is touched.
    unsafe { fsync(descriptor) }
}
