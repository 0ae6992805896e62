//! Scores that a command of the person prints. Must not know how a score is stored.

use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::LOOK;
use crate::core::ordinary_files::short;
use crate::run::batch::Cancel;

/// How long a command may take.
const MAX_COMMAND: Duration = Duration::from_secs(60);
/// How long its output may stay open after its end.
const MAX_PIPES: Duration = Duration::from_secs(2);
/// How many bytes a command may print.
const MAX_PRINTED: usize = 64 << 10;
/// A shell ends with this and the number of the signal if a signal has ended what it ran last.
const BY_SIGNAL: i32 = 128;
/// What is expected of a command.
const EXPECTED: &str = "print one number, true or false, and nothing else";

/// What a command makes of a run.
pub(super) fn by_command(command: &str, folder: &Path, run: &Value, cancel: &Cancel) -> Result<Value, String> {
    let failed = |error: std::io::Error| format!("the command cannot be run: {error}");
    let mut child = shell(command)
        .current_dir(folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(failed)?;
    let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
    let text = run.to_string();
    // A command may print before it has read everything, or read nothing. Its pipes may outlive it in a process that it
    // has left behind, so these threads are not waited for without a limit.
    let _writer = std::thread::spawn(move || stdin.map(|mut stdin| stdin.write_all(text.as_bytes())));
    let (sender, printed) = std::sync::mpsc::channel();
    let _reader = std::thread::spawn(move || {
        let mut printed = Vec::new();
        let read = stdout.map(|stdout| stdout.take(MAX_PRINTED as u64 + 1).read_to_end(&mut printed));
        // The receiver is dropped if the command was killed.
        let _ = sender.send(read.transpose().map(|_| printed));
    });
    let began = Instant::now();
    let too_long = || format!("the command took longer than {} s, and was ended", MAX_COMMAND.as_secs());
    let status = loop {
        match child.try_wait() {
            Ok(Some(status)) => break Ok(status),
            Ok(None) if cancel.is_cancelled() => break Err("it was cancelled".to_owned()),
            Ok(None) if began.elapsed() > MAX_COMMAND => break Err(too_long()),
            Ok(None) => std::thread::sleep(LOOK),
            Err(error) => break Err(failed(error)),
        }
    };
    // What it began in the background would hold the pipes.
    end_group(&mut child);
    let status = status?;
    let printed = match printed.recv_timeout(MAX_PIPES) {
        Ok(read) => read.map_err(failed)?,
        Err(_) => return Err("the command left a process behind that holds its output open".to_owned()),
    };
    // Nothing reads further, so a signal may have ended a command that goes on printing.
    if printed.len() > MAX_PRINTED {
        return Err(format!("the command printed more than {MAX_PRINTED} bytes; {EXPECTED}"));
    }
    if let Some(signal) = signal_of(status) {
        return Err(format!("the command was ended by {}", signal_name(signal)));
    }
    // What a shell says of a program that is not there, or that it may not run.
    if let Some(code @ (126 | 127)) = status.code() {
        return Err(format!("the command cannot be run (exit code {code}): {}", first_line(command)));
    }
    score_of(&printed, status)
}

/// The score that a command has printed; if it printed nothing, whether it succeeded.
fn score_of(printed: &[u8], status: ExitStatus) -> Result<Value, String> {
    let printed = std::str::from_utf8(printed)
        .map_err(|error| format!("the command printed what is no UTF-8, at byte {}; {EXPECTED}", error.valid_up_to()))?
        .trim();
    if printed.is_empty() {
        return match status.code() {
            Some(code) if is_signal(code - BY_SIGNAL) => {
                let name = signal_name(code - BY_SIGNAL);
                Err(format!("the command was ended by {name} (exit code {code})"))
            }
            _ => Ok(status.success().into()),
        };
    }
    let wrong = || match printed.lines().filter(|line| !line.trim().is_empty()).count() {
        1 => format!("the command printed {}; {EXPECTED}", short(printed)),
        lines => {
            format!("the command printed {lines} lines, of which the first is {}; {EXPECTED}", first_line(printed))
        }
    };
    match engine::json::parse(printed) {
        Ok(Value::Bool(passes)) => Ok(passes.into()),
        Ok(Value::Number(number)) if number.as_f64().is_some_and(f64::is_finite) => Ok(number.into()),
        _ => Err(wrong()),
    }
}

fn first_line(text: &str) -> String {
    short(text.lines().next().unwrap_or_default())
}

/// The signal that has ended a process.
#[cfg(unix)]
fn signal_of(status: ExitStatus) -> Option<i32> {
    std::os::unix::process::ExitStatusExt::signal(&status)
}

#[cfg(not(unix))]
fn signal_of(_: ExitStatus) -> Option<i32> {
    None
}

/// The signals that end a process, by their names.
#[cfg(unix)]
const SIGNALS: [(i32, &str); 15] = [
    (libc::SIGHUP, "SIGHUP"),
    (libc::SIGINT, "SIGINT"),
    (libc::SIGQUIT, "SIGQUIT"),
    (libc::SIGILL, "SIGILL"),
    (libc::SIGTRAP, "SIGTRAP"),
    (libc::SIGABRT, "SIGABRT"),
    (libc::SIGBUS, "SIGBUS"),
    (libc::SIGFPE, "SIGFPE"),
    (libc::SIGKILL, "SIGKILL"),
    (libc::SIGSEGV, "SIGSEGV"),
    (libc::SIGPIPE, "SIGPIPE"),
    (libc::SIGALRM, "SIGALRM"),
    (libc::SIGTERM, "SIGTERM"),
    (libc::SIGXCPU, "SIGXCPU"),
    (libc::SIGXFSZ, "SIGXFSZ"),
];
#[cfg(not(unix))]
const SIGNALS: [(i32, &str); 0] = [];

fn is_signal(number: i32) -> bool {
    SIGNALS.iter().any(|(signal, _)| *signal == number)
}

fn signal_name(number: i32) -> String {
    let known = SIGNALS.iter().find(|(signal, _)| *signal == number);
    known.map_or_else(|| format!("signal {number}"), |(_, name)| (*name).to_owned())
}

/// Ends a command and all that it has begun.
fn end_group(child: &mut Child) {
    #[cfg(unix)]
    // SAFETY: it sends a signal, and touches no memory. The group is that of the child, which is its first process.
    unsafe {
        libc::kill(-(child.id() as libc::pid_t), libc::SIGKILL);
    }
    // One that has ended already needs neither.
    let _ = child.kill();
    let _ = child.wait();
}

fn shell(command: &str) -> Command {
    let (program, flag) = if cfg!(windows) { ("cmd", "/C") } else { ("sh", "-c") };
    let mut shell = Command::new(program);
    shell.arg(flag).arg(command);
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut shell, 0);
    shell
}

