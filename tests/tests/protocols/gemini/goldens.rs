//! Golden requests. Blanks and the order of members are ignored. Set the variable `GOLDEN` to
//! `overwrite` to write the files.

use super::{client, hi};
use ai_services::message::{
    AiMessage, AudioContent, ChatMessage, Content, CustomMessage, ImageContent, PdfContent,
    ProviderContent, ToolCall, ToolResult, UserMessage, VideoContent,
};
use ai_services::model::{
    ChatModel, ChatRequest, ChatRequestParameters, ReasoningEffort, ResponseFormat, ToolChoice,
    ToolSpecification,
};
use ai_services::output::Shape;
use ai_services::providers::gemini::{
    GeminiChatModelBuilder, HarmCategory, HarmThreshold, SchemaDialect, ThoughtSummaries,
};
use ai_services::schema::JsonSchema;
use ai_services_tests::fault_server::FaultServer;
use serde::Deserialize;
use serde_json::{Value, json};
use std::path::Path;

type Configure = fn(GeminiChatModelBuilder) -> GeminiChatModelBuilder;

async fn check(name: &str, configure: Configure, request: ChatRequest) {
    let server = FaultServer::answering([hi()]).await.unwrap();
    configure(client(&server)).build().unwrap().chat(&request).await.unwrap();
    let sent = server.requests().remove(0).json();
    let file = format!("{}/tests/protocols/gemini/golden/{name}.json", env!("CARGO_MANIFEST_DIR"));
    if std::env::var("GOLDEN").is_ok_and(|golden| golden == "overwrite") {
        std::fs::write(&file, format!("{sent:#}\n")).unwrap();
    }
    let golden = std::fs::read_to_string(Path::new(&file)).unwrap();
    assert_eq!(sent, serde_json::from_str::<Value>(&golden).unwrap(), "{name}");
}

async fn check_messages(
    name: &str,
    configure: Configure,
    messages: impl IntoIterator<Item = ChatMessage>,
) {
    check(name, configure, ChatRequest::new(messages)).await;
}

async fn check_parameters(name: &str, configure: Configure, parameters: ChatRequestParameters) {
    let request = ChatRequest::builder().messages([ChatMessage::user("Hello!")]);
    check(name, configure, request.parameters(parameters).build()).await;
}

const AS_IT_IS: Configure = |builder| builder;
const GEMINI_3: Configure = |builder| builder.model("gemini-3.5-flash");
const JSON_SCHEMA: Configure = |builder| builder.schema_dialect(SchemaDialect::JsonSchema);

fn specification(
    name: &'static str,
    description: &'static str,
    schema: Value,
) -> ToolSpecification {
    ToolSpecification::new(name, description).with_parameters(schema.try_into().unwrap())
}

fn tools() -> Vec<ToolSpecification> {
    let weather = json!({
        "type": "object",
        "properties": {
            "city": { "type": "string", "description": "The city." },
            "unit": { "type": "string", "enum": ["celsius", "fahrenheit"] },
            "days": { "type": ["integer", "null"], "format": "int32" },
        },
        "required": ["city"],
        "propertyOrdering": ["city", "unit", "days"],
        "additionalProperties": false,
    });
    let tags = json!({
        "type": "object",
        "properties": { "tags": { "type": "object", "additionalProperties": { "type": "string" } } },
        "required": ["tags"],
    });
    vec![
        specification("weather", "Looks up the weather.", weather),
        specification("tag", "Adds tags.", tags),
        specification("now", "Tells the time.", json!({ "type": "object", "properties": {} })),
        ToolSpecification::new("reset", "Begins anew."),
    ]
}

async fn check_tools(name: &str, configure: Configure, parameters: ChatRequestParameters) {
    let request = ChatRequest::builder().messages([ChatMessage::user("Hello!")]).tools(tools());
    check(name, configure, request.parameters(parameters).build()).await;
}

/// What it takes to build a house.
#[derive(Deserialize, JsonSchema)]
#[allow(dead_code, reason = "only the schema is used")]
struct Plan {
    /// Why it is built like this.
    reasons: Vec<String>,
    owner: Option<Person>,
    architect: Person,
    roof: Roof,
    cost: f64,
}

