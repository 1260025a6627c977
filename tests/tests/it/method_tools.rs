//! Methods that choose their tools and switch retrieval off.

use crate::desk::{add, call, results};
use ai_services::event::{Call, Event};
use ai_services::model::{
    Capabilities, Capability, ChatRequest, ChatRequestParameters, ResponseFormat, ToolChoice,
};
use ai_services::rag::{
    ContentRetriever, DefaultRetrievalAugmentor, Query, QueryRouter, RetrievedContent, Route,
};
use ai_services::testing::{ScriptedAnswer, ScriptedChatModel};
use ai_services::tool::{ToolProvider, ToolRequest};
use ai_services::{
    AnswerStream, ErrorKind, OutputStrategy, Response, Result, Tool, ai_service, async_trait, tool,
};
use futures_util::TryStreamExt;
use serde_json::json;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

#[ai_service]
trait Clerk {
    async fn chat(&self, text: &str) -> Result<Response<String>>;

    #[tools(none)]
    #[retrieval(none)]
    #[user_message("How many pages? {{it}}")]
    async fn extract(&self, text: &str) -> Result<Response<u32>>;

    #[tools("weather", "add")]
    async fn calculate(&self, text: &str) -> Result<String>;

    #[tools("add")]
    fn stream(&self, text: &str) -> AnswerStream;

    #[tools("add")]
    async fn sum(&self, text: &str) -> Result<u32>;
}

/// Cancels a booking.
#[tool]
fn cancel() -> &'static str {
    panic!("not a tool of the method")
}

/// Returns the weather.
#[tool]
fn weather() -> &'static str {
    "sunny"
}

fn clerk(
    model: &ScriptedChatModel,
) -> ai_services::AiServiceBuilder<ClerkService, Arc<dyn ai_services::model::ChatModel>> {
    ClerkService::builder()
        .chat_model(model.clone())
        .tools(add::tool())
        .tools(cancel::tool())
        .tools(weather::tool())
}

/// Returns the names of the tools in a request.
fn tools(request: &ChatRequest) -> Vec<&str> {
    request.tools().as_slice().iter().map(|tool| &*tool.name).collect()
}

#[tokio::test]
async fn method_sends_the_tools_that_it_names_in_the_order_of_the_service() {
    let model = ScriptedChatModel::replies(["a", "1", "b", "c"]);
    let clerk = clerk(&model).build().unwrap();
    clerk.chat("hi").await.unwrap();
    assert_eq!(clerk.extract("one").await.unwrap().value, 1);
    clerk.calculate("1 + 1").await.unwrap();
    clerk.stream("1 + 1").try_collect::<Vec<_>>().await.unwrap();
    let requests = model.requests();
    let sent: Vec<_> = requests.iter().map(tools).collect();
    let all = vec!["add", "cancel", "weather"];
    assert_eq!(sent, [all, vec![], vec!["add", "weather"], vec!["add"]]);
    assert!(requests[2].tools().is_same(&{
        clerk.calculate("2 + 2").await.unwrap_err();
        model.requests().last().unwrap().tools().clone()
    }));
}

#[tokio::test]
async fn tool_of_another_method_does_not_run() {
    let model = ScriptedChatModel::new([
        ScriptedAnswer::tool_calls([
            call("1", "cancel", json!({})),
            call("2", "add", json!({"a": 1, "b": 1})),
        ]),
        ScriptedAnswer::text("done"),
        ScriptedAnswer::tool_calls([call("1", "cancel", json!({}))]),
        ScriptedAnswer::text("done"),
    ]);
    let clerk = clerk(&model).build().unwrap();
    clerk.calculate("go").await.unwrap();
    clerk.stream("go").try_collect::<Vec<_>>().await.unwrap();
    for request in [1, 3] {
        let (text, is_error) = results(&model.messages_of(request))[0].clone();
        assert!(is_error && text.contains("`cancel`"), "{text}");
    }
    assert_eq!(results(&model.messages_of(1))[1], ("2".to_owned(), false));
}

