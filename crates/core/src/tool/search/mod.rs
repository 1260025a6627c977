//! Search in a large set of tools.

mod embedding;
mod keyword;
mod words;

use super::{
    Effect, Tool, ToolError, ToolInput, ToolOutput, ToolProvider, ToolRefresh, ToolRequest, ToolSet,
};
use crate::error::Result;
use crate::memory::found_tools_attribute;
use crate::model::{EmbeddingModel, ToolLoading, ToolSpecification, UsageMeter};
use crate::schema::Schema;
use async_trait::async_trait;
use embedding::EmbeddingIndex;
use keyword::KeywordIndex;
use serde_json::json;
use std::collections::HashMap;
use std::fmt;
use std::fmt::Write;
use std::sync::{Arc, OnceLock};

/// Name of the tool that searches.
const NAME: &str = "search_tools";
/// Default of the largest number of tools that one search finds.
const MAX_RESULTS: usize = 5;

/// A provider for hundreds of tools, of which the model sees only those that it has searched for.
///
/// Each request to the model contains a tool named `search_tools`, the tools that are always visible, and the tools
/// that were found in the conversation. A tool that was found stays visible for the rest of the conversation, also
/// after a restart: its name is stored with the messages. Found tools follow the others in the order in which they were
/// found, so that the beginning of the list never changes. Register a `ToolSearch` after all other providers.
///
/// # Prompt caches
///
/// The tools are a part of the beginning of a prompt, which providers cache. With most models, a search changes that part
/// for the next request, and the provider reads the conversation again at the full price. Models with
/// [`Capability::DeferredTools`](crate::model::Capability::DeferredTools) do not have this cost: each request lists all
/// tools, but a tool that was not found is [deferred](ToolLoading::Deferred), which means that the provider keeps it out
/// of the prompt, and the result of a search loads the definitions. Once a window has evicted that result, the tool is
/// listed as an ordinary one from the next turn on. To switch this off, remove the capability from the model:
/// `builder.capabilities(capabilities.without(Capability::DeferredTools))`.
///
/// # Search
///
/// The tools are found by keywords, or by the distance of embeddings. In both cases their names, descriptions and
/// parameters are searched. Use a search from a few dozen tools on: below that, sending all of them costs less than the
/// additional round trip.
///
/// A method with `#[tools("…")]` has the search only if it names `search_tools`, and finds only the tools that it names.
///
/// # Examples
///
/// ```
/// use ai_services::message::ToolCall;
/// use ai_services::testing::{ScriptedAnswer, ScriptedChatModel};
/// use ai_services::tool::ToolSearch;
/// use ai_services::{ai_service, tool};
///
/// /// Returns the weather of a city.
/// #[tool(read_only)]
/// fn weather(city: &str) -> String {
///     format!("It is sunny in {city}.")
/// }
///
/// /// Converts an amount of money to another currency.
/// #[tool(read_only)]
/// fn convert(amount: f64, from: &str, to: &str) -> String {
///     format!("{amount} {from} in {to}: unknown")
/// }
///
/// #[ai_service]
/// trait Assistant {
///     async fn chat(&self, text: &str) -> ai_services::Result<String>;
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> ai_services::Result<()> {
/// let model = ScriptedChatModel::new([
///     ScriptedAnswer::tool_calls([ToolCall::new("1", "search_tools", r#"{"query":"weather in a city"}"#)]),
///     ScriptedAnswer::tool_calls([ToolCall::new("2", "weather", r#"{"city":"Oslo"}"#)]),
///     ScriptedAnswer::text("Sunny."),
/// ]);
/// let assistant = AssistantService::builder()
///     .chat_model(model.clone())
///     .tool_provider(ToolSearch::by_keyword(vec![weather::tool(), convert::tool()]).max_results(1))
///     .build()?;
/// assert_eq!(assistant.chat("Do I need an umbrella in Oslo?").await?, "Sunny.");
///
/// let names = |request: usize| -> Vec<String> {
///     let requests = model.requests();
///     requests[request].tools.as_slice().iter().map(|tool| tool.name.to_string()).collect()
/// };
/// assert_eq!(names(0), ["search_tools"]);
/// assert_eq!(names(1), ["search_tools", "weather"]);
/// # Ok(())
/// # }
/// ```
#[must_use]
pub struct ToolSearch {
    catalog: Arc<Catalog>,
    always_visible: Vec<String>,
    max_results: usize,
}

/// The tools with their index.
struct Catalog {
    tools: Vec<Tool>,
    by_name: HashMap<Box<str>, usize>,
    index: Index,
    /// The tools with [`ToolLoading::Deferred`].
    deferred: OnceLock<Vec<Tool>>,
}

enum Index {
    Keyword(KeywordIndex),
    Embedding(EmbeddingIndex),
}

impl ToolSearch {
    /// Creates a search by keywords. It needs no model, and compares words by their stems with the BM25 formula. Stems,
    /// stop words and a few synonyms of common verbs are English.
    ///
    /// The model is the thesaurus: the definition of `search_tools` requests general words and their synonyms. This was
    /// measured with 500 tools and 400 requests in the words of users, on which nothing was tuned. With the queries that a
    /// large language model wrote for these requests, without a look at the tools, the first five results contain the right
    /// tool for over 99 % of the requests. With the words of the users, the figure is 60 %: "how do I mix a mojito" has no
    /// word of "Returns the recipe of a cocktail". [`by_embedding`](Self::by_embedding) suits small models, which copy the
    /// words of the user, and other languages.
    pub fn by_keyword(tools: impl ToolSet) -> Self {
        let tools = Arc::new(tools).tools();
        let index = Index::Keyword(KeywordIndex::new(tools.iter().map(Tool::specification)));
        Self::new(tools, index)
    }

    /// Creates a search by the distance of embeddings, which also finds synonyms and words of other languages.
    ///
    /// The tools are embedded at the first search. If that fails, the next search tries again. The tokens of all
    /// embeddings count in the call that searches.
    pub fn by_embedding(tools: impl ToolSet, model: impl EmbeddingModel + 'static) -> Self {
        let tools = Arc::new(tools).tools();
        let index = Index::Embedding(EmbeddingIndex::new(Arc::new(model)));
        Self::new(tools, index)
    }

    fn new(tools: Vec<Tool>, index: Index) -> Self {
        let names = tools.iter().map(|tool| tool.name().into());
        let by_name = names.zip(0..).collect();
        let catalog = Arc::new(Catalog { tools, by_name, index, deferred: OnceLock::new() });
        Self { catalog, always_visible: Vec::new(), max_results: MAX_RESULTS }
    }

    /// Makes a tool visible in each request. An unknown name has no effect.
    pub fn always_visible(mut self, name: impl Into<String>) -> Self {
        self.always_visible.push(name.into());
        self
    }

    /// Sets the largest number of tools that one search finds. Default: 5.
    pub fn max_results(mut self, tools: usize) -> Self {
        self.max_results = tools;
        self
    }

    /// Returns the tools for a query, best first.
    ///
    /// # Errors
    ///
    /// Fails if the embedding model fails.
    pub async fn find(&self, query: &str) -> Result<Vec<Tool>> {
        let ranked = self.catalog.ranked(query, &UsageMeter::new()).await?;
        Ok(ranked.into_iter().take(self.max_results).cloned().collect())
    }

    /// Returns the tools that are visible without a search.
    fn visible(&self) -> Vec<&str> {
        self.always_visible.iter().map(String::as_str).collect()
    }

    fn search_tool(&self, known: Vec<String>) -> Tool {
        let (catalog, max) = (Arc::clone(&self.catalog), self.max_results);
        let search = move |input: ToolInput| {
            let (catalog, known) = (Arc::clone(&catalog), known.clone());
            async move { catalog.search(&input, &known, max).await }
        };
        Tool::from_fn(specification(self.catalog.tools.len()), search).with_effect(Effect::ReadOnly)
    }
}

#[async_trait]
impl ToolProvider for ToolSearch {
    async fn tools(&self, request: &ToolRequest<'_>) -> Result<Vec<Tool>> {
        let loaded = request.loaded_tools();
        let mut known = self.visible();
        for name in request.found_tools() {
            let is_loaded = loaded.is_some_and(|loaded| loaded.contains(name));
            if !known.contains(name) && !is_loaded {
                known.push(name);
            }
        }
        let visible = known.iter().filter_map(|name| self.catalog.get(name)).cloned();
        let visible: Vec<Tool> = visible.collect();
        let deferred = loaded.map(|_| self.catalog.deferred_without(&known));
        let search = self.search_tool(known.into_iter().map(str::to_owned).collect());
        let tools = [search].into_iter().chain(visible);
        Ok(tools.chain(deferred.into_iter().flatten()).collect())
    }

    fn tool_names(&self) -> Option<Vec<String>> {
        let names = self.catalog.tools.iter().map(|tool| tool.name().to_owned());
        Some([NAME.to_owned()].into_iter().chain(names).collect())
    }

    fn refresh(&self) -> ToolRefresh {
        ToolRefresh::EachRequest
    }
}

impl Catalog {
    fn get(&self, name: &str) -> Option<&Tool> {
        self.tools.get(*self.by_name.get(name)?)
    }

    /// Returns all tools whose definitions a search loads: those that are not `known`.
    fn deferred_without(&self, known: &[&str]) -> Vec<Tool> {
        let deferred = self.deferred.get_or_init(|| {
            let defer = |tool: &Tool| tool.clone().with_loading(ToolLoading::Deferred);
            self.tools.iter().map(defer).collect()
        });
        deferred.iter().filter(|tool| !known.contains(&tool.name())).cloned().collect()
    }

    /// Returns all tools that match a query, best first.
    async fn ranked(&self, query: &str, meter: &UsageMeter) -> Result<Vec<&Tool>> {
        let ranked = match &self.index {
            Index::Keyword(index) => index.ranked(query),
            Index::Embedding(index) => {
                index.ranked(query, || self.tools.iter().map(Tool::specification), meter).await?
            }
        };
        Ok(ranked.into_iter().filter_map(|index| self.tools.get(index)).collect())
    }

    /// Searches for a model to which the `known` tools are visible. They come last.
    async fn search(
        &self,
        input: &ToolInput,
        known: &[String],
        max: usize,
    ) -> Result<ToolOutput, ToolError> {
        let query: String = input.arguments()?.take("query")?;
        let ranked = self.ranked(&query, input.meter()).await.map_err(ToolError::concealed)?;
        let is_known = |tool: &&&Tool| known.iter().any(|name| name == tool.name());
        let (old, new): (Vec<&Tool>, Vec<&Tool>) =
            ranked.into_iter().take(max).partition(|tool| is_known(&tool));
        if old.is_empty() && new.is_empty() {
            return Ok(ToolOutput::text("No tool matches. Try other words for the same task."));
        }
        let mut text = "These tools can be called from now on:\n".to_owned();
        for tool in new.iter().chain(&old) {
            let description = tool.specification().description.lines().next().unwrap_or_default();
            // Writing to a string cannot fail.
            let _ = writeln!(text, "- {}: {description}", tool.name());
        }
        let names: Vec<&str> = new.iter().map(|tool| tool.name()).collect();
        let output = ToolOutput::text(text);
        Ok(if names.is_empty() {
            output
        } else {
            output.with_attributes(found_tools_attribute(&names))
        })
    }
}

fn specification(tools: usize) -> ToolSpecification {
    let description = format!(
        "Searches {tools} further tools that are not visible yet. Call it when no visible tool can do the task. The tools \
         that it finds can be called afterwards."
    );
    let parameters = json!({
        "type": "object",
        "properties": {
            "query": { "type": "string", "description": "The kind of task in general words, without names and values: the action and the object, each with its synonyms. For example: send write email mail message" },
        },
        "required": ["query"],
    });
    ToolSpecification::new(NAME, description)
        .with_parameters(Schema::try_from(parameters).unwrap_or_default())
}

/// Returns the texts of a tool that are searched, the most important ones first: name, description, parameters.
fn texts(specification: &ToolSpecification) -> (&str, &str, Vec<&str>) {
    let properties = specification.parameters.as_ref().and_then(|schema| schema.get("properties"));
    let properties = properties.and_then(serde_json::Value::as_object).into_iter().flatten();
    let parameters = properties.flat_map(|(name, schema)| {
        let description = schema.get("description").and_then(serde_json::Value::as_str);
        [Some(name.as_str()), description].into_iter().flatten()
    });
    (&specification.name, &specification.description, parameters.collect())
}

impl fmt::Debug for ToolSearch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolSearch")
            .field("tools", &self.catalog.tools.len())
            .field("always_visible", &self.always_visible)
            .field("max_results", &self.max_results)
            .finish_non_exhaustive()
    }
}
