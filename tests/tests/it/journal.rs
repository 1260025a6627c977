//! Test doubles that record their calls in one journal, in order.

use ai_services::guardrail::{
    InputGuardrail, InputGuardrailRequest, InputVerdict, OutputGuardrail, OutputGuardrailRequest,
    OutputVerdict,
};
use ai_services::memory::{
    Change, ChatMemory, ChatMemoryStore, InMemoryChatMemoryStore, MemoryId,
    MessageWindowChatMemory, Snapshot,
};
use ai_services::message::{ChatMessage, Content, ToolCall};
use ai_services::model::{ChatModel, Moderation, ModerationModel, TokenUsage};
use ai_services::rag::{ContentRetriever, Query, RetrievedContent};
use ai_services::service::Given;
use ai_services::testing::{ScriptedAnswer, ScriptedChatModel};
use ai_services::{
    AiServiceBuilder, AnswerStream, Error, ErrorKind, Response, StreamEvent, ai_service,
    async_trait, tools,
};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

#[ai_service]
#[system_message("Be brief.")]
pub(crate) trait Desk {
    async fn ask(
        &self,
        #[memory_id] user: &str,
        #[user_message] text: &str,
    ) -> ai_services::Result<Response<String>>;

    async fn count(
        &self,
        #[memory_id] user: &str,
        #[user_message] text: &str,
    ) -> ai_services::Result<Response<u32>>;

    async fn look(
        &self,
        #[memory_id] user: &str,
        #[user_message] parts: &[Content],
    ) -> ai_services::Result<Response<String>>;

