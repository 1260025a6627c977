//! Search in large sets of tools, and tools that are selected again before each request.

use crate::desk::call;
use ai_services::memory::{
    InMemoryChatMemoryStore, MessageWindowChatMemory, TiktokenCounter, TokenCountEstimator as _,
};
use ai_services::message::ChatMessage;
use ai_services::model::{
    Capabilities, Capability, ChatRequest, ChatRequestParameters, ToolLoading, ToolSpecification,
};
use ai_services::testing::{HashingEmbeddingModel, ScriptedAnswer, ScriptedChatModel};
use ai_services::tool::{Tool, ToolOutput, ToolProvider, ToolRefresh, ToolRequest, ToolSearch};
use ai_services::{Response, Result, ai_service, async_trait};
use ai_services_tests::sources::root;
use schemars::json_schema;
use serde_json::{Map, Value, json};
use std::fs;

#[ai_service]
trait Assistant {
    async fn chat(
        &self,
        #[memory_id] user: &str,
        #[user_message] text: &str,
    ) -> Result<Response<String>>;
}

/// Returns the columns of a file of `tests/cases/tool_search`.
fn rows(name: &str) -> Vec<Vec<String>> {
    let text = fs::read_to_string(root().join("tests/cases/tool_search").join(name)).unwrap();
    text.lines().map(|line| line.split('\t').map(str::to_owned).collect()).collect()
}

/// Returns the 500 tools. Each answers with its name.
fn catalog() -> Vec<Tool> {
    let tools = rows("tools.tsv").into_iter().map(|row| {
        let [name, description, parameters] = row.try_into().unwrap();
        let property = |name: &str| (name.to_owned(), json!({ "type": "string" }));
        let properties: Map<String, Value> = parameters.split(", ").map(property).collect();
        let names: Vec<&String> = properties.keys().collect();
        let schema =
            json_schema!({ "type": "object", "properties": properties, "required": names });
        let specification =
            ToolSpecification::new(name.as_str(), description).with_parameters(schema);
        Tool::from_fn(specification, move |_| {
            let name = name.clone();
            async move { Ok(ToolOutput::text(name)) }
        })
    });
    tools.collect()
}

/// Returns the labelled queries with which the search was developed: query and tool.
fn tuned() -> Vec<[String; 2]> {
    rows("queries.tsv").into_iter().map(|row| row.try_into().unwrap()).collect()
}

/// Returns labelled requests on which nothing is tuned: request of a user, query of a language model, and tool. The model
/// got the request and the definition of `search_tools`, and none of the tools.
fn requests() -> Vec<[String; 3]> {
    rows("requests.tsv").into_iter().map(|row| row.try_into().unwrap()).collect()
}

/// Returns the share of labelled queries whose tool is among the first five, and the failures.
async fn recall(
    search: &ToolSearch,
    queries: impl IntoIterator<Item = [String; 2]>,
) -> (f64, Vec<String>) {
    let (mut all, mut missed) = (0, Vec::new());
    for [query, expected] in queries {
        let found = search.find(&query).await.unwrap();
        assert!(found.len() <= 5);
        all += 1;
        if !found.iter().any(|tool| tool.name() == expected) {
            let found: Vec<_> = found.iter().map(Tool::name).collect();
            missed.push(format!("{query}: {expected}, not {found:?}"));
        }
    }
    assert!(all >= 200);
    (f64::from(all - missed.len() as u32) / f64::from(all), missed)
}

fn names(request: &ChatRequest) -> Vec<&str> {
    request.tools.as_slice().iter().map(|tool| &*tool.name).collect()
}

fn search_for(query: &str) -> ScriptedAnswer {
    ScriptedAnswer::tool_calls([call("1", "search_tools", json!({ "query": query }))])
}

fn assistant(
    model: &ScriptedChatModel,
    provider: impl ToolProvider + 'static,
    (store, messages): (&InMemoryChatMemoryStore, usize),
) -> AssistantService {
    let store = store.clone();
    AssistantService::builder()
        .chat_model(model.clone())
        .tool_provider(provider)
        .chat_memory_provider(move |id| {
            let window = MessageWindowChatMemory::builder().id(id).max_messages(messages);
            window.store(store.clone()).build()
        })
        .build()
        .unwrap()
}

#[tokio::test]
async fn keywords_find_the_tools_of_queries_of_a_language_model() {
    let queries = requests().into_iter().map(|[_, query, tool]| [query, tool]);
    let (recall, missed) = recall(&ToolSearch::by_keyword(catalog()), queries).await;
    assert!(recall >= 0.99, "{recall}: {missed:#?}");
}

#[tokio::test]
async fn keywords_find_the_tools_of_short_queries() {
    let (recall, missed) = recall(&ToolSearch::by_keyword(catalog()), tuned()).await;
    assert!(recall >= 0.95, "{recall}: {missed:#?}");
}

