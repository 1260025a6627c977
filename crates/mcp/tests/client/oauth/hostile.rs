//! Servers and redirects that try to get tokens of others.

use super::scripted_authority::{REDIRECT, Redirecting, Script, Servers};
use crate::agent::call;
use crate::http_server::{Answer, HttpServer};
use ai_services::mcp::{McpTools, OAuth, RemoteServer};
use ai_services::{Error, ErrorKind};
use serde_json::json;
use std::fmt::Debug;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

/// Returns the error of a connection to servers with this behavior. The user consents.
async fn refusal(change: impl FnOnce(&mut Script)) -> (Error, Arc<Servers>) {
    let servers = Arc::new(Servers::start().await);
    change(&mut servers.world().script);
    let (mut login, _) = servers.login();
    if servers.world().script.delay > Duration::ZERO {
        login = login.request_timeout(Duration::from_millis(100));
    }
    let error = servers.connect(login).await.unwrap_err();
    let text = format!("{error} {error:?}");
    assert!(!text.contains("secret"), "{text}");
    (error, servers)
}

/// Returns the error of a connection after this redirect, in which `STATE` and `ISSUER` are replaced.
async fn refused_redirect(query: &'static str) -> (Error, usize) {
    let servers = Arc::new(Servers::start().await);
    let user = Arc::clone(&servers);
    let login = OAuth::authorization_code(REDIRECT, move |request| {
        let redirect = user.consent(&request);
        let code = redirect.split_once("code=").unwrap().1.split_once('&').unwrap().0.to_owned();
        let query = query.replace("CODE", &code).replace("STATE", &request.state);
        let query = query.replace("ISSUER", &request.issuer);
        async move { Ok(format!("{REDIRECT}?{query}")) }
    });
    let error = servers.connect(login).await.unwrap_err();
    let text = format!("{error} {error:?}");
    assert!(!text.contains("secret"), "{text}");
    (error, servers.token_requests().len())
}

#[tokio::test]
async fn redirect_of_another_request_or_issuer_is_refused() {
    for (query, reason) in [
        ("code=CODE&state=other&iss=ISSUER", "the redirect has another state than the request"),
        ("code=CODE&iss=ISSUER", "the redirect has another state than the request"),
        (
            "code=CODE&state=STATE&iss=https://evil.example",
            "the redirect is not from the authorization server",
        ),
        ("code=CODE&state=STATE", "the redirect is not from the authorization server"),
        ("state=STATE&iss=ISSUER", "the redirect has no code"),
    ] {
        let (error, token_requests) = refused_redirect(query).await;
        assert_eq!(error.kind(), ErrorKind::Authentication, "{query}: {error}");
        assert!(error.to_string().ends_with(reason), "{query}: {error}");
        assert_eq!(token_requests, 0, "{query}");
    }
}

#[tokio::test]
async fn metadata_of_another_issuer_is_refused() {
    let (error, servers) =
        refusal(|script| script.metadata = json!({"issuer": "https://login.example"})).await;
    assert_eq!(error.kind(), ErrorKind::InvalidResponse, "{error}");
    assert_eq!(servers.token_requests().len(), 0);
}

#[tokio::test]
async fn metadata_of_another_server_is_refused_without_the_secret_url() {
    let servers = Arc::new(Servers::start().await);
    servers.world().script.resource = Some("https://crm.example/mcp");
    let (login, consents) = servers.login();
    let url = format!("{}?key=secret", servers.url);
    let server = RemoteServer::http("s", url).oauth(login);
    let error = McpTools::builder().server(server).build().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidResponse);
    let text = format!("{error} {error:?}");
    assert!(text.contains("belongs to another server") && !text.contains("secret"), "{text}");
    assert_eq!(consents.lock().unwrap().len(), 0);
}

#[tokio::test]
async fn issuer_that_is_not_configured_is_refused() {
    let servers = Arc::new(Servers::start().await);
    let (login, consents) = servers.login();
    let error = servers.connect(login.issuer("https://login.example")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Authentication);
    assert_eq!(consents.lock().unwrap().len(), 0);
}

#[tokio::test]
async fn large_metadata_is_refused() {
    let (error, _) = refusal(|script| script.padding = 300 * 1024).await;
    assert_eq!(error.kind(), ErrorKind::InvalidResponse);
    assert!(error.to_string().ends_with("is larger than 256 KiB"), "{error}");
}

