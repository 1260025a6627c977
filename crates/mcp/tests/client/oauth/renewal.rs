//! New tokens: refreshed, with more scopes, of a store.

use super::scripted_authority::{REDIRECT, Servers};
use crate::agent::call;
use ai_services::Result;
use ai_services::mcp::{CredentialKey, OAuth, OAuthCredentials, TokenStore};
use async_trait::async_trait;
use serde_json::json;
use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::time::timeout;

/// A store that keeps JSON, like a database.
#[derive(Clone, Default)]
struct Json(Arc<Mutex<HashMap<CredentialKey, String>>>);

#[async_trait]
impl TokenStore for Json {
    async fn load(&self, key: &CredentialKey) -> Result<Option<OAuthCredentials>> {
        let all = self.0.lock().unwrap();
        Ok(all.get(key).map(|json| serde_json::from_str(json).unwrap()))
    }

    async fn save(&self, key: &CredentialKey, credentials: &OAuthCredentials) -> Result<()> {
        let json = serde_json::to_string(credentials).unwrap();
        self.0.lock().unwrap().insert(key.clone(), json);
        Ok(())
    }

    async fn delete(&self, key: &CredentialKey) -> Result<()> {
        self.0.lock().unwrap().remove(key);
        Ok(())
    }
}

fn grants(servers: &Servers) -> Vec<String> {
    servers.token_requests().iter().map(|request| request["grant_type"].clone()).collect()
}

#[tokio::test]
async fn token_near_its_end_is_refreshed_without_the_user() {
    let servers = Arc::new(Servers::start().await);
    servers.world().script.expires_in = 0;
    let (login, consents) = servers.login();
    let tools = servers.connect(login).await.unwrap();
    servers.world().script.expires_in = 3_600;
    let sent = servers.token_requests().len();
    assert_eq!(call(&tools, "s__act", "{}").await.text(), "done");
    assert_eq!(call(&tools, "s__act", "{}").await.text(), "done");
    let requests = servers.token_requests().split_off(sent);
    assert_eq!(requests.len(), 1, "one refresh serves both calls");
    assert_eq!(requests[0]["grant_type"], "refresh_token");
    assert_eq!(requests[0]["refresh_token"], format!("secret-refresh-{sent}"));
    assert_eq!(consents.lock().unwrap().len(), 1);
}

#[tokio::test]
async fn token_that_cannot_be_renewed_is_used_until_the_server_rejects_it() {
    let servers = Arc::new(Servers::start().await);
    servers.world().script.expires_in = 0;
    let (login, consents) = servers.login();
    let tools = servers.connect(login).await.unwrap();
    servers.world().script.metadata = json!({"token_endpoint": "http://192.0.2.1/token"});
    assert_eq!(call(&tools, "s__act", "{}").await.text(), "done");
    servers.world().tokens.clear();
    call(&tools, "s__act", "{}").await.is_error("http://192.0.2.1, which is not https");
    assert_eq!(consents.lock().unwrap().len(), 1);
}

#[tokio::test]
async fn rejected_token_is_refreshed_without_the_user() {
    let servers = Arc::new(Servers::start().await);
    let (login, consents) = servers.login();
    let tools = servers.connect(login).await.unwrap();
    servers.world().tokens.clear();
    assert_eq!(call(&tools, "s__act", "{}").await.text(), "done");
    assert_eq!(grants(&servers), ["authorization_code", "refresh_token"]);
    assert_eq!(consents.lock().unwrap().len(), 1);
}

#[tokio::test]
async fn token_of_a_program_is_replaced_before_its_end() {
    let servers = Arc::new(Servers::start().await);
    servers.world().script.expires_in = 0;
    servers.world().script.refresh_error = Some("invalid_grant");
    let tools = servers.connect(OAuth::client_credentials("program", "secret")).await.unwrap();
    assert_eq!(call(&tools, "s__act", "{}").await.text(), "done");
    let world = servers.world();
    let requests = world.received.iter().filter(|request| request.path == "/mcp");
    let without_token = requests.filter(|request| {
        !request.body.is_empty() && !request.headers.contains_key("authorization")
    });
    assert_eq!(without_token.count(), 1, "the first request");
}

#[tokio::test]
async fn rejected_refresh_token_asks_the_user_again() {
    for (error, registrations) in [("invalid_grant", 1), ("invalid_client", 2)] {
        let servers = Arc::new(Servers::start().await);
        servers.world().script.refresh_error = Some(error);
        let (login, consents) = servers.login();
        let tools = servers.connect(login).await.unwrap();
        servers.world().tokens.clear();
        assert_eq!(call(&tools, "s__act", "{}").await.text(), "done");
        assert_eq!(grants(&servers), ["authorization_code", "refresh_token", "authorization_code"]);
        assert_eq!(consents.lock().unwrap().len(), 2);
        let world = servers.world();
        let registered = world.received.iter().filter(|request| request.path == "/register");
        assert_eq!(registered.count(), registrations, "{error}");
    }
}