#[tokio::test]
async fn keywords_find_most_tools_of_requests_in_the_words_of_users() {
    // The measured figure: no word of "how do I mix a mojito" is in the description of the tool for cocktail recipes.
    let queries = requests().into_iter().map(|[request, _, tool]| [request, tool]);
    let (recall, missed) = recall(&ToolSearch::by_keyword(catalog()), queries).await;
    assert!(recall >= 0.6, "{recall}: {missed:#?}");
}

#[tokio::test]
async fn embeddings_find_the_tools_of_labelled_queries() {
    // The model of the tests compares words and their parts. It does not recognize synonyms.
    let search = ToolSearch::by_embedding(catalog(), HashingEmbeddingModel::new());
    let (recall, missed) = recall(&search, tuned()).await;
    assert!(recall >= 0.8, "{recall}: {missed:#?}");
}

/// Returns the tokens of tools in the JSON form that OpenAI's and Anthropic's APIs share, up to the names of members.
fn tokens(tools: &[ToolSpecification]) -> usize {
    let counter = TiktokenCounter::for_model("gpt-4o").unwrap();
    let tokens = |tool: &ToolSpecification| {
        let schema = tool.parameters.as_ref().map(|schema| schema.as_value());
        let tool = json!({
            "name": tool.name, "description": tool.description, "parameters": schema,
        });
        counter.count_text(&tool.to_string())
    };
    tools.iter().map(tokens).sum()
}

#[tokio::test]
async fn search_sends_a_fraction_of_the_tool_tokens() {
    let all: Vec<_> = catalog().iter().map(|tool| tool.specification().clone()).collect();
    let model = ScriptedChatModel::new([
        search_for("weather forecast"),
        search_for("send an email"),
        ScriptedAnswer::text("done"),
    ]);
    let search = ToolSearch::by_keyword(catalog()).always_visible("time_now");
    let store = InMemoryChatMemoryStore::new();
    assistant(&model, search, (&store, 20)).chat("ann", "Go.").await.unwrap();
    let sent: Vec<usize> =
        model.requests().iter().map(|request| tokens(request.tools.as_slice())).collect();
    let all = tokens(&all);
    assert_eq!(sent.len(), 3);
    assert!(sent.iter().all(|sent| sent * 100 <= all * 15), "{sent:?} of {all}");
}

#[tokio::test]
async fn found_tools_are_appended_and_can_be_called() {
    let model = ScriptedChatModel::new([
        search_for("exchange rate between currencies"),
        ScriptedAnswer::tool_calls([call("2", "currency_rates", json!({ "base": "EUR" }))]),
        search_for("share price"),
        ScriptedAnswer::text("done"),
    ]);
    let search = ToolSearch::by_keyword(catalog()).always_visible("time_now").max_results(2);
    let store = InMemoryChatMemoryStore::new();
    let response = assistant(&model, search, (&store, 20)).chat("ann", "Go.").await.unwrap();
    assert_eq!(response.tool_executions[1].result().text(), Some("currency_rates"));
    let requests = model.requests();
    assert_eq!(names(&requests[0]), ["search_tools", "time_now"]);
    for pair in requests.windows(2) {
        assert!(names(&pair[1]).starts_with(&names(&pair[0])));
        // An unchanged list keeps its encoded form.
        let is_same = pair[1].tools.is_same(&pair[0].tools);
        assert_eq!(is_same, names(&pair[1]) == names(&pair[0]));
    }
    assert_eq!(names(&requests[1]).len(), 4);
    assert!(names(&requests[3]).len() > 4);
}

