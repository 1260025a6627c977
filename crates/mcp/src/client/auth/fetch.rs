//! Requests of authorization servers.

use crate::client::http_client;
use ai_services_core::{Error, ErrorKind, Result};
use reqwest::{StatusCode, Url};
use rmcp::transport::auth::{OAuthHttpClient, OAuthHttpClientFuture, OAuthHttpRequest};
use serde_json::Value;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Most bytes of an answer.
const MAX_BYTES: usize = 256 * 1024;

/// The members of a token response that are used. Others, such as identity tokens, are not passed on: the SDK would log
/// them.
const TOKEN_MEMBERS: [&str; 7] = [
    "access_token",
    "error",
    "error_description",
    "expires_in",
    "refresh_token",
    "scope",
    "token_type",
];

type Request = ::http::Request<Vec<u8>>;
type Response = ::http::Response<Vec<u8>>;

/// The HTTP client for authorization servers. It follows no redirects and has no credentials of its own.
pub(super) struct Fetch {
    client: reqwest::Client,
    accepts_loopback: bool,
    timeout: Duration,
    failure: Mutex<Option<Error>>,
}

impl Fetch {
    /// Creates a client for the authorization of an MCP server.
    ///
    /// # Errors
    ///
    /// Fails if TLS cannot be set up.
    pub(super) fn new(server: &Url, timeout: Duration) -> Result<Self> {
        let client = http_client::build(server, timeout)?;
        let accepts_loopback = is_loopback(server);
        Ok(Self { client, accepts_loopback, timeout, failure: Mutex::default() })
    }

    /// Returns the failure of the last request, if it failed. The SDK passes on its text only.
    pub(super) fn take_failure(&self) -> Option<Error> {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Fails for a URL to which no request may be sent.
    pub(super) fn check(&self, url: &Url) -> Result<()> {
        if url.scheme() == "https" || (self.accepts_loopback && is_loopback(url)) {
            return Ok(());
        }
        let origin = url.origin().ascii_serialization();
        let message = format!("the authorization server has a URL at {origin}, which is not https");
        Err(Error::new(ErrorKind::InvalidResponse, message))
    }

    /// Requests a token with these parameters. Returns the body of the answer, and `false` if it is an error.
    pub(super) async fn request_token(
        &self,
        endpoint: &str,
        parameters: &[(&str, &str)],
    ) -> Result<(bool, Vec<u8>)> {
        let mut form = Url::parse("form:").map_err(|_| unusable_endpoint())?;
        form.query_pairs_mut().extend_pairs(parameters);
        let body = form.query().unwrap_or_default().as_bytes().to_vec();
        let request = ::http::Request::post(endpoint)
            .header(::http::header::CONTENT_TYPE, "application/x-www-form-urlencoded")
            .body(body)
            .map_err(|_| unusable_endpoint())?;
        let answer = self.exchange(request).await?;
        Ok((answer.status().is_success(), answer.into_body()))
    }

    async fn exchange(&self, request: Request) -> Result<Response> {
        let content_type = request.headers().get(::http::header::CONTENT_TYPE);
        let is_form =
            content_type.is_some_and(|value| value == "application/x-www-form-urlencoded");
        let request = reqwest::Request::try_from(request).map_err(|error| failed(&error))?;
        self.check(request.url())?;
        let origin = request.url().origin().ascii_serialization();
        let answer = tokio::time::timeout(self.timeout, self.send(request)).await;
        let mut answer = answer.unwrap_or_else(|_| {
            let message = format!("{origin} did not answer within {:?}", self.timeout);
            Err(Error::new(ErrorKind::Timeout, message))
        })?;
        if is_form {
            keep_token_members(answer.body_mut());
        }
        Ok(answer)
    }

    async fn send(&self, request: reqwest::Request) -> Result<Response> {
        let origin = request.url().origin().ascii_serialization();
        let mut answer = self.client.execute(request).await.map_err(|error| failed(&error))?;
        let status = answer.status();
        if status.is_server_error() || status == StatusCode::TOO_MANY_REQUESTS {
            let kind = if status.is_server_error() {
                ErrorKind::Unavailable
            } else {
                ErrorKind::RateLimited
            };
            let message = format!("{origin} answered with status {}", status.as_u16());
            return Err(Error::new(kind, message).with_status(status.as_u16()));
        }
        let mut response = Response::new(Vec::new());
        *response.status_mut() = status;
        *response.headers_mut() = answer.headers().clone();
        while let Some(chunk) = answer.chunk().await.map_err(|error| failed(&error))? {
            if response.body().len() + chunk.len() > MAX_BYTES {
                let message = format!("an answer of {origin} is larger than 256 KiB");
                return Err(Error::new(ErrorKind::InvalidResponse, message));
            }
            response.body_mut().extend_from_slice(&chunk);
        }
        Ok(response)
    }
}

impl OAuthHttpClient for Fetch {
    fn execute(&self, request: OAuthHttpRequest) -> OAuthHttpClientFuture<'_> {
        Box::pin(async move {
            self.exchange(request.request).await.map_err(|error| {
                let reason = error.to_string();
                *self.failure.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
                reason.into()
            })
        })
    }
}

/// Returns `true` for a URL of this machine.
fn is_loopback(url: &Url) -> bool {
    use std::net::IpAddr;

    let Some(host) = url.host_str() else { return false };
    let address = host.trim_start_matches('[').trim_end_matches(']');
    matches!(url.scheme(), "http" | "https")
        && (host == "localhost" || address.parse().is_ok_and(|ip: IpAddr| ip.is_loopback()))
}

/// The texts of reqwest contain the URL, which may be secret.
fn failed(error: &reqwest::Error) -> Error {
    let message = if error.is_connect() {
        "no connection to the authorization server"
    } else {
        "the connection to the authorization server broke"
    };
    Error::new(ErrorKind::Connection, message)
}

fn unusable_endpoint() -> Error {
    let message = "the token endpoint of the authorization server is not usable";
    Error::new(ErrorKind::InvalidResponse, message)
}

fn keep_token_members(body: &mut Vec<u8>) {
    if let Ok(Value::Object(mut members)) = serde_json::from_slice(body) {
        members.retain(|name, _| TOKEN_MEMBERS.contains(&name.as_str()));
        *body = Value::Object(members).to_string().into_bytes();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(server: &str, url: &str) -> bool {
        let server = Url::parse(server).unwrap();
        let fetch = Fetch::new(&server, Duration::from_secs(1)).unwrap();
        fetch.check(&Url::parse(url).unwrap()).is_ok()
    }

    #[test]
    fn plain_http_is_accepted_only_between_loopback_addresses() {
        assert!(check("https://crm.example/mcp", "https://login.example/token"));
        assert!(!check("https://crm.example/mcp", "http://login.example/token"));
        assert!(!check("https://crm.example/mcp", "http://127.0.0.1/token"));
        assert!(!check("https://crm.example/mcp", "http://169.254.169.254/latest"));
        assert!(check("http://localhost:1/mcp", "http://[::1]:2/token"));
        assert!(check("http://127.0.0.1:1/mcp", "http://127.0.0.9:2/token"));
        assert!(!check("http://127.0.0.1:1/mcp", "http://127.0.0.1.example/token"));
        assert!(!check("http://127.0.0.1:1/mcp", "file:///etc/passwd"));
    }

    #[test]
    fn token_response_loses_members_that_are_not_used() {
        let mut body = br#"{"access_token":"a","id_token":"i","scope":"s"}"#.to_vec();
        keep_token_members(&mut body);
        assert_eq!(body, br#"{"access_token":"a","scope":"s"}"#);
    }
}
