//! Files that the program exported, opened and made again as anybody can who knows their format.

use std::path::Path;

/// What the files of this format begin with.
const NAME: &str = "flowglass export 3";

/// A file as text: its two lines of head, then its lines of JSON.
#[track_caller]
pub fn opened(file: &Path) -> String {
    let bytes = std::fs::read(file).expect("it is there");
    let head = bytes.split(|byte| *byte == b'\n').take(2).map(|line| line.len() + 1).sum::<usize>();
    let text = zstd::decode_all(&bytes[head..]).expect("it is a zstd frame");
    String::from_utf8([&bytes[..head], &text].concat()).expect("it is text")
}

/// A file with these lines of JSON.
pub fn packed(lines: &str) -> Vec<u8> {
    let body = zstd::encode_all(lines.as_bytes(), 1).expect("it can be compressed");
    [format!("{NAME}\n{}\n", blake3::hash(&body).to_hex()).into_bytes(), body].concat()
}
