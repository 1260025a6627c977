//! Typed answers: the ways to request them, and the handling of unreadable ones.

use ai_services::memory::{ChatMemory, MemoryId, MessageWindowChatMemory};
use ai_services::message::{ChatMessage, ToolCall};
use ai_services::model::{
    Capabilities, Capability, ChatModel, ChatRequest, ChatRequestParameters, ResponseFormat,
    TokenUsage, ToolChoice,
};
use ai_services::testing::{ScriptedAnswer, ScriptedChatModel};
use ai_services::{
    AnswerStream, ErrorKind, OutputStrategy, Response, StreamEvent, UnfinishedTurn, ai_service,
    tools,
};
use schemars::JsonSchema;
use serde::Deserialize;
use std::sync::Arc;

#[derive(Debug, Deserialize, JsonSchema, PartialEq)]
struct Person {
    name: String,
    /// In years.
    age: u8,
}

#[ai_service]
trait Reader {
    #[user_message("Who is this?\n{{it}}")]
    async fn person(&self, text: &str) -> ai_services::Result<Response<Person>>;
    async fn remember(
        &self,
        #[memory_id] id: &str,
        #[user_message] text: &str,
    ) -> ai_services::Result<Person>;
    async fn with_parameters(
        &self,
        #[parameters] parameters: ChatRequestParameters,
        #[user_message] text: &str,
    ) -> ai_services::Result<Person>;
    async fn words(&self, text: &str) -> ai_services::Result<String>;
    fn stream(&self, text: &str) -> AnswerStream<Person>;
}

struct Clock;

#[tools]
impl Clock {
    /// Returns the year.
    #[tool]
    fn year(&self) -> u32 {
        2026
    }

    /// Fails.
    #[tool]
    fn fail(&self) -> Result<(), std::io::Error> {
        Err(std::io::Error::other("no"))
    }
}

const ANN: &str = r#"{"name":"Ann","age":31}"#;

fn ann() -> Person {
    Person { name: "Ann".to_owned(), age: 31 }
}

/// Sets the capabilities of a model: these and [`Capability::ToolChoice`].
fn capable(model: ScriptedChatModel, of: &[Capability]) -> ScriptedChatModel {
    let of = Capabilities::of(of.iter().copied());
    model.with_capabilities(of.with(Capability::ToolChoice))
}

fn builder(model: &ScriptedChatModel) -> ReaderBuilder {
    ReaderService::builder().chat_model(model.clone()).chat_memory_provider(|id: &MemoryId| {
        MessageWindowChatMemory::builder().id(id).max_messages(100).build()
    })
}

type ReaderBuilder =
    ai_services::AiServiceBuilder<ReaderService, Arc<dyn ChatModel>, ai_services::service::Given>;

fn service(model: &ScriptedChatModel) -> ReaderService {
    builder(model).build().unwrap()
}

fn with_tools(model: &ScriptedChatModel) -> ReaderService {
    builder(model).tools(Clock).build().unwrap()
}

fn answer(arguments: &str) -> ToolCall {
    ToolCall::new("a", "final_answer", arguments)
}

/// Returns the mechanism by which the first request requests the format of the answer.
fn mechanism(model: &ScriptedChatModel) -> &'static str {
    let request: ChatRequest = model.requests().remove(0);
    let format = &request.parameters().response_format;
    let has_answer_tool =
        request.tools().as_slice().iter().any(|tool| &*tool.name == "final_answer");
    let last = request.messages().last().unwrap().text().unwrap().to_owned();
    match format {
        Some(ResponseFormat::JsonSchema { .. }) if !has_answer_tool => "schema",
        None if has_answer_tool => "tool",
        None | Some(ResponseFormat::JsonObject) if last.contains("\"age\"") => "prompt",
        other => panic!("{other:?}, {has_answer_tool}, {last}"),
    }
}

async fn selected_mechanism(capabilities: &[Capability], has_tools: bool) -> &'static str {
    let model = capable(ScriptedChatModel::replies([ANN]), capabilities);
    let service = if has_tools { with_tools(&model) } else { service(&model) };
    assert_eq!(service.person("Ann, 31").await.unwrap().value, ann());
    mechanism(&model)
}

