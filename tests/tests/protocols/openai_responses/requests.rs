//! Content of the requests.

use super::{CANARY, call, client, hello, hi, response, said, thought};
use crate::fixtures::{every_kind_of_message, with_tools};
use ai_services::ErrorKind;
use ai_services::message::{
    AiMessage, AudioContent, ChatMessage, Content, ImageContent, ImageDetail, PdfContent,
    ProviderContent, ToolCall, ToolResult, UserMessage, VideoContent,
};
use ai_services::model::{
    Capabilities, Capability, ChatModel, ChatRequest, ChatRequestParameters, ReasoningEffort,
    ResponseFormat, ToolChoice,
};
use ai_services::providers::openai::{
    EncryptedReasoning, OpenAiResponsesModelBuilder, ParallelToolCalls, ReasoningSummary,
    ResponseStorage, SchemaMode,
};
use ai_services_tests::fault_server::{FaultServer, Recorded, json_answer};
use futures_util::StreamExt;
use serde_json::{Value, json};
use std::future::Future;

/// Enables all capabilities of OpenAI.
fn able(builder: OpenAiResponsesModelBuilder) -> OpenAiResponsesModelBuilder {
    builder.capabilities(Capabilities::of([
        Capability::Tools,
        Capability::ToolChoice,
        Capability::JsonSchema,
        Capability::JsonSchemaWithTools,
        Capability::JsonObject,
        Capability::Images,
        Capability::Audio,
        Capability::Pdfs,
    ]))
}

async fn sent(
    request: &ChatRequest,
    configure: impl Fn(OpenAiResponsesModelBuilder) -> OpenAiResponsesModelBuilder,
) -> Recorded {
    let server = FaultServer::answering([hi()]).await.unwrap();
    configure(able(client(&server))).build().unwrap().chat(request).await.unwrap();
    server.requests().remove(0)
}

/// Compares a request with `golden/{name}.json`.
async fn check(name: &str, recorded: impl Future<Output = Recorded>) {
    let sent = recorded.await.json();
    let file = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let file = file.join(format!("tests/protocols/openai_responses/golden/{name}.json"));
    if std::env::var_os("GOLDEN_WRITE").is_some() {
        std::fs::write(&file, serde_json::to_string_pretty(&sent).unwrap() + "\n").unwrap();
    }
    let golden: Value = serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
    assert_eq!(sent, golden, "{name}");
}

async fn check_messages(name: &str, messages: impl IntoIterator<Item = ChatMessage>) {
    check(name, sent(&ChatRequest::new(messages), |builder| builder)).await;
}

async fn check_parameters(name: &str, parameters: ChatRequestParameters) {
    let request = ChatRequest::builder().messages([ChatMessage::user("Hello!")]);
    check(name, sent(&request.parameters(parameters).build(), |builder| builder)).await;
}

fn by_schema() -> ChatRequestParameters {
    let schema = json!({
        "type": "object", "properties": { "name": { "type": "string" }, "age": { "type": "integer" } },
        "required": ["name"],
    });
    let schema = Box::new(schema.try_into().unwrap());
    ChatRequestParameters::new()
        .response_format(ResponseFormat::JsonSchema { name: "Person".into(), schema })
}

#[tokio::test]
async fn request_has_path_key_and_plain_body() {
    let recorded = sent(&hello(), |b| b.organization("org").project("proj")).await;
    assert!(recorded.head.starts_with("POST /v1/responses HTTP/1.1\r\n"));
    assert_eq!(recorded.header("authorization"), Some(format!("Bearer {CANARY}").as_str()));
    assert_eq!(recorded.header("openai-organization"), Some("org"));
    assert_eq!(recorded.header("openai-project"), Some("proj"));
    let body = r#"{"model":"gpt-5-mini","store":false,"include":["reasoning.encrypted_content"],"input":[{"type":"message","role":"user","content":"Hello!"}]}"#;
    assert_eq!(String::from_utf8(recorded.body).unwrap(), body);
}

#[tokio::test]
async fn text_is_sent() {
    check("text", sent(&hello(), |builder| builder)).await;
}

