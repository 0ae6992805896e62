//! The clock and random numbers: of full quality, recorded, and equal in a replay, also while a file loads.

use serde_json::{Value, json};
use tests::bench::Place;

const FLOW: &str = r#"
const drawn = {
  now: Date.now(), made: new Date().getTime(), number: Math.random(), id: crypto.randomUUID(),
  bytes: [...crypto.getRandomValues(new Uint32Array(4))], since: performance.now(), origin: performance.timeOrigin,
};
const kinds = [Int8Array, Uint8Array, Uint8ClampedArray, Int16Array, Uint16Array, Int32Array, Uint32Array, BigInt64Array, BigUint64Array];
const refused = (array) => { try { crypto.getRandomValues(array); } catch (error) { return error.name; } };
const door = (name, body) => ({ block: handler({ name, execute: body }) });
export default defineFlow({
  kind: "main",
  actions: {
    load: door("load", () => drawn),
    numbers: door("numbers", () => {
      const counts = Array.from({ length: 53 }, () => 0);
      for (let at = 0; at < 400; at++) {
        let bits = BigInt(Math.random() * 2 ** 53);
        for (let bit = 0; bit < 53; bit++) counts[bit] += Number((bits >> BigInt(bit)) & 1n);
      }
      return [Math.min(...counts), Math.max(...counts)];
    }),
    arrays: door("arrays", () => ({
      // Of 512 bytes each, some byte of every kind's highest place is set.
      filled: kinds.map((Kind) => {
        const bytes = new Uint8Array(crypto.getRandomValues(new Kind(512 / Kind.BYTES_PER_ELEMENT)).buffer);
        return Array.from({ length: Kind.BYTES_PER_ELEMENT }, (_, at) => bytes.some((byte, place) => place % Kind.BYTES_PER_ELEMENT === at && byte > 127));
      }).flat().every((is) => is),
      view: [...crypto.getRandomValues(new Uint8Array(new ArrayBuffer(6), 2, 2))].length,
      most: crypto.getRandomValues(new Uint8Array(65536)).some((byte) => byte !== 0),
      refused: [refused(new Uint8Array(65537)), refused(new Float64Array(1)), refused([1])],
      none: crypto.getRandomValues(new Uint8Array(0)).length,
    })),
    clock: door("clock", async () => {
      const times = [performance.now(), performance.now()];
      await new Promise((done) => setTimeout(done, 5));
      times.push(performance.now());
      const off = performance.timeOrigin + times[2] - Date.now();
      return { rises: times[0] <= times[1] && times[1] < times[2], near: Math.abs(off) < 1000, times, kept: performance.timeOrigin === performance.timeOrigin };
    }),
    price: {
      block: sequencer({ name: "chain" })
        .step(handler({ name: "quote", execute: () => performance.now() + Math.random() }))
        .step(handler({ name: "pay", execute: async (price, ctx) => {
          await ctx.suspend({ reason: "pay", message: "Pay " + price, allow: ["approve"] });
          return { price, drawn };
        } })),
    },
    zero: door("zero", () => 0),
  },
});
"#;

fn effects(place: &Place, request: &str, path: &str) -> Vec<Value> {
    let events = place.get(&format!("events {request}"));
    let events = events.as_array().expect("a list").iter();
    events.filter(|event| event["path"] == path && event["kind"] == "effect_finished").cloned().collect()
}

#[test]
fn random_numbers_have_53_good_bits() {
    let place = Place::with_flow(FLOW);
    let ends = place.get("run main numbers --user u --request r")["output"].clone();
    // Each of 53 bits is set in 200 of 400 numbers, ten standard deviations more or less.
    assert!(ends[0].as_u64() > Some(100) && ends[1].as_u64() < Some(300), "{ends}");
    assert_eq!(place.get("replay r")["identical"], true);
}

#[test]
fn random_bytes_fill_every_array_with_one_effect() {
    let place = Place::with_flow(FLOW);
    let ran = place.get("run main arrays --user u --request r");
    let refused = json!(["QuotaExceededError", "TypeMismatchError", "TypeMismatchError"]);
    assert_eq!(ran["output"], json!({ "filled": true, "view": 2, "most": true, "refused": refused, "none": 0 }));
    let effects = effects(&place, "r", "root");
    assert_eq!(effects.len(), 11, "nine kinds, a view, and the most at once");
    assert!(
        effects
            .iter()
            .all(|event| event["payload"]["effect"] == "random" && event["payload"]["result"]["base64"].is_string())
    );
    assert_eq!(place.get("replay r")["identical"], true);
}

#[test]
fn performance_is_a_clock_that_is_recorded_and_rises() {
    let place = Place::with_flow(FLOW);
    let told = place.get("run main clock --user u --request r")["output"].clone();
    assert_eq!((&told["rises"], &told["near"], &told["kept"]), (&json!(true), &json!(true), &json!(true)), "{told}");
    assert_eq!(effects(&place, "r", "root").iter().filter(|event| event["payload"]["effect"] == "clock").count(), 4);
    assert_eq!(place.get("replay r")["identical"], true);
}

#[test]
fn clock_and_random_values_while_a_file_loads_are_real_and_recorded() {
    let place = Place::with_flow(FLOW);
    let first = place.get("run main load --user u --request a")["output"].clone();
    let second = place.get("run main load --user u --request b")["output"].clone();
    assert!(first["now"].as_i64() > Some(1_500_000_000_000), "{first}");
    for name in ["number", "id", "bytes"] {
        assert_ne!(first[name], second[name], "{name}");
    }
    let of_load: Vec<String> = effects(&place, "a", "load")
        .iter()
        .map(|event| event["payload"]["effect"].as_str().unwrap_or_default().to_owned())
        .collect();
    assert_eq!(of_load, ["clock", "clock", "random", "uuid", "random", "clock", "clock"]);
    let began = place.get("show a")["blocks"][0]["seqStart"].as_u64();
    let drawn = effects(&place, "a", "load");
    assert!(drawn.iter().all(|event| event["seq"].as_u64() < began), "before the first block");
    for request in ["a", "b"] {
        assert_eq!(place.get(&format!("replay {request}"))["identical"], true);
    }
    assert_eq!(place.get("check --data .flowglass/flowglass.db")["ok"], true);
    // A file that uses the clock differently is reported.
    place.edit(&FLOW.replace("now: Date.now(),", "now: Date.now(), more: Date.now(),"));
    let replay = place.ask("replay a");
    assert_eq!(replay.code, Some(1), "{replay}");
    assert_eq!(replay.json()["divergence"]["path"], "load", "{replay}");
}

#[test]
fn the_approved_random_price_is_the_price_after_the_resume() {
    let place = Place::with_flow(FLOW);
    let asked = place.ask("run main price --user u --request r");
    assert_eq!(asked.code, Some(4), "{asked}");
    let message = asked.json()["suspensions"][0]["message"].as_str().expect("a message").to_owned();
    let before: Vec<Value> =
        effects(&place, "r", "load").iter().map(|event| event["payload"]["result"].clone()).collect();
    let paid = place.get("resume r --approve");
    assert_eq!(format!("Pay {}", paid["output"]["price"]), message);
    // The file gets the values that it got at the start of the request, and they are not recorded twice.
    assert_eq!(paid["output"]["drawn"]["id"], before[3], "{paid}");
    assert_eq!(effects(&place, "r", "load").len(), before.len());
    assert_eq!(place.get("replay r")["identical"], true);
}
