//! The time zone of this machine, and local time in other zones.
//!
//! QuickJS reads the machine's zone from the C library, which has one for the whole process. So the local time of flows
//! is computed from the offsets of this file (`local-time.ts`).

use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde_json::{Value, json};

const UTC: &str = "UTC";
/// The rule for a `TZ` that names summer time without its dates (`EST5EDT`): like the C library, that of the United
/// States.
const USUAL_RULE: &str = ",M3.2.0,M11.1.0";
/// The end of the changes that [`changes`] lists, in seconds since the epoch: the year 2100.
const LAST_CHANGE: i64 = 4_102_444_800;
/// The period of the calendar, including weekdays, in seconds: 400 years.
const CALENDAR_CYCLE: i64 = 146_097 * 86_400;

/// Returns the name of this machine's time zone, or the rule in `TZ`. As in the C library, an unknown value means UTC.
pub fn own_time_zone() -> String {
    match std::env::var("TZ") {
        Ok(set) => named(&set).unwrap_or(UTC).to_owned(),
        Err(_) => iana_time_zone::get_timezone().unwrap_or_else(|_| UTC.to_owned()),
    }
}

/// Returns the value of `TZ` if it names no time zone, so that local time is UTC.
pub fn unknown_time_zone() -> Option<String> {
    std::env::var("TZ").ok().filter(|set| !set.is_empty() && named(set).is_none())
}

fn named(set: &str) -> Option<&str> {
    let set = set.strip_prefix(':').unwrap_or(set);
    let name = set.split_once("/zoneinfo/").map_or(set, |(_, name)| name);
    // Zone names are file names, so the C library compares their case.
    let is_known = zone(name).is_some_and(|found| found.iana_name().is_none_or(|known| known == name));
    (is_known && !name.is_empty()).then_some(name)
}

/// Returns this machine's time zone, as [`own_time_zone`] names it.
pub fn local_zone() -> TimeZone {
    zone(&own_time_zone()).unwrap_or(TimeZone::UTC)
}

/// Returns whether a text is the name of a time zone, or a rule as in `TZ`.
pub fn is_time_zone(name: &str) -> bool {
    zone(name).is_some()
}

fn zone(name: &str) -> Option<TimeZone> {
    let rule = || TimeZone::posix(name).or_else(|_| TimeZone::posix(&format!("{name}{USUAL_RULE}")));
    TimeZone::get(name).or_else(|_| rule()).ok()
}

/// The last instants of the range of jiff, in seconds. Two years of them are outside, because a zone has no next change
/// there.
const LAST_YEARS: i64 = 2 * 366 * 86_400;

/// Returns an instant with the same offset from UTC that jiff can hold, and how many seconds later it is. Both are
/// seconds since the epoch, and JavaScript's time is longer than that of jiff.
fn within(seconds: i64) -> (i64, i64) {
    let behind = seconds.saturating_sub(Timestamp::MAX.as_second() - LAST_YEARS).max(0);
    let ahead = (Timestamp::MIN.as_second() + LAST_YEARS).saturating_sub(seconds).max(0);
    let cycles = |distance: i64| (distance + CALENDAR_CYCLE - 1) / CALENDAR_CYCLE;
    let later = (cycles(ahead) - cycles(behind)) * CALENDAR_CYCLE;
    (seconds + later, later)
}

/// Returns how many milliseconds local time is ahead of UTC at an instant, from when on, and until when: milliseconds
/// since the epoch, null without such a change. `None` if the zone is unknown here.
pub(crate) fn offset(name: &str, ms: f64) -> Option<Value> {
    let zone = zone(name)?;
    let (seconds, later) = within((ms / 1000.0).floor() as i64);
    let at = Timestamp::from_second(seconds).ok()?;
    let change = |at: Timestamp| (at.as_second() - later) * 1000;
    // `preceding` excludes the instant itself.
    let from = zone.preceding(Timestamp::from_second(seconds + 1).ok()?).next();
    let from = from.map(|found| change(found.timestamp()));
    let until = zone.following(at).next().map(|found| change(found.timestamp()));
    Some(json!([i64::from(zone.to_offset(at).seconds()) * 1000, from, until]))
}

/// Returns how many milliseconds local time is ahead of UTC if clocks show this local time, which is counted as if it
/// were UTC. Of two such instants the earlier one counts; if there is none, the offset is that before the change.
/// `None` if the zone is unknown here.
pub(crate) fn offset_of_local(name: &str, wall: f64) -> Option<i64> {
    let zone = zone(name)?;
    let (seconds, _) = within((wall / 1000.0).floor() as i64);
    let local = TimeZone::UTC.to_datetime(Timestamp::from_second(seconds).ok()?);
    let at = zone.to_ambiguous_timestamp(local).compatible().ok()?;
    Some((seconds - at.as_second()) * 1000)
}

