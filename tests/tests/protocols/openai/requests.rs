//! Content of the requests.

use super::{CANARY, client, hi};
use crate::fixtures::{every_kind_of_message, weather, with_tools};
use ai_services::ErrorKind;
use ai_services::message::{
    AiMessage, AudioContent, ChatMessage, Content, ImageContent, ImageDetail, PdfContent, ToolCall,
    ToolResult, UserMessage, VideoContent,
};
use ai_services::model::{
    Capability, ChatModel, ChatRequest, ChatRequestParameters, ReasoningEffort, ResponseFormat,
    ToolChoice, ToolSpecification,
};
use ai_services::providers::openai::{MaxTokensField, OpenAiChatModelBuilder, SchemaMode};
use ai_services_tests::fault_server::{FaultServer, Recorded};
use serde_json::{Value, json};

async fn sent(
    request: &ChatRequest,
    configure: impl Fn(OpenAiChatModelBuilder) -> OpenAiChatModelBuilder,
) -> Recorded {
    let server = FaultServer::answering([hi()]).await.unwrap();
    // Some requests in these tests have a schema and tools.
    let able = client(&server).build().unwrap().capabilities();
    let client = client(&server).capabilities(able.with(Capability::JsonSchemaWithTools));
    configure(client).build().unwrap().chat(request).await.unwrap();
    server.requests().remove(0)
}

async fn sent_messages(messages: impl IntoIterator<Item = ChatMessage>) -> Value {
    let recorded = sent(&ChatRequest::new(messages), |builder| builder).await;
    recorded.json()["messages"].take()
}

#[tokio::test]
async fn request_has_path_key_and_plain_body() {
    let request = ChatRequest::new([ChatMessage::user("Hello!")]);
    let recorded = sent(&request, |b| b.organization("org").project("proj")).await;
    assert!(recorded.head.starts_with("POST /v1/chat/completions HTTP/1.1\r\n"));
    assert_eq!(recorded.header("authorization"), Some(format!("Bearer {CANARY}").as_str()));
    assert_eq!(recorded.header("content-type"), Some("application/json"));
    assert_eq!(recorded.header("openai-organization"), Some("org"));
    assert_eq!(recorded.header("openai-project"), Some("proj"));
    assert_eq!(recorded.header("accept-encoding"), None);
    let body = r#"{"model":"m","messages":[{"role":"user","content":"Hello!"}]}"#;
    assert_eq!(String::from_utf8(recorded.body).unwrap(), body);
}

#[tokio::test]
async fn headers_of_the_application_are_sent() {
    let request = ChatRequest::new([ChatMessage::user("Hello!")]);
    let recorded = sent(&request, |b| b.header("api-key", "x").header("User-Agent", "mine")).await;
    assert_eq!(recorded.header("api-key"), Some("x"));
    assert_eq!(recorded.header("user-agent"), Some("mine"));
}

