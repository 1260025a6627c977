//! A scripted authorization server, and an MCP server that accepts its tokens.

use ai_services::mcp::{AuthorizationRequest, Era, McpTools, OAuth, RemoteServer};
use axum::Router;
use axum::body::{Body, Bytes, to_bytes};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

/// The redirect URI of the tests. Nothing listens there.
pub(super) const REDIRECT: &str = "http://127.0.0.1:9/callback";

/// The behavior of the servers. The default is that of correct ones.
pub(super) struct Script {
    /// Members that replace those of the metadata of the authorization server.
    pub(super) metadata: Value,
    /// The resource in the metadata of the MCP server, instead of its URL.
    pub(super) resource: Option<&'static str>,
    /// Bytes that are added to the metadata.
    pub(super) padding: usize,
    /// The time that the authorization server takes for its metadata.
    pub(super) delay: Duration,
    /// The life of the next tokens in seconds.
    pub(super) expires_in: u64,
    /// The scope that calls of tools require.
    pub(super) call_scope: Option<&'static str>,
    /// Tokens have the scope that calls of tools require.
    pub(super) grants_scopes: bool,
    /// The error of refreshes.
    pub(super) refresh_error: Option<&'static str>,
    /// The MCP server names its metadata when it refuses a request.
    pub(super) sends_challenges: bool,
    /// The MCP server, or the token endpoint, redirects to this address.
    pub(super) redirect: Option<(Redirecting, String)>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Redirecting {
    Server,
    TokenEndpoint,
}

/// A request that a server received.
#[derive(Clone, Debug)]
pub(super) struct Received {
    pub(super) path: String,
    pub(super) headers: HeaderMap,
    pub(super) body: String,
}

/// The state of the servers.
pub(super) struct World {
    pub(super) script: Script,
    pub(super) received: Vec<Received>,
    /// The scopes of the tokens that are valid.
    pub(super) tokens: HashMap<String, String>,
    pub(super) issuer: String,
    /// The requests for consent by their code.
    consents: HashMap<String, HashMap<String, String>>,
    issued: usize,
}

/// An MCP server with an authorization server.
pub(super) struct Servers {
    pub(super) url: String,
    world: Arc<Mutex<World>>,
    running: Mutex<Vec<JoinHandle<()>>>,
}

impl Servers {
    pub(super) async fn start() -> Self {
        let mcp = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/mcp", mcp.local_addr().unwrap());
        let world = World {
            script: Script {
                metadata: json!({}),
                resource: None,
                padding: 0,
                delay: Duration::ZERO,
                expires_in: 3_600,
                call_scope: None,
                grants_scopes: true,
                refresh_error: None,
                sends_challenges: true,
                redirect: None,
            },
            received: Vec::new(),
            tokens: HashMap::new(),
            issuer: String::new(),
            consents: HashMap::new(),
            issued: 0,
        };
        let world = Arc::new(Mutex::new(world));
        let servers = Self { url, world, running: Mutex::default() };
        servers.serve(mcp);
        servers.move_to_another_issuer().await;
        servers
    }

    /// Starts another authorization server, and lets the MCP server name that one.
    pub(super) async fn move_to_another_issuer(&self) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        self.world().issuer = format!("http://{}", listener.local_addr().unwrap());
        self.serve(listener);
    }

    fn serve(&self, listener: TcpListener) {
        let state = (self.url.clone(), Arc::clone(&self.world));
        let app = Router::new().fallback(answer).with_state(state);
        #[allow(clippy::disallowed_methods, reason = "a test server runs beside its test")]
        let server = tokio::spawn(async move {
            axum::serve(listener, app).await.unwrap();
        });
        self.running.lock().unwrap().push(server);
    }

