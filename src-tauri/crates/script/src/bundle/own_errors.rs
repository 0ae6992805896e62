//! Node's words for errors of an author's own code, which no built-in function threw.

use crate::bundle::sites::{Here, Key, Kind, Site, Taken, Within};

/// Returns what was iterated, if that was `undefined` or `null`.
pub(crate) fn nothing_iterated(message: &str) -> Option<&str> {
    message.strip_prefix("cannot read property 'Symbol.iterator' of ")
}

/// What is said of a private member that an object does not have.
const NO_PRIVATE: &str = "Private element is not present on this object";
/// What the bundler's helper says of a list of `for await` that is none.
const NO_ASYNC_LIST: &str = "Object is not async iterable";

/// What is said of a property that cannot be removed.
const NOT_DELETED: &str = "could not delete property";
/// How it is said that a name is of nothing.
const NOT_DEFINED: &str = " is not defined";
/// What the bundler's helper says of `undefined` or `null` in whose place an object is taken apart as a whole.
const NOT_TAKEN_APART: &str = "Cannot destructure ";

/// Whether a message is one of the bundler's helpers, which newer syntax is lowered to.
pub(crate) fn is_of_bundler(message: &str) -> bool {
    let is_of_rest = |nothing| ["undefined", "null"].contains(&nothing);
    [NO_PRIVATE, NO_ASYNC_LIST].contains(&message) || message.strip_prefix(NOT_TAKEN_APART).is_some_and(is_of_rest)
}

/// A message, and the offset that Node names if it is not the reported one.
pub(crate) type Told = (String, Option<u32>);

/// Whether a message may be one of [`message`] or of a call, before any tree is read.
pub(crate) fn is_known(message: &str) -> bool {
    const WHOLE: [&str; 20] = [
        "not a function",
        "not a constructor",
        "value is not iterable",
        "this is not initialized",
        "Cannot convert undefined or null to object",
        "invalid 'in' operand",
        "invalid 'instanceof' right operand",
        "cannot convert BigInt to number",
        "BigInt division by zero",
        "parent class must be constructor",
        "object is not extensible",
        "no setter for property",
        "invalid array length",
        "toPrimitive",
        "class constructors must be invoked with 'new'",
        NO_PRIVATE,
        NO_ASYNC_LIST,
        NOT_DELETED,
        "Cannot destructure undefined",
        "Cannot destructure null",
    ];
    const ENDS: [&str; 4] = ["' is read-only", " is not initialized", NOT_DEFINED, " is not a constructor"];
    const BEGINS: [&str; 3] = ["cannot read property '", "cannot set property '", "cannot convert symbol to "];
    WHOLE.contains(&message)
        || ENDS.iter().any(|end| message.ends_with(end))
        || BEGINS.iter().any(|begin| message.starts_with(begin))
}

