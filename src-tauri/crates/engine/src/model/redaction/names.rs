//! The names of fields that hold secrets. Case, `-` and `_` are ignored.

/// The names, normalized. They apply to headers, query parameters, form fields and fields of JSON.
/// SEMANTICS §14 repeats this list.
pub const NAMES: [&str; 37] = [
    "authorization",
    "proxyauthorization",
    "cookie",
    "setcookie",
    "password",
    "passwd",
    "pwd",
    "passphrase",
    "secret",
    "clientsecret",
    "token",
    "accesstoken",
    "refreshtoken",
    "idtoken",
    "authtoken",
    "sessiontoken",
    "bearertoken",
    "apitoken",
    "apikey",
    "privatekey",
    "secretkey",
    "accesskey",
    "secretaccesskey",
    "sessionid",
    "signature",
    "credentials",
    "xpassword",
    "xsessionid",
    "xauth",
    "xauthtoken",
    "xauthorization",
    "xapikey",
    "xcsrftoken",
    "xamzsignature",
    "xamzsecuritytoken",
    "xgoogsignature",
    "xaccesstoken",
];

/// The ends of names of headers that hold secrets.
const HEADER_ENDS: [&str; 6] = ["authorization", "cookie", "key", "token", "secret", "password"];

/// Normalizes a name: lower case, without `-` and `_`.
pub(super) fn plain(name: &str) -> String {
    name.chars().filter(|c| !matches!(c, '-' | '_')).flat_map(char::to_lowercase).collect()
}

/// Returns whether a header's name ends like that of a secret: `X-Api-Key`, `X-Upload-Token`, …
pub(super) fn ends_like_a_secret(header: &str) -> bool {
    let plain = plain(header);
    HEADER_ENDS.iter().any(|end| plain.ends_with(end))
}