#[tokio::test]
async fn every_kind_of_message_is_sent() {
    let attributes = json!({ "role": "developer", "content": "Custom." });
    let messages = sent_messages(every_kind_of_message(&attributes)).await;
    let call = |id, name, arguments| json!({ "id": id, "type": "function", "function": { "name": name, "arguments": arguments } });
    let expected = json!([
        { "role": "system", "content": "Be \"brief\".\n\u{1F600}" },
        { "role": "user", "content": "Hello!", "name": "Klaus" },
        {
            "role": "assistant", "content": null,
            "tool_calls": [call("c1", "weather", r#"{"city": "Oslo"}"#)],
        },
        { "role": "tool", "tool_call_id": "c1", "content": "no such city" },
        {
            "role": "assistant", "content": "Let me see.",
            "tool_calls": [call("c2", "now", "{}"), call("c3", "now", "{}")],
        },
        {
            "role": "tool", "tool_call_id": "c2",
            "content": [{ "type": "text", "text": "a" }, { "type": "text", "text": "b" }],
        },
        { "role": "tool", "tool_call_id": "c3", "content": "" },
        { "role": "assistant", "content": "Done." },
        { "role": "assistant", "content": "I cannot." },
        { "role": "developer", "content": "Custom." },
    ]);
    assert_eq!(messages, expected);
}

#[tokio::test]
async fn invalid_arguments_are_sent_as_an_empty_object() {
    // Servers that parse the arguments of earlier calls would refuse the whole request.
    for broken in ["", "{", r#"{"text":"cut o"#, r#"{"a":1,}"#, "[1]", "null", r#""{}""#] {
        let call = AiMessage::builder().tool_calls([ToolCall::new("c1", "now", broken)]).build();
        let result = ToolResult::new("c1", "now", "not a JSON object").into_error();
        let messages = sent_messages([ChatMessage::user("?"), call.into(), result.into()]).await;
        assert_eq!(messages[1]["tool_calls"][0]["function"]["arguments"], "{}", "{broken}");
    }
}

#[tokio::test]
async fn media_are_sent_as_parts() {
    let messages = sent_messages([UserMessage::from_contents([
        Content::from("Look:"),
        Content::image_url("https://example.org/cat.png"),
        ImageContent::base64("iVBO", "image/png").with_detail(ImageDetail::High).into(),
        ImageContent::bytes(b"\x89PNG\r\n\x1a\n").unwrap().into(),
        AudioContent::base64("UklG", "audio/wav").into(),
        AudioContent::base64("SUQz", "audio/mpeg").into(),
        PdfContent::base64("JVBE", "application/pdf").into(),
    ])
    .into()])
    .await;
    let image =
        |url, detail| json!({ "type": "image_url", "image_url": { "url": url, "detail": detail } });
    let audio = |data, format| json!({ "type": "input_audio", "input_audio": { "data": data, "format": format } });
    let file = json!({
        "filename": "document.pdf", "file_data": "data:application/pdf;base64,JVBE",
    });
    let expected = json!([
        { "type": "text", "text": "Look:" },
        image("https://example.org/cat.png", "low"),
        image("data:image/png;base64,iVBO", "high"),
        image("data:image/png;base64,iVBORw0KGgo=", "low"),
        audio("UklG", "wav"),
        audio("SUQz", "mp3"),
        { "type": "file", "file": file },
    ]);
    assert_eq!(messages[0]["content"], expected);
}

/// A question, calls of a camera with these ids, and the result of each call.
fn round<const N: usize>(results: [(&str, Vec<Content>); N]) -> Vec<ChatMessage> {
    let calls = results.iter().map(|(id, _)| ToolCall::new(*id, "camera", "{}"));
    let calls = AiMessage::builder().tool_calls(calls).build();
    let mut messages = vec![ChatMessage::user("Look!"), calls.into()];
    messages.extend(results.into_iter().map(|(id, contents)| {
        ChatMessage::from(ToolResult::from_contents(id, "camera", contents))
    }));
    messages
}

fn image_part(url: &str) -> Value {
    json!({ "type": "image_url", "image_url": { "url": url, "detail": "low" } })
}

fn text_part(text: &str) -> Value {
    json!({ "type": "text", "text": text })
}

#[tokio::test]
async fn image_that_a_tool_returned_follows_in_a_user_message() {
    let image = ImageContent::base64("iVBO", "image/png").into();
    let mut messages = round([("c1", vec![image])]);
    messages.push(ChatMessage::ai("A cat."));
    messages.push(ChatMessage::user("Sure?"));
    let sent = sent_messages(messages).await;
    let expected = json!([
        {
            "role": "tool", "tool_call_id": "c1",
            "content": "[image 1 of tool call c1: see the next user message]",
        },
        {
            "role": "user",
            "content": [text_part("[image 1 of tool call c1]"), image_part("data:image/png;base64,iVBO")],
        },
        { "role": "assistant", "content": "A cat." },
        { "role": "user", "content": "Sure?" },
    ]);
    assert_eq!(sent.as_array().unwrap()[2..], expected.as_array().unwrap()[..]);
}

#[tokio::test]
async fn media_of_one_round_follow_its_last_result() {
    let url = |name: &str| format!("https://example.org/{name}.png");
    let image = |name| Content::image_url(url(name));
    let sound = AudioContent::base64("UklG", "audio/wav").into();
    let sent = sent_messages(round([
        ("c1", vec!["Front:".into(), image("a"), "Back\n:".into(), image("b")]),
        ("c2", vec!["It is dark.".into()]),
        ("c3", vec![sound]),
    ]))
    .await;
    let sound =
        json!({ "type": "input_audio", "input_audio": { "data": "UklG", "format": "wav" } });
    let expected = json!([
        {
            "role": "tool", "tool_call_id": "c1",
            "content": [
                text_part("Front:"),
                text_part("[image 1 of tool call c1: see the next user message]"),
                text_part("Back\n:"),
                text_part("[image 2 of tool call c1: see the next user message]"),
            ],
        },
        { "role": "tool", "tool_call_id": "c2", "content": "It is dark." },
        {
            "role": "tool", "tool_call_id": "c3",
            "content": "[recording 1 of tool call c3: see the next user message]",
        },
        {
            "role": "user",
            "content": [
                text_part("[image 1 of tool call c1]"), image_part(&url("a")),
                text_part("[image 2 of tool call c1]"), image_part(&url("b")),
                text_part("[recording 1 of tool call c3]"), sound,
            ],
        },
    ]);
    assert_eq!(sent.as_array().unwrap()[2..], expected.as_array().unwrap()[..]);
}

#[tokio::test]
async fn each_round_has_its_own_media() {
    let image = |name| vec![Content::image_url(format!("https://example.org/{name}.png"))];
    let mut messages = round([("c1", image("a"))]);
    messages.extend(round([("c2", image("b"))]));
    let request = ChatRequest::new(messages);
    let server = FaultServer::answering([hi(), hi()]).await.unwrap();
    let model = client(&server).build().unwrap();
    // The second request uses the encodings that are cached with the messages.
    for _ in 0..2 {
        model.chat(&request).await.unwrap();
    }
    let requests = server.requests();
    assert_eq!(requests[0].body, requests[1].body);
    let body = requests[0].json();
    let roles: Vec<_> = body["messages"].as_array().unwrap().iter().map(|it| &it["role"]).collect();
    assert_eq!(
        roles,
        ["user", "assistant", "tool", "user", "user", "assistant", "tool", "user"]
            .map(Value::from)
            .iter()
            .collect::<Vec<_>>()
    );
    let parts = |message: usize| &body["messages"][message]["content"];
    assert_eq!(parts(3)[0], text_part("[image 1 of tool call c1]"));
    assert_eq!(parts(7)[1], image_part("https://example.org/b.png"));
}

#[tokio::test]
async fn unsupported_content_is_an_error_before_any_request() {
    let server = FaultServer::start([]).await.unwrap();
    let model = client(&server).build().unwrap();
    let url = "https://example.org/x";
    let user = |content| ChatMessage::from(UserMessage::from_contents([content]));
    let result = |content| ChatMessage::from(ToolResult::from_contents("c", "t", [content]));
    for message in [
        user(VideoContent::url(url).into()),
        user(AudioContent::url(url).into()),
        user(PdfContent::url(url).into()),
        result(VideoContent::url(url).into()),
        result(PdfContent::url(url).into()),
    ] {
        // Twice, because the second refusal comes from the cache of the message.
        for _ in 0..2 {
            let error = model.chat(&ChatRequest::new([message.clone()])).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
        }
    }
    assert_eq!(server.connections(), 0);
}

#[tokio::test]
async fn every_parameter_is_sent() {
    let schema = json!({ "type": "object", "properties": { "a": { "type": "string" } } });
    let parameters = ChatRequestParameters::new()
        .model("other")
        .temperature(0.5)
        .top_p(0.25)
        .top_k(40)
        .frequency_penalty(-1.0)
        .presence_penalty(1.0)
        .max_output_tokens(100)
        .stop(["END", "STOP"])
        .seed(-7)
        .tool_choice(ToolChoice::Required)
        .reasoning_effort(ReasoningEffort::Low)
        .response_format(ResponseFormat::JsonSchema {
            name: "answer".into(),
            schema: Box::new(schema.clone().try_into().unwrap()),
        })
        .extra("parallel_tool_calls", false);
    let mut body = sent(&with_tools(parameters), |builder| builder).await.json();
    body.as_object_mut().unwrap().retain(|name, _| name != "messages" && name != "tools");
    let format = json!({ "name": "answer", "schema": schema, "strict": false });
    let expected = json!({
        "model": "other", "temperature": 0.5, "top_p": 0.25, "top_k": 40,
        "frequency_penalty": -1.0, "presence_penalty": 1.0, "max_tokens": 100,
        "stop": ["END", "STOP"], "seed": -7, "tool_choice": "required",
        "reasoning_effort": "low", "parallel_tool_calls": false,
        "response_format": { "type": "json_schema", "json_schema": format },
    });
    assert_eq!(body, expected);
}

#[tokio::test]
async fn prompt_cache_is_named() {
    let request = ChatRequest::new([ChatMessage::user("Hello!")]);
    let configure =
        |b: OpenAiChatModelBuilder| b.prompt_cache_key("k-1").prompt_cache_retention("24h");
    let body = sent(&request, configure).await.json();
    assert_eq!(
        (&body["prompt_cache_key"], &body["prompt_cache_retention"]),
        (&json!("k-1"), &json!("24h"))
    );
}

#[tokio::test]
async fn tools_are_sent_with_their_choice() {
    let none = json!({ "type": "object", "properties": {} });
    let city = weather().parameters.unwrap();
    let function = |name, description, parameters: &Value| {
        let function =
            json!({ "name": name, "description": description, "parameters": parameters });
        json!({ "type": "function", "function": function })
    };
    let tools = json!([
        function("weather", "Looks up the weather.", city.as_value()),
        function("now", "Tells the time.", &none),
    ]);
    let named = json!({ "type": "function", "function": { "name": "now" } });
    for (choice, expected) in [
        (ToolChoice::Auto, json!("auto")),
        (ToolChoice::None, json!("none")),
        (ToolChoice::Tool("now".into()), named),
    ] {
        let parameters = ChatRequestParameters::new().tool_choice(choice);
        let body = sent(&with_tools(parameters), |builder| builder).await.json();
        assert_eq!(body["tools"], tools);
        assert_eq!(body["tool_choice"], expected);
    }
}

#[tokio::test]
async fn tool_choice_without_tools_is_not_sent() {
    let parameters = ChatRequestParameters::new().tool_choice(ToolChoice::Auto);
    let request = ChatRequest::new([ChatMessage::user("Hello!")]);
    let body = sent(&request, |builder| builder.parameters(parameters.clone())).await.json();
    assert_eq!(body.get("tool_choice"), None);
}

#[tokio::test]
async fn strict_schemas_are_closed() {
    let schema = json!({ "type": "object", "properties": { "a": { "type": "string" } } });
    let parameters = ChatRequestParameters::new().response_format(ResponseFormat::JsonSchema {
        name: "answer".into(),
        schema: Box::new(schema.try_into().unwrap()),
    });
    let body = sent(&with_tools(parameters), |builder| {
        builder.tool_schemas(SchemaMode::Strict).response_schemas(SchemaMode::Strict)
    })
    .await
    .json();
    let function = &body["tools"][0]["function"];
    assert_eq!(function["strict"], true);
    assert_eq!(function["parameters"]["required"], json!(["city", "days"]));
    assert_eq!(function["parameters"]["additionalProperties"], false);
    let answer = &body["response_format"]["json_schema"];
    assert_eq!(answer["strict"], true);
    assert_eq!(answer["schema"]["required"], json!(["a"]));
}

#[tokio::test]
async fn schemas_are_sent_in_the_order_of_declaration() {
    let schema = json!({
        "type": "object",
        "properties": { "answer": { "type": "string" }, "why": { "type": "string" } },
        "required": ["why", "answer"],
        "propertyOrdering": ["why", "answer"],
    });
    let format = ResponseFormat::JsonSchema {
        name: "answer".into(),
        schema: Box::new(schema.clone().try_into().unwrap()),
    };
    let tool = ToolSpecification::new("tell", "Tells.").with_parameters(schema.try_into().unwrap());
    let request = ChatRequest::builder()
        .messages([ChatMessage::user("Hello!")])
        .tools(vec![tool])
        .parameters(ChatRequestParameters::new().response_format(format))
        .build();
    for mode in [SchemaMode::Loose, SchemaMode::Strict] {
        let recorded =
            sent(&request, |builder| builder.tool_schemas(mode).response_schemas(mode)).await;
        let body = String::from_utf8(recorded.body).unwrap();
        assert_eq!(body.matches(r#""properties":{"why":{"type":"string"},"answer""#).count(), 2);
        assert!(!body.contains("propertyOrdering"), "{body}");
    }
}

#[tokio::test]
async fn parameters_of_the_call_win() {
    let own = ChatRequestParameters::new().temperature(0.5).max_output_tokens(10).extra("x", 1);
    let configure = |builder: OpenAiChatModelBuilder| {
        builder.parameters(own.clone()).max_tokens_field(MaxTokensField::MaxCompletionTokens)
    };
    let plain = ChatRequest::new([ChatMessage::user("Hello!")]);
    let messages = json!([{ "role": "user", "content": "Hello!" }]);
    let expected = json!({
        "model": "m", "temperature": 0.5, "max_completion_tokens": 10, "x": 1, "messages": messages,
    });
    assert_eq!(sent(&plain, configure).await.json(), expected);
    let request = ChatRequest::builder()
        .messages([ChatMessage::user("Hello!")])
        .parameters(ChatRequestParameters::new().temperature(1.0).extra("y", 2))
        .build();
    let expected = json!({
        "model": "m", "temperature": 1.0, "max_completion_tokens": 10, "x": 1, "y": 2,
        "messages": messages,
    });
    assert_eq!(sent(&request, configure).await.json(), expected);
}

#[tokio::test]
async fn extra_members_replace_those_of_the_client() {
    let parameters = ChatRequestParameters::new()
        .temperature(0.5)
        .tool_choice(ToolChoice::Auto)
        .extra("temperature", 1)
        .extra("messages", json!([]))
        .extra("tools", json!([1]))
        .extra("tool_choice", "none");
    let recorded = sent(&with_tools(parameters), |builder| builder).await;
    let expected = json!({
        "model": "m", "temperature": 1, "messages": [], "tools": [1], "tool_choice": "none",
    });
    assert_eq!(recorded.json(), expected);
    // The comparisons above would not notice a duplicate member.
    let body = String::from_utf8(recorded.body).unwrap();
    assert_eq!(body.matches("temperature").count(), 1, "{body}");
}

#[tokio::test]
async fn message_is_encoded_the_same_again() {
    let server = FaultServer::answering([hi(), hi()]).await.unwrap();
    let model = client(&server).build().unwrap();
    let first = ChatRequest::new([ChatMessage::user("Hello!")]);
    model.chat(&first).await.unwrap();
    let again = first.messages().cloned().chain([ChatMessage::ai("Hi.")]);
    model.chat(&ChatRequest::new(again)).await.unwrap();
    let bodies: Vec<_> = server.requests().iter().map(Recorded::json).collect();
    assert_eq!(bodies[0]["messages"][0], bodies[1]["messages"][0]);
    assert_eq!(bodies[1]["messages"][1]["content"], "Hi.");
    assert_eq!(server.connections(), 1);
}

#[tokio::test]
async fn missing_capability_is_an_error_before_any_request() {
    let server = FaultServer::answering([hi()]).await.unwrap();
    let image = UserMessage::from_contents([ImageContent::url("https://a.example/b.png").into()]);
    let schema: schemars::Schema = json!({ "type": "object" }).try_into().unwrap();
    let format = ResponseFormat::JsonSchema { name: "a".into(), schema: Box::new(schema) };
    let ask = |parameters| {
        let request = ChatRequest::builder().messages([ChatMessage::user("a")]);
        request.tools(vec![weather()]).parameters(parameters).build()
    };
    for (lacking, request) in [
        (Capability::Images, ChatRequest::new([image.into()])),
        (Capability::Tools, ask(ChatRequestParameters::new())),
        (
            Capability::ToolChoice,
            ask(ChatRequestParameters::new().tool_choice(ToolChoice::Required)),
        ),
        (
            Capability::JsonSchemaWithTools,
            ask(ChatRequestParameters::new().response_format(format)),
        ),
    ] {
        let able = client(&server).build().unwrap().capabilities();
        let model = client(&server).capabilities(able.without(lacking)).build().unwrap();
        let error = model.chat(&request).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported, "{lacking:?}");
        assert!(error.to_string().starts_with("the model `m` cannot"), "{error}");
    }
    assert!(server.requests().is_empty());
}