/// Returns Node's words for a failure of the author's own code at an offset, and the offset that Node names.
pub(crate) fn message(message: &str, here: &Here<'_>, is_spread: bool) -> Option<Told> {
    let same_place = |text: &str| Some((text.to_owned(), None));
    if message == "value is not iterable" || nothing_iterated(message).is_some() {
        return if is_spread { None } else { iteration(nothing_iterated(message), here) };
    }
    if let Some((key, nothing)) = property(message, "cannot read property '") {
        let told = format!("Cannot read properties of {nothing} (reading '{key}')");
        return Some((told, read_of(key, here)));
    }
    if let Some((key, nothing)) = property(message, "cannot set property '") {
        let told = format!("Cannot set properties of {nothing} (setting '{key}')");
        return Some((told, write_at(here).map(|site| site.place)));
    }
    if let Some(name) = message.strip_prefix('\'').and_then(|rest| rest.strip_suffix("' is read-only")) {
        return read_only(name, here);
    }
    if message == "this is not initialized" {
        return same_place(
            "Must call super constructor in derived class before accessing 'this' or returning from derived \
             constructor",
        );
    }
    if let Some(name) = message.strip_suffix(" is not initialized") {
        return Some((format!("Cannot access '{name}' before initialization"), None));
    }
    if let Some(name) = message.strip_suffix(NOT_DEFINED) {
        // The bundler has dropped its declaration.
        let is_declared = here.sites.declares(name, here.at);
        return is_declared.then(|| (format!("Cannot access '{name}' before initialization"), None));
    }
    if let Some(nothing) = message.strip_prefix(NOT_TAKEN_APART) {
        return taken_whole(nothing, here);
    }
    match message {
        "Cannot convert undefined or null to object" => taken_apart(here),
        NOT_DELETED => {
            let site = here.innermost(|site| matches!(site.kind, Kind::Delete { .. }))?;
            let Kind::Delete { key: Key::Known(key) } = &site.kind else { return None };
            let of = if key.parse::<u32>().is_ok() { "[object Array]" } else { "#<Object>" };
            Some((format!("Cannot delete property '{key}' of {of}"), Some(site.place)))
        }
        "invalid 'in' operand" => binary(here, |operator| operator == "in")
            .map(|(site, left, right)| (format!("Cannot use 'in' operator to search for '{left}' in {right}"), site)),
        "invalid 'instanceof' right operand" => binary(here, |operator| operator == "instanceof")
            .map(|(site, _, right)| (format!("Right-hand side of 'instanceof' is not {}", callable(right)), site)),
        "cannot convert BigInt to number" => match binary(here, is_arithmetic) {
            Some((place, ..)) => {
                Some(("Cannot mix BigInt and other types, use explicit conversions".to_owned(), place))
            }
            None => same_place("Cannot convert a BigInt value to a number"),
        },
        "BigInt division by zero" => {
            let place = binary(here, is_arithmetic).and_then(|(place, ..)| place);
            Some(("Division by zero".to_owned(), place))
        }
        "parent class must be constructor" => {
            let site = here.innermost(|site| site.kind == Kind::Heritage)?;
            Some((format!("Class extends value {} is not a constructor or null", site.text), Some(site.place)))
        }
        "object is not extensible" => {
            let site = write_at(here)?;
            let Kind::Write { key: Key::Known(key), .. } = &site.kind else { return None };
            Some((format!("Cannot add property {key}, object is not extensible"), Some(site.place)))
        }
        "no setter for property" => {
            let site = write_at(here)?;
            let Kind::Write { key: Key::Known(key), .. } = &site.kind else { return None };
            Some((format!("Cannot set property {key} of #<Object> which has only a getter"), Some(site.place)))
        }
        "invalid array length" => Some(("Invalid array length".to_owned(), write_at(here).map(|site| site.place))),
        NO_PRIVATE => private_member(here),
        NO_ASYNC_LIST => {
            let is_loop = |site: &Site| site.kind == Kind::ForOf;
            let site = here.innermost(is_loop).or_else(|| here.only(is_loop))?;
            Some((format!("{} is not async iterable", site.text), Some(site.place)))
        }
        "toPrimitive" => same_place("Cannot convert object to primitive value"),
        "cannot convert symbol to string" | "cannot convert symbol to number" => {
            let place = binary(here, is_arithmetic).and_then(|(place, ..)| place);
            Some((
                message.replace("cannot convert symbol", "Cannot convert a Symbol value").replace("to ", "to a "),
                place,
            ))
        }
        _ => None,
    }
}

/// Splits `<before>key' of undefined`.
fn property<'m>(message: &'m str, before: &str) -> Option<(&'m str, &'m str)> {
    message.strip_prefix(before)?.rsplit_once("' of ")
}

/// Returns the place of the read of a property.
fn read_of(key: &str, here: &Here<'_>) -> Option<u32> {
    let is_named = |site: &Site| match &site.kind {
        Kind::Member { key: Key::Known(name), object_end, .. } => name == key && here.at < *object_end,
        _ => false,
    };
    let is_computed = |site: &Site| matches!(site.kind, Kind::Member { key: Key::Computed | Key::Iterator, .. });
    let is_unplaced = |site: &Site| match &site.kind {
        Kind::Member { key: Key::Known(name), is_unplaced, .. } => name == key && *is_unplaced,
        _ => false,
    };
    let found = here.innermost(is_named).or_else(|| here.innermost(is_computed));
    found.or_else(|| here.next(is_unplaced)).map(|site| site.place)
}

/// Returns the write around an offset, or the one that ends last before it in its line.
fn write_at<'s>(here: &Here<'s>) -> Option<&'s Site> {
    here.innermost(|site| matches!(site.kind, Kind::Write { is_variable: false, .. }))
}

