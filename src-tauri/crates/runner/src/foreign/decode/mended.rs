//! Calls with a text that is not Unicode, or with a span that is nested too deep to be read: the call is read without
//! these faults, so that one bad text does not lose the other spans.
//!
//! Only a call that cannot be read otherwise is looked at here, once.

use std::borrow::Cow;

use engine::json::DEFAULT_MAX_DEPTH;

/// How deep the spans of a call, or its log records, are in its JSON.
const LEVEL_OF_SPANS: usize = 7;
/// What stands for half a pair of surrogates.
const REPLACEMENT: &str = "\\ufffd";

/// JSON without what could not be read.
pub(super) struct MendedText {
    pub(super) text: String,
    /// Whether texts in it were not Unicode.
    pub(super) is_replaced: bool,
    /// How many spans became `null` because they are nested too deep.
    pub(super) too_deep: u64,
}

/// A span that is being walked through.
struct OpenSpan {
    /// Where it begins in the mended text.
    at: usize,
    is_too_deep: bool,
}

/// Replaces halves of surrogates, and leaves out spans that are nested too deep. `None` if there are none of these.
pub(super) fn mended_json(text: &str) -> Option<MendedText> {
    let mut mended = MendedText { text: String::with_capacity(text.len()), is_replaced: false, too_deep: 0 };
    let (mut level, mut span) = (0_usize, None::<OpenSpan>);
    let bytes = text.as_bytes();
    let (mut at, mut copied) = (0, 0);
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => {
                at = end_of_string(bytes, at, |half| {
                    mended.text.push_str(&text[copied..half]);
                    mended.text.push_str(REPLACEMENT);
                    mended.is_replaced = true;
                    copied = half + REPLACEMENT.len();
                });
                continue;
            }
            b'{' | b'[' => {
                level += 1;
                if level == LEVEL_OF_SPANS && *byte == b'{' {
                    span = Some(OpenSpan { at: mended.text.len() + (at - copied), is_too_deep: false });
                }
                if let Some(open) = span.as_mut().filter(|_| level > DEFAULT_MAX_DEPTH) {
                    open.is_too_deep = true;
                }
            }
            b'}' | b']' => {
                if level == LEVEL_OF_SPANS
                    && let Some(open) = span.take().filter(|open| open.is_too_deep)
                {
                    // Part of the span may not be copied yet.
                    mended.text.push_str(&text[copied..=at]);
                    copied = at + 1;
                    mended.text.truncate(open.at);
                    mended.text.push_str("null");
                    mended.too_deep += 1;
                }
                level = level.saturating_sub(1);
            }
            _ => {}
        }
        at += 1;
    }
    mended.text.push_str(&text[copied..]);
    (mended.is_replaced || mended.too_deep > 0).then_some(mended)
}

/// Where a string has ended that begins here. The places of escapes that are half a pair of surrogates are handed to
/// `half`.
fn end_of_string(bytes: &[u8], begin: usize, mut half: impl FnMut(usize)) -> usize {
    let unit = |at: usize| {
        let digits = bytes.get(at..at + 6)?.strip_prefix(b"\\u")?;
        u16::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
    };
    let mut at = begin + 1;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => return at + 1,
            b'\\' => match unit(at) {
                Some(0xd800..=0xdbff) if matches!(unit(at + 6), Some(0xdc00..=0xdfff)) => at += 12,
                Some(0xd800..=0xdfff) => {
                    half(at);
                    at += 6;
                }
                _ => at += 2,
            },
            _ => at += 1,
        }
    }
    bytes.len()
}

/// Text of bytes that may not be UTF-8, and whether they are not.
pub(super) fn text_of(bytes: &[u8]) -> (Cow<'_, str>, bool) {
    let text = String::from_utf8_lossy(bytes);
    let is_replaced = matches!(text, Cow::Owned(_));
    (text, is_replaced)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_of_surrogates_are_replaced_and_pairs_stay() {
        let mended = mended_json(r#"{"a":"x\ud83d","b":"\ud83d\ude00\\ud800","c\udc00":"\ud800\ud83d\ude00"}"#);
        let mended = mended.expect("it has halves");
        let wanted = r#"{"a":"x\ufffd","b":"\ud83d\ude00\\ud800","c\ufffd":"\ufffd\ud83d\ude00"}"#;
        assert_eq!((mended.text.as_str(), mended.is_replaced, mended.too_deep), (wanted, true, 0));
        assert!(mended_json(r#"{"a":"\ud83d\ude00","b":"\\ud800","c":"open"#).is_none());
    }

    #[test]
    fn a_span_that_is_too_deep_is_left_out() {
        let deep = format!("{{\"a\":\"\\ud800]\",\"b\":{}{}}}", "[".repeat(2_000), "]".repeat(2_000));
        let call = |spans: &str| format!("{{\"resourceSpans\":[{{\"scopeSpans\":[{{\"spans\":[{spans}]}}]}}]}}");
        let mended = mended_json(&call(&format!("{{\"a\":1}},{deep},{{\"a\":2}}"))).expect("one is too deep");
        assert_eq!((mended.text, mended.too_deep), (call("{\"a\":1},null,{\"a\":2}"), 1));
        assert!(mended_json(&"[".repeat(5_000)).is_none());
    }
}
