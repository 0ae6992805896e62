//! The time zone of a request: recorded when it begins, and used by what goes on from its log on another machine.

use serde_json::json;
use tests::bench::Place;

/// Everything of local time that a flow can see, at the top of its file and in a block.
const FLOW: &str = r#"
const at = Date.UTC(2026, 6, 4, 3, 30, 15, 7);
const loaded = new Date(at).toString();
class Own extends Date {}
function all() {
  const date = new Date(at);
  const changed = new Date(at);
  changed.setHours(5);
  changed.setFullYear(2027, 2, 14);
  changed.setMinutes(30, 1, 2);
  const iso = (...args: any[]) => new (Date as any)(...args).toISOString();
  return {
    loaded,
    texts: [date.toString(), date.toDateString(), date.toTimeString(), String(new Date(NaN))],
    languages: [date.toLocaleString(), date.toLocaleString("de-DE"), date.toLocaleDateString(), date.toLocaleTimeString()],
    intl: [Intl.DateTimeFormat().resolvedOptions().timeZone, new Intl.DateTimeFormat("en", { timeStyle: "short" }).format(date)],
    named: new Intl.DateTimeFormat("en", { timeZone: "Europe/Berlin", timeStyle: "short" }).format(date),
    fields: [date.getFullYear(), date.getMonth(), date.getDate(), date.getHours(), date.getMinutes(), date.getSeconds(), date.getDay()],
    offsets: [date, new Date(Date.UTC(2026, 0, 4)), new Date(Date.UTC(1800, 0, 1)), new Date(Date.UTC(20000, 6, 1))].map((one) => one.getTimezoneOffset()),
    changed: changed.toISOString(),
    // Hours that a change of the clock leaves out, and has twice.
    made: [iso(2026, 6, 4), iso(2026, 2, 8, 2, 30), iso(2026, 10, 1, 1, 30), iso(99, 0), new Own(2026, 0, 1).toISOString()],
    read: ["2026-07-04T10:00", "2026-07-04", "2026-07-04T10:00Z", "2026-07-04 10:00", "Jul 4, 2026 10:00", "2026-07-04T10:00+02:00", "Jul 4, 2026", "Sat Jul 04 2026 10:00:00 GMT+0900"].map((text) => iso(text)),
  };
}
export default defineFlow({
  kind: "zones",
  actions: {
    all: { block: handler({ name: "all", execute: async () => all() }) },
    asks: {
      block: handler({ name: "asks", execute: async (_input, ctx) => {
        await ctx.suspend({ reason: "human_approval" });
        return [loaded, new Date(at).getHours()];
      } }),
    },
  },
});
"#;

const ZONES: [&str; 6] =
    ["America/New_York", "Asia/Kolkata", "Australia/Lord_Howe", "UTC", "EST5EDT,M3.2.0,M11.1.0", "EST5EDT"];

#[test]
fn a_replay_has_the_local_times_of_its_request() {
    let mut place = Place::with_flow(FLOW);
    for zone in ZONES {
        place = place.variable("TZ", zone);
        let request = place.get("run zones all --user ada")["requestId"].as_str().expect("an id").to_owned();
        let started = place.get(&format!("events {request}"))[0]["payload"].clone();
        assert_eq!(started["timeZone"], zone);
        for other in ["Asia/Tokyo", "UTC"] {
            place = place.variable("TZ", other);
            let replay = place.get(&format!("replay {request}"));
            assert_eq!(replay["identical"], true, "{zone} replayed in {other}: {replay:#}");
        }
    }
}

#[test]
fn what_goes_on_elsewhere_keeps_the_zone() {
    let place = Place::with_flow(FLOW).variable("TZ", "America/New_York");
    assert_eq!(place.ask("run zones asks --user ada --request r").code, Some(4));
    let place = place.variable("TZ", "Asia/Tokyo");
    let resumed = place.get("resume r --approve");
    assert_eq!(resumed["output"], json!(["Fri Jul 03 2026 23:30:15 GMT-0400", 23]), "{resumed:#}");
    assert_eq!(place.get("replay r")["identical"], true);
    // A run of its own, and a retry, have the zone of the machine.
    assert_eq!(place.get("run zones all --user ada")["output"]["fields"][3], 12);
}