#[test]
fn unknown_tool_fails_the_build() {
    let model = ScriptedChatModel::replies([""; 0]);
    let message = |tools: Vec<Tool>| {
        let builder = ClerkService::builder().chat_model(model.clone()).tools(tools);
        let error = builder.build().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Configuration);
        error.to_string()
    };
    assert_eq!(
        message(vec![add::tool(), cancel::tool()]),
        "`#[tools]` of method `calculate` names the tool `weather`, which the AI service does not have; its tools are `add`, `cancel`"
    );
    assert_eq!(
        message(Vec::new()),
        "`#[tools]` of method `calculate` names the tool `weather`, which the AI service does not have; it has no tools"
    );
}

fn able(model: ScriptedChatModel, abilities: &[Capability]) -> ScriptedChatModel {
    model.with_capabilities(Capabilities::of(abilities.iter().copied()))
}

#[tokio::test]
async fn method_without_tools_sends_a_schema_where_tools_would_exclude_it() {
    let model = able(
        ScriptedChatModel::new([
            ScriptedAnswer::text("7"),
            ScriptedAnswer::tool_calls([call("1", "final_answer", json!({"value": 8}))]),
        ]),
        &[Capability::Tools, Capability::JsonSchema, Capability::ToolChoice],
    );
    let clerk = clerk(&model).build().unwrap();
    assert_eq!(clerk.extract("seven").await.unwrap().value, 7);
    assert_eq!(clerk.sum("eight").await.unwrap(), 8);
    let requests = model.requests();
    let format = requests[0].parameters.response_format.as_ref();
    assert!(matches!(format, Some(ResponseFormat::JsonSchema { .. })), "{format:?}");
    assert_eq!(tools(&requests[1]), ["add", "final_answer"]);
    assert_eq!(requests[1].parameters.tool_choice, Some(ToolChoice::Required));
}

#[tokio::test]
async fn tool_choice_of_the_service_applies_to_methods_with_the_tool() {
    let answer = || ScriptedAnswer::tool_calls([call("1", "final_answer", json!({"value": 7}))]);
    let model = able(
        ScriptedChatModel::new([answer(), answer(), ScriptedAnswer::text("a")]),
        &[Capability::Tools, Capability::ToolChoice],
    );
    let choice = ToolChoice::Tool("weather".into());
    let clerk = clerk(&model)
        .parameters(ChatRequestParameters::new().tool_choice(choice.clone()).temperature(0.5))
        .output_strategy(OutputStrategy::Tool)
        .build()
        .unwrap();
    assert_eq!(clerk.extract("seven").await.unwrap().value, 7);
    assert_eq!(clerk.sum("seven").await.unwrap(), 7);
    clerk.calculate("seven").await.unwrap();
    let requests = model.requests();
    let chosen: Vec<_> = requests.iter().map(|it| it.parameters.tool_choice.clone()).collect();
    let only_answer = ToolChoice::Tool("final_answer".into());
    assert_eq!(chosen, [Some(only_answer), Some(ToolChoice::Required), Some(choice)]);
    assert_eq!(tools(&requests[0]), ["final_answer"]);
    assert!(requests.iter().all(|request| request.parameters.temperature == Some(0.5)));
}

/// Offers `weather` and `cancel`, and counts the calls.
#[derive(Clone, Default)]
struct Offers {
    calls: Arc<AtomicUsize>,
    names: Option<&'static [&'static str]>,
}

#[async_trait]
impl ToolProvider for Offers {
    async fn tools(&self, _: &ToolRequest<'_>) -> Result<Vec<Tool>> {
        self.calls.fetch_add(1, Ordering::Relaxed);
        Ok(vec![weather::tool(), cancel::tool()])
    }

    fn tool_names(&self) -> Option<Vec<String>> {
        Some(self.names?.iter().map(|name| (*name).to_owned()).collect())
    }
}

#[tokio::test]
async fn provider_is_called_by_methods_that_may_use_its_tools() {
    for names in [None, Some(["weather", "cancel"].as_slice())] {
        let offers = Offers { names, ..Offers::default() };
        let model = ScriptedChatModel::replies(["1", "a", "b", "c"]);
        let clerk = ClerkService::builder()
            .chat_model(model.clone())
            .tools(add::tool())
            .tool_provider(offers.clone())
            .build()
            .unwrap();
        clerk.extract("one").await.unwrap();
        clerk.stream("hi").try_collect::<Vec<_>>().await.unwrap();
        assert_eq!(offers.calls.load(Ordering::Relaxed), 0);
        clerk.calculate("hi").await.unwrap();
        clerk.chat("hi").await.unwrap();
        assert_eq!(offers.calls.load(Ordering::Relaxed), 2);
        let requests = model.requests();
        let sent: Vec<_> = requests.iter().map(tools).collect();
        let all = vec!["add", "weather", "cancel"];
        assert_eq!(sent, [vec![], vec!["add"], vec!["add", "weather"], all]);
    }
}