fn read_only(name: &str, here: &Here<'_>) -> Option<Told> {
    let is_named = |key: &Key| matches!(key, Key::Known(known) if known == name);
    let variable = here.innermost(|site| matches!(&site.kind, Kind::Write { key, is_variable: true } if is_named(key)));
    if let Some(site) = variable {
        return Some(("Assignment to constant variable.".to_owned(), Some(site.place)));
    }
    let site = write_at(here)?;
    Some((format!("Cannot assign to read only property '{name}' of object '#<Object>'"), Some(site.place)))
}

/// Returns Node's words for `undefined` or `null` in whose place an object is taken apart as a whole: `{ ...rest }`.
fn taken_whole(nothing: &str, here: &Here<'_>) -> Option<Told> {
    let is_whole = |site: &Site| matches!(site.kind, Kind::ObjectPattern { key: None, .. });
    let site = here.innermost(is_whole).or_else(|| here.pattern(is_whole)).or_else(|| here.only(is_whole))?;
    let Kind::ObjectPattern { init, .. } = &site.kind else { return None };
    let text = init.as_ref().map_or("undefined", |init| init.text.as_str());
    Some((format!("Cannot destructure '{text}' as it is {nothing}."), Some(site.place)))
}

/// Returns what Node says of an object that does not have a private method or accessor; `None` of other members.
fn private_method(key: &str, place: u32, here: &Here<'_>) -> Option<Told> {
    let is_meant =
        |site: &&Site| matches!(&site.kind, Kind::PrivateMethod { name, .. } if name == key) && site.contains(place);
    let site = here.sites.rows.iter().filter(is_meant).min_by_key(|site| site.end - site.start)?;
    let Kind::PrivateMethod { is_static, .. } = &site.kind else { return None };
    let of = if *is_static { "" } else { "an instance of " };
    Some((format!("Receiver must be {of}class {}", site.text), Some(place)))
}

/// Returns Node's words for a private member that an object does not have.
fn private_member(here: &Here<'_>) -> Option<Told> {
    let is_private = |site: &Site| match &site.kind {
        Kind::Member { key: Key::Known(key), .. } | Kind::Write { key: Key::Known(key), .. } => key.starts_with('#'),
        _ => false,
    };
    let is_write = |site: &Site| is_private(site) && matches!(site.kind, Kind::Write { .. });
    // What is written is a member, too.
    let site = here.only(is_private).or_else(|| here.only(is_write))?;
    if let Kind::Write { key: Key::Known(key), .. } | Kind::Member { key: Key::Known(key), .. } = &site.kind
        && let Some(told) = private_method(key, site.place, here)
    {
        return Some(told);
    }
    match &site.kind {
        Kind::Write { key: Key::Known(key), .. } => {
            let told = format!("Cannot write private member {key} to an object whose class did not declare it");
            Some((told, Some(site.place)))
        }
        Kind::Member { key: Key::Known(key), .. } => {
            let told = format!("Cannot read private member {key} from an object whose class did not declare it");
            Some((told, Some(site.place)))
        }
        _ => None,
    }
}