/// What the C library takes for a zone is one here, in a flow and on the command line.
#[test]
fn a_zone_may_be_named_as_for_the_c_library() {
    for zone in ["America/New_York", ":America/New_York", "EST5EDT", ":EST5EDT", "EST5EDT,M3.2.0,M11.1.0"] {
        let place = Place::with_flow(FLOW).variable("TZ", zone);
        let ran = place.get("run zones all --user ada --request r");
        assert_eq!(ran["output"]["fields"], json!([2026, 6, 3, 23, 30, 15, 5]), "{zone}");
        assert!(!place.ask("run zones all --user ada").stderr.contains("warning"), "{zone}");
        assert_eq!((&ran["output"]["offsets"][0], &ran["output"]["offsets"][1]), (&json!(240), &json!(300)), "{zone}");
        assert_eq!(place.get("replay r")["identical"], true, "{zone}");
    }
}

#[test]
fn an_unknown_zone_is_utc() {
    // The last one is a rule whose hours are out of range.
    for zone in ["Mars/Base", "XYZ-25"] {
        let place = Place::with_flow(FLOW).variable("TZ", zone);
        let answer = place.ask("run zones all --user ada --request r");
        assert!(answer.stderr.contains(&format!("warning: TZ is \"{zone}\", which names no time zone")), "{answer}");
        let ran = answer.json();
        assert_eq!((&ran["output"]["fields"][3], &ran["output"]["intl"][0]), (&json!(3), &json!("UTC")), "{ran:#}");
        assert_eq!(place.get("events r")[0]["payload"]["timeZone"], "UTC", "{zone}");
    }
}