#[tokio::test]
async fn provider_with_other_tools_is_neither_called_nor_enough() {
    let offers = Offers { names: Some(&["cancel"]), ..Offers::default() };
    let builder = |tools: Vec<Tool>| {
        let model = ScriptedChatModel::replies(["a"]);
        ClerkService::builder().chat_model(model).tools(tools).tool_provider(offers.clone())
    };
    let error = builder(vec![add::tool()]).build().unwrap_err().to_string();
    assert!(error.ends_with("names the tool `weather`, which the AI service does not have; its tools are `add`, `cancel`"), "{error}");
    let clerk = builder(vec![add::tool(), weather::tool()]).build().unwrap();
    clerk.calculate("hi").await.unwrap();
    assert_eq!(offers.calls.load(Ordering::Relaxed), 0);
}

/// Routes every query to one text, and counts the queries.
#[derive(Clone, Default)]
struct Counting(Arc<AtomicUsize>);

#[async_trait]
impl QueryRouter for Counting {
    async fn route(&self, _: &Query) -> Result<Vec<Route>> {
        self.0.fetch_add(1, Ordering::Relaxed);
        Ok(vec![Route::new(self.clone())])
    }
}

#[async_trait]
impl ContentRetriever for Counting {
    async fn retrieve(&self, _: &Query) -> Result<Vec<RetrievedContent>> {
        Ok(vec![RetrievedContent::from("A book has 100 pages.")])
    }
}

#[tokio::test]
async fn method_without_retrieval_calls_no_router_and_sends_its_message_alone() {
    let (queries, events) = (Counting::default(), Arc::new(AtomicUsize::new(0)));
    let model = ScriptedChatModel::replies(["1", "a"]);
    let seen = Arc::clone(&events);
    let clerk = clerk(&model)
        .retrieval_augmentor(
            DefaultRetrievalAugmentor::builder().query_router(queries.clone()).build().unwrap(),
        )
        .listener(move |_: &Call<'_>, event: &Event<'_>| {
            seen.fetch_add(
                usize::from(matches!(event, Event::Retrieved { .. })),
                Ordering::Relaxed,
            );
        })
        .build()
        .unwrap();
    let extracted = clerk.extract("A note.").await.unwrap();
    assert!(extracted.sources.is_empty());
    assert_eq!((queries.0.load(Ordering::Relaxed), events.load(Ordering::Relaxed)), (0, 0));
    let sent = model.messages_of(0);
    assert!(sent[0].text().unwrap().starts_with("How many pages? A note."), "{sent:?}");
    assert!(!sent[0].text().unwrap().contains("100"), "{sent:?}");
    assert_eq!(clerk.chat("How long?").await.unwrap().sources.len(), 1);
    assert_eq!((queries.0.load(Ordering::Relaxed), events.load(Ordering::Relaxed)), (1, 1));
}

#[ai_service]
trait Chooser {
    #[tools("add", "weather", choice = required)]
    async fn any(&self, text: &str) -> Result<Response<String>>;

    #[tools("add", "weather", choice = "weather")]
    async fn one(&self, text: &str) -> Result<Response<String>>;

    #[tools(choice = "weather")]
    fn stream(&self, text: &str) -> AnswerStream;

    #[tools(choice = auto)]
    async fn free(&self, text: &str) -> Result<String>;

    #[tools("add", choice = required)]
    async fn sum(&self, text: &str) -> Result<u32>;

    #[tools(choice = required)]
    async fn with(
        &self,
        #[user_message] text: &str,
        #[parameters] parameters: ChatRequestParameters,
    ) -> Result<String>;
}

fn chooser(
    model: &ScriptedChatModel,
) -> ai_services::AiServiceBuilder<ChooserService, Arc<dyn ai_services::model::ChatModel>> {
    ChooserService::builder()
        .chat_model(model.clone())
        .tools(add::tool())
        .tools(weather::tool())
        .tools(cancel::tool())
}

