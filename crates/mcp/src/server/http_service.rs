//! The HTTP endpoint of a server.

use super::handler::Handler;
use super::principal::Authentication;
use super::sessions::{CALLER, Sessions};
use crate::message_limit::{MAX_STRUCTURE, MessageSize};
use bytes::{Buf, Bytes};
use futures_util::future::{BoxFuture, FutureExt};
use futures_util::stream::StreamExt;
use http::{Method, Request, Response, StatusCode};
use http_body::{Body, Frame, SizeHint};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, BodyStream, Full, StreamBody};
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use std::convert::Infallible;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

/// The HTTP endpoint of an [`McpServer`](super::McpServer): streamable HTTP, for sessions and for the stateless
/// revision.
///
/// A [`tower_service::Service`], for axum, hyper and other servers. It serves one path; the application chooses it.
/// Cloning is cheap, and clones share the sessions.
#[derive(Clone)]
pub struct McpHttpService {
    inner: StreamableHttpService<Handler, Sessions>,
    authentication: Option<Authentication>,
}

impl McpHttpService {
    pub(super) fn new(
        handler: Handler,
        config: StreamableHttpServerConfig,
        authentication: Option<Authentication>,
    ) -> Self {
        let sessions = Arc::new(Sessions::default());
        let inner = StreamableHttpService::new(move || Ok(handler.clone()), sessions, config);
        Self { inner, authentication }
    }

    async fn answer<B>(self, request: Request<B>) -> Response<McpHttpBody>
    where
        B: Body + Send + 'static,
        B::Error: fmt::Display,
        B::Data: Send,
    {
        let (mut parts, body) = request.into_parts();
        let mut caller = None;
        if let Some(authentication) = &self.authentication {
            let Some(principal) = authentication.principal(&parts) else {
                return refused(StatusCode::UNAUTHORIZED, "Unauthorized");
            };
            caller = Some(principal.memory_id().clone());
            parts.extensions.insert(principal);
        }
        let closes_session = parts.method == Method::DELETE;
        let too_large = Arc::new(AtomicBool::new(false));
        let body = limited(body, Arc::clone(&too_large));
        let handling = self.inner.handle(Request::from_parts(parts, body));
        let mut response = CALLER.scope(caller, Box::pin(handling)).await.map(McpHttpBody);
        if too_large.load(Ordering::Relaxed) {
            let reason = format!(
                "Payload Too Large: at most {MAX_STRUCTURE} structural characters of JSON are accepted"
            );
            return refused(StatusCode::PAYLOAD_TOO_LARGE, reason);
        }
        // The session is closed already, and the official Python client takes 202 for a failure.
        if closes_session && response.status() == StatusCode::ACCEPTED {
            *response.status_mut() = StatusCode::NO_CONTENT;
        }
        response
    }
}

fn refused(status: StatusCode, reason: impl Into<Bytes>) -> Response<McpHttpBody> {
    let mut response = Response::new(McpHttpBody(Full::new(reason.into()).boxed()));
    *response.status_mut() = status;
    response
}

impl<B> tower_service::Service<Request<B>> for McpHttpService
where
    B: Body + Send + 'static,
    B::Error: fmt::Display,
    B::Data: Send,
{
    type Response = Response<McpHttpBody>;
    type Error = Infallible;
    type Future = BoxFuture<'static, Result<Self::Response, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        self.clone().answer(request).map(Ok).boxed()
    }
}

impl fmt::Debug for McpHttpService {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("McpHttpService")
            .field("authentication", &self.authentication)
            .finish_non_exhaustive()
    }
}

/// The body of a response of an [`McpHttpService`].
#[derive(Debug)]
pub struct McpHttpBody(BoxBody<Bytes, Infallible>);

impl Body for McpHttpBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Pin::new(&mut self.0).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.0.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.0.size_hint()
    }
}

/// Returns the body of a request. It fails and sets the flag if it has too many values to be parsed. The transport limits
/// the bytes.
fn limited<B>(body: B, too_large: Arc<AtomicBool>) -> impl Body<Data = Bytes, Error = String>
where
    B: Body<Error: fmt::Display>,
{
    let mut size = MessageSize::new(usize::MAX);
    StreamBody::new(BodyStream::new(body).map(move |frame| {
        let frame = frame.map_err(|error| error.to_string())?;
        let frame = frame.map_data(|mut data| data.copy_to_bytes(data.remaining()));
        if frame.data_ref().is_none_or(|bytes| size.add(bytes)) {
            return Ok(frame);
        }
        too_large.store(true, Ordering::Relaxed);
        Err("too many values".to_owned())
    }))
}
