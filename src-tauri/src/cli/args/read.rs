//! Reads the command line, and improves errors and help where clap alone would be misleading.

use std::ffi::OsString;

use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{CommandFactory, FromArgMatches};

use super::Cli;
use super::runs::REMOVES;

/// The commands that may call models, and for which `--trust` has an effect.
const ASK_MODELS: &[&str] = &["open", "run", "trigger", "resume", "retry", "fork", "mcp"];

/// The commands that write, and for which `--durability` has an effect.
const WRITE: &[&str] =
    &["open", "run", "trigger", "resume", "retry", "fork", "abort", "tag", "import", "delete", "compact", "demo"];

/// Parses the command line.
pub(crate) fn read() -> Result<Cli, clap::Error> {
    let mut command = command();
    let arguments = with_removed_tags(without_bare_data(std::env::args_os().collect()));
    if let Some(error) = missing_value(&mut command, &arguments) {
        return Err(error);
    }
    let matches = command.try_get_matches_from_mut(&arguments);
    let cli = matches
        .and_then(|mut matches| Cli::from_arg_matches_mut(&mut matches).map_err(|error| error.format(&mut command)));
    cli.map_err(|error| advised(error, &arguments))
}

/// The arguments without a `--data` that names no file, if another one does: `--data FILE check --data` checks that
/// file, and clap would only see the last one.
fn without_bare_data(arguments: Vec<OsString>) -> Vec<OsString> {
    let is_flag = |argument: &OsString| argument.as_encoded_bytes().starts_with(b"-");
    let is_bare = |at: usize| arguments[at] == "--data" && arguments.get(at + 1).is_none_or(is_flag);
    let names_file = |at: usize| {
        arguments[at].as_encoded_bytes().starts_with(b"--data=") || arguments[at] == "--data" && !is_bare(at)
    };
    if !(0..arguments.len()).any(names_file) {
        return arguments;
    }
    (0..arguments.len()).filter(|at| !is_bare(*at)).map(|at| arguments[at].clone()).collect()
}

/// The flags that take the next argument even if it begins with a hyphen.
const TAKE_ONE: [&str; 7] = ["--dir", "--data", "--durability", "--note", "--title", "--by", "--session"];

/// The error of a flag whose value may begin with a hyphen, as a negative number does, if another flag follows it: clap
/// would take that for the value.
fn missing_value(command: &mut clap::Command, arguments: &[OsString]) -> Option<clap::Error> {
    let mut named = arguments.iter().skip(1).filter_map(|argument| argument.to_str());
    let subcommand = named.find_map(|argument| command.find_subcommand(argument))?;
    let takes_hyphens = |argument: &str| {
        let is_it =
            |flag: &&clap::Arg| flag.is_allow_hyphen_values_set() && flag.get_long() == argument.strip_prefix("--");
        subcommand.get_arguments().any(|flag| is_it(&flag))
    };
    let until = arguments.iter().position(|argument| argument == "--").unwrap_or(arguments.len());
    let texts = arguments[..until].iter().map(|argument| argument.to_str().unwrap_or_default());
    let (flag, next) =
        texts.clone().zip(texts.skip(1)).find(|(flag, next)| takes_hyphens(flag) && next.starts_with("--"))?;
    let message = format!("{flag} needs a value, and {next} is a flag; write {flag}={next} if it is the value");
    Some(command.error(ErrorKind::InvalidValue, message))
}

/// The arguments of `tag` with a minus sign (U+2212) in place of the hyphen of `-TAG`, which clap would read as flags.
fn with_removed_tags(mut arguments: Vec<OsString>) -> Vec<OsString> {
    let mut words = 0;
    let mut at = 1;
    while at < arguments.len() {
        let Some(argument) = arguments[at].to_str() else { return arguments };
        if argument == "--" || words == 1 && arguments.iter().take(at).all(|before| before != "tag") {
            return arguments;
        }
        let is_short = argument.len() > 1 && argument.starts_with('-') && !argument.starts_with("--");
        if TAKE_ONE.contains(&argument) {
            at += 1;
            // It replaces the argument of the request.
            words += i32::from(argument == "--session");
        } else if is_short && words > 1 {
            arguments[at] = format!("{REMOVES}{}", &argument[1..]).into();
        } else if !argument.starts_with('-') {
            words += 1;
        }
        at += 1;
    }
    arguments
}