#[tokio::test]
async fn slow_authorization_server_is_a_timeout() {
    let (error, _) = refusal(|script| script.delay = Duration::from_secs(60)).await;
    assert_eq!(error.kind(), ErrorKind::Timeout);
    assert!(error.to_string().ends_with("did not answer within 100ms"), "{error}");
}

#[tokio::test]
async fn endpoint_without_tls_at_another_machine_is_refused() {
    for endpoint in ["token_endpoint", "authorization_endpoint", "registration_endpoint"] {
        let (error, servers) =
            refusal(|script| script.metadata = json!({endpoint: "http://192.0.2.1/x"})).await;
        assert_eq!(error.kind(), ErrorKind::InvalidResponse, "{endpoint}: {error}");
        assert!(error.to_string().ends_with("which is not https"), "{endpoint}: {error}");
        assert_eq!(servers.token_requests().len(), 0);
    }
}

#[tokio::test]
async fn authorization_server_without_pkce_is_refused() {
    let (error, _) =
        refusal(|script| script.metadata = json!({"code_challenge_methods_supported": ["plain"]}))
            .await;
    assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
}

#[tokio::test]
async fn code_is_not_sent_to_the_target_of_a_redirect() {
    let other = HttpServer::new(|_| Answer::Status("400 Bad Request")).await;
    let to = other.url.clone();
    let (error, _) =
        refusal(|script| script.redirect = Some((Redirecting::TokenEndpoint, to))).await;
    assert_eq!(error.kind(), ErrorKind::Authentication, "{error}");
    assert_eq!(other.received.lock().unwrap().len(), 0);
}

#[tokio::test]
async fn token_is_not_sent_to_the_target_of_a_redirect() {
    let other = HttpServer::new(|_| Answer::Status("400 Bad Request")).await;
    let servers = Arc::new(Servers::start().await);
    let (login, _) = servers.login();
    let tools = servers.connect(login).await.unwrap();
    servers.world().script.redirect = Some((Redirecting::Server, other.url.clone()));
    let told = call(&tools, "s__act", "{}").await;
    assert!(told.result.is_error(), "{told:?}");
    assert_eq!(other.received.lock().unwrap().len(), 0);
}

#[tokio::test]
async fn secrets_are_not_in_logs() {
    let log = Log::default();
    let _guard = tracing::subscriber::set_default(log.clone());
    let servers = Arc::new(Servers::start().await);
    servers.world().script.expires_in = 0;
    servers.world().script.call_scope = Some("write");
    let (login, consents) = servers.login();
    let tools = servers.connect(login.client_secret("secret-app").client_id("app")).await.unwrap();
    assert_eq!(call(&tools, "s__act", "{}").await.text(), "done");
    let grants: Vec<_> =
        servers.token_requests().iter().map(|request| request["grant_type"].clone()).collect();
    assert!(grants.contains(&"refresh_token".to_owned()), "{grants:?}");
    let log = log.0.lock().unwrap().join("\n");
    // The log is that of the SDK, too.
    assert!(log.contains("resource metadata discovery url"), "{log}");
    assert!(!log.contains("secret"), "{log}");
    for asked in consents.lock().unwrap().iter() {
        assert!(!log.contains(&asked.state), "{log}");
    }
}

/// A log of all events and spans, with their fields.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<String>>>);

impl Visit for Log {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.0.lock().unwrap().push(format!("{field}: {value:?}"));
    }
}

impl Subscriber for Log {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        !metadata.target().starts_with("hyper") && !metadata.target().starts_with("h2")
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        span.record(&mut self.clone());
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, values: &Record<'_>) {
        values.record(&mut self.clone());
    }

    fn event(&self, event: &Event<'_>) {
        event.record(&mut self.clone());
    }

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

#[tokio::test]
async fn secrets_are_not_in_debug_output() {
    let servers = Arc::new(Servers::start().await);
    let (login, consents) = servers.login();
    let login = login.client_id("app").client_secret("secret-app");
    let text = format!("{login:?}");
    servers.connect(login).await.unwrap();
    let asked = consents.lock().unwrap().remove(0);
    let text = format!("{text} {asked:?}");
    assert!(!text.contains("secret") && !text.contains(&asked.state), "{text}");
    assert!(text.contains("read"), "{text}");
}