/// Returns Node's words for a value that is iterated and is no list. `nothing` is `undefined` or `null`.
fn iteration(nothing: Option<&str>, here: &Here<'_>) -> Option<Told> {
    let is_iterator = |site: &Site| match site.kind {
        Kind::Member { key: Key::Iterator, object_end, .. } => object_end <= here.at,
        _ => false,
    };
    let is_iteration = |site: &Site| matches!(site.kind, Kind::Spread | Kind::ForOf | Kind::Delegate);
    let is_list = |site: &Site| match site.kind {
        Kind::ArrayPattern { .. } => true,
        Kind::ObjectPattern { list, .. } => list.is_some() && nothing.is_some(),
        _ => false,
    };
    let is_computed = |site: &Site| match site.kind {
        Kind::Member { key: Key::Computed, object_end, .. } => object_end <= here.at,
        _ => false,
    };
    let read = nothing.and_then(|_| here.innermost(is_iterator));
    let list = read.or_else(|| here.pattern(is_list)).or_else(|| here.innermost(is_iteration));
    let list = list.or_else(|| here.only_of_statement(is_iteration));
    let site = list.or_else(|| nothing.and_then(|_| here.innermost(is_computed)));
    // The bundler moves a list that is used once into the statement that uses it.
    let site = site.or_else(|| here.only(|site| is_iteration(site) || is_list(site)))?;
    let of_value = |value: &str| format!("{value} is not iterable (cannot read property Symbol(Symbol.iterator))");
    let told = match (&site.kind, nothing) {
        (Kind::ObjectPattern { init, list, .. }, Some(nothing)) => {
            let text = init.as_ref().map_or("undefined", |init| init.text.as_str());
            let told = format!("Cannot destructure property 'Symbol(Symbol.iterator)' of '{text}' as it is {nothing}.");
            return Some((told, *list));
        }
        (Kind::ArrayPattern { init: Some(Taken { text, is_plain: true, .. }), .. }, _) => {
            format!("{text} is not iterable")
        }
        (Kind::ArrayPattern { .. } | Kind::Delegate | Kind::Member { .. }, Some("null")) => of_value("object null"),
        (Kind::ArrayPattern { .. } | Kind::Delegate | Kind::Member { .. }, Some(nothing)) => of_value(nothing),
        (Kind::ArrayPattern { init: Some(Taken { text, .. }), .. }, None) => format!("{text} is not iterable"),
        // What was given is not known.
        (Kind::ArrayPattern { init: None, .. }, None) => "value is not iterable".to_owned(),
        (Kind::Delegate, None) if site.text.parse::<f64>().is_ok() => of_value(&format!("number {}", site.text)),
        _ => format!("{} is not iterable", site.text),
    };
    Some((told, Some(site.place)))
}

/// Returns Node's words for `undefined` or `null` that is taken apart as an object. Which of the two it is, and whether
/// it is the value or one inside, the runtime does not say.
fn taken_apart(here: &Here<'_>) -> Option<Told> {
    let site = here.pattern(|site| matches!(site.kind, Kind::ObjectPattern { .. }))?;
    let Kind::ObjectPattern { key, init, has_inner, place, .. } = &site.kind else { return None };
    let text = match (place, init) {
        (Within::Loop { .. }, Some(list)) => format!("an element of {}", list.text),
        (_, Some(init)) => format!("'{}'", init.text),
        (_, None) => "'undefined'".to_owned(),
    };
    let known = match (place, init.as_ref().map(|init| init.text.as_str())) {
        (Within::Loop { .. }, _) => None,
        (_, Some(known @ ("null" | "undefined"))) => Some(known),
        (_, Some(_)) => None,
        (_, None) => Some("undefined"),
    };
    let nothing = known.unwrap_or("undefined or null");
    let is_sure = !has_inner || init.is_some() && known.is_some();
    let told = match key {
        _ if !is_sure && init.is_none() => {
            "Cannot destructure the argument as a value inside it, or it, is undefined or null.".to_owned()
        }
        _ if !is_sure => format!("Cannot destructure {text} as a value inside it, or it, is undefined or null."),
        Some(key) => format!("Cannot destructure property '{key}' of {text} as it is {nothing}."),
        None => format!("Cannot destructure {text} as it is {nothing}."),
    };
    Some((told, Some(site.place)))
}

/// Returns the innermost operator whose second operand is at an offset: its place, and both operands.
fn binary<'s>(here: &Here<'s>, is_meant: impl Fn(&str) -> bool) -> Option<(Option<u32>, &'s str, &'s str)> {
    let site = here.innermost(|site| match &site.kind {
        Kind::Binary { operator, right, .. } => is_meant(operator) && *right <= here.at,
        _ => false,
    });
    let site =
        site.or_else(|| here.innermost(|it| matches!(&it.kind, Kind::Binary { operator, .. } if is_meant(operator))))?;
    match &site.kind {
        Kind::Binary { left, operand, .. } => Some((Some(site.place), left, operand)),
        _ => None,
    }
}

fn is_arithmetic(operator: &str) -> bool {
    matches!(operator, "+" | "-" | "*" | "/" | "%" | "**" | "&" | "|" | "^" | "<<" | ">>")
}

/// Returns what a right operand of `instanceof` is not.
fn callable(right: &str) -> &'static str {
    let is_literal = matches!(right, "null" | "undefined" | "true" | "false") || right.parse::<f64>().is_ok();
    if is_literal { "an object" } else { "callable" }
}
