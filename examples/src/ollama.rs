//! Finding an Ollama server and its models.

use ai_services::providers::http_client_builder;
use ai_services::providers::openai::OpenAiChatModel;
use ai_services::providers::reqwest::{Client, Url};
use anyhow::Context;
use serde::Deserialize;
use std::fmt;
use std::time::Duration;

/// Where Ollama listens unless it is told otherwise.
const DEFAULT_PORT: u16 = 11434;

/// How long a server that may not be there is waited for.
const CONNECTING: Duration = Duration::from_millis(300);
const LISTING: Duration = Duration::from_secs(2);

/// The address of a server.
pub(crate) struct Server(String);

impl fmt::Display for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The server that `OLLAMA_HOST` names, as Ollama itself reads the variable: a URL, a host, a port
/// behind a colon, or both.
pub(crate) fn server(host: Option<&str>) -> anyhow::Result<Server> {
    let host = host.unwrap_or_default().trim();
    let (scheme, rest) = host.split_once("://").unwrap_or(("http", host));
    let rest = match rest.strip_prefix(':') {
        Some(port) => format!("127.0.0.1:{port}"),
        None if host.is_empty() => "127.0.0.1".to_owned(),
        None => rest.to_owned(),
    };
    let wrong = || format!("OLLAMA_HOST is not an address such as 127.0.0.1:{DEFAULT_PORT}");
    let mut url = Url::parse(&format!("{scheme}://{rest}")).with_context(wrong)?;
    anyhow::ensure!(matches!(scheme, "http" | "https") && url.has_host(), wrong());
    // Only an address without a scheme has Ollama's own port by default.
    if !host.contains("://") && url.port().is_none() && !rest.ends_with(":80") {
        let _ = url.set_port(Some(DEFAULT_PORT));
    }
    // Where a server listens is not always where it can be reached.
    match url.host_str() {
        Some("0.0.0.0") => url.set_host(Some("127.0.0.1")).with_context(wrong)?,
        Some("[::]") => url.set_host(Some("[::1]")).with_context(wrong)?,
        _ => {}
    }
    Ok(Server(url.as_str().trim_end_matches('/').to_owned()))
}

/// One of its models, through the protocol that it shares with OpenAI.
pub(crate) fn model(server: &Server, name: &str) -> ai_services::Result<OpenAiChatModel> {
    OpenAiChatModel::builder().base_url(format!("{server}/v1")).model(name).build()
}

/// The names of the models that can chat, if a server answers.
pub(crate) async fn models(server: &Server) -> Option<Vec<String>> {
    #[derive(Deserialize)]
    struct Tags {
        models: Vec<Tag>,
    }
    #[derive(Deserialize)]
    struct Tag {
        name: String,
    }

    let client = http_client_builder().ok()?.connect_timeout(CONNECTING).timeout(LISTING);
    let client: Client = client.build().ok()?;
    let answer = client.get(format!("{server}/api/tags")).send().await.ok()?;
    let text = answer.error_for_status().ok()?.text().await.ok()?;
    let Tags { models } = serde_json::from_str(&text).ok()?;
    let names = models.into_iter().map(|tag| tag.name);
    Some(names.filter(|name| !name.contains("embed")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn host_is_read_as_ollama_reads_it() {
        for (host, url) in [
            ("", "http://127.0.0.1:11434"),
            ("127.0.0.1:8090", "http://127.0.0.1:8090"),
            ("gpu", "http://gpu:11434"),
            (":9", "http://127.0.0.1:9"),
            ("0.0.0.0", "http://127.0.0.1:11434"),
            ("[::1]:9", "http://[::1]:9"),
            ("[::]", "http://[::1]:11434"),
            ("gpu:80", "http://gpu"),
            ("http://gpu", "http://gpu"),
            ("https://gpu/ollama/", "https://gpu/ollama"),
        ] {
            assert_eq!(server(Some(host)).unwrap().to_string(), url, "{host}");
        }
        assert_eq!(server(None).unwrap().to_string(), "http://127.0.0.1:11434");
    }

    #[test]
    fn wrong_host_is_an_error() {
        for host in ["gpu:port", "ftp://gpu", "http://"] {
            assert!(server(Some(host)).is_err(), "{host}");
        }
    }
}