#[tokio::test]
async fn every_kind_of_message_is_sent() {
    let attributes = json!({ "type": "message", "role": "developer", "content": "Custom." });
    check_messages("messages", every_kind_of_message(&attributes)).await;
}

#[tokio::test]
async fn media_are_sent_as_parts() {
    check_messages(
        "media",
        [UserMessage::from_contents([
            Content::from("Look:"),
            Content::image_url("https://example.org/cat.png"),
            ImageContent::base64("iVBO", "image/png").with_detail(ImageDetail::High).into(),
            PdfContent::base64("JVBE", "application/pdf").into(),
            PdfContent::url("https://example.org/paper.pdf").into(),
        ])
        .into()],
    )
    .await;
}

#[tokio::test]
async fn media_of_tool_results_are_sent_with_them() {
    let contents = [
        Content::from("Here:"),
        ImageContent::base64("iVBO", "image/png").into(),
        PdfContent::base64("JVBE", "application/pdf").into(),
    ];
    let call = AiMessage::builder().tool_calls([ToolCall::new("c1", "draw", "{}")]).build();
    check_messages(
        "result_media",
        [
            ChatMessage::user("Draw!"),
            call.into(),
            ToolResult::from_contents("c1", "draw", contents).into(),
        ],
    )
    .await;
}

#[tokio::test]
async fn recordings_are_sent_to_capable_servers() {
    let song = AudioContent::base64("UklG", "audio/wav");
    let request = ChatRequest::new([UserMessage::from_contents([song.into()]).into()]);
    let body = sent(&request, |builder| builder).await.json();
    let part = json!({ "type": "input_audio", "input_audio": { "data": "UklG", "format": "wav" } });
    assert_eq!(body["input"][0]["content"], json!([part]));
}

#[tokio::test]
async fn unsupported_content_is_not_sent() {
    let server = FaultServer::answering([]).await.unwrap();
    let film = VideoContent::url("https://example.org/a.mp4");
    let song = AudioContent::base64("UklG", "audio/wav");
    let contents = [Content::from(film), song.into(), ImageContent::base64("iVBO", "").into()];
    let model = client(&server).build().unwrap();
    let mut refused = 0;
    for content in contents.into_iter().take(2) {
        let request = ChatRequest::new([UserMessage::from_contents([content]).into()]);
        let error = model.chat(&request).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
        refused += 1;
    }
    assert_eq!((refused, server.connections()), (2, 0));
}

#[tokio::test]
async fn unsupported_parameters_are_not_sent() {
    let server = FaultServer::answering([]).await.unwrap();
    let new = ChatRequestParameters::new;
    for (name, parameters) in [
        ("stop", new().stop(["x"])),
        ("seed", new().seed(1)),
        ("top_k", new().top_k(2)),
        ("frequency_penalty", new().frequency_penalty(0.5)),
        ("presence_penalty", new().presence_penalty(0.5)),
    ] {
        let model = client(&server).build().unwrap();
        let request = ChatRequest::builder().messages([ChatMessage::user("?")]);
        let request = request.parameters(parameters.clone()).build();
        let at_call = model.chat(&request).await.unwrap_err();
        let at_build = client(&server).parameters(parameters).build().unwrap_err();
        for error in [at_call, at_build] {
            assert_eq!(error.kind(), ErrorKind::Unsupported);
            assert!(error.to_string().contains(name), "{error}");
        }
    }
    assert_eq!(server.connections(), 0);
}

#[tokio::test]
async fn every_parameter_is_sent() {
    let parameters = ChatRequestParameters::new()
        .model("gpt-5")
        .temperature(0.5)
        .top_p(0.9)
        .max_output_tokens(100)
        .reasoning_effort(ReasoningEffort::Low)
        .response_format(ResponseFormat::Text)
        .extra("safety_identifier", "u-1");
    let request = ChatRequest::builder().messages([ChatMessage::user("Hello!")]);
    check(
        "parameters",
        sent(&request.parameters(parameters).build(), |builder| {
            builder
                .reasoning_summary(ReasoningSummary::Auto)
                .prompt_cache_key("k-1")
                .prompt_cache_retention("24h")
                .parallel_tool_calls(ParallelToolCalls::Disabled)
        }),
    )
    .await;
}

