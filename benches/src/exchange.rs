//! One exchange with a provider, implemented with only serde and an HTTP client.

use reqwest::Client;
use reqwest::header::CONTENT_TYPE;
use serde::Deserialize;
use serde_json::value::RawValue;
use std::fmt;

/// The content of an answer.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ExchangeResult {
    /// Text of the answer.
    pub text: String,
    /// Arguments of all tool calls, concatenated.
    pub arguments: String,
    /// Number of tokens of prompt and answer.
    pub tokens: u64,
}

/// Parses a document, or an event of a stream.
type Read = fn(&[u8], &mut ExchangeResult);

/// A minimal client: sends a prepared body, and parses the response once.
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
    /// Creates a client of a server at `url` with this protocol; `None` if the protocol is not supported.
    #[must_use]
    pub fn new(protocol: &str, url: &str, body: Vec<u8>) -> Option<Self> {
        let read: Read = match protocol {
            "openai-chat" => |json, result| read::<Chat>(json, result),
            "openai-responses" => |json, result| read::<Responses>(json, result),
            "anthropic" => |json, result| read::<Messages<'_>>(json, result),
            "gemini" => |json, result| read::<Gemini<'_>>(json, result),
            "ollama" => |json, result| read::<Ollama<'_>>(json, result),
            _ => return None,
        };
        Some(Self { client: crate::by_hand::client(), url: url.to_owned(), body, read })
    }

    /// Runs one exchange with a document as the answer.
    pub async fn whole(&self) -> ExchangeResult {
        let bytes = self.send().await.bytes().await.unwrap();
        let mut result = ExchangeResult::default();
        (self.read)(&bytes, &mut result);
        result
    }

    /// Runs one exchange with events or lines as the answer.
    pub async fn stream(&self) -> ExchangeResult {
        let mut response = self.send().await;
        let mut result = ExchangeResult::default();
        let mut rest = Vec::new();
        while let Some(piece) = response.chunk().await.unwrap() {
            rest.extend_from_slice(&piece);
            let mut begin = 0;
            while let Some(len) = rest.get(begin..).and_then(|rest| memchr::memchr(b'\n', rest)) {
                self.line(rest.get(begin..begin + len).unwrap_or_default(), &mut result);
                begin += len + 1;
            }
            rest.drain(..begin);
        }
        result
    }

    fn line(&self, line: &[u8], result: &mut ExchangeResult) {
        let data = line.strip_prefix(b"data: ").unwrap_or(line);
        if data.first() == Some(&b'{') {
            (self.read)(data, result);
        }
    }

    async fn send(&self) -> reqwest::Response {
        let request =
            self.client.post(&self.url).header("authorization", "Bearer sk-canary-7f3a9c");
        let request = request.header(CONTENT_TYPE, "application/json").body(self.body.clone());
        request.send().await.unwrap().error_for_status().unwrap()
    }
}

/// A struct for both the documents and the events of a protocol; missing fields are empty.
trait ProtocolMessage {
    fn add_to(self, result: &mut ExchangeResult);
}

fn read<'a, T: ProtocolMessage + Deserialize<'a>>(json: &'a [u8], result: &mut ExchangeResult) {
    serde_json::from_slice::<T>(json).unwrap().add_to(result);
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

impl ProtocolMessage for Chat {
    fn add_to(self, result: &mut ExchangeResult) {
        for Choice { message } in self.choices {
            result.text.extend(message.content);
            result
                .arguments
                .extend(message.tool_calls.into_iter().map(|call| call.function.arguments));
        }
        result.tokens +=
            self.usage.map_or(0, |usage| usage.prompt_tokens + usage.completion_tokens);
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

impl ProtocolMessage for Responses {
    fn add_to(self, result: &mut ExchangeResult) {
        match &*self.r#type {
            "response.output_text.delta" => result.text.push_str(&self.delta),
            "response.function_call_arguments.delta" => result.arguments.push_str(&self.delta),
            _ => {}
        }
        for item in self.output {
            result.text.extend(item.content.into_iter().map(|content| content.text));
            result.arguments.push_str(&item.arguments);
        }
        let usage = self.usage.or_else(|| self.response?.usage);
        result.tokens += usage.map_or(0, |usage| usage.input_tokens + usage.output_tokens);
    }
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Messages<'a> {
    #[serde(borrow)]
    content: Vec<Block<'a>>,
    #[serde(borrow)]
    delta: Option<Block<'a>>,
    message: Option<MessageStart>,
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
struct MessageStart {
    usage: Tokens,
}

impl ProtocolMessage for Messages<'_> {
    fn add_to(self, result: &mut ExchangeResult) {
        for block in self.content.into_iter().chain(self.delta) {
            result.text.push_str(&block.text);
            result.arguments.push_str(&block.partial_json);
            result.arguments.push_str(block.input.map_or("", RawValue::get));
        }
        // A stream reports the tokens of the prompt at its start, and the tokens of the answer at its end.
        result.tokens += self.message.map_or(0, |message| message.usage.input_tokens);
        result.tokens += self.usage.map_or(0, |usage| usage.input_tokens + usage.output_tokens);
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
    parts: Vec<GeminiPart<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct GeminiPart<'a> {
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

impl ProtocolMessage for Gemini<'_> {
    fn add_to(self, result: &mut ExchangeResult) {
        for part in self.candidates.into_iter().flat_map(|candidate| candidate.content.parts) {
            if !part.thought {
                result.text.push_str(&part.text);
            }
            result.arguments.push_str(part.function_call.map_or("", |call| call.args.get()));
        }
        // Every event has the total.
        result.tokens = self.usage_metadata.total_token_count;
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

impl ProtocolMessage for Ollama<'_> {
    fn add_to(self, result: &mut ExchangeResult) {
        result.text.push_str(&self.message.content);
        for call in self.message.tool_calls {
            result.arguments.push_str(call.function.args.get());
        }
        result.tokens += self.prompt_eval_count + self.eval_count;
    }
}
