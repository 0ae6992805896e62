//! A place to try flows in: a temporary workspace, and the real program run in it.
//!
//! Tests see what a person sees: arguments in; exit code, standard output and standard error out.
//! Must not reach behind the program into the crates: what cannot be asked from outside is tested
//! in the crate that has it.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;
use tempfile::TempDir;

/// What nearly every flow of a test begins with.
const IMPORTS: &str = "import { defineFlow, FlowError, generator, handler, sequencer } from \"@flow-state-dev/core\";\n\
                       import { z } from \"zod\";\n";

/// A workspace of its own, gone with the value.
pub struct Place {
    dir: TempDir,
    /// What the program finds in its environment besides ours.
    pub(crate) variables: Vec<(String, String)>,
}

/// Where keys usually are: no test reaches a real provider.
const KEYS: [&str; 3] = ["OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY"];

/// The database of a place on the server that `FLOWGLASS_TEST_POSTGRES` names, in a schema of its own.
fn on_server(dir: &TempDir) -> Option<String> {
    let server = std::env::var("FLOWGLASS_TEST_POSTGRES").ok()?;
    let name = dir.path().file_name()?.to_string_lossy().to_lowercase();
    let name: String = name.chars().filter(char::is_ascii_alphanumeric).collect();
    Some(format!("{server}?schema=t_{name}"))
}

impl Default for Place {
    fn default() -> Self {
        Place::new()
    }
}

impl Place {
    /// An empty folder.
    pub fn new() -> Place {
        let dir = tempfile::tempdir().expect("a temporary folder can be made");
        let variables = on_server(&dir).map(|data| ("FLOWGLASS_DATA".to_owned(), data)).into_iter().collect();
        Place { dir, variables }
    }

    /// A folder with one flow, `flows/main.ts`; the usual imports are put before the source, on two lines.
    pub fn with_flow(source: &str) -> Place {
        Place::new().file("flows/main.ts", &format!("{IMPORTS}{source}"))
    }

    /// Replaces that flow by another.
    pub fn edit(&self, source: &str) {
        self.write("flows/main.ts", format!("{IMPORTS}{source}"));
    }

    /// A folder with a copy of the example flows and their mock scripts.
    pub fn with_examples() -> Place {
        let place = Place::new();
        copy(&repository().join("flows"), &place.dir().join("flows"));
        place
    }

    /// The same with one more file.
    pub fn file(self, name: &str, text: &str) -> Place {
        self.write(name, text);
        self
    }

    /// The same with an environment variable for the program.
    pub fn variable(mut self, name: &str, value: &str) -> Place {
        self.variables.push((name.to_owned(), value.to_owned()));
        self
    }

    /// From now on no variable is set.
    pub fn without_variables(mut self) -> Place {
        self.variables.clear();
        self
    }

    /// Writes a file, and the folders it is in.
    pub fn write(&self, name: &str, text: impl AsRef<[u8]>) {
        let path = self.dir().join(name);
        std::fs::create_dir_all(path.parent().expect("a file is in a folder")).expect("the place is writable");
        std::fs::write(path, text).expect("the place is writable");
    }

    /// The folder.
    pub fn dir(&self) -> &Path {
        self.dir.path()
    }

    /// Where the program keeps the database.
    pub fn database(&self) -> PathBuf {
        self.dir().join(".flowglass/flowglass.db")
    }

    /// Whether these words stand in a file of the database.
    pub fn stores(&self, words: &str) -> bool {
        let files = std::fs::read_dir(self.database().parent().expect("it is in a folder")).expect("it is there");
        let mut texts = files.flatten().filter_map(|file| std::fs::read(file.path()).ok());
        texts.any(|bytes| bytes.windows(words.len()).any(|window| window == words.as_bytes()))
    }

    /// Runs the program in the folder.
    pub fn run<A: AsRef<str>>(&self, args: &[A]) -> Answer {
        self.run_with(args, "")
    }