#[cfg(all(test, unix))]
mod tests {
    use serde_json::json;

    use super::*;

    fn scored(command: &str) -> Result<Value, String> {
        by_command(command, Path::new("/"), &json!({ "status": "completed" }), &Cancel::default())
    }

    #[track_caller]
    fn check_refused(command: &str, parts: &[&str]) {
        let error = scored(command).err().unwrap_or_default();
        assert!(parts.iter().all(|part| error.contains(part)), "{command}: {error:?}");
        assert!(error.len() < 600, "{command}: {error:?}");
    }

    #[test]
    fn a_command_prints_one_number_or_passes_by_its_exit_code() {
        for (command, score) in [
            ("echo 0.5", json!(0.5)),
            ("printf '\\n true \\n\\n'", json!(true)),
            ("echo 0.2; exit 3", json!(0.2)),
            ("true", json!(true)),
            ("exit 4", json!(false)),
            ("grep -q completed", json!(true)),
        ] {
            assert_eq!(scored(command), Ok(score), "{command}");
        }
    }

    /// A command that a signal had ended scored 0.
    #[test]
    fn a_signal_is_no_score() {
        check_refused("kill -9 $$", &["was ended by SIGKILL"]);
        check_refused("echo 1; kill -TERM $$", &["was ended by SIGTERM"]);
        check_refused("sh -c 'kill -SEGV $$'; exit $?", &["was ended by SIGSEGV (exit code 139)"]);
    }

    #[test]
    fn what_is_no_score_is_told_with_what_was_printed() {
        let expected = "print one number, true or false, and nothing else";
        check_refused("printf '0.5\\n0.7\\n'", &["printed 2 lines, of which the first is 0.5", expected]);
        check_refused("echo good", &["printed good;", expected]);
        check_refused("echo NaN", &["printed NaN;", expected]);
        check_refused("echo '\"1\"'", &["printed \"1\";", expected]);
        check_refused("echo null", &["printed null;", expected]);
        check_refused("printf '\\377'", &["no UTF-8, at byte 0", expected]);
        check_refused("yes", &["printed more than 65536 bytes", expected]);
        check_refused("head -c 60000 /dev/zero | tr '\\0' x", &["printed xxx", expected]);
    }
}