/// The instants that Node.js 20 makes of local times that a clock never showed, or showed twice, and of times with an
/// offset of seconds.
#[test]
fn a_local_time_is_the_instant_that_node_makes_of_it() {
    const FLOW: &str = r#"
const two = (value: number) => String(value).padStart(2, "0");
const made = ([year, month, day, hours, minutes]: number[]) => {
  const at = new Date(year, month, day, hours, minutes);
  const set = new Date(year, month, day, 12);
  set.setHours(hours, minutes);
  const clock = `${two(hours)}:${two(minutes)}`;
  const others = [set, new Date(`${year}-${two(month + 1)}-${two(day)}T${clock}`)];
  const differ = others.filter((other) => other.getTime() !== at.getTime()).length;
  return [at.toISOString(), at.getHours(), at.getMinutes(), at.getSeconds(), at.getTimezoneOffset(), differ];
};
export default defineFlow({ kind: "local", actions: { all: { block: handler({ name: "all", execute: (times: any) => times.map(made) }) } } });
"#;
    for (zone, times, wanted) in [
        (
            "Europe/Berlin",
            json!([[2026, 2, 29, 2, 30], [2026, 9, 25, 2, 30]]),
            json!([["2026-03-29T01:30:00.000Z", 3, 30, 0, -120, 0], ["2026-10-25T00:30:00.000Z", 2, 30, 0, -120, 0]]),
        ),
        (
            "America/New_York",
            json!([[2026, 2, 8, 2, 30], [2026, 10, 1, 1, 30]]),
            json!([["2026-03-08T07:30:00.000Z", 3, 30, 0, 240, 0], ["2026-11-01T05:30:00.000Z", 1, 30, 0, 240, 0]]),
        ),
        // Its summer time is half an hour.
        (
            "Australia/Lord_Howe",
            json!([[2026, 9, 4, 2, 15], [2026, 3, 5, 1, 45]]),
            json!([["2026-10-03T15:45:00.000Z", 2, 45, 0, -660, 0], ["2026-04-04T14:45:00.000Z", 1, 45, 0, -660, 0]]),
        ),
        (
            "America/St_Johns",
            json!([[2026, 2, 8, 2, 30], [1935, 2, 30, 0, 0]]),
            json!([["2026-03-08T06:00:00.000Z", 3, 30, 0, 150, 0], ["1935-03-30T03:30:52.000Z", 0, 0, 52, 210, 0]]),
        ),
        (
            "Asia/Kolkata",
            json!([[1945, 9, 14, 23, 30], [1800, 0, 1, 0, 0]]),
            json!([["1945-10-14T17:00:00.000Z", 23, 30, 0, -390, 0], ["1799-12-31T18:06:32.000Z", 0, 0, 0, -353, 0]]),
        ),
        // Its summer time ends for Ramadan.
        (
            "Africa/Casablanca",
            json!([[2026, 2, 22, 2, 30], [2026, 1, 15, 2, 30]]),
            json!([["2026-03-22T02:30:00.000Z", 3, 30, 0, -60, 0], ["2026-02-15T01:30:00.000Z", 2, 30, 0, -60, 0]]),
        ),
        (
            "Africa/Monrovia",
            json!([[1972, 0, 7, 0, 10], [1971, 0, 1, 0, 0]]),
            json!([["1972-01-07T00:54:30.000Z", 0, 54, 30, 0, 0], ["1971-01-01T00:44:30.000Z", 0, 0, 0, 44, 0]]),
        ),
    ] {
        let place = Place::with_flow(FLOW).variable("TZ", zone);
        let ran =
            place.get(&format!("run local all --user ada --request r --input {}", times.to_string().replace(' ', "")));
        assert_eq!(ran["output"], wanted, "{zone}");
        let place = place.variable("TZ", "Asia/Tokyo");
        assert_eq!(place.get("replay r")["identical"], true, "{zone}");
    }
}

/// `Intl` knew 326 of 418 zones, and showed UTC for 21 of the others.
#[test]
fn intl_has_local_time_in_every_zone() {
    const FLOW: &str = r#"
const zones = ["America/Adak", "Europe/Kiev", "america/argentina/salta", "America/Buenos_Aires", "Pacific/Chatham",
  "Australia/Lord_Howe", "Etc/GMT+5", "EST5EDT", "+05:30", "UTC", "Mars/Base", "AAA5BBB"];
const at = new Date(Date.UTC(2026, 6, 1, 12));
const clock = (timeZone: string) => {
  try { return at.toLocaleTimeString("en-GB", { timeZone }); } catch (error: any) { return `${error.name}: ${error.message}`; }
};
export default defineFlow({ kind: "intl", actions: { all: { block: handler({ name: "all", execute: async () => zones.map(clock) }) } } });
"#;
    let ran = Place::with_flow(FLOW).get("run intl all --user ada");
    let wanted = [
        "03:00:00",
        "15:00:00",
        "09:00:00",
        "09:00:00",
        "00:45:00",
        "22:30:00",
        "07:00:00",
        "08:00:00",
        "17:30:00",
        "12:00:00",
        "RangeError: Invalid time zone specified: Mars/Base",
        "RangeError: Invalid time zone specified: AAA5BBB",
    ];
    assert_eq!(ran["output"], json!(wanted), "{ran:#}");
}