#[tokio::test]
async fn auto_selects_the_best_supported_mechanism() {
    use Capability::{JsonObject, JsonSchema, JsonSchemaWithTools, Tools};
    assert_eq!(selected_mechanism(&[Tools, JsonSchema], false).await, "schema");
    assert_eq!(selected_mechanism(&[Tools, JsonSchema], true).await, "tool");
    assert_eq!(selected_mechanism(&[Tools, JsonSchema, JsonSchemaWithTools], true).await, "schema");
    assert_eq!(selected_mechanism(&[Tools], false).await, "tool");
    assert_eq!(selected_mechanism(&[JsonObject], false).await, "prompt");
    assert_eq!(selected_mechanism(&[], true).await, "prompt");
}

#[tokio::test]
async fn unsupported_strategy_fails_at_build() {
    let cases = [
        (OutputStrategy::JsonSchema, vec![Capability::Tools], false),
        (OutputStrategy::JsonSchema, vec![Capability::Tools, Capability::JsonSchema], true),
        (OutputStrategy::Tool, vec![Capability::JsonSchema], false),
    ];
    for (strategy, capabilities, has_tools) in cases {
        let model = capable(ScriptedChatModel::replies([ANN]), &capabilities);
        let builder = builder(&model).output_strategy(strategy);
        let builder = if has_tools { builder.tools(Clock) } else { builder };
        let error = builder.build().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
        assert!(error.to_string().contains(&format!("{strategy:?}")), "{error}");
    }
}

#[tokio::test]
async fn text_is_requested_without_a_format() {
    let model = capable(ScriptedChatModel::replies(["hi"]), &[Capability::Tools]);
    service(&model).words("hello").await.unwrap();
    let request = &model.requests()[0];
    assert!(request.tools().is_empty());
    assert_eq!(request.parameters(), &ChatRequestParameters::default());
}

#[tokio::test]
async fn schema_is_sent_as_the_response_format() {
    let model = ScriptedChatModel::replies([ANN]);
    service(&model).person("Ann, 31").await.unwrap();
    let request = &model.requests()[0];
    let Some(ResponseFormat::JsonSchema { name, schema }) = &request.parameters().response_format
    else {
        panic!("no schema: {request:?}");
    };
    assert_eq!(&**name, "Person");
    let age = schema.as_value().pointer("/properties/age/description").unwrap();
    assert_eq!(age, "In years.");
    assert_eq!(model.messages_of(0), [ChatMessage::user("Who is this?\nAnn, 31")]);
}

#[tokio::test]
async fn format_set_by_the_application_wins() {
    let model = ScriptedChatModel::replies([ANN, ANN]);
    let own = ChatRequestParameters::new().response_format(ResponseFormat::JsonObject);
    let service = builder(&model).parameters(own.clone()).build().unwrap();
    service.person("Ann, 31").await.unwrap();
    assert_eq!(model.requests()[0].parameters().response_format, own.response_format);
    let text = ChatRequestParameters::new().response_format(ResponseFormat::Text).temperature(0.5);
    service.with_parameters(text.clone(), "Ann, 31").await.unwrap();
    assert_eq!(model.requests()[1].parameters(), &text);
}

#[tokio::test]
async fn output_format_keeps_the_parameters_of_the_call() {
    let model = ScriptedChatModel::replies([ANN]);
    let hot = ChatRequestParameters::new().temperature(0.9);
    service(&model).with_parameters(hot, "Ann, 31").await.unwrap();
    let request = &model.requests()[0];
    assert_eq!(request.parameters().temperature, Some(0.9));
    assert!(matches!(
        request.parameters().response_format,
        Some(ResponseFormat::JsonSchema { .. })
    ));
}

#[tokio::test]
async fn format_instruction_is_sent_but_not_stored() {
    let model = capable(ScriptedChatModel::replies([ANN]), &[]);
    let service = service(&model);
    assert_eq!(service.remember("ann", "Ann, 31").await.unwrap(), ann());
    let sent = model.messages_of(0).remove(0);
    assert!(sent.text().unwrap().starts_with("Ann, 31\n\n"), "{sent:?}");
    let remembered = service.chat_memory("ann").unwrap().messages().await.unwrap();
    assert_eq!(remembered, [ChatMessage::user("Ann, 31"), ChatMessage::ai(ANN)]);
}

#[tokio::test]
async fn tool_choice_is_not_sent_to_models_without_support() {
    let model = ScriptedChatModel::new([ScriptedAnswer::tool_calls([answer(ANN)])]);
    let model = model.with_capabilities(Capabilities::of([Capability::Tools]));
    assert_eq!(service(&model).remember("ann", "Ann, 31").await.unwrap(), ann());
    assert_eq!(model.requests()[0].parameters().tool_choice, None);
}

