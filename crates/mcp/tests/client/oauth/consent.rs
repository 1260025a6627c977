//! The consent of the user, and the identity of the client.

use super::scripted_authority::{REDIRECT, Servers, form};
use crate::agent::call;
use ai_services::mcp::{Era, McpTools, OAuth, RemoteServer};
use ai_services::{Error, ErrorKind};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use futures_util::future::join_all;
use serde_json::json;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

#[tokio::test]
async fn token_of_a_consent_is_in_each_request() {
    let servers = Arc::new(Servers::start().await);
    let (login, consents) = servers.login();
    let tools = servers.connect(login).await.unwrap();
    assert_eq!(call(&tools, "s__act", "{}").await.text(), "done");
    let asked = consents.lock().unwrap().clone();
    assert_eq!(asked.len(), 1);
    let issuer = servers.world().issuer.clone();
    assert_eq!((asked[0].server.as_str(), &asked[0].issuer), ("s", &issuer));
    assert_eq!(
        (&asked[0].scopes, asked[0].redirect_uri.as_str()),
        (&vec!["read".to_owned()], REDIRECT)
    );
    let requests = servers.token_requests();
    assert_eq!(requests.len(), 1);
    assert_eq!(requests[0]["redirect_uri"], REDIRECT);
    let world = servers.world();
    let calls = world.received.iter().filter(|request| request.body.contains("tools/call"));
    let tokens: Vec<_> =
        calls.map(|call| call.headers["authorization"].to_str().unwrap()).collect();
    assert_eq!(tokens, ["Bearer secret-access-1"]);
}

#[tokio::test]
async fn server_without_a_challenge_is_discovered_by_its_address() {
    let servers = Arc::new(Servers::start().await);
    servers.world().script.sends_challenges = false;
    let (login, _) = servers.login();
    let tools = servers.connect(login).await.unwrap();
    assert_eq!(call(&tools, "s__act", "{}").await.text(), "done");
}

#[tokio::test]
async fn one_consent_serves_concurrent_connections() {
    let servers = Arc::new(Servers::start().await);
    let (login, consents) = servers.login();
    let server = RemoteServer::http("s", &servers.url).era(Era::Legacy).oauth(login);
    let connections = (0..4).map(|_| McpTools::builder().server(server.clone()).build());
    for tools in join_all(connections).await {
        assert_eq!(call(&tools.unwrap(), "s__act", "{}").await.text(), "done");
    }
    assert_eq!(consents.lock().unwrap().len(), 1);
}

#[tokio::test]
async fn time_of_the_user_does_not_count() {
    let servers = Arc::new(Servers::start().await);
    let user = Arc::clone(&servers);
    let login = OAuth::authorization_code(REDIRECT, move |request| {
        let redirect = user.consent(&request);
        async move {
            tokio::time::sleep(Duration::from_millis(2_500)).await;
            Ok(redirect)
        }
    });
    // The probe for the era of the server is under way, too.
    let server = RemoteServer::http("s", &servers.url).connect_timeout(Duration::from_secs(2));
    let tools = McpTools::builder().server(server.oauth(login)).build().await.unwrap();
    assert_eq!(call(&tools, "s__act", "{}").await.text(), "done");
}

#[tokio::test]
async fn consent_has_a_time_limit_of_its_own() {
    let servers = Arc::new(Servers::start().await);
    let login = OAuth::authorization_code(REDIRECT, |_| std::future::pending());
    let error = servers.connect(login.user_timeout(Duration::from_millis(50))).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Timeout);
    assert!(error.to_string().ends_with("the user did not consent within 50ms"), "{error}");
    assert_eq!(servers.token_requests().len(), 0);
}

#[tokio::test]
async fn failed_authorization_is_not_repeated_in_the_other_era() {
    let servers = Arc::new(Servers::start().await);
    let consents = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&consents);
    let login = OAuth::authorization_code(REDIRECT, move |_| {
        count.fetch_add(1, Ordering::Relaxed);
        async { Err(Error::new(ErrorKind::Connection, "no browser")) }
    });
    let server = RemoteServer::http("s", &servers.url).oauth(login);
    let error = McpTools::builder().server(server).build().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Connection);
    assert_eq!(consents.load(Ordering::Relaxed), 1);
}

#[tokio::test]
async fn declined_consent_is_the_error_of_the_connection() {
    let servers = Arc::new(Servers::start().await);
    let login = OAuth::authorization_code(REDIRECT, |request| async move {
        Ok(format!("{REDIRECT}?error=access_denied&state={}", request.state))
    });
    let error = servers.connect(login).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Authentication);
    let reason = "not authorized: the authorization server answered: access_denied";
    assert_eq!(error.to_string(), format!("no connection to MCP server `s`: {reason}"));

    let login = OAuth::authorization_code(REDIRECT, |_| async {
        Err(Error::new(ErrorKind::Refused, "the user closed the window"))
    });
    let error = servers.connect(login).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Refused);
    assert!(error.to_string().ends_with("the user closed the window"), "{error}");
    assert_eq!(servers.token_requests().len(), 0);
}

