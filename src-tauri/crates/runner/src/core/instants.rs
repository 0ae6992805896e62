//! Instants as people write and read them: how long ago, or a date in the local time zone.

use std::sync::LazyLock;

use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use jiff::{Span, SpanRelativeTo, Timestamp};
use script::local_zone;

/// Reads an instant, in milliseconds since the epoch: a time before now (`2h`, `7d`), or a date with or without a time,
/// here unless it names its offset.
pub fn past_instant(text: &str) -> Result<i64, String> {
    let wrong =
        || "write a time before now, like 2h or 7d, or an instant, like 2026-11-20 or 2026-11-20T14:00".to_owned();
    if let Ok(instant) = text.parse::<Timestamp>() {
        return Ok(instant.as_millisecond());
    }
    // A date alone is its midnight.
    if let Ok(at) = text.parse::<DateTime>() {
        let at = at.to_zoned(local_zone()).map_err(|_| wrong())?;
        return Ok(at.timestamp().as_millisecond());
    }
    let span: Span = text.parse().map_err(|_| wrong())?;
    // A day has 24 hours here.
    let ago = span.to_duration(SpanRelativeTo::days_are_24_hours()).map_err(|_| wrong())?;
    Ok(Timestamp::now().checked_sub(ago.abs()).map_err(|_| wrong())?.as_millisecond())
}

/// Writes an instant in local time with its offset, like `2026-11-20 14:00:05+01:00`. [`past_instant`] reads the same
/// instant from it, to the second.
pub fn local_instant(ms: i64) -> String {
    static ZONE: LazyLock<TimeZone> = LazyLock::new(local_zone);
    match Timestamp::from_millisecond(ms) {
        Ok(instant) => instant.to_zoned(ZONE.clone()).strftime("%Y-%m-%d %H:%M:%S%:z").to_string(),
        // Another program's trace may hold a time that no calendar has.
        Err(_) => format!("{ms} ms"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_instant_is_given_by_a_date_or_by_how_long_ago_it_was() {
        let now = Timestamp::now().as_millisecond();
        let ago = |text: &str| (now - past_instant(text).unwrap_or(i64::MAX / 2)) / 1_000;
        for (text, seconds) in [("2h", 7_200), ("30m", 1_800), ("1d", 86_400), ("2w", 1_209_600), ("90s", 90)] {
            assert!((seconds - 5..=seconds).contains(&ago(text)), "{text}: {}", ago(text));
        }
        for text in ["2026-11-20", "2026-11-20T14:00", "2026-11-20T14:00:00Z", "2026-11-20T14:00:00+02:00"] {
            assert!(past_instant(text).is_ok(), "{text}");
        }
        let at = |text: &str| past_instant(text).unwrap_or(i64::MIN);
        assert_eq!(at("2026-11-20T14:00") - at("2026-11-20"), 14 * 3_600_000, "the time of the day counts");
        for ms in [0, 1_763_690_405_000, -86_400_000] {
            assert_eq!(past_instant(&local_instant(ms)), Ok(ms), "{}", local_instant(ms));
        }
        for text in ["", "x", "yesterday", "2026-13-01", "2", "-"] {
            assert!(past_instant(text).is_err(), "{text}");
        }
    }
}