#[tokio::test]
async fn scope_that_a_call_requires_is_requested_in_addition() {
    let servers = Arc::new(Servers::start().await);
    servers.world().script.call_scope = Some("write");
    let (login, consents) = servers.login();
    let tools = servers.connect(login).await.unwrap();
    assert_eq!(call(&tools, "s__act", "{}").await.text(), "done");
    assert_eq!(call(&tools, "s__act", "{}").await.text(), "done");
    let scopes: Vec<_> =
        consents.lock().unwrap().iter().map(|asked| asked.scopes.clone()).collect();
    assert_eq!(scopes, [vec!["read".to_owned()], vec!["read".to_owned(), "write".to_owned()]]);
}

#[tokio::test]
async fn dropped_request_ends_the_question_to_the_user() {
    let servers = Arc::new(Servers::start().await);
    servers.world().script.call_scope = Some("write");
    let (user, asked) = (Arc::clone(&servers), Arc::new(AtomicUsize::new(0)));
    let count = Arc::clone(&asked);
    let login = OAuth::authorization_code(REDIRECT, move |request| {
        let is_second = count.fetch_add(1, Ordering::Relaxed) == 1;
        let redirect = user.consent(&request);
        async move {
            if is_second {
                std::future::pending::<()>().await;
            }
            Ok(redirect)
        }
    });
    let tools = servers.connect(login).await.unwrap();
    let abandoned = timeout(Duration::from_millis(500), call(&tools, "s__act", "{}")).await;
    assert!(abandoned.is_err(), "the user has not answered");
    assert_eq!(call(&tools, "s__act", "{}").await.text(), "done");
    assert_eq!(asked.load(Ordering::Relaxed), 3);
}

#[tokio::test]
async fn scope_that_is_never_granted_is_requested_once() {
    let servers = Arc::new(Servers::start().await);
    servers.world().script.call_scope = Some("write");
    servers.world().script.grants_scopes = false;
    let (login, consents) = servers.login();
    let tools = servers.connect(login).await.unwrap();
    for _ in 0..2 {
        call(&tools, "s__act", "{}").await.is_error("not authorized");
    }
    assert_eq!(consents.lock().unwrap().len(), 2);
}

#[tokio::test]
async fn stored_credentials_serve_the_next_run() {
    let servers = Arc::new(Servers::start().await);
    let store = Json::default();
    for _ in 0..2 {
        let (login, _) = servers.login();
        let tools = servers.connect(login.token_store(store.clone())).await.unwrap();
        assert_eq!(call(&tools, "s__act", "{}").await.text(), "done");
    }
    assert_eq!(grants(&servers), ["authorization_code"]);
    // A restart after the end of the token.
    servers.world().tokens.clear();
    let (login, consents) = servers.login();
    servers.connect(login.token_store(store.clone())).await.unwrap();
    assert_eq!(grants(&servers), ["authorization_code", "refresh_token"]);
    assert_eq!(consents.lock().unwrap().len(), 0);
    let (issuer, resource) = (servers.world().issuer.clone(), servers.url.clone());
    let keys: Vec<_> = store.0.lock().unwrap().keys().map(ToString::to_string).collect();
    assert_eq!(keys, [format!("{issuer} {resource}")]);
}

#[tokio::test]
async fn credentials_of_one_issuer_are_not_sent_to_another() {
    let servers = Arc::new(Servers::start().await);
    let store = Json::default();
    let (login, _) = servers.login();
    let _tools = servers.connect(login.token_store(store.clone())).await.unwrap();
    servers.move_to_another_issuer().await;
    servers.world().tokens.clear();
    servers.world().received.clear();
    let mixed_up = Always(store.0.lock().unwrap().values().next().unwrap().clone());
    let (login, consents) = servers.login();
    let _tools = servers.connect(login.token_store(mixed_up)).await.unwrap();
    let world_issuer = servers.world().issuer.clone();
    assert_eq!(consents.lock().unwrap()[0].issuer, world_issuer);
    assert_eq!(grants(&servers), ["authorization_code"]);
    let world = servers.world();
    let requests: Vec<_> = world.received.iter().map(|request| format!("{request:?}")).collect();
    assert!(requests.iter().all(|request| !request.contains("secret-refresh-1")));
    assert!(requests.iter().all(|request| !request.contains("secret-access-1")));
    assert!(world.received.iter().any(|request| request.path == "/register"));
}

/// A store that returns the same credentials for each key.
struct Always(String);

#[async_trait]
impl TokenStore for Always {
    async fn load(&self, _: &CredentialKey) -> Result<Option<OAuthCredentials>> {
        Ok(serde_json::from_str(&self.0).ok())
    }

    async fn save(&self, _: &CredentialKey, _: &OAuthCredentials) -> Result<()> {
        Ok(())
    }

    async fn delete(&self, _: &CredentialKey) -> Result<()> {
        Ok(())
    }
}