fn choices(model: &ScriptedChatModel) -> Vec<Option<ToolChoice>> {
    model.requests().iter().map(|request| request.parameters.tool_choice.clone()).collect()
}

#[tokio::test]
async fn tool_choice_of_a_method_holds_until_tools_ran() {
    let weather = || ScriptedAnswer::tool_calls([call("1", "weather", json!({}))]);
    let done = || ScriptedAnswer::text("done");
    let model =
        ScriptedChatModel::new([weather(), done(), weather(), done(), weather(), done(), done()]);
    let chooser = chooser(&model)
        .parameters(ChatRequestParameters::new().tool_choice(ToolChoice::None))
        .build()
        .unwrap();
    assert_eq!(chooser.any("go").await.unwrap().tool_executions.len(), 1);
    assert_eq!(chooser.one("go").await.unwrap().tool_executions.len(), 1);
    chooser.stream("go").try_collect::<Vec<_>>().await.unwrap();
    chooser.free("go").await.unwrap();
    let (required, auto) = (Some(ToolChoice::Required), Some(ToolChoice::Auto));
    let one = Some(ToolChoice::Tool("weather".into()));
    let expected = [required, auto.clone(), one.clone(), auto.clone(), one, auto, None];
    assert_eq!(choices(&model), expected);
    let requests = model.requests();
    assert_eq!(tools(&requests[2]), ["add", "weather"]);
    assert!(requests[3].tools.is_same(&requests[2].tools));
}

#[tokio::test]
async fn required_tool_runs_before_the_tool_for_the_answer_is_offered() {
    let model = able(
        ScriptedChatModel::new([
            ScriptedAnswer::tool_calls([call("1", "add", json!({"a": 3, "b": 4}))]),
            ScriptedAnswer::tool_calls([call("2", "final_answer", json!({"value": 7}))]),
        ]),
        &[Capability::Tools, Capability::ToolChoice],
    );
    assert_eq!(chooser(&model).build().unwrap().sum("3 + 4").await.unwrap(), 7);
    let requests = model.requests();
    assert_eq!(tools(&requests[0]), ["add"]);
    assert_eq!(tools(&requests[1]), ["add", "final_answer"]);
    assert_eq!(choices(&model), [Some(ToolChoice::Required), Some(ToolChoice::Required)]);
}

#[tokio::test]
async fn tool_choice_of_a_call_overrides_that_of_the_method() {
    let model = ScriptedChatModel::replies(["a", "b"]);
    let chooser = chooser(&model).build().unwrap();
    let own = ChatRequestParameters::new();
    chooser.with("go", own.clone().tool_choice(ToolChoice::None)).await.unwrap();
    chooser.with("go", own.temperature(0.5)).await.unwrap();
    assert_eq!(choices(&model), [Some(ToolChoice::None), Some(ToolChoice::Required)]);
}

#[tokio::test]
async fn tool_choice_that_cannot_hold_fails_the_build() {
    #[ai_service]
    trait Required {
        #[tools(choice = required)]
        async fn chat(&self, text: &str) -> Result<String>;
    }
    #[ai_service]
    trait Named {
        #[tools(choice = "weather")]
        async fn chat(&self, text: &str) -> Result<String>;
    }
    let model = || ScriptedChatModel::replies(["done"]);
    let error = RequiredService::builder().chat_model(model()).build().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Configuration);
    assert_eq!(
        error.to_string(),
        "method `chat` with `#[tools(choice = required)]` must call a tool, and the AI service has no tools"
    );
    let named = || NamedService::builder().tools(add::tool());
    let error = named().chat_model(model()).build().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Configuration);
    assert_eq!(
        error.to_string(),
        "`#[tools]` of method `chat` names the tool `weather`, which the AI service does not have; its tools are `add`"
    );
    let weak = able(model(), &[Capability::Tools, Capability::ForbidTools]);
    let error = named().tools(weather::tool()).chat_model(weak).build().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert_eq!(
        error.to_string(),
        "the tool choice of method `chat` needs a model that can be forced to call tools, and `scripted` cannot"
    );
    let named = named().tools(weather::tool()).chat_model(model()).build().unwrap();
    assert_eq!(named.chat("go").await.unwrap(), "done");
    let required = RequiredService::builder().tools(add::tool()).chat_model(model()).build();
    assert_eq!(required.unwrap().chat("go").await.unwrap(), "done");
}
