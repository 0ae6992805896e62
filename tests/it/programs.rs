//! The two programs: the command line works where there is no window, and starts the window where there is one.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tests::bench::{Place, program};

const FLOW: &str = "const greet = handler({ name: \"greet\", execute: () => \"hello\" });
export default defineFlow({ kind: \"greeter\", actions: { greet: { block: greet } } });";

/// The command line in a folder by itself, as it is copied to a server.
fn alone(folder: &Path) -> PathBuf {
    let copy = folder.join("flowglass");
    if std::fs::hard_link(program(), &copy).is_err() {
        std::fs::copy(program(), &copy).expect("the program can be copied");
    }
    copy
}

fn run(program: &Path, place: &Place, words: &str) -> Output {
    let mut command = Command::new(program);
    command.args(words.split(' ')).current_dir(place.dir()).env("DISPLAY", ":99");
    command.output().expect("the program starts")
}

#[test]
#[cfg(target_os = "linux")]
fn the_command_line_loads_no_library_of_a_window() {
    let libraries = |program: &Path| {
        let output = Command::new("ldd").arg(program).output().expect("ldd is part of the C library");
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let of_command_line = libraries(&program());
    assert!(of_command_line.contains("libc.so"), "{of_command_line}");
    for library in ["webkit", "gtk", "libglib", "dbus"] {
        assert!(!of_command_line.contains(library), "{of_command_line}");
    }
    assert!(libraries(&program().with_file_name("flowglass-window")).contains("webkit"));
}

#[test]
fn the_command_line_alone_runs_flows_and_says_that_it_has_no_window() {
    let place = Place::with_flow(FLOW);
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let program = alone(folder.path());
    let ran = run(&program, &place, "run greeter greet --user ada --json");
    assert!(ran.status.success(), "{ran:?}");
    for words in ["open", "open .", "open . --json"] {
        let opened = run(&program, &place, words);
        let said = String::from_utf8_lossy(&opened.stderr);
        assert_eq!(opened.status.code(), Some(1), "{words}: {said}");
        assert!(said.contains("flowglass-window") && said.contains("it belongs beside flowglass"), "{words}: {said}");
        assert_eq!(words.contains("--json"), opened.stdout.starts_with(b"{\"error\""), "{opened:?}");
    }
}

#[test]
fn wrong_words_are_refused_before_the_window_is_looked_for() {
    let place = Place::with_flow(FLOW);
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let refused = run(&alone(folder.path()), &place, "open . --wrong");
    assert_eq!(refused.status.code(), Some(2), "{refused:?}");
}