    pub(super) fn world(&self) -> MutexGuard<'_, World> {
        self.world.lock().unwrap()
    }

    /// Returns the bodies of the requests for tokens.
    pub(super) fn token_requests(&self) -> Vec<HashMap<String, String>> {
        let world = self.world();
        let requests = world.received.iter().filter(|request| request.path == "/token");
        requests.map(|request| form(&request.body)).collect()
    }

    /// Consents like a user and a correct authorization server. Returns the redirect.
    pub(super) fn consent(&self, request: &AuthorizationRequest) -> String {
        let mut world = self.world();
        let (page, query) = request.url.split_once('?').unwrap();
        assert_eq!(page, format!("{}/authorize", world.issuer));
        let parameters = form(query);
        assert_eq!(parameters["redirect_uri"], REDIRECT);
        assert_eq!(parameters["response_type"], "code");
        assert_eq!(parameters["code_challenge_method"], "S256");
        assert_eq!(parameters["resource"], self.url);
        assert_eq!(parameters["state"], request.state);
        let code = format!("secret-code-{}", world.consents.len());
        world.consents.insert(code.clone(), parameters);
        format!("{REDIRECT}?code={code}&state={}&iss={}", request.state, world.issuer)
    }

    /// Returns an authorization by a user who consents, and counts the consents.
    pub(super) fn login(self: &Arc<Self>) -> (OAuth, Arc<Mutex<Vec<AuthorizationRequest>>>) {
        let requests = Arc::new(Mutex::new(Vec::new()));
        let (servers, record) = (Arc::clone(self), Arc::clone(&requests));
        let oauth = OAuth::authorization_code(REDIRECT, move |request: AuthorizationRequest| {
            let redirect = servers.consent(&request);
            record.lock().unwrap().push(request);
            async move { Ok(redirect) }
        });
        (oauth, requests)
    }

    /// Connects with an authorization.
    pub(super) async fn connect(&self, oauth: OAuth) -> ai_services::Result<McpTools> {
        let server = RemoteServer::http("s", &self.url).era(Era::Legacy).oauth(oauth);
        McpTools::builder().server(server).build().await
    }
}

impl Drop for Servers {
    fn drop(&mut self) {
        for server in self.running.lock().unwrap().drain(..) {
            server.abort();
        }
    }
}

type Shared = (String, Arc<Mutex<World>>);

async fn answer(State((url, world)): State<Shared>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let body: Bytes = to_bytes(body, 1 << 20).await.unwrap();
    let (path, body) = (parts.uri.path().to_owned(), String::from_utf8(body.to_vec()).unwrap());
    let received = Received { path: path.clone(), headers: parts.headers, body: body.clone() };
    let delay = {
        let mut world = world.lock().unwrap();
        world.received.push(received.clone());
        world.script.delay
    };
    if path.contains("oauth-authorization-server") {
        tokio::time::sleep(delay).await;
    }
    let mut world = world.lock().unwrap();
    match path.as_str() {
        "/.well-known/oauth-protected-resource/mcp" => json_answer(json!({
            "resource": world.script.resource.unwrap_or(&url),
            "authorization_servers": [world.issuer],
            "scopes_supported": ["read"],
        })),
        "/.well-known/oauth-authorization-server" => json_answer(world.metadata()),
        "/register" => json_answer(json!({
            "client_id": format!("client of {}", world.issuer),
            "client_secret": "secret-client",
            "redirect_uris": [REDIRECT],
        })),
        "/token" => world.token(&body, &url),
        "/mcp" if !body.is_empty() => world.mcp(&received, &url),
        _ => status(StatusCode::NOT_FOUND),
    }
}

impl World {
    fn metadata(&self) -> Value {
        let issuer = &self.issuer;
        let mut metadata = json!({
            "issuer": issuer,
            "authorization_endpoint": format!("{issuer}/authorize"),
            "token_endpoint": format!("{issuer}/token"),
            "registration_endpoint": format!("{issuer}/register"),
            "response_types_supported": ["code"],
            "code_challenge_methods_supported": ["S256"],
            "token_endpoint_auth_methods_supported": ["client_secret_basic", "none"],
            "authorization_response_iss_parameter_supported": true,
            "padding": "x".repeat(self.script.padding),
        });
        for (name, value) in self.script.metadata.as_object().unwrap() {
            metadata[name] = value.clone();
        }
        metadata
    }

