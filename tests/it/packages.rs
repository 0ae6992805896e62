//! What `make dist` hands out: a package for Debian and one for Fedora, each with the programs, an entry in menus, its
//! icon in all sizes and the licences; and the program of the package opens the window.
//!
//! The packages are made by a release build, so these tests are left out until somebody asks for them: `make dist`, then
//! `cargo test -p tests --test it -- --ignored packages`.

use std::path::{Path, PathBuf};
use std::process::Command;

use tests::bench::{Place, repository};
use tests::webdriver::{Settings, Window, hook};

const FLOW: &str = "const greet = handler({ name: \"greet\", execute: () => \"hello\" });
export default defineFlow({ kind: \"greeter\", actions: { greet: { block: greet } } });";

/// The sizes in which desktops look for an icon.
const SIZES: [u32; 7] = [16, 32, 48, 64, 128, 256, 512];

fn package(extension: &str) -> PathBuf {
    let folder = repository().join("target/dist");
    let files =
        std::fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}: run `make dist`", folder.display()));
    let is_wanted = |path: &PathBuf| path.extension().is_some_and(|found| found == extension);
    let found = files.flatten().map(|entry| entry.path()).find(is_wanted);
    found.unwrap_or_else(|| panic!("there is no .{extension} in {}: run `make dist`", folder.display()))
}

fn said(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn expected() -> Vec<String> {
    let icons = SIZES.map(|size| format!("usr/share/icons/hicolor/{size}x{size}/apps/flowglass.png"));
    let others = [
        "usr/bin/flowglass",
        "usr/bin/flowglass-window",
        "usr/share/applications/Flowglass.desktop",
        "usr/share/doc/flowglass/LICENSE-MIT",
        "usr/share/doc/flowglass/LICENSE-APACHE",
        "usr/share/doc/flowglass/THIRD-PARTY.txt",
    ];
    icons.into_iter().chain(others.map(str::to_owned)).collect()
}

#[test]
#[ignore = "it needs the packages of `make dist`"]
fn the_debian_package_is_whole_and_its_program_opens() {
    let root = tempfile::tempdir().expect("a temporary folder can be made");
    said(Command::new("dpkg-deb").arg("-x").arg(package("deb")).arg(root.path()));
    for file in expected() {
        assert!(root.path().join(&file).is_file(), "{file} is missing");
    }
    let entry = std::fs::read_to_string(root.path().join("usr/share/applications/Flowglass.desktop")).expect("text");
    for line in ["Exec=flowglass", "Icon=flowglass", "Terminal=false", "Categories=Development;"] {
        assert!(entry.lines().any(|found| found == line), "{line} is missing in\n{entry}");
    }
    opens(&root.path().join("usr/bin/flowglass"));
}

#[test]
#[ignore = "it needs the packages of `make dist`"]
fn the_fedora_package_is_whole() {
    let listed = said(Command::new("rpm").args(["-qlp"]).arg(package("rpm")));
    for file in expected() {
        assert!(listed.lines().any(|line| line == format!("/{file}")), "{file} is missing in\n{listed}");
    }
}

/// The program runs an action in its window, from a folder that it has never seen.
fn opens(program: &Path) {
    let place = Place::with_flow(FLOW);
    let dir = place.dir().display().to_string();
    let window = Window::open_with(Settings::default(), program, &["open", &dir]);
    window.click(&hook("action-greeter-greet"));
    window.click(&hook("run-button"));
    window.until_status("completed");
}
