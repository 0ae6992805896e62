//! A process that dies at any instant loses nothing, and a resume repeats nothing.
//!
//! Each flow of `tests/flows/crash` is run once as it is. Then a real process dies at every single
//! commit of it, with both promises of what a commit survives, another takes the request up, and everything that can be seen must be the same:
//! output, every scope's state, what the client sees, the journal, and, counted outside the database,
//! the side effects of the blocks that had ended. A second test kills the program at random instants,
//! its resumes included.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use tests::bench::{program, repository};
use tests::counting::Counts;
use tests::dying::{Bed, Essence, Order, Told, differences};

/// One test for each flow, so that they run side by side and a failure says which one it is.
macro_rules! flows {
    ($($test:ident: $order:ident,)*) => {
        const FLOWS: &[(&str, Order)] = &[$((stringify!($test), Order::$order)),*];
        $(
            #[test]
            fn $test() {
                die_at_every_commit(stringify!($test), Order::$order);
            }
        )*
    };
}

flows! {
    background: Any,
    caught: Fixed,
    chain: Fixed,
    durable: Fixed,
    fanout: Any,
    generator: Any,
    inside: Fixed,
    // A layer around a chain that runs again writes again, after what the blocks inside had kept.
    layers: Any,
    loops: Fixed,
    nested: Fixed,
    routes: Fixed,
}

fn bed(flow: &'static str, order: Order, pause: u32) -> Bed {
    Bed::new(flow, order, Path::new(env!("CARGO_BIN_EXE_crash")), pause)
}

/// The request as it is without any crash.
#[track_caller]
fn plain(bed: &Bed) -> (Essence, u64) {
    let told = bed.process("plain", &["run", bed.flow, "plain"]).expect("nothing tells it to die");
    assert_eq!(told.status(), "completed");
    (bed.essence("plain", &told), told.commits())
}

#[track_caller]
fn die_at_every_commit(flow: &'static str, order: Order) {
    let bed = bed(flow, order, 0);
    let (plain, commits) = plain(&bed);
    assert!(commits > 5, "{flow} has only {commits} commits");
    let mut wrong = Vec::new();
    for (durability, n) in ["process", "power"].into_iter().flat_map(|one| (1..=commits).map(move |n| (one, n))) {
        bed.set_durability(durability);
        let request = format!("{durability}{n}");
        // Evidence shares commits as it happens to come, so the last ones may be missing.
        bed.process(&request, &["run", bed.flow, &request, &n.to_string()]);
        let counts = bed.counts(&request);
        let told = bed.process(&request, &["resume", &request]).expect("nothing tells it to die");
        let found = bed.essence(&request, &told);
        let finished = told.finished(&counts);
        let mut different = differences(&plain, &told, &found, &finished);
        different.extend(plain.not_once(&finished));
        wrong.extend(different.into_iter().map(|difference| format!("{durability}, commit {n}: {difference}")));
    }
    assert!(wrong.is_empty(), "{flow} of {commits} commits:\n{}", wrong.join("\n"));
}

/// A process dies at a commit while another one reads, writes the same user and project, and deletes a session that
/// both had written from: the database is what its events say, and the first request goes on.
#[test]
fn one_dies_at_every_commit_beside_another() {
    let bed = bed("durable", Order::Fixed, 0);
    let (_, commits) = plain(&bed);
    // All of them in `make soak`.
    let step = if std::env::var_os("FLOWGLASS_SOAK").is_some() { 1 } else { 7 };
    let mut wrong = Vec::new();
    for n in (1..=commits).step_by(step) {
        let request = format!("d{n}");
        let run = |session: &str| {
            let words = ["run", bed.flow, "go", "--user", "ada", "--project", "team", "--input", "1", "--mock"];
            beside(&bed, &request, &[&words[..], &["--session", session]].concat())
        };
        run("old").expect("it runs");
        let others = std::thread::scope(|scope| {
            let other = scope.spawn(|| {
                let look = || beside(&bed, &request, &["requests"]);
                [run("other"), look(), beside(&bed, &request, &["delete", "--session", "old"]), look(), run("other")]
            });
            bed.process(&request, &["run", bed.flow, &request, &n.to_string()]);
            other.join().expect("nobody panicked")
        });
        wrong.extend(others.into_iter().filter_map(Result::err).map(|error| format!("commit {n}: {error}")));
        let check = || beside(&bed, &request, &["check"]);
        wrong.extend(check().err().map(|error| format!("after commit {n}: {error}")));
        let told = bed.process(&request, &["resume", &request]).expect("nothing tells it to die");
        if told.status() != "completed" {
            wrong.push(format!("commit {n}: it is {}", told.status()));
        }
        wrong.extend(check().err().map(|error| format!("after the resume of commit {n}: {error}")));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The real program on the database of a try.
fn beside(bed: &Bed, request: &str, words: &[&str]) -> Result<(), String> {
    let mut command = Command::new(program());
    command.args(words).arg("--json").arg("--data").arg(bed.data(request)).current_dir(bed.place.dir());
    let answer = command.stdin(Stdio::null()).output().expect("the program starts");
    if answer.status.success() {
        return Ok(());
    }
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Err(format!("{words:?}: {} {} {}", answer.status, text(&answer.stdout), text(&answer.stderr)))
}

/// How often the program is killed at random.
const KILLS: usize = 200;
/// How much longer every block takes then, so that there is a middle to be killed in.
const PAUSE_MS: u32 = 4;

/// Longer than any of these requests takes.
const PROCESS_TIMEOUT: Duration = Duration::from_secs(30);

/// Chance that is the same for the same seed.
struct Chance(u64);

impl Chance {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end.max(1)
    }
}

/// Each kill is one try with a database of its own; a resume may be killed as well.
#[test]
fn killed_at_random_instants() {
    let seed = match std::env::var("CRASH_SEED") {
        Ok(given) => given.parse().expect("CRASH_SEED is a number"),
        Err(_) => SystemTime::now().duration_since(UNIX_EPOCH).expect("it is after 1970").as_nanos() as u64,
    };
    println!("CRASH_SEED={seed}");
    let beds: Vec<(Bed, Essence)> = FLOWS
        .iter()
        .map(|(flow, order)| {
            let bed = bed(flow, *order, PAUSE_MS);
            let (plain, _) = plain(&bed);
            (bed, plain)
        })
        .collect();
    let (next, middle, wrong) = (AtomicUsize::new(0), AtomicUsize::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                loop {
                    let n = next.fetch_add(1, Ordering::Relaxed);
                    if n >= KILLS {
                        return;
                    }
                    let (bed, plain) = &beds[n % beds.len()];
                    let different = one_kill(bed, plain, n, seed, &middle);
                    let told = different.into_iter().map(|difference| format!("{} try {n}: {difference}", bed.flow));
                    wrong.lock().expect("nobody panicked").extend(told);
                }
            });
        }
    });
    let (middle, wrong) = (middle.into_inner(), wrong.into_inner().expect("nobody panicked"));
    println!("{middle} kills in {KILLS} tries hit a request in its middle");
    assert!(middle > KILLS / 2, "only {middle} kills in {KILLS} tries hit a request in its middle");
    assert!(wrong.is_empty(), "CRASH_SEED={seed}\n{}", wrong.join("\n"));
}

