//! Flow files that are part of the program: the examples, and a first flow for a folder that has none.
//!
//! They are in the executable, so that they do not depend on its place. Must never replace a file.

use std::fs::{self, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::path::Path;

/// The files of `flows/`, by their paths there.
const EXAMPLES: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/examples.rs"));

/// The name of the first flow's file.
pub(crate) const FIRST_FLOW: &str = "hello.ts";

const FIRST_FLOW_TEXT: &str = include_str!("samples/hello.ts");

/// Writes missing examples. Returns whether all examples are unchanged.
pub(crate) fn write_examples(dir: &Path) -> io::Result<bool> {
    let mut is_ours = true;
    for (name, text) in EXAMPLES {
        let file = dir.join(name);
        if let Some(folder) = file.parent() {
            fs::create_dir_all(folder)?;
        }
        match write_new(&file, text) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                is_ours &= fs::read(&file).is_ok_and(|known| known == text.as_bytes());
            }
            written => written?,
        }
    }
    Ok(is_ours)
}

/// Writes a flow that runs without a model into a folder.
pub(crate) fn write_first_flow(dir: &Path) -> io::Result<()> {
    write_new(&dir.join(FIRST_FLOW), FIRST_FLOW_TEXT)
}

fn write_new(file: &Path, text: &str) -> io::Result<()> {
    OpenOptions::new().write(true).create_new(true).open(file)?.write_all(text.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn examples_are_written_once_and_never_replaced() {
        let dir = tempfile::tempdir().expect("a temporary folder can be made");
        assert!(write_examples(dir.path()).expect("the folder is writable"), "all are new");
        let chat = dir.path().join("chat.ts");
        assert!(fs::read_to_string(&chat).is_ok_and(|text| text.contains("defineFlow")));
        assert!(dir.path().join("types/core.d.ts").exists() && dir.path().join("chat.mock.json").exists());
        assert!(write_examples(dir.path()).expect("the folder is writable"), "all are as they were");
        fs::write(&chat, "mine").expect("the file is writable");
        fs::remove_file(dir.path().join("team.ts")).expect("it is there");
        assert!(!write_examples(dir.path()).expect("the folder is writable"), "one was changed");
        assert_eq!(fs::read_to_string(&chat).ok().as_deref(), Some("mine"));
        assert!(dir.path().join("team.ts").exists(), "what is missing comes back");
    }

    #[test]
    fn a_first_flow_replaces_nothing() {
        let dir = tempfile::tempdir().expect("a temporary folder can be made");
        write_first_flow(dir.path()).expect("the folder is writable");
        let again = write_first_flow(dir.path()).expect_err("it is there");
        assert_eq!(again.kind(), ErrorKind::AlreadyExists);
    }
}