#[tokio::test]
async fn answer_through_the_tool_is_stored_as_text() {
    let model = ScriptedChatModel::new([ScriptedAnswer::tool_calls([answer(ANN)])]);
    let model = capable(model, &[Capability::Tools]);
    let service = service(&model);
    assert_eq!(service.remember("ann", "Ann, 31").await.unwrap(), ann());
    let choice = model.requests()[0].parameters().tool_choice.clone();
    assert_eq!(choice, Some(ToolChoice::Tool("final_answer".into())));
    let remembered = service.chat_memory("ann").unwrap().messages().await.unwrap();
    assert_eq!(remembered, [ChatMessage::user("Ann, 31"), ChatMessage::ai(ANN)]);
}

#[tokio::test]
async fn tools_and_types_work_together_in_every_strategy() {
    let cases = [
        (OutputStrategy::JsonSchema, ScriptedAnswer::text(ANN)),
        (OutputStrategy::Tool, ScriptedAnswer::tool_calls([answer(ANN)])),
        (OutputStrategy::Prompt, ScriptedAnswer::text(ANN)),
    ];
    for (strategy, last) in cases {
        let call = ToolCall::new("1", "year", "{}");
        let model = ScriptedChatModel::new([ScriptedAnswer::tool_calls([call]), last]);
        let service = builder(&model).tools(Clock).output_strategy(strategy).build().unwrap();
        let response = service.person("Ann, born 1995").await.unwrap();
        assert_eq!(response.value, ann(), "{strategy:?}");
        assert_eq!(response.tool_executions.len(), 1, "{strategy:?}");
        let second = &model.requests()[1];
        assert!(second.tools().as_slice().iter().any(|tool| &*tool.name == "year"));
        model.check_finished().unwrap();
    }
}