fn one_kill(bed: &Bed, plain: &Essence, n: usize, seed: u64, middle: &AtomicUsize) -> Vec<String> {
    let mut chance = Chance(seed.wrapping_add(n as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let request = format!("k{n}");
    let mut finished = Counts::new();
    let mut known = false;
    let kills = 1 + usize::from(chance.below(2) == 0);
    for _ in 0..kills {
        let child = spawn(bed, &request, known);
        kill_at_an_instant(child, bed, &request, plain, &mut chance);
        let counts = bed.counts(&request);
        let Some(told) = looked(bed, &request) else { continue };
        known = true;
        if told.status() == "interrupted" {
            middle.fetch_add(1, Ordering::Relaxed);
        }
        // A block that was in flight at one kill may have told its effect twice when it ends.
        for (path, count) in told.finished(&counts) {
            finished.entry(path).or_insert(count);
        }
    }
    let words: &[&str] = if known { &["resume", &request] } else { &["run", bed.flow, &request] };
    let told = bed.process(&request, words).expect("nothing kills it");
    differences(plain, &told, &bed.essence(&request, &told), &finished)
}

/// Kills a process some milliseconds after some number of side effects, unless it ends before.
fn kill_at_an_instant(mut child: Child, bed: &Bed, request: &str, plain: &Essence, chance: &mut Chance) {
    let told = |bed: &Bed| bed.counts(request).values().sum::<usize>();
    let before = told(bed);
    // An effect may be told twice by a block that runs again, so the number is a beginning, no more.
    let awaited = chance.below(plain.effects().saturating_sub(before) as u64 + 1) as usize;
    let later = Duration::from_micros(chance.below(u64::from(PAUSE_MS) * 2_000));
    let start = Instant::now();
    while told(bed) < before + awaited && child.try_wait().expect("it can be asked").is_none() {
        if start.elapsed() > PROCESS_TIMEOUT {
            // Killed it is anyhow; that it got nowhere must not stay unsaid.
            println!("{} {request} got nowhere for {PROCESS_TIMEOUT:?}", bed.flow);
            break;
        }
        std::thread::sleep(Duration::from_micros(200));
    }
    std::thread::sleep(later);
    // SIGKILL; a process that has ended meanwhile was not hit.
    let _ = child.kill();
    child.wait().expect("it ends");
}

/// The real program, running or resuming a request.
fn spawn(bed: &Bed, request: &str, known: bool) -> Child {
    let mut command = Command::new(program());
    if known {
        command.args(["resume", request])
    } else {
        command.args(["run", bed.flow, "go", "--user", "ada", "--session", "talk", "--project", "team"]).args([
            "--request",
            request,
            "--input",
            "1",
            "--mock",
        ])
    };
    command.arg("--data").arg(bed.data(request)).current_dir(bed.place.dir());
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("the program starts")
}

/// What the log holds now, if there is a request at all.
fn looked(bed: &Bed, request: &str) -> Option<Told> {
    let data = bed.data(request);
    let asked = Command::new(program())
        .args(["requests", "--json", "--data"])
        .arg(data)
        .current_dir(bed.place.dir())
        .output()
        .expect("the program starts");
    let rows: serde_json::Value = serde_json::from_slice(&asked.stdout).expect("requests answers JSON");
    if rows.as_array().is_some_and(|rows| !rows.is_empty()) {
        Some(bed.process(request, &["look", request]).expect("nothing kills it"))
    } else {
        None
    }
}

#[test]
fn every_flow_that_can_die_is_tried() {
    let files = std::fs::read_dir(repository().join("tests/flows/crash")).expect("the flows are there").flatten();
    let found: BTreeSet<String> =
        files.filter_map(|file| Some(file.file_name().to_str()?.strip_suffix(".ts")?.to_owned())).collect();
    let tried: BTreeSet<String> = FLOWS.iter().map(|(flow, _)| (*flow).to_owned()).collect();
    assert_eq!(found, tried);
}
