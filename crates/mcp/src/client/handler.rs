//! Requests and notifications of a server.

use super::elicitation::{self, Elicit};
use crate::clean::clean_text;
use ai_services_core::tool::ToolProgress;
use rmcp::ClientHandler;
use rmcp::model::{
    ClientCapabilities, ClientConfig, ElicitRequestParams, ElicitResult, ElicitationCapability,
    ErrorData, FormElicitationCapability, Implementation, JsonObject, ProgressNotificationParam,
    ProgressToken, TASKS_EXTENSION_ID, UrlElicitationCapability,
};
use rmcp::service::{NotificationContext, RequestContext, RoleClient};
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::watch;

/// Most characters of the message of a progress report.
const MAX_PROGRESS_MESSAGE: usize = 500;

/// The receiver of requests and notifications of a server.
pub(super) struct Handler {
    pub(super) server: Arc<str>,
    pub(super) elicit: Option<Elicit>,
    pub(super) inbox: Arc<Inbox>,
}

/// The data that a server sent on its own.
#[derive(Debug, Default)]
pub(super) struct Inbox {
    progress: Mutex<Listeners>,
    tool_changes: AtomicU64,
    open_questions: AtomicUsize,
}

/// The calls that wait for progress, by their token.
pub(super) type Listeners = HashMap<ProgressToken, watch::Sender<Option<ToolProgress>>>;

impl Inbox {
    pub(super) fn listeners(&self) -> MutexGuard<'_, Listeners> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns how often the server has reported a change of its tools.
    pub(super) fn tool_changes(&self) -> u64 {
        self.tool_changes.load(Ordering::Acquire)
    }

    pub(super) fn add_tool_change(&self) {
        self.tool_changes.fetch_add(1, Ordering::AcqRel);
    }

    /// Returns `true` while the user is asked.
    pub(super) fn has_open_question(&self) -> bool {
        self.open_questions.load(Ordering::Acquire) > 0
    }
}

impl Handler {
    /// Answers a question of the server.
    pub(super) async fn answer(&self, question: ElicitRequestParams) -> ElicitResult {
        let _open = OpenQuestion::new(&self.inbox);
        elicitation::answer(self.elicit.as_ref(), &self.server, question).await
    }
}

impl ClientHandler for Handler {
    async fn create_elicitation(
        &self,
        request: ElicitRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        Ok(self.answer(request).await)
    }

    async fn on_progress(
        &self,
        params: ProgressNotificationParam,
        _: NotificationContext<RoleClient>,
    ) {
        let listeners = self.inbox.listeners();
        let Some(listener) = listeners.get(&params.progress_token) else { return };
        let mut progress = ToolProgress::new(params.progress);
        progress.total = params.total;
        progress.message = params.message.map(|text| clean_text(&text, MAX_PROGRESS_MESSAGE));
        listener.send_replace(Some(progress));
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.inbox.add_tool_change();
    }

    fn get_info(&self) -> ClientConfig {
        let mut info = ClientConfig::new(
            capabilities(self.elicit.is_some(), false),
            Implementation::new("ai-services", env!("CARGO_PKG_VERSION")),
        );
        // Of the handshake; a modern server gets its version with each request.
        info.protocol_version = rmcp::model::ProtocolVersion::LATEST_WITH_INITIALIZE;
        info
    }
}

/// Returns the capabilities that a server learns of. `elicitation` if it may ask the user, `tasks` if it may answer a
/// call with a task.
pub(super) fn capabilities(elicitation: bool, tasks: bool) -> ClientCapabilities {
    let mut capabilities = ClientCapabilities::default();
    if elicitation {
        let elicitation = ElicitationCapability::new()
            .with_form(FormElicitationCapability::default())
            .with_url(UrlElicitationCapability::default());
        capabilities.elicitation = Some(elicitation);
    }
    if tasks {
        let extensions = [(TASKS_EXTENSION_ID.to_owned(), JsonObject::new())];
        capabilities.extensions = Some(extensions.into());
    }
    capabilities
}

/// A question that the user has not answered.
struct OpenQuestion<'a>(&'a Inbox);

impl<'a> OpenQuestion<'a> {
    fn new(inbox: &'a Inbox) -> Self {
        inbox.open_questions.fetch_add(1, Ordering::AcqRel);
        Self(inbox)
    }
}

impl Drop for OpenQuestion<'_> {
    fn drop(&mut self) {
        self.0.open_questions.fetch_sub(1, Ordering::AcqRel);
    }
}