#[tokio::test]
async fn tools_are_sent() {
    let request = with_tools(ChatRequestParameters::new());
    check("tools", sent(&request, |b| b.parallel_tool_calls(ParallelToolCalls::Disabled))).await;
    check("tools_strict", sent(&request, |b| b.tool_schemas(SchemaMode::Strict))).await;
}

#[tokio::test]
async fn tool_choice_is_sent_only_with_tools() {
    let choices = [
        (ToolChoice::Auto, json!("auto")),
        (ToolChoice::None, json!("none")),
        (ToolChoice::Required, json!("required")),
        (ToolChoice::Tool("now".into()), json!({ "type": "function", "name": "now" })),
    ];
    for (choice, expected) in choices {
        let parameters = ChatRequestParameters::new().tool_choice(choice);
        let body = sent(&with_tools(parameters.clone()), |builder| builder).await.json();
        assert_eq!(body["tool_choice"], expected);
        let request = ChatRequest::builder().messages([ChatMessage::user("Hello!")]);
        let body = sent(&request.parameters(parameters).build(), |builder| builder).await.json();
        assert_eq!(body.get("tool_choice"), None);
    }
    let named = ChatRequestParameters::new().tool_choice(ToolChoice::Tool("now".into()));
    check("tool_choice", sent(&with_tools(named), |builder| builder)).await;
}

#[tokio::test]
async fn form_of_the_answer_is_sent() {
    let request = ChatRequest::builder().messages([ChatMessage::user("Who?")]);
    let request = request.parameters(by_schema()).build();
    check("schema", sent(&request, |builder| builder)).await;
    check("schema_strict", sent(&request, |b| b.response_schemas(SchemaMode::Strict))).await;
    let object = ChatRequestParameters::new().response_format(ResponseFormat::JsonObject);
    check_parameters("json_object", object).await;
}

#[tokio::test]
async fn extra_members_are_merged_into_text_and_reasoning() {
    let parameters = by_schema()
        .reasoning_effort(ReasoningEffort::High)
        .extra("text", json!({ "verbosity": "low" }))
        .extra("reasoning", json!({ "effort": "minimal", "summary": "detailed" }))
        .extra("include", json!(["file_search_call.results"]))
        .extra("instructions", "Be brief.");
    check_parameters("extra", parameters).await;
}

#[tokio::test]
async fn extra_members_replace_those_of_the_client() {
    let parameters = ChatRequestParameters::new()
        .temperature(0.5)
        .extra("temperature", 1)
        .extra("input", "Hi")
        .extra("tools", json!([{ "type": "web_search" }]))
        .extra("tool_choice", "required")
        .extra("seed", 7);
    let body = sent(&with_tools(parameters), |builder| builder).await.json();
    let expected = json!({ "model": "gpt-5-mini", "store": false,
        "include": ["reasoning.encrypted_content"], "temperature": 1, "input": "Hi",
        "tools": [{ "type": "web_search" }], "tool_choice": "required", "seed": 7 });
    assert_eq!(body, expected);
}

#[tokio::test]
async fn encrypted_reasoning_is_requested_from_reasoning_models() {
    let asks = |body: Value| body.get("include").is_some();
    for (model, expected) in [
        ("gpt-4o", false),
        ("gpt-4.1-mini", false),
        ("ft:gpt-4o-mini:x", false),
        ("gpt-3.5-turbo", false),
        ("chatgpt-4o-latest", false),
        ("gpt-5", true),
        ("o4-mini", true),
        ("my-deployment", true),
    ] {
        let body = sent(&hello(), |builder| builder.model(model)).await.json();
        assert_eq!(asks(body), expected, "{model}");
    }
    let of = |reasoning| move |b: OpenAiResponsesModelBuilder| b.encrypted_reasoning(reasoning);
    assert!(!asks(sent(&hello(), of(EncryptedReasoning::NotRequested)).await.json()));
    let both = |b: OpenAiResponsesModelBuilder| {
        of(EncryptedReasoning::Requested)(b).storage(ResponseStorage::Stored).model("gpt-4o")
    };
    assert!(asks(sent(&hello(), both).await.json()));
}

