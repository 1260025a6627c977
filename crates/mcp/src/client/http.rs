//! Servers that are reached by streamable HTTP.

#[cfg(feature = "auth")]
use super::auth::Session;
use super::endpoint::HttpEndpoint;
use super::http_client;
use super::http_exchange::{self, Events, Failure, Headers, Target};
use super::remote_server::RemoteServer;
use super::session_stream::SessionStream;
use ai_services_core::{Error, Result};
use reqwest::header::{AUTHORIZATION, HeaderName, HeaderValue};
use rmcp::model::{ClientJsonRpcMessage, GetExtensions, JsonRpcMessage, RequestId};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::{
    StreamableHttpClient, StreamableHttpClientTransportConfig, StreamableHttpError,
    StreamableHttpPostResponse,
};
use std::sync::Arc;

/// The headers of one call, in the extensions of its request.
#[derive(Clone, Debug)]
pub(super) struct RequestHeaders(pub(super) Headers);

/// An HTTP client that adds the headers of a call, and the token of its session, to each request.
#[derive(Clone)]
pub(super) struct HttpClient {
    client: reqwest::Client,
    session_stream: SessionStream,
    #[cfg(feature = "auth")]
    session: Option<Arc<Session>>,
}

/// Creates the transport to a server.
///
/// # Errors
///
/// Fails if the URL or a header is invalid, or if TLS cannot be set up.
pub(super) fn transport(
    endpoint: &HttpEndpoint,
    server: &RemoteServer,
    session_stream: SessionStream,
) -> Result<StreamableHttpClientTransport<HttpClient>> {
    let url = reqwest::Url::parse(&endpoint.url).ok();
    let Some(url) = url.filter(|url| matches!(url.scheme(), "http" | "https")) else {
        return Err(Error::configuration("invalid URL of an MCP server; use http or https"));
    };
    let headers = headers(&endpoint.headers)?;
    #[cfg(feature = "auth")]
    if endpoint.session.is_some() && headers.contains_key(&AUTHORIZATION) {
        let message = "an MCP server has both OAuth and a header `authorization`; use one of them";
        return Err(Error::configuration(message));
    }
    let client = HttpClient {
        client: http_client::build(&url, server.connect_timeout)?,
        session_stream,
        #[cfg(feature = "auth")]
        session: endpoint.session.clone(),
    };
    let config = StreamableHttpClientTransportConfig::with_uri(endpoint.url.as_str())
        .custom_headers(headers)
        // Lists and subscriptions are sent beside calls.
        .max_concurrent_requests(server.max_concurrent_calls.saturating_add(4))
        // A server that forgot the session may be another one, so that its tools are listed again on a new connection.
        .reinit_on_expired_session(false);
    Ok(StreamableHttpClientTransport::with_client(client, config))
}

/// The headers that belong to the transport.
const RESERVED: &[&str] =
    &["accept", "content-type", "last-event-id", "mcp-protocol-version", "mcp-session-id"];

/// Parses headers. Their values are marked as sensitive.
///
/// # Errors
///
/// Fails if a name or a value is invalid, or if the header belongs to the transport.
pub(super) fn headers(headers: &[(String, String)]) -> Result<Headers> {
    let invalid = || Error::configuration("invalid HTTP header for an MCP server");
    let parse = |(name, value): &(String, String)| {
        let name = HeaderName::try_from(name.as_str()).map_err(|_| invalid())?;
        if RESERVED.contains(&name.as_str()) {
            let message = format!("the transport of MCP sets the HTTP header `{name}`; remove it");
            return Err(Error::configuration(message));
        }
        let mut value = HeaderValue::try_from(value.as_str()).map_err(|_| invalid())?;
        value.set_sensitive(true);
        Ok((name, value))
    };
    headers.iter().map(parse).collect()
}

/// Adds the headers of the call that a message belongs to.
fn add_call_headers(message: &ClientJsonRpcMessage, headers: &mut Headers) {
    if let JsonRpcMessage::Request(request) = message
        && let Some(RequestHeaders(own)) = request.request.extensions().get::<RequestHeaders>()
    {
        headers.extend(own.iter().map(|(name, value)| (name.clone(), value.clone())));
    }
}