    fn stream(&self, #[memory_id] user: &str, #[user_message] text: &str) -> AnswerStream;

    #[moderate]
    async fn judged(
        &self,
        #[memory_id] user: &str,
        #[user_message] text: &str,
    ) -> ai_services::Result<Response<String>>;

    #[moderate]
    fn stream_judged(&self, #[memory_id] user: &str, #[user_message] text: &str) -> AnswerStream;

    #[moderate(answer)]
    async fn vetted(
        &self,
        #[memory_id] user: &str,
        #[user_message] text: &str,
    ) -> ai_services::Result<Response<String>>;

    #[moderate(answer)]
    fn stream_vetted(&self, #[memory_id] user: &str, #[user_message] text: &str) -> AnswerStream;

    #[moderate(message, answer)]
    async fn guarded(
        &self,
        #[memory_id] user: &str,
        #[user_message] text: &str,
    ) -> ai_services::Result<Response<String>>;

    #[moderate(message, answer)]
    fn stream_guarded(&self, #[memory_id] user: &str, #[user_message] text: &str) -> AnswerStream;
}

/// A builder with all required parts.
pub(crate) type Ready = AiServiceBuilder<DeskService, Arc<dyn ChatModel>, Given, Given>;

#[derive(Clone, Default)]
pub(crate) struct Journal(Arc<Mutex<Vec<String>>>);

impl Journal {
    pub(crate) fn note(&self, entry: impl Into<String>) {
        self.0.lock().unwrap().push(entry.into());
    }

    pub(crate) fn entries(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }

    /// A model with these answers.
    pub(crate) fn model(
        &self,
        answers: impl IntoIterator<Item = ScriptedAnswer>,
    ) -> ScriptedChatModel {
        let (journal, answers) = (self.clone(), Mutex::new(VecDeque::from_iter(answers)));
        ScriptedChatModel::from_fn(move |number, _| {
            journal.note(format!("model called with {number}"));
            let next = answers.lock().unwrap().pop_front();
            next.unwrap_or_else(|| {
                ScriptedAnswer::error(ErrorKind::Configuration, "no answer left")
            })
        })
    }

    /// A model that answers with these texts.
    pub(crate) fn replies<const N: usize>(&self, texts: [&'static str; N]) -> ScriptedChatModel {
        self.model(texts.map(ScriptedAnswer::text))
    }

    /// A service with memories of ten messages, a judge and a tool.
    pub(crate) fn desk(&self, model: &ScriptedChatModel) -> Ready {
        let store = Arc::new(Store { journal: self.clone(), kept: InMemoryChatMemoryStore::new() });
        DeskService::builder()
            .chat_model(model.clone())
            .chat_memory_provider(move |id: &MemoryId| {
                let window = MessageWindowChatMemory::builder().id(id).max_messages(10);
                window.store(Arc::clone(&store)).build()
            })
            .moderation_model(Judge { journal: self.clone(), takes: Duration::from_millis(50) })
            .tools(Actor(self.clone()))
    }

    pub(crate) fn shelf(&self, found: &'static [&'static str]) -> Shelf {
        Shelf { journal: self.clone(), found }
    }

    pub(crate) fn input(&self, name: &'static str, check: CheckInput) -> Input {
        Input { journal: self.clone(), name, check }
    }

    pub(crate) fn output(&self, name: &'static str, check: CheckOutput) -> Output {
        Output { journal: self.clone(), name, check }
    }
}

/// Returns the stored messages of a conversation, without a journal entry.
pub(crate) async fn remembered(desk: &DeskService, user: &str) -> Vec<ChatMessage> {
    desk.chat_memory(user).unwrap().messages().await.unwrap()
}

/// A user's message and its answer.
pub(crate) fn turn(user: &str, answer: &str) -> [ChatMessage; 2] {
    [ChatMessage::user(user), ChatMessage::ai(answer)]
}

/// Returns one word per item of a stream.
pub(crate) async fn words(mut stream: AnswerStream) -> Vec<String> {
    let mut words = Vec::new();
    while let Some(event) = stream.next().await {
        words.push(match event {
            Ok(event) => word(&event),
            Err(error) => format!("error {:?}", error.kind()),
        });
    }
    words
}

pub(crate) fn word(event: &StreamEvent) -> String {
    match event {
        StreamEvent::Retrieved(contents) => format!("retrieved {}", contents.len()),
        StreamEvent::Text(text) => format!("text {text}"),
        StreamEvent::Thinking(text) => format!("thinking {text}"),
        StreamEvent::ToolCall(delta) => format!("call {}", delta.arguments),
        StreamEvent::ToolStarted(call) => format!("started {}", call.name()),
        StreamEvent::ToolFinished(_) => "finished".to_owned(),
        StreamEvent::Usage(_) => "usage".to_owned(),
        StreamEvent::Restarted => "restarted".to_owned(),
        StreamEvent::Completed(response) => format!("completed {}", response.value),
        other => panic!("unknown event {other:?}"),
    }
}

/// A store of conversations.
struct Store {
    journal: Journal,
    kept: InMemoryChatMemoryStore,
}

#[async_trait]
impl ChatMemoryStore for Store {
    async fn get_messages(&self, id: &MemoryId) -> ai_services::Result<Vec<ChatMessage>> {
        self.kept.get_messages(id).await
    }

    async fn update_messages(
        &self,
        id: &MemoryId,
        messages: &[ChatMessage],
    ) -> ai_services::Result<()> {
        self.kept.update_messages(id, messages).await
    }

    async fn delete_messages(&self, id: &MemoryId) -> ai_services::Result<()> {
        self.kept.delete_messages(id).await
    }

    async fn load(&self, id: &MemoryId) -> ai_services::Result<Snapshot> {
        self.journal.note("loaded");
        self.kept.load(id).await
    }

    async fn commit(&self, id: &MemoryId, change: Change) -> ai_services::Result<()> {
        self.journal.note("stored");
        self.kept.commit(id, change).await
    }
}

struct Actor(Journal);

#[tools]
impl Actor {
    /// Has an effect.
    #[tool]
    fn act(&self) -> &'static str {
        self.0.note("acted");
        "acted"
    }

    /// Has an effect that is the answer.
    #[tool(return_immediately)]
    fn finish(&self) -> &'static str {
        self.0.note("finished");
        "finished"
    }
}

/// Flags texts that contain "bad", after a delay.
struct Judge {
    journal: Journal,
    takes: Duration,
}

#[async_trait]
impl ModerationModel for Judge {
    async fn moderate(&self, text: &str) -> ai_services::Result<Moderation> {
        tokio::time::sleep(self.takes).await;
        self.journal.note(format!("judged {text}"));
        match text {
            text if text.contains("bad") => {
                Ok(Moderation::flagged([("hate", 0.9), ("spite", 0.4)]))
            }
            "broken" => Err(Error::new(ErrorKind::Unavailable, "no judge")),
            _ => Ok(Moderation::passed()),
        }
    }

    fn name(&self) -> &str {
        "judge"
    }
}

/// Returns the same content for every query, and uses 3 tokens.
pub(crate) struct Shelf {
    journal: Journal,
    found: &'static [&'static str],
}

#[async_trait]
impl ContentRetriever for Shelf {
    async fn retrieve(&self, query: &Query) -> ai_services::Result<Vec<RetrievedContent>> {
        self.journal.note(format!("looked up {}", query.text()));
        query.turn().meter().add("embedder", TokenUsage::new(3, 0));
        match query.text() {
            "broken" => Err(Error::new(ErrorKind::Unavailable, "no shelf")),
            _ => Ok(self.found.iter().map(|text| RetrievedContent::from(*text)).collect()),
        }
    }
}

pub(crate) type CheckInput = fn(&str) -> InputVerdict;
pub(crate) type CheckOutput = fn(&str, u32) -> OutputVerdict;

pub(crate) struct Input {
    journal: Journal,
    name: &'static str,
    check: CheckInput,
}

#[async_trait]
impl InputGuardrail for Input {
    async fn check(&self, request: InputGuardrailRequest<'_>) -> ai_services::Result<InputVerdict> {
        let texts: Vec<&str> =
            request.user_message.contents().iter().filter_map(Content::text).collect();
        let text = texts.join("|");
        let (name, contents) = (self.name, request.contents.len());
        self.journal.note(format!("{name} saw {text} and {contents}"));
        request.turn.meter().add("judge", TokenUsage::new(5, 0));
        Ok((self.check)(&text))
    }

