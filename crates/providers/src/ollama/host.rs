//! The address of a server in the syntax of Ollama.

use ai_services_core::{Error, Result};
use reqwest::Url;
use std::net::Ipv6Addr;

/// The default address of Ollama.
pub(super) const DEFAULT: &str = "http://127.0.0.1:11434";
const DEFAULT_PORT: u16 = 11434;
/// Ollama's hosted models, which require a key.
pub(super) const CLOUD: &str = "ollama.com";

/// Parses the value of `OLLAMA_HOST`: a URL, a host, a port after a colon, or both, with or without
/// a path.
///
/// # Errors
///
/// [`ErrorKind::Configuration`](ai_services_core::ErrorKind::Configuration), without the value.
pub(super) fn url(host: &str) -> Result<String> {
    let host = host.trim().trim_matches(['"', '\'']).trim();
    let (scheme, rest) = match host.split_once("://") {
        Some(parts) => parts,
        None if host == CLOUD => ("https", host),
        None => ("http", host),
    };
    let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
    let (name, port) = split(authority);
    let port = match port {
        Some(port) => Some(port.parse().map_err(|source| wrong().with_source(source))?),
        // Only an address without a scheme has Ollama's default port.
        None if host.contains("://") || host == CLOUD => None,
        None => Some(DEFAULT_PORT),
    };
    // A server that listens on all addresses is reachable on this machine.
    let name = match name {
        "" if host.contains("://") => return Err(wrong()),
        "" | "0.0.0.0" => "127.0.0.1",
        "::" | "[::]" => "[::1]",
        name => name,
    };
    let name = match name.parse::<Ipv6Addr>() {
        Ok(address) => format!("[{address}]"),
        Err(_) => name.to_owned(),
    };
    let port = port.map(|port: u16| format!(":{port}")).unwrap_or_default();
    let url = Url::parse(&format!("{scheme}://{name}{port}/{path}"))
        .map_err(|source| wrong().with_source(source))?;
    if !matches!(url.scheme(), "http" | "https") || !url.has_host() {
        return Err(wrong());
    }
    Ok(url.as_str().trim_end_matches('/').to_owned())
}

/// Splits off the port, if there is one.
fn split(authority: &str) -> (&str, Option<&str>) {
    if authority.parse::<Ipv6Addr>().is_ok() || authority.ends_with(']') {
        return (authority, None);
    }
    match authority.rsplit_once(':') {
        Some((name, port)) => (name, Some(port)),
        None => (authority, None),
    }
}

fn wrong() -> Error {
    Error::configuration("OLLAMA_HOST is not an address such as `127.0.0.1:11434`")
}

#[cfg(test)]
mod tests {
    use super::*;
    use ai_services_core::ErrorKind;

    #[test]
    fn host_is_parsed_as_by_ollama() {
        for (host, expected) in [
            ("", "http://127.0.0.1:11434"),
            ("127.0.0.1:8090", "http://127.0.0.1:8090"),
            (" \"127.0.0.1:8090\" ", "http://127.0.0.1:8090"),
            ("gpu", "http://gpu:11434"),
            ("gpu/", "http://gpu:11434"),
            ("gpu/ollama", "http://gpu:11434/ollama"),
            ("gpu:9/ollama/", "http://gpu:9/ollama"),
            (":9", "http://127.0.0.1:9"),
            ("0.0.0.0", "http://127.0.0.1:11434"),
            ("0.0.0.0:9", "http://127.0.0.1:9"),
            ("::1", "http://[::1]:11434"),
            ("[::1]:9", "http://[::1]:9"),
            ("[::]", "http://[::1]:11434"),
            ("gpu:80", "http://gpu"),
            ("http://gpu", "http://gpu"),
            ("http://0.0.0.0:9", "http://127.0.0.1:9"),
            ("https://gpu/ollama/", "https://gpu/ollama"),
            ("https://[::1]", "https://[::1]"),
            ("ollama.com", "https://ollama.com"),
            ("https://ollama.com", "https://ollama.com"),
        ] {
            assert_eq!(url(host).unwrap(), expected, "{host}");
        }
        assert_eq!(url("").unwrap(), DEFAULT);
    }

    #[test]
    fn error_of_an_invalid_host_names_the_variable() {
        for host in ["gpu:port", "gpu:99999", "ftp://canary", "http://", "http://:9", "a b"] {
            let error = url(host).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Configuration, "{host}");
            assert!(error.to_string().contains("OLLAMA_HOST"), "{error}");
            assert!(!error.to_string().contains("canary"), "{error}");
        }
    }
}
