//! One exchange with a provider, done with serde and an HTTP client alone.

use reqwest::Client;
use reqwest::header::CONTENT_TYPE;
use serde::Deserialize;
use serde_json::value::RawValue;
use std::fmt;

/// What an answer says, as far as programs need it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Said {
    /// All text.
    pub text: String,
    /// The arguments of all tool calls.
    pub arguments: String,
    /// The tokens of question and answer.
    pub tokens: u64,
}

/// Reads a document, or an event of a stream.
type Read = fn(&[u8], &mut Said);

/// The least client: it sends the bytes that it is given, and parses what comes once.
pub struct ByHand {
    client: Client,
    url: String,
    body: Vec<u8>,
    read: Read,
}

impl fmt::Debug for ByHand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ByHand").field("url", &self.url).finish_non_exhaustive()
    }
}

impl ByHand {
    /// A client of a server at `url` that speaks this protocol; `None` if there is no reader of it.
    #[must_use]
    pub fn new(protocol: &str, url: &str, body: Vec<u8>) -> Option<Self> {
        let read: Read = match protocol {
            "openai-chat" => |json, said| read::<Chat>(json, said),
            "openai-responses" => |json, said| read::<Responses>(json, said),
            "anthropic" => |json, said| read::<Messages<'_>>(json, said),
            "gemini" => |json, said| read::<Gemini<'_>>(json, said),
            "ollama" => |json, said| read::<Ollama<'_>>(json, said),
            _ => return None,
        };
        Some(Self { client: crate::by_hand::client(), url: url.to_owned(), body, read })
    }

    /// One exchange, answered with a document.
    pub async fn whole(&self) -> Said {
        let bytes = self.send().await.bytes().await.unwrap();
        let mut said = Said::default();
        (self.read)(&bytes, &mut said);
        said
    }

    /// One exchange, answered with events or lines.
    pub async fn stream(&self) -> Said {
        let mut response = self.send().await;
        let mut said = Said::default();
        let mut rest = Vec::new();
        while let Some(piece) = response.chunk().await.unwrap() {
            rest.extend_from_slice(&piece);
            let mut begin = 0;
            while let Some(len) = rest.get(begin..).and_then(|rest| memchr::memchr(b'\n', rest)) {
                self.line(rest.get(begin..begin + len).unwrap_or_default(), &mut said);
                begin += len + 1;
            }
            rest.drain(..begin);
        }
        said
    }

    fn line(&self, line: &[u8], said: &mut Said) {
        let data = line.strip_prefix(b"data: ").unwrap_or(line);
        if data.first() == Some(&b'{') {
            (self.read)(data, said);
        }
    }

    async fn send(&self) -> reqwest::Response {
        let request =
            self.client.post(&self.url).header("authorization", "Bearer sk-canary-7f3a9c");
        let request = request.header(CONTENT_TYPE, "application/json").body(self.body.clone());
        request.send().await.unwrap().error_for_status().unwrap()
    }
}

/// One struct reads the documents and the events of a protocol: what is missing is empty.
trait Piece {
    fn add_to(self, said: &mut Said);
}

