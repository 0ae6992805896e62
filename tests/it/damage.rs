//! A bit that fell over in an event: it is found and named, what is whole of its request can be looked at and
//! exported, nothing runs on from it, and its session can be deleted.

use serde_json::json;
use tests::bench::Place;

const FLOW: &str = r#"
// The file keeps the flow's source too, so the words are put together where they are said.
const marker = (name: string, input: string) => ["marker", name, input].join("-");
const say = handler({ name: "say", execute: async (input, ctx) => {
  console.log(marker("logged", input));
  ctx.emit.message(marker("said", input));
  await ctx.session.patchState({ kept: marker("kept", input) });
  await ctx.session.setMetadata({ title: marker("title", input) });
  return { given: marker("given", input), input };
} });
export default defineFlow({ kind: "main", actions: { go: { block: sequencer({ name: "root", inputSchema: z.any() }).step(say) } } });
"#;

/// The file with one bit fallen over, `after` bytes after the first place of some words.
fn damaged(sound: &[u8], words: &str, after: usize, bit: u8) -> Vec<u8> {
    let at = sound.windows(words.len()).position(|found| found == words.as_bytes()).expect("they are in the file");
    let mut bytes = sound.to_vec();
    bytes[at + after] ^= 1 << bit;
    bytes
}

#[test]
fn what_is_whole_can_be_used_and_the_rest_deleted() {
    let place = Place::with_flow(FLOW);
    for (request, session) in [("bad", "one"), ("good", "two")] {
        place.get(&format!("run main go --user ada --session {session} --request {request} --input \"{request}\""));
    }
    assert_eq!(place.get("check --data")["ok"], true);
    let sound = std::fs::read(place.database()).expect("it is there");
    let good = place.get("show good");
    // A letter, a quote, a brace: the line is still JSON, or it is not, or it is no text at all.
    for (words, after, bit) in [
        ("marker-logged-bad", 3, 0),
        ("marker-logged-bad", 17, 1),
        ("marker-logged-bad", 2, 7),
        ("\"text\":\"marker-logged-bad", 0, 3),
        ("marker-said-bad", 4, 1),
        ("marker-kept-bad", 1, 2),
        ("\"title\":\"marker-title-bad", 11, 1),
        ("\"title\":\"marker-title-bad", 11, 7),
        ("marker-given-bad", 5, 0),
    ] {
        let case = format!("{words}+{after}, bit {bit}");
        std::fs::write(place.database(), damaged(&sound, words, after, bit)).expect("the place is writable");
        let checked = place.ask("check --data");
        assert_eq!((checked.code, &checked.json()["ok"]), (Some(1), &json!(false)), "{case}: {checked}");
        assert!(checked.stdout.contains("\"bad\""), "{case}: {checked}");
        for look in [
            "show bad",
            "items --request bad",
            "events bad",
            "export --request bad --out bad.flowglass --force",
            "search marker",
            "sessions",
            "stats",
        ] {
            let answer = place.ask(look);
            assert_eq!(answer.code, Some(0), "{case}: {look}\n{answer}");
            if look.starts_with("show") {
                assert!(answer.stderr.contains("of request \"bad\" is damaged"), "{case}\n{answer}");
            }
        }
        for run in ["replay bad", "retry bad", "fork bad --at root/step:say"] {
            let answer = place.ask(run);
            assert_eq!(answer.code, Some(7), "{case}: {run}\n{answer}");
            assert!(answer.stderr.contains("is damaged"), "{case}\n{answer}");
        }
        assert_eq!(place.get("show good"), good, "{case}");
        place.get("delete --session one");
        let checked = place.ask("check --data");
        assert_eq!(checked.json()["ok"], true, "{case}: {checked}");
        assert_eq!(place.get("requests").as_array().map(Vec::len), Some(1), "{case}");
    }
}
