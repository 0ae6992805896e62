//! Node's words for errors of an author's own code, which no built-in function threw.

use crate::bundle::sites::{Key, Kind, Site, Sites, Taken};

/// Returns what was iterated, if that was `undefined` or `null`.
pub(crate) fn nothing_iterated(message: &str) -> Option<&str> {
    message.strip_prefix("cannot read property 'Symbol.iterator' of ")
}

/// A message, and the offset that Node names if it is not the reported one.
pub(crate) type Told = (String, Option<u32>);

/// Whether a message may be one of [`message`] or of a call, before any tree is read.
pub(crate) fn is_known(message: &str) -> bool {
    const WHOLE: [&str; 15] = [
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
    ];
    const ENDS: [&str; 3] = ["' is read-only", " is not initialized", " is not a constructor"];
    const BEGINS: [&str; 3] = ["cannot read property '", "cannot set property '", "cannot convert symbol to "];
    WHOLE.contains(&message)
        || ENDS.iter().any(|end| message.ends_with(end))
        || BEGINS.iter().any(|begin| message.starts_with(begin))
}

/// Returns Node's words for a failure of the author's own code at an offset, and the offset that Node names.
pub(crate) fn message(message: &str, sites: &Sites, at: u32, is_spread: bool) -> Option<Told> {
    let same_place = |text: &str| Some((text.to_owned(), None));
    if message == "value is not iterable" || nothing_iterated(message).is_some() {
        return if is_spread { None } else { iteration(nothing_iterated(message), sites, at) };
    }
    if let Some((key, nothing)) = property(message, "cannot read property '") {
        let told = format!("Cannot read properties of {nothing} (reading '{key}')");
        return Some((told, read_of(key, sites, at)));
    }
    if let Some((key, nothing)) = property(message, "cannot set property '") {
        let told = format!("Cannot set properties of {nothing} (setting '{key}')");
        return Some((told, write_at(sites, at).map(|site| site.place)));
    }
    if let Some(name) = message.strip_prefix('\'').and_then(|rest| rest.strip_suffix("' is read-only")) {
        return read_only(name, sites, at);
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
    match message {
        "Cannot convert undefined or null to object" => taken_apart(sites, at),
        "invalid 'in' operand" => binary(sites, at, |operator| operator == "in")
            .map(|(site, left, right)| (format!("Cannot use 'in' operator to search for '{left}' in {right}"), site)),
        "invalid 'instanceof' right operand" => binary(sites, at, |operator| operator == "instanceof")
            .map(|(site, _, right)| (format!("Right-hand side of 'instanceof' is not {}", callable(right)), site)),
        "cannot convert BigInt to number" => match binary(sites, at, is_arithmetic) {
            Some((place, ..)) => {
                Some(("Cannot mix BigInt and other types, use explicit conversions".to_owned(), place))
            }
            None => same_place("Cannot convert a BigInt value to a number"),
        },
        "BigInt division by zero" => {
            let place = binary(sites, at, is_arithmetic).and_then(|(place, ..)| place);
            Some(("Division by zero".to_owned(), place))
        }
        "parent class must be constructor" => {
            let site = sites.innermost(at, |site| site.kind == Kind::Heritage)?;
            Some((format!("Class extends value {} is not a constructor or null", site.text), Some(site.place)))
        }
        "object is not extensible" => {
            let site = write_at(sites, at)?;
            let Kind::Write { key: Key::Known(key), .. } = &site.kind else { return None };
            Some((format!("Cannot add property {key}, object is not extensible"), Some(site.place)))
        }
        "no setter for property" => {
            let site = write_at(sites, at)?;
            let Kind::Write { key: Key::Known(key), .. } = &site.kind else { return None };
            Some((format!("Cannot set property {key} of #<Object> which has only a getter"), Some(site.place)))
        }
        "invalid array length" => Some(("Invalid array length".to_owned(), write_at(sites, at).map(|site| site.place))),
        "toPrimitive" => same_place("Cannot convert object to primitive value"),
        "cannot convert symbol to string" | "cannot convert symbol to number" => {
            let place = binary(sites, at, is_arithmetic).and_then(|(place, ..)| place);
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
fn read_of(key: &str, sites: &Sites, at: u32) -> Option<u32> {
    let is_named = |site: &Site| match &site.kind {
        Kind::Member { key: Key::Known(name), object_end, .. } => name == key && at < *object_end,
        _ => false,
    };
    let is_computed = |site: &Site| matches!(site.kind, Kind::Member { key: Key::Computed, .. });
    let is_unplaced = |site: &Site| match &site.kind {
        Kind::Member { key: Key::Known(name), is_unplaced, .. } => name == key && *is_unplaced,
        _ => false,
    };
    let found = sites.innermost(at, is_named).or_else(|| sites.innermost(at, is_computed));
    found.or_else(|| next(sites, at, is_unplaced)).map(|site| site.place)
}

/// Returns the write around an offset, or the one that ends last before it in its line.
fn write_at(sites: &Sites, at: u32) -> Option<&Site> {
    sites.innermost(at, |site| matches!(site.kind, Kind::Write { is_variable: false, .. }))
}

fn read_only(name: &str, sites: &Sites, at: u32) -> Option<Told> {
    let is_named = |key: &Key| matches!(key, Key::Known(known) if known == name);
    let variable =
        sites.innermost(at, |site| matches!(&site.kind, Kind::Write { key, is_variable: true } if is_named(key)));
    if let Some(site) = variable {
        return Some(("Assignment to constant variable.".to_owned(), Some(site.place)));
    }
    let site = write_at(sites, at)?;
    Some((format!("Cannot assign to read only property '{name}' of object '#<Object>'"), Some(site.place)))
}

/// Returns Node's words for a value that is iterated and is no list. `nothing` is `undefined` or `null`.
fn iteration(nothing: Option<&str>, sites: &Sites, at: u32) -> Option<Told> {
    let is_iteration =
        |site: &Site| matches!(site.kind, Kind::Spread | Kind::ForOf | Kind::Delegate | Kind::ArrayPattern { .. });
    let is_list = |site: &Site| matches!(site.kind, Kind::ArrayPattern { .. });
    let site = sites.innermost(at, is_iteration).or_else(|| next(sites, at, is_list))?;
    let of_value = |value: &str| format!("{value} is not iterable (cannot read property Symbol(Symbol.iterator))");
    let told = match (&site.kind, nothing) {
        (Kind::ArrayPattern { init: Some(Taken { text, is_plain: true, .. }) }, _) => format!("{text} is not iterable"),
        (Kind::ArrayPattern { .. } | Kind::Delegate, Some("null")) => of_value("object null"),
        (Kind::ArrayPattern { .. } | Kind::Delegate, Some(nothing)) => of_value(nothing),
        (Kind::ArrayPattern { init: Some(Taken { text, .. }) }, None) => format!("{text} is not iterable"),
        (Kind::ArrayPattern { init: None }, None) => return None,
        (Kind::Delegate, None) if site.text.parse::<f64>().is_ok() => of_value(&format!("number {}", site.text)),
        _ => format!("{} is not iterable", site.text),
    };
    Some((told, Some(site.place)))
}

/// Returns Node's words for `undefined` or `null` that is taken apart as an object.
fn taken_apart(sites: &Sites, at: u32) -> Option<Told> {
    let is_pattern = |site: &Site| matches!(site.kind, Kind::ObjectPattern { .. });
    let found = sites.innermost(at, |site| match &site.kind {
        Kind::ObjectPattern { init: Some(init), .. } => init.start <= at && at <= init.end,
        _ => false,
    });
    let site = found.or_else(|| next(sites, at, is_pattern))?;
    let Kind::ObjectPattern { key, init, has_inner } = &site.kind else { return None };
    let is_known = init.as_ref().is_none_or(|init| matches!(init.text.as_str(), "null" | "undefined"));
    if *has_inner && !is_known {
        return None;
    }
    let (text, nothing) = match init.as_ref().map(|init| init.text.as_str()) {
        Some(known @ ("null" | "undefined")) => (known, known),
        Some(text) => (text, "undefined or null"),
        None => ("undefined", "undefined"),
    };
    let told = match key {
        Some(key) => format!("Cannot destructure property '{key}' of '{text}' as it is {nothing}."),
        None => format!("Cannot destructure '{text}' as it is {nothing}."),
    };
    Some((told, Some(site.place)))
}

/// Returns the next site after an offset: the runtime reports the place before, or that of the function, if a statement
/// begins with a literal.
fn next(sites: &Sites, at: u32, is_meant: impl Fn(&Site) -> bool) -> Option<&Site> {
    sites.rows.iter().filter(|site| site.start >= at && is_meant(site)).min_by_key(|site| site.start)
}

/// Returns the innermost operator whose second operand is at an offset: its place, and both operands.
fn binary(sites: &Sites, at: u32, is_meant: impl Fn(&str) -> bool) -> Option<(Option<u32>, &str, &str)> {
    let site = sites.innermost(at, |site| match &site.kind {
        Kind::Binary { operator, right, .. } => is_meant(operator) && *right <= at,
        _ => false,
    });
    let site = site.or_else(|| {
        sites.innermost(at, |it| matches!(&it.kind, Kind::Binary { operator, .. } if is_meant(operator)))
    })?;
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
