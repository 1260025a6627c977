//! The cases, implemented with only serde and an HTTP client: the lower bound of the costs.

use crate::workload::{MODEL, ROUNDS, SYSTEM, TEXT, arguments, call_id, fact};
use reqwest::Client;
use reqwest::header::{AUTHORIZATION, CONTENT_TYPE};
use rustls::{ClientConfig, RootCertStore};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::{HashMap, VecDeque};
use std::hint::black_box;
use std::sync::{Arc, Mutex};

/// The role of a message.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// The application.
    System,
    /// The user.
    User,
    /// The model.
    Assistant,
    /// A tool.
    Tool,
}

/// A message in the wire format.
#[derive(Debug, Serialize)]
pub struct Message {
    role: Role,
    content: Option<Box<str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_call_id: Option<Box<str>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_calls: Vec<Call>,
}

/// A call of a tool.
#[derive(Debug, Serialize)]
pub struct Call {
    id: Box<str>,
    name: Box<str>,
    arguments: Box<str>,
}

impl Message {
    fn new(role: Role, text: &str) -> Self {
        Self { role, content: Some(text.into()), tool_call_id: None, tool_calls: Vec::new() }
    }
}

fn history(messages: usize) -> VecDeque<Message> {
    let roles = [Role::User, Role::Assistant];
    roles.iter().cycle().take(messages).map(|role| Message::new(*role, TEXT)).collect()
}

/// An assistant with a window of messages for each user.
#[derive(Debug)]
pub struct Assistant {
    system: Message,
    window: usize,
    conversations: Mutex<HashMap<String, VecDeque<Message>>>,
}

impl Assistant {
    /// Creates an assistant with a history of `window` messages for `user`.
    #[must_use]
    pub fn new(user: &str, window: usize) -> Self {
        let conversations = HashMap::from([(user.to_owned(), history(window))]);
        let system = Message::new(Role::System, SYSTEM);
        Self { system, window, conversations: Mutex::new(conversations) }
    }

    /// Runs one turn with an in-process model that reads every message and returns [`TEXT`].
    pub fn chat(&self, user: &str, text: &str) -> String {
        let prompt = Message::new(Role::User, text);
        let answer = self.with_messages(user, &prompt, |messages| {
            let lengths = messages.map(|message| message.content.as_deref().map_or(0, str::len));
            black_box(lengths.sum::<usize>());
            TEXT.to_owned()
        });
        self.remember(user, prompt, &answer);
        answer
    }

    /// Runs one turn with a server of OpenAI's protocol.
    pub async fn chat_with(&self, server: &Server, user: &str, text: &str) -> String {
        let prompt = Message::new(Role::User, text);
        let body = self.with_messages(user, &prompt, |messages| {
            let messages: Vec<&Message> = messages.collect();
            let mut body = Vec::with_capacity(messages.len() * (TEXT.len() + 48) + 64);
            serde_json::to_writer(&mut body, &Request { model: MODEL, messages }).unwrap();
            body
        });
        let answer = server.post(body).await;
        self.remember(user, prompt, &answer);
        answer
    }

    fn with_messages<R>(
        &self,
        user: &str,
        prompt: &Message,
        read: impl FnOnce(&mut dyn Iterator<Item = &Message>) -> R,
    ) -> R {
        let mut conversations = self.conversations.lock().unwrap();
        let messages = &*conversations.entry(user.to_owned()).or_default();
        read(&mut std::iter::once(&self.system).chain(messages).chain([prompt]))
    }

    fn remember(&self, user: &str, prompt: Message, answer: &str) {
        let mut conversations = self.conversations.lock().unwrap();
        let messages = conversations.get_mut(user).unwrap();
        messages.extend([prompt, Message::new(Role::Assistant, answer)]);
        let evict = messages.len().saturating_sub(self.window);
        messages.drain(..evict);
    }
}

#[derive(Serialize)]
struct Request<'a> {
    model: &'static str,
    messages: Vec<&'a Message>,
}

#[derive(Deserialize)]
struct Completion<'a> {
    #[serde(borrow)]
    choices: Vec<Choice<'a>>,
    usage: Usage,
}

#[derive(Deserialize)]
struct Choice<'a> {
    #[serde(borrow)]
    message: Answer<'a>,
    #[serde(borrow)]
    finish_reason: Cow<'a, str>,
}

#[derive(Deserialize)]
struct Answer<'a> {
    #[serde(borrow)]
    content: Cow<'a, str>,
}

#[derive(Deserialize)]
struct Usage {
    prompt_tokens: u64,
    completion_tokens: u64,
}

/// A client of a server of OpenAI's protocol.
#[derive(Debug)]
pub struct Server {
    client: Client,
    url: String,
}

impl Server {
    /// Creates a client of the server with this base URL.
    #[must_use]
    pub fn new(url: &str) -> Self {
        Self { client: client(), url: format!("{url}/chat/completions") }
    }

