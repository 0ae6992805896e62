//! A server finds the same words as a file.
//!
//! Each test has a server of its own; on a machine without one it says so and tests nothing.

use tests::bench::Place;
use tests::postgres::Postgres;

const FLOW: &str = "
const echo = handler({ name: \"echo\", inputSchema: z.any(), execute: (input: any) => input });
export default defineFlow({ kind: \"main\", actions: { go: { inputSchema: z.any(), block: echo } } });";

/// Texts with letters whose case depends on their place or changes their length.
const TEXTS: [(&str, &str); 7] = [
    ("final", "ο μεγάλος δρόμος"),
    ("capital", "Ο ΜΕΓΆΛΟΣ ΔΡΌΜΟΣ"),
    ("inner", "ο μεγάλοσ δρόμοσ"),
    ("single", "σ Σ ς"),
    ("sharp", "große STRAẞE"),
    ("dotted", "İstanbul"),
    ("plain", "a long road"),
];

/// What lists and the search find of a text is the same in both databases, whichever form of a letter is looked for.
#[test]
fn a_search_finds_the_same_on_a_server() {
    let Some(server) = Postgres::start() else { return };
    let place = Place::with_flow(FLOW);
    let data = [server.address("words"), "words.db".to_owned()];
    for data in &data {
        for (request, text) in TEXTS {
            let input = format!("\"{text}\"");
            let words = ["run", "main", "go", "--user", "a", "--request", request, "--input", &input, "--data", data];
            assert_eq!(place.run(&words).code, Some(0), "{data}: {request}");
        }
        for request in ["final", "capital", "inner"] {
            assert_eq!(place.run(&["tag", request, "+ΟΔΌΣ", "--data", data]).code, Some(0), "{data}: {request}");
        }
    }
    let found = |line: &[&str], id: &str| {
        let lists = data.clone().map(|data| {
            let answer = place.run(&[line, &["--json", "--data", &data]].concat());
            assert_eq!(answer.code, Some(0), "{line:?}: {answer}");
            let rows = answer.json().as_array().cloned().expect("a list");
            let mut ids: Vec<String> = rows.iter().map(|row| row[id].as_str().unwrap_or_default().to_owned()).collect();
            ids.sort();
            ids.dedup();
            ids
        });
        assert_eq!(lists[0], lists[1], "{line:?}");
        lists[0].clone()
    };
    let greek = ["capital", "final", "inner"];
    for text in ["μεγάλος", "ΜΕΓΆΛΟΣ", "μεγάλοσ", "δρόμος", "δρόμοσ", "ς δ"] {
        assert_eq!(found(&["requests", "--search", text], "id"), greek, "{text}");
        assert_eq!(found(&["search", text], "requestId"), greek, "{text}");
    }
    assert_eq!(found(&["requests", "--search", "οδός"], "id"), greek, "a tag");
    for text in ["σ", "Σ", "ς"] {
        assert_eq!(found(&["requests", "--search", text], "id"), ["capital", "final", "inner", "single"], "{text}");
    }
    for (text, id) in [("straße", "sharp"), ("GROẞE", "sharp"), ("istanbul", ""), ("i̇stanbul", "dotted")] {
        let ids: &[&str] = if id.is_empty() { &[] } else { &[id] };
        assert_eq!(found(&["requests", "--search", text], "id"), ids, "{text}");
    }
}