/// Gives an error without an id to the request that it answers. Without an id, the request would wait for its time limit.
///
/// # Errors
///
/// Fails if the server does not know the session. The official TypeScript servers report this with the status 400 and
/// an error without an id, instead of the status 404.
fn correlated(
    response: StreamableHttpPostResponse,
    request: Option<RequestId>,
    has_session: bool,
) -> Result<StreamableHttpPostResponse, Failure> {
    match (response, request) {
        (StreamableHttpPostResponse::Json(JsonRpcMessage::Error(mut error), session), Some(id))
            if error.id.is_none() =>
        {
            let message = error.error.message.to_ascii_lowercase();
            if has_session && message.contains("session") {
                return Err(StreamableHttpError::SessionExpired);
            }
            error.id = Some(id);
            Ok(StreamableHttpPostResponse::Json(JsonRpcMessage::Error(error), session))
        }
        (response, _) => Ok(response),
    }
}

/// Returns `true` for the answer of a server that does not know a session.
fn refuses_session(error: &reqwest::Error) -> bool {
    use reqwest::StatusCode;
    matches!(error.status(), Some(StatusCode::BAD_REQUEST | StatusCode::NOT_FOUND))
}

impl HttpClient {
    /// Returns the current token.
    #[cfg(feature = "auth")]
    async fn token(&self) -> Option<String> {
        match &self.session {
            Some(session) => session.token().await,
            None => None,
        }
    }

    #[cfg(not(feature = "auth"))]
    async fn token(&self) -> Option<String> {
        None
    }

    /// Returns the session that a message may renew the token of. A notification is not worth a question to the user.
    #[cfg(feature = "auth")]
    fn renewable_session(&self, message: &ClientJsonRpcMessage) -> Option<&Session> {
        self.session.as_deref().filter(|_| matches!(message, JsonRpcMessage::Request(_)))
    }

    /// Sends a message with the headers of its call and a token.
    async fn send(
        &self,
        mut target: Target,
        message: &ClientJsonRpcMessage,
    ) -> Result<StreamableHttpPostResponse, Failure> {
        add_call_headers(message, &mut target.headers);
        if target.headers.contains_key(&AUTHORIZATION) {
            // Credentials of a call replace the token.
            return http_exchange::post(&self.client, target, message).await;
        }
        #[cfg(feature = "auth")]
        if let Some(session) = self.renewable_session(message) {
            let send = |token| {
                http_exchange::post(&self.client, Target { token, ..target.clone() }, message)
            };
            return session.authorized(send).await;
        }
        target.token = self.token().await;
        http_exchange::post(&self.client, target, message).await
    }
}

/// The methods of the trait with limits call these, which have their own.
impl StreamableHttpClient for HttpClient {
    type Error = reqwest::Error;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session_id: Option<Arc<str>>,
        _: Option<String>,
        headers: Headers,
    ) -> Result<StreamableHttpPostResponse, Failure> {
        let request = match &message {
            JsonRpcMessage::Request(request) => Some(request.id.clone()),
            _ => None,
        };
        let has_session = session_id.is_some();
        let response = self.send(Target { uri, session_id, token: None, headers }, &message).await;
        let response = response.and_then(|response| correlated(response, request, has_session));
        if matches!(response, Err(StreamableHttpError::SessionExpired)) {
            self.session_stream.set_lost();
        }
        let response = response?;
        self.session_stream.note(&response);
        Ok(response)
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session_id: Arc<str>,
        _: Option<String>,
        headers: Headers,
    ) -> Result<(), Failure> {
        let token = self.token().await;
        let target = Target { uri, session_id: Some(session_id), token, headers };
        http_exchange::delete(&self.client, target).await
    }

    async fn get_stream(
        &self,
        uri: Arc<str>,
        session_id: Option<Arc<str>>,
        last_event_id: Option<String>,
        _: Option<String>,
        headers: Headers,
    ) -> Result<Events, Failure> {
        let token = self.token().await;
        let is_resumed = session_id.is_some() && last_event_id.is_some();
        let target = Target { uri, session_id, token, headers };
        let stream = http_exchange::get(&self.client, target, last_event_id).await;
        self.session_stream.set_answered();
        match stream {
            Err(StreamableHttpError::Client(error)) if is_resumed && refuses_session(&error) => {
                self.session_stream.set_lost();
                // The transport does not try again after this error.
                Err(StreamableHttpError::ServerDoesNotSupportSse)
            }
            stream => stream,
        }
    }
}
