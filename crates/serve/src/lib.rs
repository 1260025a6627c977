//! HTTP endpoints for services: any client of OpenAI's protocols, of the AI SDK or of AG-UI can talk to a trait.
//!
//! A [`ChatServer`] offers one or more services. Its [router](ChatServer::router) is part of an axum application, and
//! has these endpoints:
//!
//! | endpoint | protocol | clients, for example |
//! |---|---|---|
//! | `GET /v1/models`, `POST /v1/chat/completions` | OpenAI chat completions | the SDKs of OpenAI, `Open WebUI`, `llm` |
//! | `POST /v1/responses` | OpenAI Responses | the SDKs of OpenAI |
//! | `POST /ui/{service}` | UI message stream v1 | `useChat` of the AI SDK, assistant-ui |
//! | `POST /ag-ui/{service}` | AG-UI 1.0 | `HttpAgent`, `CopilotKit` |
//! | `GET /health` | status 200, or 503 while the server shuts down | load balancers |
//!
//! The [guide](https://docs.rs/ai-services/latest/ai_services/docs/serving/index.html) has examples of all of the following.
//!
//! # Memory
//!
//! The memory is the server's. These clients send the whole conversation with each request; the server reads **the last
//! message only**, which must be a message of the user. Everything else that a client sends as history (system
//! messages, answers, tool results) is ignored: a client cannot forge it. Sampling settings of a client are ignored,
//! too. Tools of a client are refused by OpenAI's endpoints, and ignored by AG-UI.
//!
//! The memory id of a turn is the pair of the authenticated [`Principal`] and the conversation that the client names, so
//! that two principals who name the same conversation have two conversations:
//!
//! | protocol | name of the conversation |
//! |---|---|
//! | chat completions | header `x-conversation-id`, or [another one](ChatServerBuilder::conversation_header) |
//! | Responses | `conversation`, or the conversation of `previous_response_id` |
//! | UI message stream | `id` |
//! | AG-UI | `threadId` |
//!
//! A request without a name begins a new conversation, whose name is in the response header `x-conversation-id`.
//!
//! # Streams
//!
//! If the client disconnects, the call is cancelled and nothing is stored. Tool calls are visible in the UI message
//! stream and in AG-UI. OpenAI's endpoints hide them, because a client would try to run them.
//!
//! A turn that waits for [approval](ai_services_core::approval), for answers to questions of a tool, or for a task, ends with
//! interrupts in AG-UI (`tool_call`, `input_required`, `ai-services:task`), with `tool-approval-request`,
//! `data-tool-questions` or `data-tool-task` in the UI message stream, and with an error of the code `suspended` in
//! OpenAI's protocols, where the application decides with `PendingTurn::decide` and resumes the turn.
//!
//! # Decisions of clients
//!
//! With [`ClientDecisions`], the principal of the conversation decides, and the answer goes on in the same protocol:
//!
//! - AG-UI: `resume` with one entry for each interrupt. The payload is `{"approved": true}`, `{"approved": false,
//!   "reason": "..."}`, or the values of a form. The status `cancelled` denies, cancels a question, or polls a task.
//! - UI message stream: the approvals in the last message of the assistant. Questions are answered by `toolAnswers` in the
//!   body: `[{"id": <id in the data>, "answers": [{"accept": {...}}, "decline", "cancel"]}]`, one answer for each question.
//!
//! One request decides about everything that the turn waits for. A decision that arrives twice or late has status 409, one
//! about another conversation 404. Without `ClientDecisions`, decisions have status 400.
//!
//! # Errors
//!
//! Errors have the status of [`ErrorKind::http_status`](ai_services_core::ErrorKind::http_status), and a text that
//! depends on the kind only, because an error can describe the server's configuration. The error itself is logged.
//! [`error_message`](ChatServerBuilder::error_message) sets other texts.

#![cfg_attr(docsrs, feature(doc_cfg))]

mod ag_ui;
mod answer;
mod decisions;
mod endpoint;
mod frames;
mod interrupt_id;
mod openai;
mod principal;
mod problem;
mod server;
mod service;
mod source;
mod state;
mod tool_tracker;
mod turn;
mod ui_messages;

/// The examples of the guide, which need axum.
#[cfg(doctest)]
#[doc = include_str!("../../../ai-services/src/docs/serving.md")]
mod guide {}

pub use decisions::ClientDecisions;
pub use principal::Principal;
pub use server::{ChatServer, ChatServerBuilder};
pub use turn::UserTurn;
