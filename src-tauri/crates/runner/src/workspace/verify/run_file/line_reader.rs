//! Reads a file line by line: no more of it is in memory than one line.

use std::io::BufRead;

/// The number of a line, from 1, and what is wrong there.
pub(super) type Wrong = (usize, String);

/// The lines of a file, and the hash of what was read.
pub(super) struct LineReader<R> {
    input: R,
    line: Vec<u8>,
    number: usize,
    read: u64,
    most: u64,
    hash: blake3::Hasher,
}

impl<R: BufRead> LineReader<R> {
    /// A file that grows while it is read is read up to `most` bytes.
    pub(super) fn new(input: R, most: u64) -> Self {
        LineReader { input, line: Vec::new(), number: 0, read: 0, most, hash: blake3::Hasher::new() }
    }

    /// The next line with its number, without its end.
    pub(super) fn next(&mut self) -> Result<Option<(usize, &str)>, Wrong> {
        self.line.clear();
        self.number += 1;
        let number = self.number;
        let bytes = self.input.read_until(b'\n', &mut self.line);
        let bytes = bytes.map_err(|error| (number, format!("it cannot be read: {error}")))? as u64;
        if bytes == 0 {
            return Ok(None);
        }
        self.read += bytes;
        if self.read > self.most {
            return Err((number, format!("the file has more than {} bytes", self.most)));
        }
        self.hash.update(&self.line);
        let text = std::str::from_utf8(&self.line).map_err(|_| (number, "it is no text in UTF-8".to_owned()))?;
        let text = text.strip_suffix('\n').map_or(text, |text| text.strip_suffix('\r').unwrap_or(text));
        // An editor may have put a mark of the encoding there.
        let text = if number == 1 { text.strip_prefix('\u{feff}').unwrap_or(text) } else { text };
        Ok(Some((number, text)))
    }

    /// The hash of what was read so far.
    pub(super) fn hash(&self) -> blake3::Hash {
        self.hash.finalize()
    }
}
