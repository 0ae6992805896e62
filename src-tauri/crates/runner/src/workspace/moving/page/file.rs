//! The file of a page: the window's pages as they were built, with compressed chunks of data inside.
//!
//! A chunk is an element that no browser runs or shows: its text is base64 of what gzip made of JSON, so nothing of a
//! recorded text can end the element. The page unpacks a chunk when it first needs it.

use std::io::Write;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use flate2::Compression;
use flate2::write::GzEncoder;

use crate::core::fault::Fault;

/// Where the built page takes the chunks; it has this once.
const PLACE: &str = "<!--flowglass-data-->";

/// See the module.
#[derive(Default)]
pub(super) struct PageFile {
    chunks: String,
}

impl PageFile {
    /// Adds a chunk of JSON under a name, which is one of ours.
    pub(super) fn add(&mut self, name: &str, json: &str) -> Result<(), Fault> {
        let mut packed = GzEncoder::new(Vec::new(), Compression::best());
        packed.write_all(json.as_bytes())?;
        self.chunks.push_str("<script type=\"application/octet-stream\" id=\"flowglass-");
        self.chunks.push_str(name);
        self.chunks.push_str("\">");
        BASE64_STANDARD.encode_string(packed.finish()?, &mut self.chunks);
        self.chunks.push_str("</script>\n");
        Ok(())
    }

    /// Adds chunks that follow each other, as `NAME-0`, `NAME-1` and so on.
    pub(super) fn add_all(&mut self, name: &str, chunks: &[String]) -> Result<(), Fault> {
        chunks.iter().enumerate().try_for_each(|(at, chunk)| self.add(&format!("{name}-{at}"), chunk))
    }

    /// The whole file.
    pub(super) fn into_html(self, template: &str) -> Result<String, Fault> {
        match template.split_once(PLACE) {
            Some((before, after)) if !after.contains(PLACE) => Ok(format!("{before}{}{after}", self.chunks)),
            _ => Err(Fault::internal(format!("the page that was built has not one \"{PLACE}\""))),
        }
    }
}