fn zone_for(name: &str, of_run: &str) -> Option<TimeZone> {
    if name == of_run { zone(name) } else { TimeZone::get(name).ok() }
}

/// Returns the change of a zone that holds at an instant, in milliseconds since the epoch, as [`changes`] lists them;
/// also after 2100, by the rule of the zone. `None` if no zone has this name.
pub(crate) fn change_at(name: &str, of_run: &str, ms: f64) -> Option<Value> {
    let zone = zone_for(name, of_run)?;
    let (seconds, later) = within((ms / 1000.0).floor() as i64);
    let found = zone.to_offset_info(Timestamp::from_second(seconds).ok()?);
    // `preceding` excludes the instant itself.
    let from = zone.preceding(Timestamp::from_second(seconds + 1).ok()?).next();
    let from = from.map(|change| change.timestamp().as_second() - later);
    Some(json!([from, found.offset().seconds(), found.dst().is_dst()]))
}

/// Returns the name of a zone and its changes until 2100, oldest first: from which second since the epoch on local time
/// is how many seconds ahead of UTC, and whether that is summer time. The first one has no beginning. `None` if no zone
/// has this name; only the zone of the run may be a rule.
pub(crate) fn changes(name: &str, of_run: &str) -> Option<Value> {
    let zone = zone_for(name, of_run)?;
    let first = zone.to_offset_info(Timestamp::MIN);
    let following = zone
        .following(Timestamp::MIN)
        .map(|change| (change.timestamp().as_second(), change.offset().seconds(), change.dst().is_dst()));
    let following = following.take_while(|(from, ..)| *from < LAST_CHANGE);
    let first = json!([null, first.offset().seconds(), first.dst().is_dst()]);
    let all: Vec<Value> = std::iter::once(first).chain(following.map(|change| json!(change))).collect();
    Some(json!({ "name": zone.iana_name().unwrap_or(name), "changes": all }))
}

#[cfg(test)]
mod tests {
    use super::*;

    const WINTER: f64 = 1_767_225_600_000.0;
    const SUMMER: f64 = 1_782_864_000_000.0;

    /// Minutes that local time is behind UTC.
    fn behind(zone: &str, ms: f64) -> Option<i64> {
        offset(zone, ms).map(|found| -found[0].as_i64().expect("a number") / 60_000)
    }

    #[test]
    fn a_zone_has_its_offset_of_each_instant() {
        for (zone, winter, summer) in [
            ("UTC", 0, 0),
            ("Asia/Tokyo", -540, -540),
            ("America/New_York", 300, 240),
            ("Asia/Kolkata", -330, -330),
            ("Australia/Lord_Howe", -660, -630),
            ("EST5EDT,M3.2.0,M11.1.0", 300, 240),
            ("EST5EDT", 300, 240),
            // No file has this one.
            ("AAA5BBB", 300, 240),
            ("AAA5BBB3", 300, 180),
            ("AAA5", 300, 300),
        ] {
            assert_eq!((behind(zone, WINTER), behind(zone, SUMMER)), (Some(winter), Some(summer)), "{zone}");
        }
        assert_eq!(offset("Mars/Base", WINTER), None);
    }

    #[test]
    fn the_ends_of_javascripts_time_have_an_offset() {
        assert_eq!(behind("Asia/Tokyo", 8.64e15), Some(-540));
        assert!(offset("Asia/Tokyo", -8.64e15).is_some());
        assert!(offset_of_local("Asia/Tokyo", -8.64e15).is_some());
        assert_eq!(offset_of_local("Asia/Tokyo", 8.64e15), Some(32_400_000));
        // A summer and a winter far beyond the data of zones.
        let years = 20_000.0 * 365.2425 * 86_400_000.0;
        let far = [WINTER + years, SUMMER + years].map(|at| behind("America/New_York", at));
        assert_eq!(far, [Some(300), Some(240)]);
    }

    #[test]
    fn an_offset_holds_from_one_change_to_the_next() {
        let summer = json!([7_200_000, 1_774_746_000_000_i64, 1_792_890_000_000_i64]);
        for at in [1_774_746_000_000.0, SUMMER, 1_792_889_999_999.0] {
            assert_eq!(offset("Europe/Berlin", at), Some(summer.clone()), "{at}");
        }
        let winter = offset("Europe/Berlin", 1_774_745_999_999.0).expect("it is known");
        assert_eq!((&winter[0], &winter[2]), (&json!(3_600_000), &summer[1]));
        assert_eq!(offset("UTC", SUMMER), Some(json!([0, null, null])));
        // To the second, as it was until 1893.
        assert_eq!(offset("Europe/Berlin", -6e12).map(|found| found[0].clone()), Some(json!(3_208_000)));
    }

