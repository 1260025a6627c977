//! The checks that every request passes before any route, and the headers of every response.

use crate::api::Problem;
use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use std::hint::black_box;
use std::net::IpAddr;
use std::sync::Arc;
use uuid::Uuid;

/// The request header with the token.
pub(crate) const TOKEN: HeaderName = HeaderName::from_static("x-playground-token");

/// Scripts and styles come from this server only, nothing else is loaded, and no text becomes HTML.
const CONTENT_SECURITY_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; \
    connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; \
    require-trusted-types-for 'script'; trusted-types 'none'";

/// Returns the headers of every response.
fn security_headers() -> [(HeaderName, &'static str); 6] {
    [
        (header::CONTENT_SECURITY_POLICY, CONTENT_SECURITY_POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
        (header::CACHE_CONTROL, "no-store"),
    ]
}

/// A secret that the page sends with each request, so that other users of the machine cannot.
#[derive(Clone)]
pub(crate) struct Token(Arc<str>);

impl Token {
    /// Creates a token with 244 random bits.
    pub(crate) fn random() -> Self {
        Self(format!("{}{}", Uuid::new_v4().simple(), Uuid::new_v4().simple()).into())
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    /// Compares in a time that does not depend on the number of equal bytes.
    fn accepts(&self, other: &[u8]) -> bool {
        let own = self.0.as_bytes();
        let difference = own.iter().zip(other).fold(0, |sum, (a, b)| black_box(sum | (a ^ b)));
        own.len() == other.len() && black_box(difference) == 0
    }
}

/// Checks a request, and adds the headers to its response.
pub(crate) async fn check(State(token): State<Token>, request: Request, next: Next) -> Response {
    let mut response = match verdict(&token, &request) {
        Ok(()) => next.run(request).await,
        Err(problem) => problem.into_response(),
    };
    for (name, value) in security_headers() {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}

fn verdict(token: &Token, request: &Request) -> Result<(), Problem> {
    let headers = request.headers();
    let host = single(headers, &header::HOST).unwrap_or_default();
    // A web page whose name was bound to this address sends its own name.
    let is_own = |host: &str| is_loopback(host);
    if !is_own(host) || request.uri().authority().is_some_and(|uri| !is_own(uri.as_str())) {
        return Err(Problem::new(
            StatusCode::MISDIRECTED_REQUEST,
            "the playground answers under the names of this machine only: open it as 127.0.0.1 or localhost",
        ));
    }
    if !is_same_origin(headers, host) {
        return Err(Problem::new(StatusCode::FORBIDDEN, "the request comes from another web page"));
    }
    let reads = [Method::GET, Method::HEAD].contains(request.method());
    if !reads && !is_json(headers) {
        return Err(Problem::new(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "the body must have the type application/json",
        ));
    }
    let is_page = reads && ["/", "/app.js", "/style.css"].contains(&request.uri().path());
    let sent = headers.get(TOKEN).map(HeaderValue::as_bytes).unwrap_or_default();
    if !is_page && !token.accepts(sent) {
        return Err(Problem::new(
            StatusCode::UNAUTHORIZED,
            "the token is missing or wrong: open the whole address that the program printed",
        ));
    }
    Ok(())
}

/// Returns the value of a header that a request must have once.
fn single<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    let mut values = headers.get_all(name).iter();
    let value = values.next()?.to_str().ok()?;
    values.next().is_none().then_some(value)
}

/// Returns whether a host, with or without a port, is a name or an address of this machine.
fn is_loopback(host: &str) -> bool {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    };
    let address = name.strip_prefix('[').and_then(|name| name.strip_suffix(']')).unwrap_or(name);
    if let Ok(address) = address.parse::<IpAddr>() {
        return address.is_loopback();
    }
    let name = name.to_ascii_lowercase();
    name == "localhost" || name.ends_with(".localhost")
}

/// Returns whether a request was sent by a page of this server, or by no page.
fn is_same_origin(headers: &HeaderMap, host: &str) -> bool {
    let own = format!("http://{host}");
    let is_own = |value: &HeaderValue| value.as_bytes().eq_ignore_ascii_case(own.as_bytes());
    let site = HeaderName::from_static("sec-fetch-site");
    let is_site = |value: &HeaderValue| matches!(value.as_bytes(), b"same-origin" | b"none");
    headers.get_all(header::ORIGIN).iter().all(is_own) && headers.get_all(site).iter().all(is_site)
}

fn is_json(headers: &HeaderMap) -> bool {
    let media_type = single(headers, &header::CONTENT_TYPE).unwrap_or_default();
    let media_type = media_type.split(';').next().unwrap_or_default();
    media_type.trim().eq_ignore_ascii_case("application/json")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_of_this_machine_are_accepted() {
        for host in [
            "localhost",
            "LOCALHOST:80",
            "app.localhost:3000",
            "127.0.0.1",
            "127.0.0.1:8080",
            "[::1]:80",
        ] {
            assert!(is_loopback(host), "{host}");
        }
        for host in [
            "",
            "evil.test",
            "localhost.evil.test",
            "evil.test:80",
            "192.168.0.1",
            "0.0.0.0:80",
            "127.0.0.1.evil.test",
            "user@127.0.0.1",
            "xlocalhost",
        ] {
            assert!(!is_loopback(host), "{host}");
        }
    }

    #[test]
    fn token_is_accepted_only_as_a_whole() {
        let token = Token::random();
        let text = token.as_str().to_owned();
        assert_eq!(text.len(), 64);
        assert!(token.accepts(text.as_bytes()));
        for other in ["", &text[1..], &text[..63], &format!("{text}0"), &text.to_uppercase()] {
            assert!(!token.accepts(other.as_bytes()), "{other}");
        }
        assert_ne!(text, Token::random().as_str());
    }
}
