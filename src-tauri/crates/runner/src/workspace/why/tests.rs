//! The index and the cover of a text by earlier texts, without a log.

use serde_json::{Value, json};

use super::cover::{Piece, Ranked, cover};
use super::index::{AS_JSON, Index, Use, is_short};

fn index(values: &[Value]) -> Index {
    let mut index = Index::default();
    for (record, value) in (0..).zip(values) {
        index.add(record, value, false);
    }
    index.finish();
    index
}

/// The parts of a text, each with its text and the record that first had it.
fn parts<'t>(index: &Index, text: &'t str, before: u32) -> Vec<(&'t str, u32)> {
    let pieces = pieces(index, text, before, &mut 0);
    pieces.iter().map(|piece| (&text[piece.from..piece.to], index.uses(piece.text, before)[0].1.record)).collect()
}

fn pieces(index: &Index, text: &str, before: u32, work: &mut u64) -> Vec<Piece> {
    cover(index, text, before, work, |id| {
        let newest = index.uses(id, before).last()?.1.record;
        Some(Ranked { rank: (0, u64::from(newest)), is_json: false })
    })
}

#[test]
fn values_are_found_by_content_and_short_ones_are_not() {
    let values = [json!({ "a": [1, "a longer text"], "b": 12_345_678 }), json!("a longer text"), json!([1, true, ""])];
    let index = index(&values);
    let found = |value: &Value, before| index.find_value(value, before).iter().map(|(_, one)| *one).collect::<Vec<_>>();
    assert_eq!(found(&values[0], 3), [Use { record: 0, node: 0 }]);
    // The order of keys does not count.
    assert_eq!(found(&json!({ "b": 12_345_678, "a": [1, "a longer text"] }), 3), [Use { record: 0, node: 0 }]);
    assert_eq!(found(&json!(12_345_678), 3), [Use { record: 0, node: 4 }]);
    assert_eq!(found(&json!(12_345_678), 0), [], "nothing is before the first record");
    assert_eq!(found(&json!(1), 3), []);
    let text = index.find_text("a longer text").expect("it is there");
    assert_eq!(index.uses(text, 3).iter().map(|(_, one)| one.record).collect::<Vec<_>>(), [0, 1]);
    assert_eq!(index.uses(text, 1).len(), 1);
    assert_eq!(index.find_text("another text"), None);
    for short in [json!(1), json!(true), json!(null), json!("seven b"), json!([]), json!({}), json!([1, 2])] {
        assert!(is_short(&short), "{short}");
    }
    for long in [json!("eight by"), json!(12_345_678), json!({ "a": "bc" }), json!([1, 2, 3, 4])] {
        assert!(!is_short(&long), "{long}");
    }
}

#[test]
fn a_text_is_covered_by_the_best_earlier_texts() {
    let index = index(&[
        json!("the harbour of Lisbon"),
        json!("the harbour of Lisbon at night in winter"),
        json!("octopus"),
        json!("snow and rain"),
    ]);
    let text = "Draw the harbour of Lisbon at night, octopus, snow and rain, ------------";
    // A few more bytes in common with a longer text are chance.
    assert_eq!(parts(&index, text, 4), [("the harbour of Lisbon", 0), ("snow and rain", 3)]);
    assert_eq!(parts(&index, text, 1), [("the harbour of Lisbon", 0)]);
    assert_eq!(parts(&index, text, 0), []);
    assert_eq!(parts(&index, "", 4), []);
    let longer = "Draw the harbour of Lisbon at night in winte_";
    assert_eq!(parts(&index, longer, 4), [("the harbour of Lisbon at night in winte", 1)]);
}

/// The parts of a text, each with its text, the record it is from, and its first byte there; each record
/// has a class.
fn ranked_parts<'t>(values: &[(u8, Value)], text: &'t str) -> Vec<(&'t str, u32, usize)> {
    let mut index = Index::default();
    for (record, (_, value)) in (0..).zip(values) {
        index.add(record, value, true);
    }
    index.finish();
    let many = values.len() as u32;
    let pieces = cover(&index, text, many, &mut 0, |id| {
        let newest = index.uses(id, many).last()?.1;
        let class = values[newest.record as usize].0;
        Some(Ranked { rank: (class, u64::from(newest.record)), is_json: newest.node == AS_JSON })
    });
    let record = |piece: &Piece| index.uses(piece.text, many).last().map_or(0, |(_, one)| one.record);
    pieces.iter().map(|piece| (&text[piece.from..piece.to], record(piece), piece.at)).collect()
}

#[test]
fn a_whole_text_and_a_better_rank_come_before_a_few_more_bytes() {
    let city = "Manchester by the canal";
    for memo in ["City: Manchester by the canal was rejected", "xyz Manchester by the canal was rejected"] {
        let input = json!({ "city": city, "memo": memo });
        let found = ranked_parts(&[(6, input)], "Plan. City: Manchester by the canal.");
        assert_eq!(found, [(city, 0, 0)], "{memo}");
    }
    // What the block got is better than a write that has one more letter in common, and a much longer part is better.
    let values =
        [(6, json!({ "city": city })), (4, json!({ "note": "note of Manchester by the canal by Alan Turing" }))];
    assert_eq!(ranked_parts(&values, "You are in Manchester by the canal."), [(city, 0, 0)]);
    let text = "Note: note of Manchester by the canal by Alan Turing.";
    assert_eq!(ranked_parts(&values, text), [("note of Manchester by the canal by Alan Turing", 1, 0)]);
}

