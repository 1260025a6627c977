//! The request of a client that runs a tool.

#![expect(
    deprecated,
    reason = "the protocol deprecates sampling and roots, which clients still have"
)]

use super::elicitation;
use super::request_state::Answers;
use ai_services_core::tool::ToolError;
use rmcp::RoleServer;
use rmcp::model::{
    ClientCapabilities, ElicitationCapability, InputRequest, InputRequests, ProtocolVersion,
    ServerNotification, ServerRequest,
};
use rmcp::service::{Peer, RequestContext};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The request of a client that runs a tool: the way to ask the user of the client.
///
/// A tool gets it from its [`InvocationContext`](ai_services_core::InvocationContext). It is missing if a service
/// runs the tool.
///
/// In the stateless revision 2026-07-28, the server cannot wait for an answer. A tool that asks fails, and the client
/// calls it again, from its beginning, with the answer. **Ask before the tool has an effect.** All these runs have the
/// same [idempotency key](ai_services_core::tool::ToolInput::idempotency_key). In earlier revisions the tool waits for
/// the answer, within its time limit.
///
/// # Examples
///
/// ```
/// use ai_services::mcp::McpCall;
/// use ai_services::schema::JsonSchema;
/// use ai_services::serde::Deserialize;
/// use ai_services::tool::ToolError;
/// use ai_services::{InvocationContext, tool};
///
/// /// The reason of a refund.
/// #[derive(Deserialize, JsonSchema)]
/// # #[serde(crate = "ai_services::serde")]
/// # #[schemars(crate = "ai_services::schemars")]
/// struct Reason {
///     reason: String,
/// }
///
/// /// Refunds an order.
/// #[tool]
/// async fn refund(order: String, #[context] context: &InvocationContext) -> Result<String, ToolError> {
///     let call = context.get::<McpCall>().ok_or(ToolError::new("only for MCP clients"))?;
///     let Some(answer) = call.elicit::<Reason>("reason", "Why is the order refunded?").await? else {
///         return Ok("not refunded: the user gave no reason".into());
///     };
///     Ok(format!("refunded {order}: {}", answer.reason))
/// }
/// # assert_eq!(refund::tool().name(), "refund");
/// ```
#[derive(Clone)]
pub struct McpCall(Arc<Inner>);

struct Inner {
    peer: Peer<RoleServer>,
    capabilities: ClientCapabilities,
    era: Era,
    /// The client wants log messages. Earlier revisions decide for the whole session.
    has_log_level: bool,
    answers: Answers,
    questions: Mutex<Questions>,
}

/// The two forms of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Era {
    /// Revisions up to 2025-11-25: the server may send requests to the client.
    Sessions,
    /// From revision 2026-07-28: the server answers requests only.
    Stateless,
}

impl Era {
    pub(super) fn of(context: &RequestContext<RoleServer>) -> Self {
        let is_stateless = |version: ProtocolVersion| version >= ProtocolVersion::V_2026_07_28;
        match context.protocol_version().is_some_and(is_stateless) {
            true => Self::Stateless,
            false => Self::Sessions,
        }
    }
}

/// The questions of a run that are not answered.
#[derive(Default)]
pub(super) struct Questions {
    pub(super) asked: InputRequests,
    /// The capabilities that the client would need.
    pub(super) missing: Option<ClientCapabilities>,
}

impl McpCall {
    pub(super) fn new(context: &RequestContext<RoleServer>, answers: Answers) -> Self {
        Self(Arc::new(Inner {
            peer: context.peer.clone(),
            capabilities: context.client_capabilities().unwrap_or_default(),
            era: Era::of(context),
            has_log_level: context.meta.log_level().is_some(),
            answers,
            questions: Mutex::default(),
        }))
    }

    /// Returns `true` if the client can ask its user with a form.
    #[must_use]
    pub fn supports_elicitation(&self) -> bool {
        let has_form = |elicitation: &ElicitationCapability| {
            elicitation.form.is_some() || elicitation.url.is_none()
        };
        self.0.capabilities.elicitation.as_ref().is_some_and(has_form)
    }

    /// Asks the user of the client with a form. `None` if the user declines or closes the form.
    ///
    /// `T` is an object of texts, numbers, booleans, and enums without data. `key` identifies the question within the
    /// tool. To ask several questions at once, join the futures before the first `?`.
    ///
    /// # Errors
    ///
    /// Fails if the client has no forms, if `T` is not such an object, or if the answer is still open: return this
    /// error from the tool.
    pub async fn elicit<T>(&self, key: &str, message: &str) -> Result<Option<T>, ToolError>
    where
        T: DeserializeOwned + JsonSchema,
    {
        let schema = elicitation::schema::<T>()?;
        let params = json!({ "mode": "form", "message": message, "requestedSchema": schema });
        let request = input_request("elicitation/create", &params)?;
        if let Some(answer) = self.0.answers.get(key)
            && let Some(answer) = elicitation::read(answer)
        {
            return Ok(answer);
        }
        let answer = self.ask(key, request).await?;
        elicitation::read(&answer).ok_or_else(|| ToolError::new("the client's answer is invalid"))
    }

