//! How high a server numbers what it streams.
//!
//! The provider library makes a list as long as the highest `index` of a tool call, so a number alone could take all
//! memory. This reads the bytes of a reply as they come, however they are cut, and knows of JSON and of event streams
//! only what it takes to find that number.

/// The highest number that a part of a reply may have.
const MAX_INDEX: u64 = 10_000;
const KEY: &[u8] = b"index";
/// What a line of an event stream begins with; the lines of one event are one text.
const FIELD: &[u8] = b"data:";

/// Reads a reply.
#[derive(Default)]
pub(super) struct Numbering {
    /// How much of the field's name the line has begun with, while nothing else was on it.
    field: Option<usize>,
    /// The string that is being read, as far as it can be the key.
    string: Option<Vec<u8>>,
    escape: Escape,
    place: Place,
}

#[derive(Default)]
enum Escape {
    #[default]
    None,
    Begun,
    /// Digits of a code, and their value.
    Code(u8, u32),
}

#[derive(Default)]
enum Place {
    #[default]
    Elsewhere,
    BehindKey,
    BehindColon,
    InNumber(u64),
}

impl Numbering {
    /// Takes the next bytes; answers with a number that is too high.
    pub(super) fn take(&mut self, bytes: &[u8]) -> Result<(), u64> {
        bytes.iter().try_for_each(|byte| self.next(*byte))
    }

    fn next(&mut self, byte: u8) -> Result<(), u64> {
        if let Some(read) = self.field.take()
            && FIELD.get(read) == Some(&byte)
        {
            self.field = Some(read + 1).filter(|read| *read < FIELD.len());
            return Ok(());
        }
        if matches!(byte, b'\n' | b'\r') {
            // No string goes on in another line.
            if self.string.take().is_some() {
                self.place = Place::Elsewhere;
            }
            (self.field, self.escape) = (Some(0), Escape::None);
            return Ok(());
        }
        match self.string.take() {
            Some(string) => self.in_string(string, byte),
            None => return self.outside(byte),
        }
        Ok(())
    }

    fn in_string(&mut self, mut string: Vec<u8>, byte: u8) {
        let read = match (std::mem::take(&mut self.escape), byte) {
            (Escape::None, b'"') => {
                self.place = if string == KEY { Place::BehindKey } else { Place::Elsewhere };
                return;
            }
            (Escape::None, b'\\') => {
                self.escape = Escape::Begun;
                None
            }
            (Escape::Begun, b'u') => {
                self.escape = Escape::Code(0, 0);
                None
            }
            (Escape::Code(digits, value), digit) => {
                let value = value << 4 | (digit as char).to_digit(16).unwrap_or_default();
                if digits < 3 {
                    self.escape = Escape::Code(digits + 1, value);
                    None
                } else {
                    Some(u8::try_from(value).unwrap_or_default())
                }
            }
            (_, byte) => Some(byte),
        };
        // One more than the key is no key.
        string.extend(read.filter(|_| string.len() <= KEY.len()));
        self.string = Some(string);
    }

    fn outside(&mut self, byte: u8) -> Result<(), u64> {
        let number = match self.place {
            Place::BehindColon => Some(0),
            Place::InNumber(number) => Some(number),
            _ => None,
        };
        self.place = match (byte, &self.place, number) {
            (b'"', ..) => {
                self.string = Some(Vec::new());
                Place::Elsewhere
            }
            (b' ' | b'\t', Place::BehindKey, _) => Place::BehindKey,
            (b' ' | b'\t', Place::BehindColon, _) => Place::BehindColon,
            (b':', Place::BehindKey, _) => Place::BehindColon,
            (b'0'..=b'9', _, Some(number)) => {
                let number = number.saturating_mul(10).saturating_add(u64::from(byte - b'0'));
                if number > MAX_INDEX {
                    return Err(number);
                }
                Place::InNumber(number)
            }
            _ => Place::Elsewhere,
        };
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, is_fine: bool) {
        for size in [1, 2, 3, 7, text.len().max(1)] {
            let mut numbering = Numbering::default();
            let read = text.as_bytes().chunks(size).try_for_each(|piece| numbering.take(piece));
            assert_eq!(read.is_ok(), is_fine, "{text} in pieces of {size}");
        }
    }

    #[test]
    fn a_number_that_is_too_high_is_found_however_it_is_written() {
        for text in [
            r#"data: {"tool_calls":[{"index":4294967295}]}"#,
            r#"{"index" :	10001}"#,
            r#"{"\u0069nd\u0065x":99999}"#,
            "data: {\"index\"\ndata: :\r\ndata:99999}\n\n",
            r#"{"a":"\\","index":10001"#,
        ] {
            check(text, false);
        }
    }

    #[test]
    fn what_is_no_number_of_a_part_is_let_through() {
        for text in [
            r#"{"index":10000,"created":4294967295}"#,
            r#"{"arguments":"{\"index\":4294967295}"}"#,
            r#"{"index":"4294967295","b":10001}"#,
            r#"{"an index":99999,"index2":99999,"index":null}"#,
            "data: {\"index\":1}\n\ndata: {\"n\":99999}\n\n",
            "",
        ] {
            check(text, true);
        }
    }
}