#[test]
fn a_text_in_a_value_comes_before_the_json_of_the_value_wherever_a_part_begins() {
    let story = "She was born in Paris, France. and then moved away to the coast of Norway";
    let input = json!({ "city": "Paris, France", "story": story, "k": 0 });
    for from in 0..story.len() - 30 {
        let part = &story[from..from + 30];
        let found = ranked_parts(&[(6, input.clone())], part);
        assert_eq!(found, [(part, 0, from)], "from {from}");
    }
    // Many newer values have the same text in their JSON.
    let mut values = vec![(3, json!({ "story": story }))];
    values.extend((0..40).map(|n| (3, json!({ "n": n, "story": story }))));
    assert_eq!(ranked_parts(&values, &story[3..40]), [(&story[3..40], 40, 3)]);
}

#[test]
fn parts_end_between_characters() {
    // The first bytes of é and ê are the same.
    let index = index(&[json!("un très beau jour au caf\u{e9}")]);
    assert_eq!(parts(&index, "c'est un très beau jour au caf\u{ea} noir", 1), [("un très beau jour au caf", 0)]);
}

/// Letters that no other part has at its ends, so that a part cannot be longer than it was made.
#[test]
fn a_text_put_together_from_known_parts_gives_exactly_those_parts() {
    let letters: Vec<char> = "abcdefghijklmnopqrstuvwxyz öß漢🙂".chars().collect();
    for seed in 0..200 {
        let mut random = fastrand::Rng::with_seed(seed);
        let words = |random: &mut fastrand::Rng| -> String {
            let many = random.usize(8..200);
            (0..many).map(|_| letters[random.usize(0..letters.len())]).collect()
        };
        let known: Vec<String> = (0..random.usize(1..30)).map(|at| format!("<{at}>{}", words(&mut random))).collect();
        let index = index(&known.iter().map(|text| json!(text)).collect::<Vec<_>>());
        let (mut text, mut expected) = (String::new(), Vec::new());
        for _ in 0..random.usize(0..20) {
            text.push_str(&"#".repeat(random.usize(1..9)));
            let at = random.usize(0..known.len());
            expected.push((text.len(), text.len() + known[at].len(), at as u32));
            text.push_str(&known[at]);
        }
        text.push('#');
        let many = known.len() as u32;
        let found = pieces(&index, &text, many, &mut 0);
        let found: Vec<(usize, usize, u32)> = found
            .iter()
            .map(|piece| {
                assert_eq!(piece.at, 0, "seed {seed}: it is the whole text");
                (piece.from, piece.to, index.uses(piece.text, many)[0].1.record)
            })
            .collect();
        assert_eq!(found, expected, "seed {seed}: {text}");
    }
}

/// Makes a log and a text of a size.
type Made<'m> = dyn Fn(usize) -> (Vec<Value>, String) + 'm;

/// What indexing and a question cost, in bytes and entries.
fn work(log: &[Value], text: &str) -> (u64, u64) {
    let index = index(log);
    let mut work = 0;
    pieces(&index, text, log.len() as u32, &mut work);
    (index.work, work)
}

/// Twice the log and twice the text cost twice as much, also where every byte is the same.
#[test]
fn the_work_is_linear() {
    // So few words that at every byte the most texts are compared.
    let words = |many: usize, seed: u64| {
        let mut random = fastrand::Rng::with_seed(seed);
        (0..many).map(|_| format!("word{} ", random.u32(0..200))).collect::<String>()
    };
    let mixed = |n: usize| ((0..n as u64).map(|at| json!(words(50, at))).collect::<Vec<_>>(), words(n * 20, 7));
    let same = |n: usize| (vec![json!("a".repeat(n * 100)); 3], "a".repeat(n * 100));
    let steps = |n: usize| {
        let log = (1..n / 8).map(|at| json!("ab".repeat(at * 4))).collect::<Vec<_>>();
        (log, "ab".repeat(n * 10))
    };
    let alike = |n: usize| {
        let log = (0..n).map(|at| json!(format!("the same beginning of every text {at} and its end"))).collect();
        (log, (0..n).map(|at| format!("the same beginning of every text {at}; ")).collect::<String>())
    };
    let periodic = |n: usize| (vec![json!("abcdefg".repeat(n * 20)); 3], "abcdefg".repeat(n * 30));
    let cases: [(&str, &Made<'_>); 4] =
        [("mixed", &mixed), ("same", &same), ("alike", &alike), ("periodic", &periodic)];
    for (name, made) in cases {
        let (log, text) = made(200);
        let once = work(&log, &text);
        let (log, text) = made(400);
        let twice = work(&log, &text);
        assert!(twice.0 <= once.0 * 5 / 2, "{name}: indexing costs {} and {}", once.0, twice.0);
        assert!(twice.1 <= once.1 * 5 / 2, "{name}: a question costs {} and {}", once.1, twice.1);
    }
    // Here the log itself is four times as long.
    let ((log, text), (longer, longer_text)) = (steps(800), steps(1_600));
    let (once, twice) = (work(&log, &text), work(&longer, &longer_text));
    assert!(twice.0 <= once.0 * 5 && twice.1 <= once.1 * 5 / 2, "{once:?} {twice:?}");
}
