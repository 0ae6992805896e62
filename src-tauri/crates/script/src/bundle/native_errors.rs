//! Node's messages for errors that a built-in function throws.

use crate::bundle::sites::Site;

/// Returns Node's message for a message of the runtime that a native function threw at a call; `None` if unknown.
pub(crate) fn message(message: &str, native: &str, call: &Site) -> Option<String> {
    let values = &call.call()?.values;
    let first = values.first().map_or("undefined", String::as_str);
    let texts = &call.call()?.texts;
    let text = |at: usize| texts.get(at).and_then(Option::as_deref);
    let told = match (message, native) {
        ("not a function", "sort" | "toSorted") => {
            "The comparison function must be either a function or undefined".to_owned()
        }
        ("not a function", "flatMap") => "flatMap mapper function is not callable".to_owned(),
        ("not a function", "Promise") => format!("Promise resolver {first} is not a function"),
        ("not a function", "call" | "apply") => format!("{} is not a function", call.text),
        ("not a function", _) if TAKES_FUNCTION.contains(&native) => format!("{first} is not a function"),
        ("value is not iterable", _) => format!("{} is not iterable (cannot read property {ITERATOR})", kind_of(first)),
        ("empty array", _) => "Reduce of empty array with no initial value".to_owned(),
        ("invalid repeat count", _) => format!("Invalid count value: {first}"),
        ("invalid array length", _) => "Invalid array length".to_owned(),
        ("invalid number of digits", "toPrecision") => "toPrecision() argument must be between 1 and 100".to_owned(),
        ("invalid number of digits", "toExponential") => {
            "toExponential() argument must be between 0 and 100".to_owned()
        }
        ("invalid number of digits", _) => "toFixed() digits argument must be between 0 and 100".to_owned(),
        ("radix must be between 2 and 36", _) => "toString() radix argument must be between 2 and 36".to_owned(),
        ("Date value is NaN", _) => "Invalid time value".to_owned(),
        ("bad normalization form", _) => "The normalization form should be one of NFC, NFD, NFKC, NFKD.".to_owned(),
        ("invalid code point", _) => format!("Invalid code point {first}"),
        ("cannot convert BigInt to number", _) => "Cannot convert a BigInt value to a number".to_owned(),
        ("cannot convert symbol to number", _) => "Cannot convert a Symbol value to a number".to_owned(),
        ("cannot convert symbol to string", _) => "Cannot convert a Symbol value to a string".to_owned(),
        ("invalid BigInt literal", _) => format!("Cannot convert {first} to a BigInt"),
        ("cannot convert to BigInt: not an integer", _) => {
            format!("The number {first} cannot be converted to a BigInt because it is not an integer")
        }
        ("BigInt are forbidden in JSON.stringify", _) => "Do not know how to serialize a BigInt".to_owned(),
        ("toPrimitive", _) => "Cannot convert object to primitive value".to_owned(),
        ("cannot invoke a running generator", _) => "Generator is already running".to_owned(),
        ("regexp must have the 'g' flag", _) => {
            format!("String.prototype.{native} called with a non-global RegExp argument")
        }
        ("not an object", _) if call.text.starts_with("Reflect.") => format!("{} called on non-object", call.text),
        ("not an object", "Map" | "WeakMap" | "fromEntries") => match literal_entry(first) {
            Some(entry) => format!("Iterator value {entry} is not an entry object"),
            None => "Iterator value is not an entry object".to_owned(),
        },
        ("not an object", "defineProperty") => "Object.defineProperty called on non-object".to_owned(),
        ("not an object", "Proxy") => "Cannot create proxy with a non-object as target or handler".to_owned(),
        ("not an object", "setPrototypeOf") => {
            let second = values.get(1).map_or("undefined", String::as_str);
            format!("Object prototype may only be an Object or null: {second}")
        }
        ("object prototype may only be an Object or null", _) => {
            format!("Object prototype may only be an Object or null: {first}")
        }
        ("invalid value used as WeakMap key", _) => "Invalid value used as weak map key".to_owned(),
        ("invalid value used as WeakSet key", _) => "Invalid value used in weak set".to_owned(),
        ("object is not extensible", "push") => return None,
        ("Symbol is not a constructor", _) => "Symbol is not a constructor".to_owned(),
        ("must be called with new" | "constructor requires 'new'", "Promise") => {
            "Promise constructor cannot be invoked without 'new'".to_owned()
        }
        ("must be called with new" | "constructor requires 'new'", _) => format!("Constructor {native} requires 'new'"),
        ("null or undefined are forbidden", _) => format!("String.prototype.{native} called on null or undefined"),
        (_, "decodeURIComponent" | "decodeURI" | "encodeURIComponent" | "encodeURI") => "URI malformed".to_owned(),
        ("invalid regular expression flags", "RegExp") => {
            format!("Invalid flags supplied to RegExp constructor '{}'", text(1)?)
        }
        (_, "RegExp") => {
            let reason = pattern_reason(message)?;
            let flags = text(1).unwrap_or_default();
            format!("Invalid regular expression: /{}/{flags}: {reason}", text(0)?)
        }
        _ => return None,
    };
    Some(told)
}

/// Returns the first entry of a list in the source, if it is a number or a keyword literal.
fn literal_entry(list: &str) -> Option<&str> {
    let first = list.strip_prefix('[')?.split([',', ']']).next()?.trim();
    let is_word = matches!(first, "null" | "undefined" | "true" | "false");
    (is_word || first.parse::<f64>().is_ok()).then_some(first)
}

const ITERATOR: &str = "Symbol(Symbol.iterator)";

/// Methods whose first argument is a function.
const TAKES_FUNCTION: [&str; 15] = [
    "map",
    "filter",
    "forEach",
    "find",
    "findIndex",
    "findLast",
    "findLastIndex",
    "some",
    "every",
    "reduce",
    "reduceRight",
    "then",
    "from",
    "groupBy",
    "replace",
];

/// Returns a value with its kind, as Node writes it.
fn kind_of(value: &str) -> String {
    match value {
        "null" => "object null".to_owned(),
        "true" | "false" => format!("boolean {value}"),
        value if value.parse::<f64>().is_ok() => format!("number {value}"),
        value => value.to_owned(),
    }
}

/// Returns Node's reason for an invalid regular expression.
fn pattern_reason(message: &str) -> Option<&'static str> {
    Some(match message {
        "expecting ')'" => "Unterminated group",
        "nothing to repeat" => "Nothing to repeat",
        "unexpected end" | "unterminated character class" | "unexpected end of class" => "Unterminated character class",
        "extraneous characters at the end" | "unmatched ')'" => "Unmatched ')'",
        "duplicate group name" => "Duplicate capture group name",
        "invalid class range" => "Range out of order in character class",
        "invalid repetition count" => "numbers out of order in {} quantifier",
        "group name not defined" => "Invalid named capture referenced",
        "invalid group" => "Invalid group",
        _ => return None,
    })
}