    fn name(&self) -> &str {
        self.name
    }
}

pub(crate) struct Output {
    journal: Journal,
    name: &'static str,
    check: CheckOutput,
}

#[async_trait]
impl OutputGuardrail for Output {
    async fn check(
        &self,
        request: OutputGuardrailRequest<'_>,
    ) -> ai_services::Result<OutputVerdict> {
        let text = request.response.message.text().unwrap_or_default();
        self.journal.note(format!("{} read {text}", self.name));
        request.turn.meter().add("judge", TokenUsage::new(7, 0));
        Ok((self.check)(text, request.rejected))
    }

    fn name(&self) -> &str {
        self.name
    }
}

/// An answer that calls a tool of the desk.
pub(crate) fn calling(tool: &str) -> ScriptedAnswer {
    ScriptedAnswer::tool_calls([ToolCall::new("1", tool, "{}")])
}

/// A guardrail with a verdict on the answer.
pub(crate) fn opinion(text: &str, _: u32) -> OutputVerdict {
    match text {
        "again" => OutputVerdict::Retry("not that".into()),
        "ask" => OutputVerdict::Reprompt { reason: "rude".into(), prompt: "Politely.".into() },
        "raw" => OutputVerdict::Rewrite("cooked".into()),
        "fail" => OutputVerdict::Failure("wrong".into()),
        "fatal" => OutputVerdict::Fatal("no".into()),
        _ => OutputVerdict::Success,
    }
}

/// A service with a guardrail for answers.
pub(crate) fn opinionated(journal: &Journal, model: &ScriptedChatModel) -> DeskService {
    journal.desk(model).output_guardrail(journal.output("critic", opinion)).build().unwrap()
}