/// After the last change that the data of a zone lists, its rule goes on: summers had the time of winter.
#[test]
fn intl_has_summer_time_after_the_year_2100() {
    const FLOW: &str = r#"
const zones = ["Europe/Berlin", "America/New_York", "Australia/Sydney", "Asia/Tokyo", "UTC"];
const clock = (timeZone: string, more: object = {}) => new Intl.DateTimeFormat("en-GB", { timeZone, timeStyle: "short", ...more });
const years = [2099, 2100, 2101, 2150, 2500, 9000];
const times = (timeZone: string) => years.map((year) => {
  const [winter, summer] = [Date.UTC(year, 0, 10, 12), Date.UTC(year, 6, 10, 12)];
  return [clock(timeZone).format(winter), clock(timeZone).format(summer)].join();
});
const parts = clock("Europe/Berlin").formatToParts(Date.UTC(2150, 6, 10, 12)).map((part: any) => part.value).join("");
const range = (clock("Europe/Berlin") as any).formatRange(Date.UTC(2150, 6, 10, 12), Date.UTC(2150, 6, 10, 15));
const own = new Date(Date.UTC(2150, 6, 10, 12));
export default defineFlow({ kind: "late", actions: { all: { block: handler({ name: "all", execute: async () => ({
  zones: Object.fromEntries(zones.map((zone) => [zone, [...new Set(times(zone))]])),
  parts, range: ["14:00", "17:00"].every((one) => range.includes(one)),
  own: [own.getHours(), own.toLocaleTimeString("en-GB")],
  before: clock("Europe/Berlin").format(Date.UTC(2026, 6, 10, 12)),
}) }) } } });
"#;
    let ran = Place::with_flow(FLOW).variable("TZ", "America/New_York").get("run late all --user ada");
    let wanted = json!({
        "zones": {
            "Europe/Berlin": ["13:00,14:00"],
            "America/New_York": ["07:00,08:00"],
            "Australia/Sydney": ["23:00,22:00"],
            "Asia/Tokyo": ["21:00,21:00"],
            "UTC": ["12:00,12:00"],
        },
        "parts": "14:00", "range": true, "own": [8, "08:00:00"], "before": "14:00",
    });
    assert_eq!(ran["output"], wanted, "{ran:#}");
}

/// The space before `AM` is an ordinary one in a text, as in Node.js, and a narrow one in its parts.
#[test]
fn a_time_has_the_spaces_of_node() {
    const FLOW: &str = r#"
const at = new Date(Date.UTC(2026, 6, 1, 12));
const format = new Intl.DateTimeFormat("en-US", { timeStyle: "short", timeZone: "UTC" });
export default defineFlow({ kind: "spaces", actions: { all: { block: handler({ name: "all", execute: async () => [
  format.format(at), at.toLocaleTimeString("en-US", { timeZone: "UTC" }), [at].map(format.format)[0], format.format === format.format,
  format.formatToParts(at).map((part) => part.value).join("").includes("\u202f"),
] }) } } });
"#;
    let ran = Place::with_flow(FLOW).get("run spaces all --user ada");
    assert_eq!(ran["output"], json!(["12:00 PM", "12:00:00 PM", "12:00 PM", true, true]), "{ran:#}");
}

/// A list showed UTC, and a filter reads times without an offset as local ones.
#[test]
fn a_list_shows_times_as_a_filter_reads_them() {
    let mut place = Place::with_flow(FLOW);
    place.get("run zones all --user ada --request r");
    for (zone, offset) in [("Asia/Kolkata", "+05:30"), ("UTC", "+00:00"), ("XYZ3", "-03:00")] {
        place = place.variable("TZ", zone);
        let shown = |list: &str| place.run(&[list]).stdout;
        let listed = shown("requests");
        let started = listed.split("  ").map(str::trim).find(|cell| cell.ends_with(offset)).expect("a time");
        let found = |term: &str, time: &str| {
            let filter = format!("{term}:\"{time}\"");
            place.run(&["requests", "--json", "--filter", &filter]).json().as_array().map(Vec::len)
        };
        let local = started.strip_suffix(offset).expect("an offset");
        for time in [started, local] {
            assert_eq!((found("since", time), found("until", time)), (Some(1), Some(0)), "{zone}: {time}");
        }
        let sessions = shown("sessions");
        assert!(sessions.contains(offset) && !sessions.contains("UTC"), "{sessions}");
    }
}
