//! Reads a file line by line: no more of it is in memory than one line.

use std::io::BufRead;

/// The number of a line, from 1, and what is wrong there.
pub(super) type Wrong = (usize, String);

/// What is wrong with a line.
#[derive(Debug)]
pub(super) struct LineFault {
    /// The line, if it is an earlier one than the line that was read.
    pub(super) line: Option<usize>,
    pub(super) what: String,
}

impl LineFault {
    /// What is wrong with an earlier line.
    pub(super) fn at(line: usize, what: String) -> LineFault {
        LineFault { line: Some(line), what }
    }
}

impl From<String> for LineFault {
    fn from(what: String) -> LineFault {
        LineFault { line: None, what }
    }
}

/// How many bytes are held for the next line, at most.
const HELD: usize = 64 << 10;

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

    /// Returns the next line with its number, without its end. Reading the next line drops a long one.
    pub(super) fn next(&mut self) -> Result<Option<(usize, &str)>, Wrong> {
        self.line.clear();
        self.line.shrink_to(HELD);
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

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;

    #[test]
    fn a_long_line_is_not_held_while_others_are_read() {
        for longest in [1 << 20, 1 << 21] {
            let text = format!("{}\nshort\n\nend", "x".repeat(longest));
            let mut reader = LineReader::new(text.as_bytes(), u64::MAX);
            assert_eq!(reader.next().unwrap().unwrap().1.len(), longest);
            let mut read = Vec::new();
            while let Some((number, line)) = reader.next().unwrap() {
                read.push((number, line.to_owned()));
                assert!(reader.line.capacity() <= HELD, "{} bytes after line {number}", reader.line.capacity());
            }
            assert_eq!(read, [(2, "short".to_owned()), (3, String::new()), (4, "end".to_owned())]);
        }
    }
}
