//! `fetch.allow` of `flowglass.json`: the hosts that flows may reach.

use reqwest::Url;
use serde::Deserialize;

/// One entry of `fetch.allow`: a host with or without a port, or `*.` and a domain.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub(crate) struct AllowedHost {
    host: String,
    port: Option<u16>,
    /// Whether it allows only subdomains of the host.
    below: bool,
}

impl TryFrom<String> for AllowedHost {
    type Error = String;

    fn try_from(entry: String) -> Result<Self, String> {
        let wrong =
            || format!("\"{entry}\" is not a host: write \"api.example.com\", \"localhost:8080\" or \"*.example.com\"");
        let (below, rest) = entry.strip_prefix("*.").map_or((false, entry.as_str()), |rest| (true, rest));
        let (host, port) = match rest.rsplit_once(':') {
            Some((host, port)) if !rest.ends_with(']') => (host, Some(port.parse().map_err(|_| wrong())?)),
            _ => (rest, None),
        };
        if host.contains(['/', '*', '@', '?', '#']) {
            return Err(wrong());
        }
        // Parsed like the addresses it is compared with: lower case, punycode, short IPv6.
        let url = Url::parse(&format!("http://{host}/")).map_err(|_| wrong())?;
        Ok(AllowedHost { host: url.host_str().unwrap_or_default().to_owned(), port, below })
    }
}

impl std::fmt::Display for AllowedHost {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let below = if self.below { "*." } else { "" };
        match self.port {
            Some(port) => write!(f, "{below}{}:{port}", self.host),
            None => write!(f, "{below}{}", self.host),
        }
    }
}

impl AllowedHost {
    pub(crate) fn permits(&self, url: &Url) -> bool {
        let host = url.host_str().unwrap_or_default();
        let is_host = if self.below {
            host.strip_suffix(&self.host).is_some_and(|rest| rest.len() > 1 && rest.ends_with('.'))
        } else {
            host == self.host
        };
        is_host && self.port.is_none_or(|port| url.port_or_known_default() == Some(port))
    }
}
