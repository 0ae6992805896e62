//! The real window, driven from outside: a display, the drivers, and the few WebDriver commands that tests need.
//!
//! Every wait is for a condition and has an end. Must not know what the window shows, and must end
//! all processes that it started and no other.

mod browsing;
mod checking;
mod starting;

use std::fmt::Display;
use std::net::{Ipv4Addr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;
use ureq::Agent;

use crate::processes::Processes;
use starting::{Running, WAIT_TIMEOUT, free_ports, tool, virtual_display, wait_until};

/// The CSS selector of what the page names for its tests.
pub fn hook(name: &str) -> String {
    format!("[data-testid=\"{name}\"]")
}

/// Keys that are no characters, as WebDriver names them.
pub mod key {
    /// To the start.
    pub const HOME: char = '\u{e011}';
    /// To the end.
    pub const END: char = '\u{e010}';
    /// To send a form.
    pub const ENTER: char = '\u{e007}';
    /// One to the right.
    pub const RIGHT: char = '\u{e014}';
    /// One down.
    pub const DOWN: char = '\u{e015}';
    /// Deletes the character before.
    pub const BACKSPACE: char = '\u{e003}';
    /// To the next control.
    pub const TAB: char = '\u{e004}';
    /// To the next part of the window.
    pub const F6: char = '\u{e036}';
    /// To the next difference.
    pub const F8: char = '\u{e038}';
    /// Out of a dialog.
    pub const ESCAPE: char = '\u{e00c}';
    /// Held while another key is pressed.
    pub const CONTROL: char = '\u{e009}';
    /// One to the left.
    pub const LEFT: char = '\u{e012}';
    /// One up.
    pub const UP: char = '\u{e013}';
}

/// An open window. Closing it ends everything it needed.
pub struct Window {
    page: Page,
    began: Instant,
    display: String,
    program: PathBuf,
    // Ended in this order.
    driver: Running,
    _display: Option<Running>,
    home: PathBuf,
    _own_home: Option<TempDir>,
}

/// What a window is opened with besides its arguments.
#[derive(Default)]
pub struct Settings {
    /// Where it finds the folders of `XDG_…`; one of its own when absent, gone with it.
    pub home: Option<PathBuf>,
    /// The folder that the program is started in.
    pub folder: Option<PathBuf>,
    /// More variables of its environment.
    pub variables: Vec<(&'static str, String)>,
}

impl Window {
    /// Starts a program with a window, on the display of `DISPLAY` or on one of its own.
    pub fn open<A: AsRef<str>>(program: &Path, args: &[A]) -> Window {
        Window::open_with(Settings::default(), program, args)
    }

    /// As [`open`](Self::open), started in a folder.
    pub fn open_in<A: AsRef<str>>(program: &Path, args: &[A], folder: &Path) -> Window {
        Window::open_with(Settings { folder: Some(folder.to_owned()), ..Settings::default() }, program, args)
    }

    /// The same with settings.
    pub fn open_with<A: AsRef<str>>(settings: Settings, program: &Path, args: &[A]) -> Window {
        let webkit = tool("WebKitWebDriver", "/usr/bin", "Debian's package webkit2gtk-driver");
        let cargo = std::env::var("CARGO_HOME").or_else(|_| std::env::var("HOME").map(|home| format!("{home}/.cargo")));
        let tauri = tool("tauri-driver", &format!("{}/bin", cargo.unwrap_or_default()), "the crate tauri-driver");
        let (display, own) = match std::env::var("DISPLAY") {
            Ok(display) if !display.is_empty() => (display, None),
            _ => {
                let (display, running) = virtual_display();
                (display, Some(running))
            }
        };
        let own_home = settings.home.is_none().then(|| tempfile::tempdir().expect("a temporary folder can be made"));
        let home = settings.home.or(own_home.as_ref().map(|dir| dir.path().to_owned())).expect("one of both");
        let said = home.join("driver.log");
        let log = std::fs::File::create(&said).expect("the folder is writable");
        let (port, native) = free_ports();
        let mut command = Command::new(tauri);
        command
            .args(["--port", &port.to_string(), "--native-port", &native.to_string(), "--native-driver"])
            .arg(webkit)
            .env("DISPLAY", &display)
            .env_remove("WAYLAND_DISPLAY")
            .current_dir(settings.folder.as_deref().unwrap_or(Path::new(".")))
            // What a window remembers belongs to the person at this machine, and must not decide a test.
            .envs(
                ["XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME"]
                    .map(|name| (name, home.join(name))),
            )
            .envs(settings.variables)
            .stdin(Stdio::null())
            .stdout(log.try_clone().expect("the file is open"))
            .stderr(log);
        let driver = Running::start("tauri-driver", &mut command);
        for port in [native, port] {
            wait_until(&format!("a driver to listen on port {port}"), || {
                TcpStream::connect((Ipv4Addr::LOCALHOST, port)).map(drop).map_err(|error| error.to_string())
            })
            .unwrap_or_else(|error| panic!("{error}\n{}", std::fs::read_to_string(&said).unwrap_or_default()));
        }
        let args: Vec<&str> = args.iter().map(AsRef::as_ref).collect();
        let program = program.canonicalize().unwrap_or_else(|error| panic!("{}: {error}", program.display()));
        let began = Instant::now();
        let page = Page::open(port, &program, &args)
            .unwrap_or_else(|error| panic!("{error}\n{}", std::fs::read_to_string(&said).unwrap_or_default()));
        Window { page, began, display, program, driver, _display: own, home, _own_home: own_home }
    }

    /// Where it finds the folders of `XDG_…`, each by its name.
    pub fn home(&self) -> &Path {
        &self.home
    }

    /// Ends the program and everything it started at once, as a crash does.
    pub fn kill(self) {
        self.driver.signal("KILL");
    }

    /// The name of the display it is on.
    pub fn display(&self) -> &str {
        &self.display
    }

    /// Waits until a window of the display has this title, as its title bar shows it.
    #[track_caller]
    pub fn until_title(&self, title: &str) {
        let program = tool("xwininfo", "/usr/bin", "Debian's package x11-utils");
        self.until(&format!("a window with the title {title:?}"), || {
            let mut command = Command::new(&program);
            command.args(["-root", "-tree", "-display", &self.display]).env("LC_ALL", "C.UTF-8");
            let listed = command.output().map_err(|error| error.to_string())?;
            let listed = String::from_utf8_lossy(&listed.stdout).into_owned();
            if listed.contains(&format!("\"{title}\"")) { Ok(()) } else { Err(format!("the windows are\n{listed}")) }
        });
    }

    /// How long ago its program was started.
    pub fn age(&self) -> Duration {
        self.began.elapsed()
    }

    /// The processes of the window: the program's own, and those that draw for it. None where it has ended.
    pub fn processes(&self) -> Option<Processes> {
        Processes::of(self.driver.0.id(), &self.program)
    }

    /// Clicks the middle of the first element that a CSS selector finds.
    #[track_caller]
    pub fn click(&self, css: &str) {
        self.until(&format!("{css} to be clicked"), || self.page.to_element("POST", css, "click", json!({})));
    }

    /// Presses keys in the first element that a CSS selector finds.
    #[track_caller]
    pub fn press(&self, css: &str, keys: impl Display) {
        let text = keys.to_string();
        self.until(&format!("{css} to take keys"), || {
            self.page.to_element("POST", css, "value", json!({ "text": text }))
        });
    }

    /// Presses keys where the focus is, one after the other.
    #[track_caller]
    pub fn type_keys(&self, keys: impl Display) {
        let presses: Vec<Value> = keys
            .to_string()
            .chars()
            .flat_map(|key| ["keyDown", "keyUp"].map(|what| json!({ "type": what, "value": key.to_string() })))
            .collect();
        let actions = json!({ "actions": [{ "type": "key", "id": "keyboard", "actions": presses }] });
        self.page.send("POST", "/actions", actions).unwrap_or_else(|error| panic!("{error}"));
    }

    /// Presses a key while Ctrl is held.
    #[track_caller]
    pub fn control(&self, key: char) {
        let press = |what: &str, key: char| json!({ "type": what, "value": key.to_string() });
        let presses = [("keyDown", key::CONTROL), ("keyDown", key), ("keyUp", key), ("keyUp", key::CONTROL)]
            .map(|(w, k)| press(w, k));
        let actions = json!({ "actions": [{ "type": "key", "id": "keyboard", "actions": presses }] });
        self.page.send("POST", "/actions", actions).unwrap_or_else(|error| panic!("{error}"));
    }

    /// Gives the window another size, in pixels of its page.
    #[track_caller]
    pub fn resize(&self, width: u32, height: u32) {
        // The menu is no part of the page.
        let menu = self.script("return outerHeight - innerHeight", &[]).as_f64().unwrap_or_default() as u64;
        let size = json!({ "x": 0, "y": 0, "width": width, "height": u64::from(height) + menu });
        self.page.send("POST", "/window/rect", size).unwrap_or_else(|error| panic!("{error}"));
        self.until_script(&format!("return innerWidth === {width} && innerHeight === {height}"));
    }

    /// Empties a field.
    #[track_caller]
    pub fn clear(&self, css: &str) {
        self.until(&format!("{css} to be emptied"), || self.page.to_element("POST", css, "clear", json!({})));
    }

    /// The text of every element that a CSS selector finds now; white space is one blank.
    #[track_caller]
    pub fn texts(&self, css: &str) -> Vec<String> {
        let script = "return [...document.querySelectorAll(arguments[0])].map((one) => one.textContent)";
        let found = self.page.script(script, &[css]).unwrap_or_else(|error| panic!("{error}"));
        let texts = found.as_array().map(Vec::as_slice).unwrap_or_default();
        texts.iter().map(|text| words(text.as_str().unwrap_or_default())).collect()
    }

    /// An attribute of every element that a CSS selector finds now.
    #[track_caller]
    pub fn attributes(&self, css: &str, name: &str) -> Vec<String> {
        let script = "return [...document.querySelectorAll(arguments[0])].map((one) => one.getAttribute(arguments[1]))";
        let found = self.page.script(script, &[css, name]).unwrap_or_else(|error| panic!("{error}"));
        let values = found.as_array().map(Vec::as_slice).unwrap_or_default();
        values.iter().map(|value| value.as_str().unwrap_or_default().to_owned()).collect()
    }

    /// Waits until an element is there, and says its text.
    #[track_caller]
    pub fn wait_for(&self, css: &str) -> String {
        self.wait(css, |texts| texts.first().cloned())
    }

    /// Waits until the first element's text contains something, and says the text.
    #[track_caller]
    pub fn wait_for_text(&self, css: &str, part: &str) -> String {
        self.until(&format!("{css} to say {part:?}"), || {
            let texts = self.texts(css);
            texts.first().filter(|text| text.contains(part)).cloned().ok_or_else(|| format!("it says {texts:?}"))
        })
    }

    /// Waits until no element is found any more.
    #[track_caller]
    pub fn wait_for_none(&self, css: &str) {
        self.wait(css, |texts| texts.is_empty().then_some(()));
    }

    /// Waits until the texts of all elements of a selector are what is looked for.
    #[track_caller]
    pub fn wait<R>(&self, css: &str, look: impl Fn(&[String]) -> Option<R>) -> R {
        self.until(&format!("{css} to be as expected"), || {
            let texts = self.texts(css);
            look(&texts).ok_or_else(|| format!("they say {texts:?}"))
        })
    }

    /// What a script in the page answers; its arguments are `arguments[0]` and on.
    #[track_caller]
    pub fn script(&self, script: &str, args: &[&str]) -> Value {
        self.page.script(script, args).unwrap_or_else(|error| panic!("{error}"))
    }

    /// Waits until a script in the page answers something true.
    #[track_caller]
    pub fn until_script(&self, script: &str) -> Value {
        self.until(script, || {
            let answer = self.page.script(script, &[])?;
            if answer.is_null() || answer == Value::Bool(false) { Err("it is not so".to_owned()) } else { Ok(answer) }
        })
    }

    /// Waits until something can be had; a failure says what the window shows.
    #[track_caller]
    pub fn until<R>(&self, what: &str, attempt: impl FnMut() -> Result<R, String>) -> R {
        match wait_until(what, attempt) {
            Ok(result) => result,
            Err(error) => {
                let shown = self.page.script("return document.body.innerText", &[]).unwrap_or_default();
                panic!("{error}\n--- the window shows\n{}", shown.as_str().unwrap_or_default())
            }
        }
    }
}

impl Drop for Window {
    fn drop(&mut self) {
        // The drivers are ended next, which ends a window that did not close.
        let _ = self.page.send("DELETE", "", Value::Null);
    }
}

/// A WebDriver session.
struct Page {
    agent: Agent,
    address: String,
}

impl Page {
    fn open(port: u16, program: &Path, args: &[&str]) -> Result<Page, String> {
        let config =
            Agent::config_builder().http_status_as_error(false).proxy(None).timeout_global(Some(WAIT_TIMEOUT * 2));
        let mut page = Page { agent: config.build().into(), address: format!("http://127.0.0.1:{port}/session") };
        let options = json!({ "application": program, "args": args });
        let wanted = json!({ "capabilities": { "alwaysMatch": { "tauri:options": options } } });
        let session = page.send("POST", "", wanted)?;
        let id = session["sessionId"].as_str().ok_or_else(|| format!("no session: {session}"))?;
        page.address = format!("{}/{id}", page.address);
        Ok(page)
    }

    fn send(&self, method: &str, path: &str, body: Value) -> Result<Value, String> {
        let address = format!("{}{path}", self.address);
        let answer = match method {
            "POST" => self.agent.post(&address).send_json(&body),
            "GET" => self.agent.get(&address).call(),
            _ => self.agent.delete(&address).call(),
        };
        let mut answer = answer.map_err(|error| format!("{method} {path}: {error}"))?;
        let mut document: Value = answer.body_mut().read_json().map_err(|error| format!("{method} {path}: {error}"))?;
        let value = document["value"].take();
        match value["error"].as_str() {
            Some(error) => Err(format!("{error}: {}", value["message"].as_str().unwrap_or_default())),
            None => Ok(value),
        }
    }

    fn to_element(&self, method: &str, css: &str, command: &str, body: Value) -> Result<Value, String> {
        let found = self.send("POST", "/element", json!({ "using": "css selector", "value": css }))?;
        let id = found.as_object().and_then(|one| one.values().next()).and_then(Value::as_str);
        let id = id.ok_or_else(|| format!("no element: {found}"))?;
        self.send(method, &format!("/element/{id}/{command}"), body)
    }

    fn script(&self, script: &str, args: &[&str]) -> Result<Value, String> {
        self.send("POST", "/execute/sync", json!({ "script": script, "args": args }))
    }
}

fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
