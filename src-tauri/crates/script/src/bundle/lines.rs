//! Lines and columns of a text, and the offsets of its bytes. Must not know what the text is.

/// Where the lines of a text begin.
pub(crate) struct Lines {
    starts: Vec<u32>,
}

impl Lines {
    pub(crate) fn new(text: &str) -> Lines {
        let mut starts = vec![0];
        starts.extend(text.match_indices('\n').map(|(at, _)| at as u32 + 1));
        Lines { starts }
    }

    /// Returns the line and column of an offset, both 0-based; columns count UTF-16 units.
    pub(crate) fn place(&self, text: &str, at: u32) -> (u32, u32) {
        let line = self.starts.partition_point(|start| *start <= at).saturating_sub(1);
        let start = self.starts.get(line).copied().unwrap_or(0) as usize;
        let before = text.get(start..at as usize).unwrap_or_default();
        (line as u32, before.encode_utf16().count() as u32)
    }

    /// Returns the column of a place that the runtime reports: both are 1-based, and the runtime counts bytes.
    pub(crate) fn column(&self, text: &str, line: u32, bytes: u32) -> Option<u32> {
        let start = *self.starts.get(line.checked_sub(1)? as usize)? as usize;
        let before = text.get(start..start + bytes.checked_sub(1)? as usize)?;
        Some(before.encode_utf16().count() as u32 + 1)
    }

    /// Returns the offset of a line and column, both 0-based; columns count UTF-16 units.
    pub(crate) fn offset(&self, text: &str, line: u32, column: u32) -> Option<u32> {
        let start = *self.starts.get(line as usize)?;
        let (mut width, mut at) = (0, start);
        for c in text.get(start as usize..)?.chars() {
            if width >= column {
                break;
            }
            width += c.len_utf16() as u32;
            at += c.len_utf8() as u32;
        }
        Some(at)
    }
}