#[tokio::test]
async fn answer_beside_a_failed_tool_is_requested_again() {
    let beside = [ToolCall::new("1", "fail", "{}"), answer(r#"{"name":"X","age":1}"#)];
    let model = ScriptedChatModel::new([
        ScriptedAnswer::tool_calls(beside),
        ScriptedAnswer::tool_calls([answer(ANN)]),
    ]);
    let model = capable(model, &[Capability::Tools]);
    let response = with_tools(&model).person("Ann, 31").await.unwrap();
    assert_eq!(response.value, ann());
    assert_eq!(model.requests()[1].parameters().tool_choice, Some(ToolChoice::Required));
}

#[tokio::test]
async fn unreadable_answer_is_repaired_and_not_stored() {
    let model = ScriptedChatModel::new([
        ScriptedAnswer::text(r#"{"name":"Ann","age":"many"}"#).with_usage(TokenUsage::new(1, 2)),
        ScriptedAnswer::text(ANN).with_usage(TokenUsage::new(3, 4)),
    ]);
    let service = service(&model);
    let response = service.person("Ann, 31").await.unwrap();
    assert_eq!(response.value, ann());
    assert_eq!(response.token_usage.total(), Some(10));
    assert_eq!(response.rejected_answers.len(), 1);
    let complaint = model.messages_of(1).pop().unwrap();
    assert!(complaint.text().unwrap().contains("age"), "{complaint:?}");

    let model = ScriptedChatModel::replies(["nonsense", ANN]);
    let service = self::service(&model);
    service.remember("ann", "Ann, 31").await.unwrap();
    let remembered = service.chat_memory("ann").unwrap().messages().await.unwrap();
    assert_eq!(remembered, [ChatMessage::user("Ann, 31"), ChatMessage::ai(ANN)]);
}

#[tokio::test]
async fn last_error_contains_all_attempts_and_their_usage() {
    let answer = |text: &str| ScriptedAnswer::text(text).with_usage(TokenUsage::new(1, 1));
    let model = ScriptedChatModel::new([answer("one"), answer("two"), answer("three")]);
    let service = builder(&model).output_retries(2).build().unwrap();
    let error = service.remember("ann", "Ann, 31").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Output);
    assert_eq!(error.usage().unwrap().total(), Some(6));
    let report = error.detail::<UnfinishedTurn>().unwrap();
    let texts: Vec<_> =
        report.rejected_answers.iter().filter_map(|it| it.response.message.text()).collect();
    assert_eq!(texts, ["one", "two"]);
    assert_eq!(report.answer.as_ref().unwrap().message.text(), Some("three"));
    assert!(service.chat_memory("ann").unwrap().messages().await.unwrap().is_empty());
}

#[tokio::test]
async fn repair_can_be_disabled() {
    let model = ScriptedChatModel::replies(["nonsense", ANN]);
    let service = builder(&model).output_retries(0).build().unwrap();
    let error = service.person("Ann, 31").await.unwrap_err();
    assert_eq!((error.kind(), model.requests().len()), (ErrorKind::Output, 1));
}

#[tokio::test]
async fn tool_with_the_name_of_the_answer_tool_keeps_it() {
    struct Own;

    #[tools]
    impl Own {
        /// Is not the answer.
        #[tool]
        fn final_answer(&self) -> u8 {
            1
        }
    }

    let model = ScriptedChatModel::new([
        ScriptedAnswer::tool_calls([ToolCall::new("1", "final_answer", "{}")]),
        ScriptedAnswer::tool_calls([ToolCall::new("2", "final_answer_", ANN)]),
    ]);
    let model = capable(model, &[Capability::Tools]);
    let service = builder(&model).tools(Own).build().unwrap();
    let response = service.person("Ann, 31").await.unwrap();
    assert_eq!((response.value, response.tool_executions.len()), (ann(), 1));
}

/// Returns the texts of a stream, with a mark for each restart, and the value.
async fn texts_and_value(mut stream: AnswerStream<Person>) -> (Vec<String>, Person) {
    let mut texts = Vec::new();
    while let Some(event) = stream.next().await {
        match event.unwrap() {
            StreamEvent::Text(text) => texts.push(text),
            StreamEvent::Restarted => texts.push("!".to_owned()),
            StreamEvent::Completed(response) => return (texts, response.value),
            _ => {}
        }
    }
    panic!("no end");
}

#[tokio::test]
async fn typed_stream_contains_the_json_and_the_value() {
    let model = ScriptedChatModel::new([ScriptedAnswer::text(ANN).chunked(9)]);
    let (texts, person) = texts_and_value(service(&model).stream("Ann, 31")).await;
    assert_eq!((texts.concat().as_str(), texts.len(), person), (ANN, 3, ann()));
    assert!(model.requests()[0].parameters().response_format.is_some());
}

#[tokio::test]
async fn typed_stream_through_the_tool_contains_its_arguments() {
    let model = ScriptedChatModel::new([ScriptedAnswer::tool_calls([answer(ANN)])]);
    let model = capable(model, &[Capability::Tools, Capability::Streaming]);
    let (texts, person) = texts_and_value(service(&model).stream("Ann, 31")).await;
    assert_eq!((texts, person), (vec![ANN.to_owned()], ann()));
}

#[tokio::test]
async fn typed_stream_restarts_after_an_unreadable_answer() {
    let model = ScriptedChatModel::replies(["{}", ANN]);
    let (texts, person) = texts_and_value(service(&model).stream("Ann, 31")).await;
    assert_eq!((texts, person), (vec!["{}".to_owned(), "!".to_owned(), ANN.to_owned()], ann()));
}

#[tokio::test]
async fn partial_values_grow_to_the_complete_one() {
    let model = ScriptedChatModel::new([ScriptedAnswer::text(ANN).chunked(1)]);
    let mut people = service(&model).stream("Ann, 31").partial();
    let mut names = Vec::new();
    let mut last = None;
    while let Some(person) = people.next().await {
        let person = person.unwrap();
        names.push(person.name.clone());
        last = Some(person);
    }
    names.dedup();
    assert_eq!(names, ["", "A", "An", "Ann"]);
    assert_eq!(last, Some(ann()));
}

#[tokio::test]
async fn partial_values_end_with_the_error_of_the_stream() {
    let broken = ScriptedAnswer::pieces([r#"{"name":"A"#]).then_error(ErrorKind::Connection, "cut");
    let mut people = service(&ScriptedChatModel::new([broken])).stream("Ann").partial();
    let mut last = None;
    while let Some(person) = people.next().await {
        last = Some(person);
    }
    assert_eq!(last.unwrap().unwrap_err().kind(), ErrorKind::Connection);
    let _: Arc<dyn Reader> = Arc::new(service(&ScriptedChatModel::replies([ANN])));
}
