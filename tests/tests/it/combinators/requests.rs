//! Generators of arbitrary requests for property tests.

use ai_services::message::{
    AiMessage, Attributes, AudioContent, ChatMessage, Content, CustomMessage, ImageContent,
    ImageDetail, PdfContent, ToolCall, ToolResult, UserMessage, VideoContent,
};
use ai_services::model::{
    ChatRequest, ChatRequestParameters, ReasoningEffort, ResponseFormat, ToolChoice,
    ToolSpecification,
};
use proptest::prelude::*;
use schemars::Schema;
use serde_json::{Value, json};

fn word() -> impl Strategy<Value = String> {
    prop_oneof![Just(String::new()), "[a-c]{1,2}", Just("\"\\\n\u{2028}é😀".to_owned())]
}

fn json(floats: BoxedStrategy<f64>) -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        floats.prop_map(Value::from),
        word().prop_map(Value::from),
    ];
    leaf.prop_recursive(2, 8, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            prop::collection::btree_map(word(), inner, 0..3)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

fn content() -> impl Strategy<Value = Content> {
    prop_oneof![
        word().prop_map(Content::from),
        word().prop_map(Content::image_url),
        Just(ImageContent::base64("aGk=", "image/png").with_detail(ImageDetail::Auto).into()),
        Just(AudioContent::url("https://x/a.mp3").into()),
        Just(VideoContent::base64("aGk=", "video/mp4").into()),
        Just(PdfContent::base64("aGk=", "application/pdf").into()),
    ]
}

/// Generates messages with these numbers in their attributes.
pub(crate) fn message(floats: BoxedStrategy<f64>) -> impl Strategy<Value = ChatMessage> {
    let calls = prop::collection::vec((word(), word(), word()), 0..3);
    let contents = || prop::collection::vec(content(), 0..3);
    prop_oneof![
        word().prop_map(ChatMessage::system),
        (contents(), prop::option::of(word())).prop_map(|(contents, name)| {
            let message = UserMessage::from_contents(contents);
            name.into_iter().fold(message, UserMessage::with_name).into()
        }),
        (word(), prop::option::of(word()), calls).prop_map(|(text, thinking, calls)| {
            let calls = calls.into_iter().map(|(id, name, args)| ToolCall::new(id, name, args));
            let message = AiMessage::builder().text(text).tool_calls(calls);
            thinking
                .into_iter()
                .fold(message, |message, text| message.thinking(text))
                .build()
                .into()
        }),
        (word(), word(), contents(), any::<bool>()).prop_map(|(id, name, contents, is_error)| {
            let result = ToolResult::from_contents(id, name, contents);
            if is_error { result.into_error() } else { result }.into()
        }),
        (word(), json(floats)).prop_map(|(name, value)| {
            CustomMessage::new([(name, value)].into_iter().collect()).into()
        }),
    ]
}

fn parameters() -> impl Strategy<Value = ChatRequestParameters> {
    let choice = prop_oneof![
        Just(ToolChoice::Auto),
        Just(ToolChoice::None),
        Just(ToolChoice::Required),
        word().prop_map(|name| ToolChoice::Tool(name.into())),
    ];
    let format = prop_oneof![
        Just(ResponseFormat::Text),
        Just(ResponseFormat::JsonObject),
        word().prop_map(|name| {
            let schema = Schema::try_from(json!({ "title": name })).unwrap();
            ResponseFormat::JsonSchema { name: name.into(), schema: Box::new(schema) }
        }),
    ];
    let numbers = (prop::option::of(0.0..2.0_f64), prop::option::of(1_u32..9));
    let effort = prop_oneof![Just(ReasoningEffort::Low), Just(ReasoningEffort::High)];
    (
        prop::option::of(word()),
        numbers,
        prop::collection::vec(word(), 0..2),
        (prop::option::of(choice), prop::option::of(format), prop::option::of(effort)),
        prop::option::of(json(any::<f64>().boxed())),
    )
        .prop_map(|(model, (temperature, tokens), stop, (choice, format, effort), extra)| {
            let mut parameters = ChatRequestParameters::new().stop(stop);
            parameters.model = model.map(Into::into);
            parameters.temperature = temperature;
            parameters.max_output_tokens = tokens;
            parameters.tool_choice = choice;
            parameters.response_format = format;
            parameters.reasoning_effort = effort;
            extra.into_iter().fold(parameters, |parameters, extra| parameters.extra("x", extra))
        })
}

fn tool() -> impl Strategy<Value = ToolSpecification> {
    (word(), word(), prop::option::of(word())).prop_map(|(name, description, title)| {
        let tool = ToolSpecification::new(name, description);
        title.into_iter().fold(tool, |tool, title| {
            tool.with_parameters(Schema::try_from(json!({ "title": title })).unwrap())
        })
    })
}

pub(crate) fn request() -> impl Strategy<Value = ChatRequest> {
    let messages = prop::collection::vec(message(any::<f64>().boxed()), 0..4);
    let tools = prop::collection::vec(tool(), 0..3);
    (messages, tools, parameters()).prop_map(|(messages, tools, parameters)| {
        ChatRequest::builder().messages(messages).tools(tools).parameters(parameters).build()
    })
}

/// Returns whether a model receives equal content from both requests.
pub(crate) fn are_equal(a: &ChatRequest, b: &ChatRequest) -> bool {
    a.messages().eq(b.messages())
        && a.tools().as_slice() == b.tools().as_slice()
        && a.parameters() == b.parameters()
}

/// Adds attributes to the messages of a request, which a model does not receive.
pub(crate) fn annotated(request: &ChatRequest) -> ChatRequest {
    let attributes: Attributes = [("note".to_owned(), 1.into())].into_iter().collect();
    let messages = request.messages().map(|message| match message {
        ChatMessage::User(message) => message.clone().with_attributes(attributes.clone()).into(),
        ChatMessage::ToolResult(result) => {
            result.clone().with_attributes(attributes.clone()).into()
        }
        ChatMessage::Ai(message) => {
            let mut annotated = AiMessage::builder()
                .tool_calls(message.tool_calls().to_vec())
                .attributes(attributes.clone());
            if let Some(text) = message.text() {
                annotated = annotated.text(text);
            }
            if let Some(thinking) = message.thinking() {
                annotated = annotated.thinking(thinking);
            }
            annotated.build().into()
        }
        other => other.clone(),
    });
    ChatRequest::builder()
        .messages(messages.collect::<Vec<_>>())
        .tools(request.tools().clone())
        .parameters(request.parameters().clone())
        .build()
}