    #[test]
    fn a_local_time_in_the_hour_of_a_change_has_the_offset_before_it() {
        for (zone, wall, ahead) in [
            // Left out, and had twice.
            ("Europe/Berlin", "2026-03-29T02:30:00Z", 3_600),
            ("Europe/Berlin", "2026-10-25T02:30:00Z", 7_200),
            ("America/New_York", "2026-03-08T02:30:00Z", -18_000),
            ("America/New_York", "2026-11-01T01:30:00Z", -14_400),
            ("Australia/Lord_Howe", "2026-10-04T02:15:00Z", 37_800),
            ("Australia/Lord_Howe", "2026-04-05T01:45:00Z", 39_600),
            ("EST5EDT,M3.2.0,M11.1.0", "2026-03-08T02:30:00Z", -18_000),
            // On either side of the hour.
            ("Europe/Berlin", "2026-03-29T01:59:59Z", 3_600),
            ("Europe/Berlin", "2026-03-29T03:00:00Z", 7_200),
            ("Europe/Berlin", "2026-10-25T03:00:00Z", 3_600),
        ] {
            let at: Timestamp = wall.parse().expect("an instant");
            let found = offset_of_local(zone, at.as_millisecond() as f64);
            assert_eq!(found, Some(ahead * 1000), "{zone} {wall}");
        }
        assert_eq!(offset_of_local("Mars/Base", WINTER), None);
    }

    #[test]
    fn a_setting_is_read_as_the_c_library_reads_it() {
        for (set, name) in [
            ("Asia/Tokyo", "Asia/Tokyo"),
            (":Asia/Tokyo", "Asia/Tokyo"),
            ("/usr/share/zoneinfo/Europe/Berlin", "Europe/Berlin"),
            (":America/New_York", "America/New_York"),
            (":/usr/share/zoneinfo/Europe/Berlin", "Europe/Berlin"),
            ("EST5EDT", "EST5EDT"),
            (":EST5EDT", "EST5EDT"),
            ("AAA5BBB", "AAA5BBB"),
            ("<+03>-3", "<+03>-3"),
            ("", "UTC"),
            ("Mars/Base", "UTC"),
            ("asia/tokyo", "UTC"),
            // More hours than a rule may have.
            ("XYZ-25", "UTC"),
        ] {
            assert_eq!(named(set).unwrap_or(UTC), name, "{set}");
        }
    }

    #[test]
    fn a_zone_follows_its_rule_after_the_last_change_that_is_listed() {
        let years = |years: f64| years * 365.2425 * 86_400_000.0;
        for later in [years(100.0), years(500.0), years(7_000.0), years(20_000.0)] {
            for (zone, at, ahead, is_summer) in [
                ("Europe/Berlin", WINTER, 3_600, false),
                ("Europe/Berlin", SUMMER, 7_200, true),
                ("America/New_York", SUMMER, -14_400, true),
                ("Australia/Sydney", WINTER, 39_600, true),
                ("Asia/Tokyo", SUMMER, 32_400, false),
            ] {
                let ms = at + later;
                let found = change_at(zone, "UTC", ms).expect("it is known");
                assert_eq!((&found[1], &found[2]), (&json!(ahead), &json!(is_summer)), "{zone} {ms}");
                assert_eq!(offset(zone, ms).map(|now| now[0].clone()), Some(json!(ahead * 1000)), "{zone} {ms}");
                let from = found[0].as_i64().expect("it has changed") as f64 * 1000.0;
                assert!(from <= ms && (zone == "Asia/Tokyo" || ms - from < years(1.0)), "{zone} {ms}: {found}");
            }
        }
        // What is listed is the same.
        let listed = changes("Europe/Berlin", "UTC").expect("it is known");
        let last = listed["changes"].as_array().and_then(|all| all.last()).cloned();
        assert_eq!(change_at("Europe/Berlin", "UTC", LAST_CHANGE as f64 * 1000.0), last);
        assert_eq!(change_at("Mars/Base", "UTC", SUMMER), None);
    }

    #[test]
    fn a_zone_has_changes() {
        let found = changes("america/adak", "UTC").expect("it is known");
        assert_eq!(found["name"], "America/Adak");
        let all = found["changes"].as_array().expect("a list");
        assert!(all.len() > 100 && all[0][0].is_null(), "{found}");
        let tokyo = changes("Asia/Tokyo", "UTC").expect("it is known");
        assert_eq!(tokyo["changes"].as_array().and_then(|all| all.last()).map(|last| &last[1]), Some(&json!(32_400)));
        assert_eq!(changes("AAA5BBB", "UTC"), None);
        assert!(changes("AAA5BBB", "AAA5BBB").is_some());
        assert_eq!(changes("Mars/Base", "UTC"), None);
    }
}
