//! Files that a folder brings along: they are read only where they are ordinary ones, and no further than they may be
//! long. A pipe or a device would never end, and whoever made the folder decides what lies in it.

use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::path::Path;

/// The longest file of settings.
pub(crate) const SETTINGS_BYTES: u64 = 4 << 20;
/// The longest of any other file that is read whole.
pub(crate) const FILE_BYTES: u64 = 256 << 20;

/// The bytes of an ordinary file of at most so many.
pub(crate) fn read(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    read_to(open(path, u64::MAX)?, most)
}

/// An ordinary file that has at most so many bytes now.
pub(crate) fn open(path: &Path, most: u64) -> io::Result<File> {
    let about = std::fs::metadata(path)?;
    if !about.is_file() {
        return Err(io::Error::new(ErrorKind::InvalidInput, "it is not a regular file"));
    }
    if about.len() > most {
        return Err(too_large(most));
    }
    File::open(path)
}

fn too_large(most: u64) -> io::Error {
    io::Error::new(ErrorKind::FileTooLarge, format!("it has more than {most} bytes"))
}

/// Returns the text of a file that an argument names. Fails if it is no ordinary file, such as a pipe, or is too long.
pub fn read_given(path: &Path) -> io::Result<String> {
    read_text(path, FILE_BYTES)
}

/// The text of an ordinary file of at most so many bytes.
pub(crate) fn read_text(path: &Path, most: u64) -> io::Result<String> {
    String::from_utf8(read(path, most)?).map_err(|_| io::Error::new(ErrorKind::InvalidData, "it is no text in UTF-8"))
}

/// What a file, or anything else that somebody named, gives, where that is at most so many bytes.
pub(crate) fn read_to(file: File, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.take(most + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        return Err(too_large(most));
    }
    Ok(bytes)
}

/// A message about such a file, which may quote it, as long as anybody reads.
pub(crate) fn short(message: &str) -> String {
    const LONGEST: usize = 400;
    match message.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &message[..end]),
        None => message.to_owned(),
    }
}