    /// Sends a request of the protocol to the client: `elicitation/create`, `sampling/createMessage` or `roots/list`.
    ///
    /// This is an escape hatch for methods that are deprecated, or have no API here. `key` identifies the request, as
    /// in [`elicit`](Self::elicit). The result is not checked.
    ///
    /// # Errors
    ///
    /// Fails if the client does not support the method, if the parameters are invalid, or if the answer is still open:
    /// return this error from the tool.
    pub async fn raw_request(
        &self,
        key: &str,
        method: &str,
        params: Value,
    ) -> Result<Value, ToolError> {
        let request = input_request(method, &params)?;
        match self.0.answers.get(key).filter(|answer| answer.is_object()) {
            Some(answer) => Ok(answer.clone()),
            None => self.ask(key, request).await,
        }
    }

    /// Sends a notification of the protocol to the client, for example `notifications/message`.
    ///
    /// This is an escape hatch for methods that are deprecated, or have no API here. In revision 2026-07-28, a log
    /// message is sent only if the client asked for log messages.
    ///
    /// # Errors
    ///
    /// Fails if the parameters are invalid, or the connection is closed.
    pub async fn raw_notification(&self, method: &str, params: Value) -> Result<(), ToolError> {
        let is_log = method == "notifications/message";
        if is_log && self.0.era == Era::Stateless && !self.0.has_log_level {
            return Ok(());
        }
        let notification: ServerNotification =
            serde_json::from_value(json!({ "method": method, "params": params }))
                .map_err(ToolError::fatal)?;
        self.0.peer.send_notification(notification).await.map_err(ToolError::concealed)
    }

    /// Sends a request, or makes it a question of the answer to the client.
    async fn ask(&self, key: &str, request: InputRequest) -> Result<Value, ToolError> {
        if let Some(missing) = self.missing_capability(&request) {
            self.questions().missing = Some(missing);
            return Err(ToolError::new("the client cannot be asked: it lacks the capability"));
        }
        if self.0.era == Era::Stateless {
            self.questions().asked.insert(key.to_owned(), request);
            return Err(ToolError::new("the client has to answer first"));
        }
        let request = match request {
            InputRequest::CreateMessage(request) => ServerRequest::CreateMessageRequest(request),
            InputRequest::ListRoots(request) => ServerRequest::ListRootsRequest(request),
            InputRequest::Elicitation(request) => ServerRequest::ElicitRequest(request),
            _ => return Err(unknown_request()),
        };
        let answer = self.0.peer.send_request(request).await.map_err(ToolError::concealed)?;
        serde_json::to_value(answer).map_err(ToolError::concealed)
    }

    /// Returns the capability that the client lacks for a request.
    fn missing_capability(&self, request: &InputRequest) -> Option<ClientCapabilities> {
        let own = &self.0.capabilities;
        let builder = ClientCapabilities::builder;
        match request {
            InputRequest::CreateMessage(_) if own.sampling.is_none() => {
                Some(builder().enable_sampling().build())
            }
            InputRequest::ListRoots(_) if own.roots.is_none() => {
                Some(builder().enable_roots().build())
            }
            InputRequest::Elicitation(_) if own.elicitation.is_none() => {
                Some(builder().enable_elicitation().build())
            }
            _ => None,
        }
    }

    pub(super) fn era(&self) -> Era {
        self.0.era
    }

    /// Returns the answers of the client.
    pub(super) fn answers(&self) -> &Answers {
        &self.0.answers
    }

    /// Takes the open questions.
    pub(super) fn take_questions(&self) -> Questions {
        std::mem::take(&mut *self.questions())
    }

    fn questions(&self) -> MutexGuard<'_, Questions> {
        self.0.questions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn input_request(method: &str, params: &Value) -> Result<InputRequest, ToolError> {
    let is_known = ["elicitation/create", "sampling/createMessage", "roots/list"].contains(&method);
    if !is_known {
        return Err(unknown_request());
    }
    serde_json::from_value(json!({ "method": method, "params": params })).map_err(ToolError::fatal)
}

fn unknown_request() -> ToolError {
    ToolError::fatal(
        "a server can send `elicitation/create`, `sampling/createMessage` and `roots/list` only",
    )
}

impl fmt::Debug for McpCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("McpCall").field("era", &self.0.era).finish_non_exhaustive()
    }
}