    async fn post(&self, body: Vec<u8>) -> String {
        let request = self.client.post(&self.url).header(AUTHORIZATION, "Bearer key");
        let request = request.header(CONTENT_TYPE, "application/json").body(body);
        let response = request.send().await.unwrap().error_for_status().unwrap();
        let bytes = response.bytes().await.unwrap();
        let completion: Completion<'_> = serde_json::from_slice(&bytes).unwrap();
        black_box((completion.usage.prompt_tokens, completion.usage.completion_tokens));
        let choice = completion.choices.into_iter().next().unwrap();
        black_box(&choice.finish_reason);
        choice.message.content.into_owned()
    }
}

/// Returns a client with the TLS backend of `ai-services`.
pub(crate) fn client() -> Client {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let tls = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(RootCertStore::empty())
        .with_no_client_auth();
    Client::builder().tls_backend_preconfigured(tls).build().unwrap()
}

/// Runs the tool loop: [`ROUNDS`] answers that call the tool, then [`TEXT`].
pub async fn research(text: &str) -> String {
    #[derive(Deserialize)]
    struct Arguments {
        query: String,
        limit: u32,
    }
    let mut messages = vec![Message::new(Role::System, SYSTEM), Message::new(Role::User, text)];
    loop {
        let Some(calls) = calling_model(&messages) else { return TEXT.to_owned() };
        let mut results = Vec::with_capacity(calls.len());
        for call in &calls {
            let Arguments { query, limit } = serde_json::from_str(&call.arguments).unwrap();
            let fact = async { fact(&query, limit) }.await;
            let id = Some(call.id.clone());
            results.push(Message { tool_call_id: id, ..Message::new(Role::Tool, &fact) });
        }
        let (content, tool_call_id) = (None, None);
        messages.push(Message { role: Role::Assistant, content, tool_call_id, tool_calls: calls });
        messages.extend(results);
    }
}

fn calling_model(messages: &[Message]) -> Option<Vec<Call>> {
    let round = messages.iter().filter(|message| matches!(message.role, Role::Tool)).count();
    let call = || Call {
        id: call_id(round).into(),
        name: "lookup".into(),
        arguments: arguments(round).into(),
    };
    (round < ROUNDS).then(|| vec![call()])
}

/// A window of messages.
#[derive(Debug)]
pub struct MessageWindow(Mutex<VecDeque<Message>>, usize);

impl MessageWindow {
    /// Creates a full window.
    #[must_use]
    pub fn new(messages: usize) -> Self {
        Self(Mutex::new(history(messages)), messages)
    }

    /// Adds the two messages of a turn.
    pub fn add_turn(&self) {
        for role in [Role::User, Role::Assistant] {
            let mut messages = self.0.lock().unwrap();
            messages.push_back(Message::new(role, TEXT));
            if messages.len() > self.1 {
                messages.pop_front();
            }
        }
    }
}

/// A window of tokens, which `count` counts once for each message.
#[derive(Debug)]
pub struct TokenWindow<F> {
    counted: Mutex<CountedMessages>,
    max: usize,
    count: F,
}

#[derive(Debug, Default)]
struct CountedMessages {
    messages: VecDeque<(Message, usize)>,
    tokens: usize,
}

impl<F: Fn(&str) -> usize> TokenWindow<F> {
    /// Creates a full window with the number of tokens of `messages` messages.
    pub fn new(messages: usize, count: F) -> Self {
        let tokens = count(TEXT);
        let messages: VecDeque<_> =
            history(messages).into_iter().map(|message| (message, tokens)).collect();
        let max = tokens * messages.len();
        Self { counted: Mutex::new(CountedMessages { messages, tokens: max }), max, count }
    }

    /// Adds the two messages of a turn.
    pub fn add_turn(&self) {
        for role in [Role::User, Role::Assistant] {
            let tokens = (self.count)(TEXT);
            let mut counted = self.counted.lock().unwrap();
            counted.messages.push_back((Message::new(role, TEXT), tokens));
            counted.tokens += tokens;
            while counted.tokens > self.max {
                let Some((_, tokens)) = counted.messages.pop_front() else { break };
                counted.tokens -= tokens;
            }
        }
    }
}

/// A message as a store has it, read with derived structs.
#[derive(Debug, Deserialize)]
pub struct StoredMessage {
    #[serde(rename = "type")]
    _kind: StoredKind,
    #[serde(rename = "text")]
    _text: Option<String>,
    #[serde(default, rename = "contents")]
    _contents: Vec<StoredPart>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
enum StoredKind {
    System,
    User,
    Ai,
}

#[derive(Debug, Deserialize)]
struct StoredPart {
    #[serde(rename = "type")]
    _kind: StoredPartKind,
    #[serde(rename = "text")]
    _text: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
enum StoredPartKind {
    Text,
}

/// Reads the records of messages, without checking their checksums.
pub fn read_records(records: &[(u64, String)]) -> Vec<StoredMessage> {
    #[derive(Deserialize)]
    struct Record {
        message: StoredMessage,
    }
    let read = |json: &String| serde_json::from_str::<Record>(json).unwrap().message;
    records.iter().map(|(_, json)| read(json)).collect()
}
