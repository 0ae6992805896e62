//! The four screens that the README shows, in the real window with the examples that have run: each says what its
//! picture is there for. `make screenshots` puts the pictures into the README.

use std::path::PathBuf;

use tests::bench::{Place, program, repository};
use tests::webdriver::{Settings, Window, hook};

/// What has run: the session, its user, and what was asked.
const RUNS: [(&str, &str, &str); 7] = [
    ("tea", "ada", r#"run chat chat --mock --input {"message":"Hi, my name is Ada and I like tea"}"#),
    ("desk", "ada", r#"run desk answer --mock --input {"customer":"Ada","tickets":["My lamp is broken","My bill?"]}"#),
    ("money", "ada", r#"run refund ask --mock --input {"order":"17"}"#),
    ("order", "ada", r#"run concierge message --mock --input {"content":"Where is my order 17?"}"#),
    ("refund", "bob", r#"run support refund --input {"orderId":"A-100"}"#),
    ("complaint", "bob", r#"run support refund --input {"orderId":"A-200"}"#),
    ("study", "ada", r#"run research research --input {"depth":"thorough","pauseMs":300}"#),
];

/// Each picture: its name, whether it is dark, its address, and what it says where.
const PICTURES: [(&str, bool, &str, &str, &str); 4] = [
    ("timeline", false, "session=study&request=study", "timeline", "investigate #2"),
    ("compare", false, "compare=refund&with=complaint", "first-difference", "Completed → Failed"),
    ("home", true, "", "home-waiting", "Approve "),
    ("failed", true, "session=complaint&request=complaint", "request-error", "above the limit of 200"),
];

/// The examples, and what has run of them, in a folder whose name people may read.
fn examples(place: &Place) -> PathBuf {
    let folder = place.dir().join("examples");
    std::fs::rename(place.dir().join("flows"), &folder).expect("the place is writable");
    for (id, user, asked) in RUNS {
        let (line, input) = asked.split_once(" --input ").expect("each has an input");
        let ids = ["--dir", "examples", "--user", user, "--session", id, "--request", id, "--input", input];
        place.run(&line.split(' ').chain(ids).collect::<Vec<_>>());
    }
    folder
}

fn take(window: &Window, is_dark: bool) {
    window.resize(1280, 800);
    for (name, _, address, place, words) in PICTURES.into_iter().filter(|(_, dark, ..)| *dark == is_dark) {
        window.script("location.hash = arguments[0]", &[address]);
        window.wait_for_text(&hook(place), words);
        window.until_script("return !document.body.textContent.includes('Reading…')");
        window.picture(&repository().join(format!("target/screenshots/examples-{name}.png")));
    }
}

#[test]
fn pictures_of_the_examples() {
    let place = Place::with_examples();
    let examples = examples(&place).display().to_string();
    for (is_dark, theme) in [(false, "Adwaita"), (true, "Adwaita:dark")] {
        let settings = Settings { variables: vec![("GTK_THEME", theme.to_owned())], ..Settings::default() };
        let window = Window::open_with(settings, &program(), &["open", &examples]);
        window.wait_for(&hook("last-runs"));
        take(&window, is_dark);
    }
}