#[derive(Deserialize, JsonSchema)]
#[allow(dead_code, reason = "only the schema is used")]
struct Person {
    name: String,
    age: u8,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[allow(dead_code, reason = "only the schema is used")]
enum Roof {
    Flat,
    Pitched,
}

#[derive(Deserialize, JsonSchema)]
#[allow(dead_code, reason = "only the schema is used")]
struct Tree {
    name: String,
    children: Vec<Self>,
}

fn format<T: JsonSchema>() -> ChatRequestParameters {
    let shape = Shape::of::<T>();
    let (name, schema) = shape.schema().unwrap();
    let schema = Box::new(schema.clone());
    ChatRequestParameters::new()
        .response_format(ResponseFormat::JsonSchema { name: name.into(), schema })
}

fn calling(calls: &[(&str, &str, &str)]) -> ChatMessage {
    let calls = calls.iter().map(|(id, name, arguments)| ToolCall::new(*id, *name, *arguments));
    AiMessage::builder().tool_calls(calls).build().into()
}

#[tokio::test]
async fn texts_of_one_role_are_one_content() {
    let messages = [
        ChatMessage::user("Hi, é \"😀\"\n!"),
        UserMessage::new("Again.").with_name("Klaus").into(),
        ChatMessage::ai("Yes?"),
        ChatMessage::ai(""),
        ChatMessage::user("Nothing."),
    ];
    check_messages("text", AS_IT_IS, messages).await;
}

#[tokio::test]
async fn system_messages_are_the_instruction() {
    let request = ChatRequest::builder().system("Be brief.").messages([
        ChatMessage::user("Hi."),
        ChatMessage::system("Be kind."),
        ChatMessage::ai("Hello."),
        ChatMessage::user("Bye."),
    ]);
    check("system", AS_IT_IS, request.build()).await;
}

#[tokio::test]
async fn tools_use_a_schema_dialect_that_can_express_them() {
    check_tools("tools", AS_IT_IS, ChatRequestParameters::new()).await;
    check_tools("tools_json_schema", JSON_SCHEMA, ChatRequestParameters::new()).await;
}

#[tokio::test]
async fn tool_choice_has_a_mode() {
    for (name, choice) in [
        ("tool_choice_auto", ToolChoice::Auto),
        ("tool_choice_none", ToolChoice::None),
        ("tool_choice_required", ToolChoice::Required),
        ("tool_choice_tool", ToolChoice::Tool("weather".into())),
    ] {
        let parameters = ChatRequestParameters::new().tool_choice(choice.clone());
        check_tools(name, AS_IT_IS, parameters.clone()).await;
        // Without tools, the choice is omitted.
        check_parameters("hello", AS_IT_IS, parameters).await;
    }
}

#[tokio::test]
async fn tool_results_follow_their_calls() {
    let failed = ToolResult::new("call_2", "weather", "no such city").into_error();
    let messages = [
        ChatMessage::user("Weather in Oslo and Atlantis?"),
        calling(&[
            ("call_1", "weather", r#"{"city":"Oslo"}"#),
            ("call_2", "weather", "no object"),
            ("gemini-call-0000000000000000-2", "now", ""),
        ]),
        ChatMessage::tool_result("call_1", "weather", r#"{"error":9007199254740993}"#),
        failed.into(),
        ChatMessage::tool_result("gemini-call-0000000000000000-2", "now", "noon"),
    ];
    check_messages("tool_results", AS_IT_IS, messages.clone()).await;
    // Calls of other models have no signature, but newer models require one.
    check_messages("tool_results_gemini_3", GEMINI_3, messages).await;
}

#[tokio::test]
async fn media_of_tool_results_are_inside_or_after_them() {
    let result = ToolResult::from_contents(
        "call_1",
        "camera",
        [
            Content::from("Two views:"),
            ImageContent::base64("iVBORw0KGgo=", "image/png").into(),
            AudioContent::base64("UklGRg==", "audio/wav").into(),
            Content::image_url("https://a.example/b.png"),
        ],
    );
    let messages = [
        ChatMessage::user("Look!"),
        calling(&[("call_1", "camera", "{}")]),
        result.into(),
        ChatMessage::user("And?"),
    ];
    check_messages("tool_result_media", AS_IT_IS, messages.clone()).await;
    check_messages("tool_result_media_gemini_3", GEMINI_3, messages).await;
}

#[tokio::test]
async fn all_media_are_sent() {
    let contents = [
        Content::from("Describe these."),
        ImageContent::base64("iVBORw0KGgo=", "image/png").into(),
        AudioContent::base64("UklGRg==", "audio/wav").into(),
        VideoContent::base64("AAAAGGZ0eXA=", "video/mp4").into(),
        PdfContent::base64("JVBERi0=", "application/pdf").into(),
        Content::image_url("https://a.example/cat.jpeg?size=1"),
        VideoContent::url("https://www.youtube.com/watch?v=x").into(),
        PdfContent::url("https://a.example/paper").into(),
    ];
    check_messages("media", AS_IT_IS, [UserMessage::from_contents(contents).into()]).await;
}

#[tokio::test]
async fn provider_content_is_sent_back() {
    let parts = r#"[{"text":"Hm.","thought":true},
        {"functionCall":{"name":"now","args":{}},"thoughtSignature":"c2ln"}]"#;
    let own = |protocol: &'static str| -> ChatMessage {
        AiMessage::builder()
            .thinking("Hm.")
            .tool_calls([ToolCall::new("gemini-call-0000000000000000-0", "now", "{}")])
            .provider_content(ProviderContent::from_json(protocol, parts).unwrap())
            .build()
            .into()
    };
    let result = || ChatMessage::tool_result("gemini-call-0000000000000000-0", "now", "noon");
    let said = |protocol| [ChatMessage::user("When?"), own(protocol), result()];
    check_messages("thinking_replay", AS_IT_IS, said("gemini")).await;
    check_messages("thinking_replay", GEMINI_3, said("gemini")).await;
    check_messages("thinking_of_others", AS_IT_IS, said("anthropic")).await;
}

#[tokio::test]
async fn schema_of_the_answer_uses_a_dialect_that_can_express_it() {
    check_parameters("schema", AS_IT_IS, format::<Plan>()).await;
    check_parameters("schema_json_schema", JSON_SCHEMA, format::<Plan>()).await;
    check_parameters("schema_recursive", AS_IT_IS, format::<Tree>()).await;
    let any = ChatRequestParameters::new().response_format(ResponseFormat::JsonObject);
    check_parameters("json_object", AS_IT_IS, any).await;
    let text = ChatRequestParameters::new().response_format(ResponseFormat::Text);
    check_parameters("hello", AS_IT_IS, text).await;
}

#[tokio::test]
async fn every_parameter_has_its_member() {
    let parameters = ChatRequestParameters::new()
        .temperature(0.5)
        .top_p(0.9)
        .top_k(40)
        .frequency_penalty(0.1)
        .presence_penalty(-0.1)
        .max_output_tokens(100)
        .stop(["END"])
        .seed(7)
        .reasoning_effort(ReasoningEffort::Low);
    check_parameters("parameters", AS_IT_IS, parameters.clone()).await;
    check_parameters("parameters_gemini_3", GEMINI_3, parameters).await;
}

#[tokio::test]
async fn options_have_their_members() {
    let configure: Configure = |builder| {
        builder
            .safety_setting(HarmCategory::Harassment, HarmThreshold::Off)
            .safety_setting(HarmCategory::Harassment, HarmThreshold::OnlyHigh)
            .safety_setting(HarmCategory::HateSpeech, HarmThreshold::LowAndAbove)
            .cached_content("cachedContents/abc")
            .thought_summaries(ThoughtSummaries::Requested)
            .thinking_budget(512)
    };
    check_parameters("options", configure, ChatRequestParameters::new()).await;
}

#[tokio::test]
async fn levels_of_thinking_are_translated() {
    for (level, old, new) in [
        (
            ReasoningEffort::Minimal,
            json!({ "thinkingBudget": 1024 }),
            json!({ "thinkingLevel": "MINIMAL" }),
        ),
        (
            ReasoningEffort::Medium,
            json!({ "thinkingBudget": 8192 }),
            json!({ "thinkingLevel": "MEDIUM" }),
        ),
        (
            ReasoningEffort::High,
            json!({ "thinkingBudget": 24576 }),
            json!({ "thinkingLevel": "HIGH" }),
        ),
        (
            ReasoningEffort::Other("none".into()),
            json!({ "thinkingBudget": 0 }),
            json!({ "thinkingLevel": "NONE" }),
        ),
        (
            ReasoningEffort::Other("77".into()),
            json!({ "thinkingBudget": 77 }),
            json!({ "thinkingBudget": 77 }),
        ),
    ] {
        for (configure, expected) in [(AS_IT_IS, old), (GEMINI_3, new)] {
            let server = FaultServer::answering([hi()]).await.unwrap();
            let parameters = ChatRequestParameters::new().reasoning_effort(level.clone());
            let request = ChatRequest::builder().messages([ChatMessage::user("Hello!")]);
            let model = configure(client(&server)).build().unwrap();
            model.chat(&request.parameters(parameters).build()).await.unwrap();
            let sent = server.requests().remove(0).json();
            assert_eq!(sent["generationConfig"]["thinkingConfig"], expected, "{level:?}");
        }
    }
}

#[tokio::test]
async fn extra_members_win() {
    let parameters = ChatRequestParameters::new()
        .temperature(0.5)
        .extra("generationConfig", json!({ "candidateCount": 1 }))
        .extra("tools", json!([{ "googleSearch": {} }]))
        .extra("safetySettings", json!([]));
    check_tools("extra", AS_IT_IS, parameters).await;
    let own = ChatRequestParameters::new()
        .extra("contents", json!([{ "role": "user", "parts": [{ "text": "Own." }] }]))
        .extra("systemInstruction", json!({ "parts": [{ "text": "Own." }] }));
    let request = ChatRequest::builder().system("No.").messages([ChatMessage::user("No.")]);
    check("extra_contents", AS_IT_IS, request.parameters(own).build()).await;
}

#[tokio::test]
async fn custom_messages_are_sent_unchanged() {
    let custom = |value: Value| -> ChatMessage {
        CustomMessage::new(value.as_object().unwrap().clone()).into()
    };
    let messages = [
        custom(json!({ "text": "One part." })),
        custom(json!({ "role": "model", "parts": [{ "text": "a" }, { "text": "b" }] })),
        custom(json!({ "parts": [{ "text": "c" }] })),
    ];
    check_messages("custom", AS_IT_IS, messages).await;
}