#[tokio::test]
async fn found_tools_survive_a_restart_and_the_eviction_of_their_search() {
    let store = InMemoryChatMemoryStore::new();
    let found = {
        let answers = [search_for("translate a text"), ScriptedAnswer::text("done")];
        let model = ScriptedChatModel::new(answers);
        let search = ToolSearch::by_keyword(catalog());
        assistant(&model, search, (&store, 5)).chat("ann", "Go.").await.unwrap();
        let requests = model.requests();
        names(&requests[1]).into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    assert!(found.contains(&"translate_text".to_owned()));
    let model = ScriptedChatModel::replies(["a", "b", "c", "d"]);
    let assistant = assistant(&model, ToolSearch::by_keyword(catalog()), (&store, 5));
    for _ in 0..4 {
        assistant.chat("ann", "And now?").await.unwrap();
    }
    let requests = model.requests();
    assert!(requests.iter().all(|request| names(request) == found));
    let last = requests[3].messages();
    assert!(last.into_iter().all(|message| !message.is_tool_result()));
    let other = ScriptedChatModel::replies(["a"]);
    self::assistant(&other, ToolSearch::by_keyword(catalog()), (&store, 5))
        .chat("bob", "Hi.")
        .await
        .unwrap();
    assert_eq!(names(&other.requests()[0]), ["search_tools"]);
}

#[tokio::test]
async fn search_without_a_match_is_told_to_the_model() {
    let model = ScriptedChatModel::new([search_for("zzzz"), ScriptedAnswer::text("done")]);
    let store = InMemoryChatMemoryStore::new();
    let assistant = assistant(&model, ToolSearch::by_keyword(catalog()), (&store, 20));
    let response = assistant.chat("ann", "Go.").await.unwrap();
    let text = response.tool_executions[0].result().text().unwrap();
    assert!(text.starts_with("No tool matches."), "{text}");
    assert_eq!(names(&model.requests()[1]), ["search_tools"]);
}

/// Offers one tool per message of the turn.
struct Steps;

#[async_trait]
impl ToolProvider for Steps {
    async fn tools(&self, request: &ToolRequest<'_>) -> Result<Vec<Tool>> {
        let tool = |step: usize| {
            let specification = ToolSpecification::new(format!("step_{step}"), "A step.");
            Tool::from_fn(specification, |_| async { Ok(ToolOutput::text("taken")) })
        };
        Ok((0..=request.turn.len()).map(tool).collect())
    }

    fn refresh(&self) -> ToolRefresh {
        ToolRefresh::EachRequest
    }
}

#[tokio::test]
async fn provider_that_asks_for_it_is_called_before_each_request() {
    let model = ScriptedChatModel::new([
        ScriptedAnswer::tool_calls([call("1", "step_0", json!({}))]),
        ScriptedAnswer::tool_calls([call("2", "step_2", json!({}))]),
        ScriptedAnswer::text("done"),
    ]);
    let store = InMemoryChatMemoryStore::new();
    let response = assistant(&model, Steps, (&store, 20)).chat("ann", "Go.").await.unwrap();
    let requests = model.requests();
    let counts: Vec<usize> = requests.iter().map(|request| names(request).len()).collect();
    assert_eq!(counts, [1, 3, 5]);
    assert!(response.tool_executions.iter().all(|one| one.result().text() == Some("taken")));
}

/// A model that loads the definitions of deferred tools.
fn loading(answers: impl IntoIterator<Item = ScriptedAnswer>) -> ScriptedChatModel {
    let capabilities = Capabilities::of([Capability::Tools, Capability::DeferredTools]);
    ScriptedChatModel::new(answers).with_capabilities(capabilities)
}

/// Returns the names of the tools whose definitions are in the prompt.
fn immediate(request: &ChatRequest) -> Vec<&str> {
    let tools = request.tools.as_slice().iter();
    tools.filter(|tool| tool.loading == ToolLoading::Immediate).map(|tool| &*tool.name).collect()
}

#[tokio::test]
async fn model_that_loads_tools_gets_one_list_in_all_requests() {
    let model = loading([
        search_for("exchange rate between currencies"),
        ScriptedAnswer::tool_calls([call("2", "currency_rates", json!({ "base": "EUR" }))]),
        ScriptedAnswer::text("done"),
        ScriptedAnswer::text("again"),
    ]);
    let search = ToolSearch::by_keyword(catalog()).always_visible("time_now").max_results(2);
    let store = InMemoryChatMemoryStore::new();
    let assistant = assistant(&model, search, (&store, 20));
    let response = assistant.chat("ann", "Go.").await.unwrap();
    assert_eq!(response.tool_executions[1].result().text(), Some("currency_rates"));
    assistant.chat("ann", "And now?").await.unwrap();
    let requests = model.requests();
    assert_eq!(requests.len(), 4);
    for request in &requests {
        assert_eq!(immediate(request), ["search_tools", "time_now"]);
        assert_eq!(names(request), names(&requests[0]));
        assert_eq!(names(request).len(), 501);
    }
    assert!(requests[2].tools.is_same(&requests[0].tools));
}

#[tokio::test]
async fn tool_is_in_the_prompt_once_the_result_that_loaded_it_is_evicted() {
    let store = InMemoryChatMemoryStore::new();
    let first = loading([search_for("translate a text"), ScriptedAnswer::text("done")]);
    let search = || ToolSearch::by_keyword(catalog()).max_results(1);
    assistant(&first, search(), (&store, 5)).chat("ann", "Go.").await.unwrap();
    let model = loading(["a", "b", "c", "d"].map(ScriptedAnswer::text));
    let assistant = assistant(&model, search(), (&store, 5));
    for _ in 0..4 {
        assistant.chat("ann", "And now?").await.unwrap();
    }
    let requests = model.requests();
    let has_result = |request: &ChatRequest| request.messages().any(|it| it.is_tool_result());
    assert!(has_result(&requests[0]) && !has_result(&requests[3]));
    assert_eq!(immediate(&requests[0]), ["search_tools"]);
    assert_eq!(immediate(&requests[3]), ["search_tools", "translate_text"]);
    assert_eq!(names(&requests[3]).len(), 501);
}

#[tokio::test]
async fn deferred_tool_is_rejected_for_a_model_that_cannot_load_it() {
    let tool = ToolSpecification::new("a", "A tool.").with_loading(ToolLoading::Deferred);
    let mut request = ChatRequest::new([ChatMessage::user("Hi.")]);
    request.tools = vec![tool].into();
    let error = Capabilities::of([Capability::Tools])
        .check(&request, &ChatRequestParameters::new(), "small")
        .unwrap_err();
    assert_eq!(error.to_string(), "the model `small` cannot load the definitions of tools later");
}
