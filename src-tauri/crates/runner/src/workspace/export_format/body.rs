//! The lines of a compressed file, up to a limit.
//!
//! They are decompressed twice: first only to count them, so that a decompression bomb takes no memory, and then to
//! read them one by one.

use std::io::{BufRead, BufReader, Read};

use crate::core::config::{FILE, Limits};

/// The minimum memory of a line that is read.
const LINE_COST: u64 = 256;

/// Why a body cannot be read.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Unreadable {
    /// It is damaged.
    Damaged(String),
    /// It exceeds a limit.
    TooLarge(String),
}

impl From<std::io::Error> for Unreadable {
    fn from(error: std::io::Error) -> Self {
        Unreadable::Damaged(error.to_string())
    }
}

/// Counts the lines of a body, and fails as soon as it is too large.
pub(super) fn count(body: &[u8], limits: &Limits) -> Result<u64, Unreadable> {
    let most = limits.import_bytes;
    let mut decoder = zstd::Decoder::new(body)?;
    let mut buffer = vec![0; 64 << 10];
    let (mut lines, mut cost, mut begun) = (0, 0_u64, 0_u64);
    loop {
        let read = decoder.read(&mut buffer)?;
        for byte in &buffer[..read] {
            begun += 1;
            if *byte == b'\n' {
                cost += begun.max(LINE_COST);
                (lines, begun) = (lines + 1, 0);
            }
        }
        if cost + begun > most {
            return Err(Unreadable::TooLarge(format!(
                "it holds more than {most} bytes when it is unpacked, of which a line counts as {LINE_COST} at least: \
                 limits.importBytes in {FILE} says how much may come in"
            )));
        }
        if read == 0 {
            return Ok(lines + u64::from(begun > 0));
        }
    }
}

/// The lines of a body that was counted.
pub(super) fn lines(body: &[u8]) -> Result<impl Iterator<Item = Result<String, Unreadable>>, Unreadable> {
    let lines = BufReader::new(zstd::Decoder::new(body)?).lines();
    Ok(lines.map(|line| line.map_err(Unreadable::from)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packed(text: &str) -> Vec<u8> {
        zstd::encode_all(text.as_bytes(), 9).expect("it packs")
    }

    #[test]
    fn a_body_is_counted_before_it_is_read() {
        let limits = |import_bytes| Limits { import_bytes, ..Limits::default() };
        let text = format!("{}\n{}\nend", "a".repeat(1_000), "b".repeat(10));
        assert_eq!(count(&packed(&text), &limits(1_001 + 256 + 3)), Ok(3));
        let shown = count(&packed(&text), &limits(1_001 + 256 + 2));
        assert!(matches!(shown, Err(Unreadable::TooLarge(text)) if text.contains("limits.importBytes")));
        assert!(matches!(count(b"no body", &limits(9)), Err(Unreadable::Damaged(_))));
        let read: Result<Vec<_>, _> = lines(&packed(&text)).expect("it begins").collect();
        assert_eq!(read.expect("it reads").join("\n"), text);
    }
}