#[tokio::test]
async fn stream_is_requested() {
    let server = FaultServer::answering([hi()]).await.unwrap();
    let model = client(&server).build().unwrap();
    let _: Vec<_> = model.stream(&hello()).collect().await;
    check("stream", async { server.requests().remove(0) }).await;
}

/// The question, an answer of these items, and the results of its calls.
async fn conversation(output: Value) -> ChatRequest {
    let server = FaultServer::answering([json_answer(&response(&output))]).await.unwrap();
    let answer = client(&server).build().unwrap().chat(&hello()).await.unwrap().message;
    let results: Vec<_> = answer.tool_calls().to_vec();
    let results = results.iter().map(|call| ToolResult::new(call.id(), call.name(), "12°").into());
    ChatRequest::new([ChatMessage::user("Hello!"), answer.into()].into_iter().chain(results))
}

#[tokio::test]
async fn reasoning_is_sent_back_unchanged_before_the_results() {
    let output = json!([
        thought("**Hm**"),
        said("Let me look."),
        call("c1", "weather", r#"{"city":"Oslo"}"#),
        call("c2", "weather", r#"{"city":"Rio"}"#),
    ]);
    let request = conversation(output.clone()).await;
    let body = sent(&request, |builder| builder).await.json();
    assert_eq!(body["input"].as_array().unwrap()[1..5], output.as_array().unwrap()[..]);
    check("reasoning", sent(&request, |builder| builder)).await;
    check("reasoning_stored", sent(&request, |b| b.storage(ResponseStorage::Stored))).await;
}

#[tokio::test]
async fn reasoning_ids_are_sent_back_only_with_server_storage() {
    let stored =
        json!({ "id": "rs_1", "type": "reasoning", "summary": [], "encrypted_content": null });
    let request = conversation(json!([stored, call("c1", "now", "{}")])).await;
    let body = sent(&request, |builder| builder).await.json();
    let plain =
        json!({ "type": "function_call", "call_id": "c1", "name": "now", "arguments": "{}" });
    assert_eq!(body["input"][1], plain);
    assert_eq!(body["input"][2]["type"], "function_call_output");
    let body = sent(&request, |builder| builder.storage(ResponseStorage::Stored)).await.json();
    assert_eq!(body["input"][1], stored);
}

#[tokio::test]
async fn items_of_the_providers_tools_are_sent_back() {
    let search = json!({ "id": "ws_1", "type": "web_search_call", "status": "completed",
        "action": { "type": "search", "query": "oslo" } });
    let output = json!([search, said("It rains.")]);
    let request = conversation(output.clone()).await;
    let body = sent(&request, |builder| builder).await.json();
    assert_eq!(body["input"].as_array().unwrap()[1..], output.as_array().unwrap()[..]);
}

#[tokio::test]
async fn content_of_other_protocols_is_not_sent() {
    let content = ProviderContent::from_json("anthropic", r#"[{"type":"text"}]"#).unwrap();
    let message = AiMessage::builder().text("Hi.").provider_content(content).build();
    let body = sent(&ChatRequest::new([message.into()]), |builder| builder).await.json();
    let item = json!({ "type": "message", "role": "assistant", "content": "Hi." });
    assert_eq!(body["input"], json!([item]));
}

#[tokio::test]
async fn capabilities_depend_on_the_server() {
    let of = |url: &str| {
        let builder = client_of(url);
        builder.build().unwrap().capabilities().contains(Capability::JsonSchema)
    };
    assert!(of("https://api.openai.com/v1") && of("https://x.openai.azure.com/openai/v1"));
    assert!(!of("http://localhost:8080/v1"));
}

fn client_of(url: &str) -> OpenAiResponsesModelBuilder {
    ai_services::providers::openai::OpenAiResponsesModel::builder()
        .api_key(CANARY)
        .base_url(url)
        .model("m")
}