fn read<'a, T: Piece + Deserialize<'a>>(json: &'a [u8], said: &mut Said) {
    serde_json::from_slice::<T>(json).unwrap().add_to(said);
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Chat {
    choices: Vec<Choice>,
    usage: Option<ChatUsage>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Choice {
    #[serde(alias = "delta")]
    message: ChatMessage,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct ChatMessage {
    content: Option<String>,
    tool_calls: Vec<ChatCall>,
}

#[derive(Deserialize)]
struct ChatCall {
    function: ChatFunction,
}

#[derive(Deserialize)]
struct ChatFunction {
    arguments: String,
}

#[derive(Deserialize)]
struct ChatUsage {
    prompt_tokens: u64,
    completion_tokens: u64,
}

impl Piece for Chat {
    fn add_to(self, said: &mut Said) {
        for Choice { message } in self.choices {
            said.text.extend(message.content);
            said.arguments
                .extend(message.tool_calls.into_iter().map(|call| call.function.arguments));
        }
        said.tokens += self.usage.map_or(0, |usage| usage.prompt_tokens + usage.completion_tokens);
    }
}

/// A whole response, or an event that has one at its end.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Responses {
    r#type: String,
    delta: String,
    output: Vec<Item>,
    usage: Option<Tokens>,
    response: Option<Box<Self>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Item {
    content: Vec<Text>,
    arguments: String,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Text {
    text: String,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Tokens {
    input_tokens: u64,
    output_tokens: u64,
}

impl Piece for Responses {
    fn add_to(self, said: &mut Said) {
        match &*self.r#type {
            "response.output_text.delta" => said.text.push_str(&self.delta),
            "response.function_call_arguments.delta" => said.arguments.push_str(&self.delta),
            _ => {}
        }
        for item in self.output {
            said.text.extend(item.content.into_iter().map(|content| content.text));
            said.arguments.push_str(&item.arguments);
        }
        let usage = self.usage.or_else(|| self.response?.usage);
        said.tokens += usage.map_or(0, |usage| usage.input_tokens + usage.output_tokens);
    }
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Messages<'a> {
    #[serde(borrow)]
    content: Vec<Block<'a>>,
    #[serde(borrow)]
    delta: Option<Block<'a>>,
    message: Option<Started>,
    usage: Option<Tokens>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Block<'a> {
    text: String,
    partial_json: String,
    #[serde(borrow)]
    input: Option<&'a RawValue>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Started {
    usage: Tokens,
}

impl Piece for Messages<'_> {
    fn add_to(self, said: &mut Said) {
        for block in self.content.into_iter().chain(self.delta) {
            said.text.push_str(&block.text);
            said.arguments.push_str(&block.partial_json);
            said.arguments.push_str(block.input.map_or("", RawValue::get));
        }
        // The beginning of a stream tells what the question cost, the end what the answer did.
        said.tokens += self.message.map_or(0, |message| message.usage.input_tokens);
        said.tokens += self.usage.map_or(0, |usage| usage.input_tokens + usage.output_tokens);
    }
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Gemini<'a> {
    #[serde(borrow)]
    candidates: Vec<Candidate<'a>>,
    usage_metadata: GeminiUsage,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Candidate<'a> {
    #[serde(borrow)]
    content: GeminiContent<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct GeminiContent<'a> {
    #[serde(borrow)]
    parts: Vec<Part<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Part<'a> {
    text: String,
    thought: bool,
    #[serde(borrow)]
    function_call: Option<Function<'a>>,
}

#[derive(Deserialize)]
struct Function<'a> {
    #[serde(borrow, alias = "arguments")]
    args: &'a RawValue,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct GeminiUsage {
    total_token_count: u64,
}

impl Piece for Gemini<'_> {
    fn add_to(self, said: &mut Said) {
        for part in self.candidates.into_iter().flat_map(|candidate| candidate.content.parts) {
            if !part.thought {
                said.text.push_str(&part.text);
            }
            said.arguments.push_str(part.function_call.map_or("", |call| call.args.get()));
        }
        // Every event repeats it.
        said.tokens = self.usage_metadata.total_token_count;
    }
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Ollama<'a> {
    #[serde(borrow)]
    message: OllamaMessage<'a>,
    prompt_eval_count: u64,
    eval_count: u64,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct OllamaMessage<'a> {
    content: String,
    #[serde(borrow)]
    tool_calls: Vec<OllamaCall<'a>>,
}

#[derive(Deserialize)]
struct OllamaCall<'a> {
    #[serde(borrow)]
    function: Function<'a>,
}

impl Piece for Ollama<'_> {
    fn add_to(self, said: &mut Said) {
        said.text.push_str(&self.message.content);
        for call in self.message.tool_calls {
            said.arguments.push_str(call.function.args.get());
        }
        said.tokens += self.prompt_eval_count + self.eval_count;
    }
}
