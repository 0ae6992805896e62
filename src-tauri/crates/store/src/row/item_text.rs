//! The text of an item as it grows, read backwards from an event: a word that a model sent in several pieces is in none
//! of them alone. Only its end is read, because a text may be long.

use crate::sql::Connection;
use engine::event::{EventKind, Seq};
use engine::views::items::follow::last_text;

use crate::row::body;
use crate::row::error::Error;

/// The last `count` characters of an item's text before the event `seq`.
pub(crate) fn text_before(
    connection: &Connection,
    request: i64,
    of: Seq,
    seq: Seq,
    count: usize,
) -> Result<String, Error> {
    let mut statement = connection.prepare_cached(
        "SELECT kind, body FROM event WHERE request = ?1 AND seq < ?2 AND seq >= ?3
         AND (seq = ?3 OR kind IN ('item_delta', 'item_updated')
         AND CAST(CASE WHEN json_valid(body) THEN json_extract(body, '$.of') END AS bigint) = ?3) ORDER BY seq DESC",
    )?;
    let mut rows = statement.query((request, seq, of))?;
    let mut text_so_far = String::new();
    while text_so_far.chars().count() < count
        && let Some(row) = rows.next()?
    {
        match body::event_if_readable(connection, &body::lossy(row, 0)?, &body::lossy(row, 1)?)? {
            Some(EventKind::ItemDelta { text, .. }) => text_so_far.insert_str(0, &text),
            Some(EventKind::ItemAdded { item }) => {
                text_so_far.insert_str(0, last_text(&item.payload).unwrap_or_default());
            }
            // It has all that was there before.
            Some(EventKind::ItemUpdated { patch, .. }) if last_text(&patch).is_some() => {
                text_so_far.insert_str(0, last_text(&patch).unwrap_or_default());
                break;
            }
            _ => {}
        }
    }
    keep_end(&mut text_so_far, count);
    Ok(text_so_far)
}

/// Drops all of a text but its last `count` characters.
pub(crate) fn keep_end(text: &mut String, count: usize) {
    let cut = text.char_indices().rev().take(count).last().map_or(text.len(), |(at, _)| at);
    text.drain(..cut);
}