    /// Runs the program with a text on its standard input.
    pub fn run_with<A: AsRef<str>>(&self, args: &[A], input: &str) -> Answer {
        let mut command = Command::new(program());
        for key in KEYS {
            command.env_remove(key);
        }
        let mut child = command
            .envs(self.variables.iter().map(|(name, value)| (name, value)))
            .args(args.iter().map(AsRef::as_ref))
            .current_dir(self.dir())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program starts");
        let mut stdin = child.stdin.take().expect("it is piped");
        // A program that refuses its arguments does not read its input.
        let _ = stdin.write_all(input.as_bytes());
        drop(stdin);
        let output = child.wait_with_output().expect("the program ends");
        let answer = Answer {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).expect("standard output is UTF-8"),
            stderr: String::from_utf8(output.stderr).expect("standard error is UTF-8"),
        };
        let shown = args.iter().map(AsRef::as_ref).collect::<Vec<_>>().join(" ");
        assert!(answer.code.is_some(), "flowglass {shown} was killed by a signal\n{answer}");
        assert!(!answer.stderr.contains("panicked"), "flowglass {shown} panicked\n{answer}");
        answer
    }

    /// Runs a command line, its words parted by spaces, with `--json`.
    pub fn ask(&self, line: &str) -> Answer {
        let words: Vec<&str> = line.split(' ').filter(|word| !word.is_empty()).chain(["--json"]).collect();
        self.run(&words)
    }

    /// The JSON document of a command that must succeed.
    #[track_caller]
    pub fn get(&self, line: &str) -> Value {
        let answer = self.ask(line);
        assert_eq!(answer.code, Some(0), "flowglass {line}\n{answer}");
        answer.json()
    }
}

/// A flow of one chain of so many handlers, each of which changes a sequencer's state of about 1 KB: what a
/// durable step is measured by. `first` is what a handler does before that.
pub fn chain(steps: usize, first: &str) -> String {
    format!(
        "const notes = \"n\".repeat(1_000);
const add = (n) => handler({{ name: `add ${{n}}`, execute: async (input, ctx) => {{
  {first}
  await ctx.sequencer.incState({{ done: 1 }});
  return input + 1;
}} }});
let chain = sequencer({{
  name: \"chain\",
  inputSchema: z.any(),
  stateSchema: z.object({{ done: z.number().default(0), notes: z.string().default(notes) }}),
}});
for (let n = 0; n < {steps}; n++) chain = chain.step(add(n));
export default defineFlow({{ kind: \"main\", actions: {{ go: {{ block: chain }} }} }});
"
    )
}

/// How the program ended.
#[derive(Clone, Debug)]
pub struct Answer {
    /// `None` when a signal ended it.
    pub code: Option<i32>,
    /// The result.
    pub stdout: String,
    /// Everything else.
    pub stderr: String,
}

impl Answer {
    /// Standard output as the one JSON document it must be.
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("not one JSON document: {error}\n{self}"))
    }
}

impl std::fmt::Display for Answer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "exit code {:?}\n--- stdout\n{}\n--- stderr\n{}", self.code, self.stdout, self.stderr)
    }
}

/// The folder of the whole project.
pub fn repository() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("this crate is a folder of the project")
}

/// The program: `FLOWGLASS_BIN`, or what the last build put beside this test.
pub fn program() -> PathBuf {
    if let Some(named) = std::env::var_os("FLOWGLASS_BIN") {
        return named.into();
    }
    let test = std::env::current_exe().expect("a running test knows its file");
    let profile = test.parent().and_then(Path::parent).expect("tests lie in target/<profile>/deps");
    let program = profile.join(format!("flowglass{}", std::env::consts::EXE_SUFFIX));
    assert!(
        program.is_file(),
        "{} is missing: run `cargo build -p flowglass`, or set FLOWGLASS_BIN",
        program.display()
    );
    program
}

/// Copies a folder without what tools put into it.
fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).expect("the place is writable");
    for entry in std::fs::read_dir(from).expect("the folder is there").flatten() {
        let name = entry.file_name();
        if name == "node_modules" || name == ".flowglass" {
            continue;
        }
        let (source, target) = (entry.path(), to.join(&name));
        if source.is_dir() {
            copy(&source, &target);
        } else {
            std::fs::copy(&source, &target).expect("the place is writable");
        }
    }
}
