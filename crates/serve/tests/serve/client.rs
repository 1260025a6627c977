//! A client without a network: it calls the routes directly.

use ai_services::serve::ChatServer;
use axum::body::Body;
use bytes::Bytes;
use http::{HeaderMap, Request, Response, StatusCode};
use http_body_util::BodyExt;
use serde_json::Value;
use std::future::poll_fn;
use tower_service::Service;

/// A response that was read whole.
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }

    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).unwrap().to_str().unwrap()
    }

    /// Returns the data of the server-sent events, without the end of the stream.
    pub(crate) fn events(&self) -> Vec<Value> {
        let text = std::str::from_utf8(&self.body).unwrap();
        let data = text.lines().filter_map(|line| line.strip_prefix("data: "));
        data.filter(|data| *data != "[DONE]")
            .map(|data| serde_json::from_str(data).unwrap())
            .collect()
    }

    /// Returns the types of the server-sent events.
    pub(crate) fn types(&self) -> Vec<String> {
        self.events().iter().map(|event| event["type"].as_str().unwrap().to_owned()).collect()
    }

    pub(crate) fn is_done(&self) -> bool {
        self.body.ends_with(b"data: [DONE]\n\n")
    }

    /// Returns the code of an error.
    pub(crate) fn code(&self) -> String {
        self.json()["error"]["code"].as_str().unwrap().to_owned()
    }
}

/// Returns a request of `ann`.
pub(crate) fn post(path: &str, body: &Value) -> Request<Body> {
    request(path, "ann", body)
}

pub(crate) fn request(path: &str, principal: &str, body: &Value) -> Request<Body> {
    Request::post(path)
        .header("authorization", format!("Bearer {principal}"))
        .header("content-type", "application/json")
        .body(body.to_string().into())
        .unwrap()
}

/// Sends a request and returns the response with its unread body.
pub(crate) async fn open(server: &ChatServer, request: Request<Body>) -> Response<Body> {
    let mut router = server.router();
    poll_fn(|context| <axum::Router as Service<Request<Body>>>::poll_ready(&mut router, context))
        .await
        .unwrap();
    router.call(request).await.unwrap()
}

pub(crate) async fn send(server: &ChatServer, request: Request<Body>) -> Answer {
    let (head, body) = open(server, request).await.into_parts();
    let body = body.collect().await.unwrap().to_bytes();
    Answer { status: head.status, headers: head.headers, body }
}
