//! One request of streamable HTTP, and its response.

use crate::message_limit::{End, MAX_MESSAGE_BYTES, MAX_STRUCTURE, MessageFilter, MessageSize};
use bytes::BytesMut;
use futures_util::stream::{BoxStream, StreamExt};
use http_body_util::BodyExt;
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderName, HeaderValue, WWW_AUTHENTICATE};
use reqwest::{Client, Method, RequestBuilder, Response, StatusCode};
use rmcp::model::{
    ClientJsonRpcMessage, ClientRequest, ErrorData, JsonRpcMessage, ServerJsonRpcMessage,
};
use rmcp::transport::common::http_header::{
    EVENT_STREAM_MIME_TYPE, HEADER_LAST_EVENT_ID, HEADER_SESSION_ID, JSON_MIME_TYPE,
};
use rmcp::transport::streamable_http_client::{
    AuthRequiredError, HttpStatusError, InsufficientScopeError, SseError, StreamableHttpError,
    StreamableHttpPostResponse,
};
use sse_stream::{Sse, SseStream};
use std::collections::HashMap;
use std::sync::Arc;

/// The headers of a request, as the SDK passes them.
pub(super) type Headers = HashMap<HeaderName, HeaderValue>;
pub(super) type Failure = StreamableHttpError<reqwest::Error>;
pub(super) type Events = BoxStream<'static, Result<Sse, SseError>>;

/// The media types of answers.
const ACCEPTED: &str = "text/event-stream, application/json";

/// Most bytes of a response that is not a message, for its error.
const MAX_DIAGNOSTIC: usize = 1024;

/// Where a request goes, and with which headers.
#[derive(Clone)]
pub(super) struct Target {
    pub(super) uri: Arc<str>,
    pub(super) session_id: Option<Arc<str>>,
    pub(super) token: Option<String>,
    pub(super) headers: Headers,
}

impl Target {
    fn request(self, client: &Client, method: Method) -> RequestBuilder {
        let mut request = client.request(method, &*self.uri).header(ACCEPT, ACCEPTED);
        if let Some(session_id) = &self.session_id {
            request = request.header(HEADER_SESSION_ID, &**session_id);
        }
        if let Some(token) = self.token {
            request = request.bearer_auth(token);
        }
        request.headers(self.headers.into_iter().collect())
    }
}

/// Sends a message.
pub(super) async fn post(
    client: &Client,
    target: Target,
    message: &ClientJsonRpcMessage,
) -> Result<StreamableHttpPostResponse, Failure> {
    let has_session = target.session_id.is_some();
    let request = target.request(client, Method::POST).header(CONTENT_TYPE, JSON_MIME_TYPE);
    let response = sent(request.body(serde_json::to_vec(message)?)).await?;
    match response.status() {
        StatusCode::ACCEPTED | StatusCode::NO_CONTENT => {
            return Ok(StreamableHttpPostResponse::Accepted);
        }
        StatusCode::NOT_FOUND if has_session => return Err(StreamableHttpError::SessionExpired),
        status if !status.is_success() => return refusal(response, message, has_session).await,
        _ => {}
    }
    let session_id = response.headers().get(HEADER_SESSION_ID);
    let session_id = session_id.and_then(|id| id.to_str().ok()).map(str::to_owned);
    if has_type(&response, EVENT_STREAM_MIME_TYPE) {
        return Ok(StreamableHttpPostResponse::Sse(events(response), session_id));
    }
    if !matches!(message, JsonRpcMessage::Request(_)) {
        // Some servers answer a notification with another status and body than 202.
        return Ok(StreamableHttpPostResponse::Accepted);
    }
    if !has_type(&response, JSON_MIME_TYPE) {
        return Err(unexpected_type(&response));
    }
    let answer = serde_json::from_slice(&whole_body(response).await?)?;
    Ok(StreamableHttpPostResponse::Json(answer, session_id))
}

/// Opens a stream, or resumes it after an event.
pub(super) async fn get(
    client: &Client,
    target: Target,
    last_event_id: Option<String>,
) -> Result<Events, Failure> {
    let mut request = target.request(client, Method::GET);
    if let Some(id) = last_event_id {
        request = request.header(HEADER_LAST_EVENT_ID, id);
    }
    let response = sent(request).await?;
    if response.status() == StatusCode::METHOD_NOT_ALLOWED {
        return Err(StreamableHttpError::ServerDoesNotSupportSse);
    }
    let response = response.error_for_status().map_err(Failure::Client)?;
    if has_type(&response, EVENT_STREAM_MIME_TYPE) {
        Ok(events(response))
    } else {
        Err(unexpected_type(&response))
    }
}

/// Ends a session.
pub(super) async fn delete(client: &Client, target: Target) -> Result<(), Failure> {
    let response = target.request(client, Method::DELETE).send().await.map_err(Failure::Client)?;
    if response.status() != StatusCode::METHOD_NOT_ALLOWED {
        response.error_for_status().map_err(Failure::Client)?;
    }
    Ok(())
}

