//! Records of turns: each call with its prompts, requests, answers, tools, verdicts, usage and times.
//!
//! A [`TurnRecorder`] is a listener that collects the events of each call into a [`TurnRecord`], and passes the record
//! to a function at the end of the call. A [`RecordFile`] writes records to JSON Lines, without secrets and within limits.
//! Nothing is recorded by default.
//!
//! Records contain the text of conversations. Treat them like the conversations.
//!
//! # Examples
//!
//! ```
//! use ai_services::ai_service;
//! use ai_services::record::{RecordFile, TurnRecord, TurnRecorder};
//! use ai_services::testing::ScriptedChatModel;
//!
//! #[ai_service]
//! trait Assistant {
//!     async fn chat(&self, text: &str) -> ai_services::Result<String>;
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let path = std::env::temp_dir().join(format!("turns-{}.jsonl", std::process::id()));
//! let file = RecordFile::builder(&path).redact("0815").open()?;
//! let recorder = TurnRecorder::to_file(file.clone());
//! let assistant = AssistantService::builder()
//!     .chat_model(ScriptedChatModel::replies(["I will not repeat it."]))
//!     .listener(recorder.listener())
//!     .build()?;
//! assistant.chat("My PIN is 0815.").await?;
//!
//! file.flush();
//! let text = std::fs::read_to_string(&path)?;
//! let record = TurnRecord::from_json(text.trim_end())?;
//! assert_eq!((&*record.service, &*record.method), ("Assistant", "chat"));
//! let request = record.messages_of(0);
//! assert_eq!(request[0].text(), Some("My PIN is [redacted]."));
//! # std::fs::remove_file(&path)?;
//! # Ok(())
//! # }
//! ```

mod draft;
mod file;
mod limits;
mod recorder;
mod rotation;
mod step;
#[cfg(test)]
mod tests;
mod turn_record;
mod wire;

pub use file::{RecordFile, RecordFileBuilder};
pub use recorder::TurnRecorder;
pub use step::{
    RecordedError, RecordedRequest, RecordedVerdict, RecordedViolation, SkippedSource, StepKind,
    TurnStep,
};
pub use turn_record::{TurnOutcome, TurnRecord};
