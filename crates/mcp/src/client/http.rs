//! Servers that are reached by streamable HTTP.

use super::remote_server::{HttpEndpoint, RemoteServer};
use ai_services_core::{Error, Result, tls};
use futures_util::stream::BoxStream;
use reqwest::header::{HeaderName, HeaderValue};
use rmcp::model::{ClientJsonRpcMessage, GetExtensions, JsonRpcMessage};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::{
    SseError, StreamableHttpClient, StreamableHttpClientTransportConfig, StreamableHttpError,
    StreamableHttpPostResponse, StreamableHttpResponseLimits,
};
use sse_stream::Sse;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

/// HTTP headers.
pub(super) type Headers = HashMap<HeaderName, HeaderValue>;

/// The headers of one call, in the extensions of its request.
#[derive(Clone, Debug)]
pub(super) struct RequestHeaders(pub(super) Headers);

/// An HTTP client that adds the headers of a call to its request.
#[derive(Clone, Debug)]
pub(super) struct HttpClient(reqwest::Client);

type Failure = StreamableHttpError<reqwest::Error>;
type Events = BoxStream<'static, Result<Sse, SseError>>;

/// Creates the transport to a server.
///
/// # Errors
///
/// Fails if the URL or a header is invalid, or if TLS cannot be set up.
pub(super) fn transport(
    endpoint: &HttpEndpoint,
    server: &RemoteServer,
) -> Result<StreamableHttpClientTransport<HttpClient>> {
    let url = reqwest::Url::parse(&endpoint.url).ok();
    let Some(url) = url.filter(|url| matches!(url.scheme(), "http" | "https")) else {
        return Err(Error::configuration("invalid URL of an MCP server; use http or https"));
    };
    let mut config = tls_config(&url)?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    let client = reqwest::Client::builder()
        .tls_backend_preconfigured(config)
        // A redirect would send the headers to another host.
        .redirect(reqwest::redirect::Policy::none())
        .connect_timeout(server.connect_timeout)
        .tcp_keepalive(Duration::from_secs(60))
        .build()
        .map_err(|error| {
            Error::configuration("the HTTP client cannot be built").with_source(error.without_url())
        })?;
    let config = StreamableHttpClientTransportConfig::with_uri(endpoint.url.as_str())
        .custom_headers(headers(&endpoint.headers)?)
        // Lists and subscriptions are sent beside calls.
        .max_concurrent_requests(server.max_concurrent_calls.saturating_add(4))
        .reinit_on_expired_session(true);
    Ok(StreamableHttpClientTransport::with_client(HttpClient(client), config))
}

/// Parses headers. Their values are marked as sensitive.
///
/// # Errors
///
/// Fails if a name or a value is invalid.
pub(super) fn headers(headers: &[(String, String)]) -> Result<Headers> {
    let parse = |(name, value): &(String, String)| {
        let name = HeaderName::try_from(name.as_str()).ok()?;
        let mut value = HeaderValue::try_from(value.as_str()).ok()?;
        value.set_sensitive(true);
        Some((name, value))
    };
    let parsed: Option<Headers> = headers.iter().map(parse).collect();
    parsed.ok_or_else(|| Error::configuration("invalid HTTP header for an MCP server"))
}

fn tls_config(url: &reqwest::Url) -> Result<rustls::ClientConfig> {
    match tls::with_system_roots() {
        // A machine without certificates can still reach a local server.
        Err(_) if url.scheme() == "http" => tls::without_root_certificates(),
        config => config,
    }
}

/// Adds the headers of the call that a message belongs to.
fn with_call_headers(message: &ClientJsonRpcMessage, mut headers: Headers) -> Headers {
    if let JsonRpcMessage::Request(request) = message
        && let Some(RequestHeaders(own)) = request.request.extensions().get::<RequestHeaders>()
    {
        headers.extend(own.iter().map(|(name, value)| (name.clone(), value.clone())));
    }
    headers
}

impl StreamableHttpClient for HttpClient {
    type Error = reqwest::Error;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session_id: Option<Arc<str>>,
        auth_header: Option<String>,
        custom_headers: Headers,
    ) -> Result<StreamableHttpPostResponse, Failure> {
        let limits = StreamableHttpResponseLimits::default();
        self.post_message_with_response_limits(
            uri,
            message,
            session_id,
            auth_header,
            custom_headers,
            limits,
        )
        .await
    }

    async fn post_message_with_response_limits(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session_id: Option<Arc<str>>,
        auth_header: Option<String>,
        custom_headers: Headers,
        limits: StreamableHttpResponseLimits,
    ) -> Result<StreamableHttpPostResponse, Failure> {
        let headers = with_call_headers(&message, custom_headers);
        self.0
            .post_message_with_response_limits(
                uri,
                message,
                session_id,
                auth_header,
                headers,
                limits,
            )
            .await
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session_id: Arc<str>,
        auth_header: Option<String>,
        custom_headers: Headers,
    ) -> Result<(), Failure> {
        self.0.delete_session(uri, session_id, auth_header, custom_headers).await
    }

    async fn get_stream(
        &self,
        uri: Arc<str>,
        session_id: Option<Arc<str>>,
        last_event_id: Option<String>,
        auth_header: Option<String>,
        custom_headers: Headers,
    ) -> Result<Events, Failure> {
        self.0.get_stream(uri, session_id, last_event_id, auth_header, custom_headers).await
    }

    async fn get_stream_with_max_sse_event_size(
        &self,
        uri: Arc<str>,
        session_id: Option<Arc<str>>,
        last_event_id: Option<String>,
        auth_header: Option<String>,
        custom_headers: Headers,
        max_sse_event_size: usize,
    ) -> Result<Events, Failure> {
        self.0
            .get_stream_with_max_sse_event_size(
                uri,
                session_id,
                last_event_id,
                auth_header,
                custom_headers,
                max_sse_event_size,
            )
            .await
    }
}
