//! The names under which secrets stand. Case, `-` and `_` make no difference.

/// The list, plain. What is on it is redacted as a header, a query parameter, a form field and a field of JSON.
/// SEMANTICS §14 repeats it.
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

/// How the names of headers end that carry secrets.
const HEADER_ENDS: [&str; 6] = ["authorization", "cookie", "key", "token", "secret", "password"];

/// A name without case, `-` and `_`.
pub(super) fn plain(name: &str) -> String {
    name.chars().filter(|c| !matches!(c, '-' | '_')).flat_map(char::to_lowercase).collect()
}

/// Whether a header carries a secret by the end of its name: `X-Api-Key`, `X-Upload-Token`, …
pub(super) fn ends_like_a_secret(header: &str) -> bool {
    let plain = plain(header);
    HEADER_ENDS.iter().any(|end| plain.ends_with(end))
}