/// Sends a request.
///
/// # Errors
///
/// Fails if there is no response, or if it asks for other credentials.
async fn sent(request: RequestBuilder) -> Result<Response, Failure> {
    let response = request.send().await.map_err(Failure::Client)?;
    let challenge = response.headers().get(WWW_AUTHENTICATE).and_then(|value| value.to_str().ok());
    match (response.status(), challenge) {
        (StatusCode::UNAUTHORIZED, Some(challenge)) => {
            Err(StreamableHttpError::AuthRequired(AuthRequiredError::new(challenge.to_owned())))
        }
        (StatusCode::FORBIDDEN, Some(challenge)) => Err(StreamableHttpError::InsufficientScope(
            InsufficientScopeError::new(challenge.to_owned(), None),
        )),
        _ => Ok(response),
    }
}

/// Returns the answer in a response with the status of a failure: the error that its body contains, or else an error of
/// the transport.
async fn refusal(
    response: Response,
    message: &ClientJsonRpcMessage,
    has_session: bool,
) -> Result<StreamableHttpPostResponse, Failure> {
    let status = response.status();
    let is_about_credentials = matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN);
    let may_be_message = has_type(&response, JSON_MIME_TYPE) && !is_about_credentials;
    let failed = HttpStatusError::new(status.as_u16(), None);
    if status == StatusCode::TOO_MANY_REQUESTS || (status.is_server_error() && !may_be_message) {
        return Err(failed.into());
    }
    // A legacy server may refuse the probe in any way, also with an error that has another id.
    let refused_probe = match message {
        JsonRpcMessage::Request(request)
            if matches!(request.request, ClientRequest::DiscoverRequest(_))
                && status.is_client_error()
                && !is_about_credentials
                && !has_session =>
        {
            Some(request.id.clone())
        }
        _ => None,
    };
    let body =
        if may_be_message { whole_body(response).await? } else { start_of_body(response).await };
    if may_be_message
        && let Ok(JsonRpcMessage::Error(mut error)) =
            serde_json::from_slice::<ServerJsonRpcMessage>(&body)
    {
        error.id = refused_probe.or(error.id);
        return Ok(StreamableHttpPostResponse::Json(JsonRpcMessage::Error(error), None));
    }
    if status.is_server_error() {
        return Err(failed.into());
    }
    let start = body.get(..MAX_DIAGNOSTIC).unwrap_or(&body);
    let text = format!("HTTP {status}: {}", String::from_utf8_lossy(start));
    if refused_probe.is_some() {
        let error = ErrorData::invalid_request(text, None);
        let answer = ServerJsonRpcMessage::error(error, refused_probe);
        return Ok(StreamableHttpPostResponse::Json(answer, None));
    }
    Err(StreamableHttpError::UnexpectedServerResponse(text.into()))
}

/// Returns the events of a response. An event that is too large has no message.
fn events(response: Response) -> Events {
    let mut filter = MessageFilter::new(End::EmptyLine, MAX_MESSAGE_BYTES);
    let body = reqwest::Body::from(response).map_frame(move |frame| {
        frame.map_data(|data| {
            let mut data = BytesMut::from(data);
            let kept = filter.retain(&mut data);
            data.truncate(kept);
            data.freeze()
        })
    });
    SseStream::new(body).boxed()
}

/// Reads a body that is one message.
///
/// # Errors
///
/// Fails if it breaks off, or is too large.
async fn whole_body(mut response: Response) -> Result<Vec<u8>, Failure> {
    let (mut body, mut size) = (Vec::new(), MessageSize::new(MAX_MESSAGE_BYTES));
    while let Some(chunk) = response.chunk().await.map_err(Failure::Client)? {
        if !size.add(&chunk) {
            let reason = format!(
                "a message of more than {} MiB or with more than {MAX_STRUCTURE} structural characters",
                MAX_MESSAGE_BYTES >> 20
            );
            return Err(StreamableHttpError::UnexpectedServerResponse(reason.into()));
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body)
}

/// Reads what a response says about a failure. The rest is lost if the body breaks off.
async fn start_of_body(mut response: Response) -> Vec<u8> {
    let mut body = Vec::new();
    while body.len() < MAX_DIAGNOSTIC
        && let Ok(Some(chunk)) = response.chunk().await
    {
        body.extend_from_slice(&chunk);
    }
    body
}

fn has_type(response: &Response, media_type: &str) -> bool {
    let value = response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let essence = value.and_then(|value| value.split(';').next());
    essence.is_some_and(|essence| essence.trim().eq_ignore_ascii_case(media_type))
}

fn unexpected_type(response: &Response) -> Failure {
    let value = response.headers().get(CONTENT_TYPE).map(HeaderValue::as_bytes);
    let value = value.map(|value| String::from_utf8_lossy(value).into_owned());
    StreamableHttpError::UnexpectedContentType(value)
}