    fn token(&mut self, body: &str, url: &str) -> Response {
        if let Some((Redirecting::TokenEndpoint, to)) = &self.script.redirect {
            return redirect(to);
        }
        let request = form(body);
        assert_eq!(request["resource"], url);
        let scopes = match request["grant_type"].as_str() {
            "authorization_code" => {
                let consent = self.consents.remove(&request["code"]).unwrap();
                let verifier = Sha256::digest(request["code_verifier"].as_bytes());
                assert_eq!(consent["code_challenge"], URL_SAFE_NO_PAD.encode(verifier));
                consent.get("scope").cloned().unwrap_or_default()
            }
            "refresh_token" => {
                if let Some(error) = self.script.refresh_error {
                    let mut answer = json_answer(json!({"error": error}));
                    *answer.status_mut() = StatusCode::BAD_REQUEST;
                    return answer;
                }
                "read write".to_owned()
            }
            "client_credentials" => request.get("scope").cloned().unwrap_or_default(),
            other => panic!("unexpected grant {other}"),
        };
        self.issued += 1;
        let number = self.issued;
        let granted = if self.script.grants_scopes { scopes } else { "read".to_owned() };
        self.tokens.insert(format!("secret-access-{number}"), granted);
        json_answer(json!({
            "access_token": format!("secret-access-{number}"),
            "refresh_token": format!("secret-refresh-{number}"),
            "id_token": "secret-identity",
            "token_type": "Bearer",
            "expires_in": self.script.expires_in,
        }))
    }

    fn mcp(&self, received: &Received, url: &str) -> Response {
        let origin = url.trim_end_matches("/mcp");
        let token = received.headers.get("authorization").map(|value| value.to_str().unwrap());
        let token = token.and_then(|value| value.strip_prefix("Bearer "));
        let Some(scopes) = token.and_then(|token| self.tokens.get(token)) else {
            if !self.script.sends_challenges {
                return status(StatusCode::UNAUTHORIZED);
            }
            let challenge = format!(
                "Bearer resource_metadata=\"{origin}/.well-known/oauth-protected-resource/mcp\""
            );
            return challenged(StatusCode::UNAUTHORIZED, &challenge);
        };
        if let Some((Redirecting::Server, to)) = &self.script.redirect {
            return redirect(to);
        }
        let message: Value = serde_json::from_str(&received.body).unwrap();
        let result = match message["method"].as_str().unwrap() {
            "initialize" => json!({
                "protocolVersion": "2025-11-25",
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "scripted", "version": "1"},
            }),
            "tools/list" => json!({"tools": [{"name": "act", "inputSchema": {"type": "object"}}]}),
            "tools/call" => {
                let required = self.script.call_scope;
                if required.is_some_and(|scope| !scopes.split(' ').any(|known| known == scope)) {
                    let challenge = format!(
                        "Bearer error=\"insufficient_scope\", scope=\"{}\", resource_metadata=\"{origin}/.well-known/oauth-protected-resource/mcp\"",
                        required.unwrap()
                    );
                    return challenged(StatusCode::FORBIDDEN, &challenge);
                }
                json!({"content": [{"type": "text", "text": "done"}]})
            }
            _ => return status(StatusCode::ACCEPTED),
        };
        json_answer(json!({"jsonrpc": "2.0", "id": message["id"], "result": result}))
    }
}

/// Reads the parameters of a form or a query.
pub(super) fn form(text: &str) -> HashMap<String, String> {
    let url = reqwest::Url::parse(&format!("http://localhost/?{text}")).unwrap();
    url.query_pairs().map(|(name, value)| (name.into_owned(), value.into_owned())).collect()
}

fn json_answer(body: Value) -> Response {
    let answer = Response::builder().header("content-type", "application/json");
    answer.body(Body::from(body.to_string())).unwrap()
}

fn status(status: StatusCode) -> Response {
    Response::builder().status(status).body(Body::empty()).unwrap()
}

fn redirect(to: &str) -> Response {
    let answer = Response::builder().status(StatusCode::TEMPORARY_REDIRECT).header("location", to);
    answer.body(Body::empty()).unwrap()
}

fn challenged(status: StatusCode, challenge: &str) -> Response {
    let answer = Response::builder().status(status).header("www-authenticate", challenge);
    answer.body(Body::empty()).unwrap()
}