#[tokio::test]
async fn panic_of_the_consent_fails_one_connection() {
    let servers = Arc::new(Servers::start().await);
    let (user, has_panicked) = (Arc::clone(&servers), AtomicBool::new(false));
    let login = OAuth::authorization_code(REDIRECT, move |request| {
        assert!(has_panicked.swap(true, Ordering::Relaxed), "no browser");
        let redirect = user.consent(&request);
        async move { Ok(redirect) }
    });
    let server = RemoteServer::http("s", &servers.url).era(Era::Legacy).oauth(login);
    let error = McpTools::builder().server(server.clone()).build().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Authentication);
    assert!(error.to_string().ends_with("panicked"), "{error}");
    let tools = McpTools::builder().server(server).build().await.unwrap();
    assert_eq!(call(&tools, "s__act", "{}").await.text(), "done");
}

#[tokio::test]
async fn client_registers_itself_and_uses_its_secret() {
    let servers = Arc::new(Servers::start().await);
    let (login, _) = servers.login();
    servers.connect(login.client_name("Bookings")).await.unwrap();
    let world = servers.world();
    let registration = world.received.iter().find(|request| request.path == "/register").unwrap();
    let registration: serde_json::Value = serde_json::from_str(&registration.body).unwrap();
    assert_eq!(registration["client_name"], "Bookings");
    assert_eq!(registration["redirect_uris"], json!([REDIRECT]));
    assert_eq!(registration["application_type"], "native");
    let token = world.received.iter().find(|request| request.path == "/token").unwrap();
    assert!(token.headers["authorization"].to_str().unwrap().starts_with("Basic "));
}

#[tokio::test]
async fn configured_client_is_preferred_to_a_metadata_document_and_a_registration() {
    let servers = Arc::new(Servers::start().await);
    servers.world().script.metadata = json!({"client_id_metadata_document_supported": true});
    let document = "https://app.example/client.json";
    for (id, expected) in [(None, document), (Some("known"), "known")] {
        let (mut login, consents) = servers.login();
        login = login.client_metadata_url(document);
        if let Some(id) = id {
            login = login.client_id(id);
        }
        servers.connect(login).await.unwrap();
        let asked = consents.lock().unwrap().remove(0);
        assert_eq!(form(asked.url.split_once('?').unwrap().1)["client_id"], expected);
    }
    assert!(servers.world().received.iter().all(|request| request.path != "/register"));
}

#[tokio::test]
async fn client_without_an_id_at_a_server_without_registration_is_misconfigured() {
    let servers = Arc::new(Servers::start().await);
    servers.world().script.metadata = json!({"registration_endpoint": null});
    let (login, _) = servers.login();
    let error = servers.connect(login).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Configuration);
    assert!(error.to_string().ends_with("set `OAuth::client_id`"), "{error}");
}

#[tokio::test]
async fn configured_scopes_are_requested_with_offline_access() {
    let servers = Arc::new(Servers::start().await);
    servers.world().script.metadata = json!({"scopes_supported": ["read", "offline_access"]});
    let (login, consents) = servers.login();
    servers.connect(login.scopes(["write"])).await.unwrap();
    assert_eq!(consents.lock().unwrap()[0].scopes, ["write", "offline_access"]);
}

#[tokio::test]
async fn program_gets_a_token_with_its_own_credentials() {
    let servers = Arc::new(Servers::start().await);
    let issuer = servers.world().issuer.clone();
    let program = OAuth::client_credentials("program", "secret-program").issuer(issuer);
    let tools = servers.connect(program).await.unwrap();
    assert_eq!(call(&tools, "s__act", "{}").await.text(), "done");
    let requests = servers.token_requests();
    assert_eq!(requests.len(), 1);
    assert_eq!(requests[0]["grant_type"], "client_credentials");
    assert_eq!(requests[0]["scope"], "read");
}

#[tokio::test]
async fn program_gets_a_token_with_its_private_key() {
    let servers = Arc::new(Servers::start().await);
    let program = OAuth::private_key_jwt("program", include_str!("p256.pem"));
    let tools = servers.connect(program).await.unwrap();
    assert_eq!(call(&tools, "s__act", "{}").await.text(), "done");
    let request = servers.token_requests().remove(0);
    assert_eq!(request["grant_type"], "client_credentials");
    let parts: Vec<_> = request["client_assertion"].split('.').map(decode).collect();
    let json = |part: usize| serde_json::from_slice::<serde_json::Value>(&parts[part]).unwrap();
    assert_eq!(json(0), json!({"alg": "ES256", "typ": "JWT"}));
    let claims = json(1);
    let issuer = servers.world().issuer.clone();
    assert_eq!((&claims["iss"], &claims["sub"]), (&json!("program"), &json!("program")));
    assert_eq!(claims["aud"], json!(issuer));
    assert_eq!(claims["exp"].as_u64().unwrap() - claims["iat"].as_u64().unwrap(), 300);
    assert_eq!(parts[2].len(), 64);
}

fn decode(part: &str) -> Vec<u8> {
    URL_SAFE_NO_PAD.decode(part).unwrap()
}

#[tokio::test]
async fn header_and_authorization_are_not_combined() {
    let servers = Arc::new(Servers::start().await);
    let (login, _) = servers.login();
    let server = RemoteServer::http("s", &servers.url).header("Authorization", "Bearer 1");
    let error = McpTools::builder().server(server.oauth(login)).build().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Configuration);
}
