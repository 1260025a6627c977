//! The ways to reach a server.

#[cfg(feature = "auth")]
use super::auth::Session;
use ai_services_core::InvocationContext;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

/// The transport of a server.
#[derive(Clone)]
pub(super) enum Endpoint {
    Stdio(Program),
    Http(HttpEndpoint),
}

/// A program that is started as a child process.
#[derive(Clone)]
pub(super) struct Program {
    pub(super) program: OsString,
    pub(super) args: Vec<OsString>,
    pub(super) env: BTreeMap<OsString, OsString>,
    pub(super) inherited_env: Vec<OsString>,
    pub(super) working_directory: Option<PathBuf>,
}

/// The URL of a server, with headers.
#[derive(Clone)]
pub(super) struct HttpEndpoint {
    pub(super) url: String,
    pub(super) headers: Vec<(String, String)>,
    pub(super) call_headers: Option<CallHeaders>,
    #[cfg(feature = "auth")]
    pub(super) session: Option<Arc<Session>>,
}

impl HttpEndpoint {
    pub(super) fn new(url: String) -> Self {
        Self {
            url,
            headers: Vec::new(),
            call_headers: None,
            #[cfg(feature = "auth")]
            session: None,
        }
    }
}

/// Computes the headers of a call.
pub(super) type CallHeaders =
    Arc<dyn Fn(&InvocationContext) -> Vec<(String, String)> + Send + Sync>;
