//! `URL` for flows, with the `url` crate, which follows the WHATWG standard.

use serde_json::{Value, json};
use url::{Position, Url};

/// Parses `[url, base, [part, value]]`, and sets the part if there is one. Returns the URL's parts; `None` if it is no
/// URL.
pub(crate) fn parts(asked: &Value) -> Option<Value> {
    let text = asked[0].as_str()?;
    let mut url = match asked[1].as_str() {
        Some(base) => Url::parse(base).ok()?.join(text).ok()?,
        None => Url::parse(text).ok()?,
    };
    if let Some(part) = asked[2][0].as_str() {
        change(&mut url, part, asked[2][1].as_str().unwrap_or_default());
    }
    Some(json!({
        "href": url.as_str(),
        "protocol": format!("{}:", url.scheme()),
        "username": url.username(),
        "password": url.password().unwrap_or_default(),
        "host": &url[Position::BeforeHost..Position::AfterPort],
        "hostname": url.host_str().unwrap_or_default(),
        "port": url.port().map(|port| port.to_string()).unwrap_or_default(),
        "pathname": url.path(),
        "search": with_mark('?', url.query()),
        "hash": with_mark('#', url.fragment()),
        "origin": url.origin().ascii_serialization(),
    }))
}

fn with_mark(mark: char, part: Option<&str>) -> String {
    part.filter(|part| !part.is_empty()).map(|part| format!("{mark}{part}")).unwrap_or_default()
}

/// Sets a part. As with the standard's setters, an invalid value changes nothing.
fn change(url: &mut Url, part: &str, value: &str) {
    let some = |mark: char| Some(value.trim_start_matches(mark)).filter(|value| !value.is_empty());
    let _unfit = match part {
        "protocol" => url.set_scheme(value.trim_end_matches(':')),
        "username" => url.set_username(value),
        "password" => url.set_password(some('\0')),
        "hostname" => url.set_host(Some(value)).map_err(drop),
        "host" => {
            let (host, port) = value.rsplit_once(':').unwrap_or((value, ""));
            url.set_host(Some(host)).map_err(drop).and_then(|()| url.set_port(port.parse().ok()))
        }
        "port" => url.set_port(value.parse().ok()),
        "pathname" => {
            url.set_path(value);
            Ok(())
        }
        "search" => {
            url.set_query(some('?'));
            Ok(())
        }
        "hash" => {
            url.set_fragment(some('#'));
            Ok(())
        }
        _ => Ok(()),
    };
}