/// The commands with their flags. Every command accepts the global flags, but its help names only those with an effect.
fn command() -> clap::Command {
    let mut command = Cli::command();
    for (flag, commands) in [("trust", ASK_MODELS), ("durability", WRITE)] {
        let Some(arg) = command.get_arguments().find(|arg| arg.get_id() == flag).cloned() else { continue };
        let is_of = |one: &clap::Command| commands.contains(&one.get_name());
        command = command.mut_subcommands(|one| if is_of(&one) { one } else { one.arg(arg.clone().hide(true)) });
    }
    command
}

/// Replaces clap's tip by a better one, if there is one.
fn advised(mut error: clap::Error, arguments: &[OsString]) -> clap::Error {
    if error.kind() != ErrorKind::UnknownArgument {
        return error;
    }
    let text = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.clone()),
        _ => None,
    };
    let (unknown, suggested) = (text(ContextKind::InvalidArg), text(ContextKind::SuggestedArg));
    // Clap also suggests it for a mistyped `--request`, but a typo must not lead to trusting the folder.
    if suggested.as_deref() == Some("--trust") && !unknown.as_ref().is_some_and(|flag| flag.starts_with("--tr")) {
        error.remove(ContextKind::SuggestedArg);
    }
    if let Some(file) = file_of_mock(arguments, unknown.as_deref()) {
        let tip = format!("the file of --mock stands behind a \"=\": --mock={file}");
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![StyledStr::from(tip)]));
    }
    error
}

/// The argument after `--mock` and a space, if it was not recognised or looks like the name of a script.
fn file_of_mock<'a>(arguments: &'a [OsString], unknown: Option<&str>) -> Option<&'a str> {
    let at = arguments.iter().position(|argument| argument == "--mock")?;
    let file = arguments.get(at + 1)?.to_str()?;
    (unknown == Some(file) || file.ends_with(".json")).then_some(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flag_is_not_the_value_of_the_flag_before_it() {
        let missing = |line: &str| {
            let arguments: Vec<OsString> = line.split(' ').map(OsString::from).collect();
            missing_value(&mut command(), &arguments).map(|error| error.to_string())
        };
        for line in [
            "f run main go --input --json",
            "f requests --filter --json",
            "f --json show r --filter --tree",
            "f tag r --note --title x",
            "f print a.ts:1 x --if --json",
            "f why r --at root --text --json",
        ] {
            assert!(missing(line).is_some_and(|error| error.contains("needs a value")), "{line}");
        }
        for line in [
            "f run main go --input -1e-5 --json",
            "f run main go --input - --json",
            "f requests --filter -is:fork --json",
            "f tag r --note - --json",
            "f tag r --note=--json",
            "f search --filter --json",
            "f tag r -- --note --json",
            "f requests --filter",
        ] {
            assert_eq!(missing(line), None, "{line}");
        }
    }

    #[test]
    fn a_hyphen_before_a_tag_is_not_a_flag() {
        let read = |line: &str| {
            let arguments = with_removed_tags(line.split(' ').map(OsString::from).collect());
            arguments.iter().map(|argument| argument.to_string_lossy().into_owned()).collect::<Vec<_>>().join(" ")
        };
        for (line, expected) in [
            ("f tag r +a -b", "f tag r +a \u{2212}b"),
            ("f tag r -b --note -x --json", "f tag r \u{2212}b --note -x --json"),
            ("f --dir tag run -b", "f --dir tag run -b"),
            ("f --json --dir d tag r -h", "f --json --dir d tag r \u{2212}h"),
            ("f tag -h", "f tag -h"),
            ("f tag r -- -b", "f tag r -- -b"),
            ("f run tag r -b", "f run tag r -b"),
        ] {
            assert_eq!(read(line), expected, "{line}");
        }
    }
}
