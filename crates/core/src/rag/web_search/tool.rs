//! A web search engine as a tool.

use super::request::request_setters;
use super::retriever::MAX_TEXT;
use super::{WebSearchEngine, WebSearchRequest, WebSearchResults, text};
use crate::model::ToolSpecification;
use crate::rag::tool_output::join_parts;
use crate::schema::{self, JsonSchema, Property, Requirement};
use crate::tool::{Tool, ToolError, ToolInput, ToolOutput, ToolSet};
use std::fmt;
use std::sync::Arc;

const NAME: &str = "search_web";
const DESCRIPTION: &str = "\
    Searches the web and returns pages, each with its number, title, address and text. Call it for facts \
    that are recent or that you are not sure of. Name the addresses of the pages that you use in your \
    answer.";
const QUERY: &str = "What to search for: a few words, as for a search engine.";

/// A tool that lets the model search the web.
///
/// The output numbers the pages and contains their titles, addresses and texts, so that the model can cite
/// sources:
///
/// ```text
/// 1. Ferns
///    https://plants.example/ferns
///    Ferns grow in shade.
///
/// 2. …
/// ```
///
/// All lines but the first of a page are indented, so that a page cannot pretend to be several. The output is
/// truncated at 192 KiB.
///
/// An empty result is stated in the output. If the search fails, the model gets the error, as for any tool.
///
/// # Examples
///
/// ```
/// use ai_services::rag::web_search::{
///     WebSearchEngine, WebSearchRequest, WebSearchResult, WebSearchResults, WebSearchTool,
/// };
///
/// struct Library;
///
/// #[ai_services::async_trait]
/// impl WebSearchEngine for Library {
///     async fn search(&self, request: &WebSearchRequest) -> ai_services::Result<WebSearchResults> {
///         let page = WebSearchResult::new(&*request.terms, "https://library.example/1");
///         Ok(WebSearchResults::new([page]))
///     }
/// }
///
/// let tool = WebSearchTool::new(Library).name("search_library").max_results(3);
/// assert_eq!(tool.tool().name(), "search_library"); // or `.tools(tool)` of a service's builder
/// ```
///
/// # Differences from LangChain4j
///
/// Pages are numbered, and the text of a page has a size limit. An answer of the engine comes first.
#[derive(Clone)]
pub struct WebSearchTool {
    engine: Arc<dyn WebSearchEngine>,
    request: WebSearchRequest,
    max_text_bytes: usize,
    name: Box<str>,
    description: Box<str>,
}

impl WebSearchTool {
    /// Creates a tool `search_web` that returns up to five pages.
    #[must_use]
    pub fn new(engine: impl WebSearchEngine + 'static) -> Self {
        Self {
            engine: Arc::new(engine),
            request: WebSearchRequest::new(""),
            max_text_bytes: MAX_TEXT,
            name: NAME.into(),
            description: DESCRIPTION.into(),
        }
    }

    /// Sets the name of the tool. Default: `search_web`.
    #[must_use]
    pub fn name(mut self, name: impl Into<Box<str>>) -> Self {
        self.name = name.into();
        self
    }

    /// Sets the description of the tool, from which the model decides when to call it.
    #[must_use]
    pub fn description(mut self, description: impl Into<Box<str>>) -> Self {
        self.description = description.into();
        self
    }

    request_setters!();

    /// Returns the tool. Its only parameter is `query`, a string.
    #[must_use]
    pub fn tool(&self) -> Tool {
        let query = Property {
            name: "query",
            description: Some(QUERY),
            schema: String::json_schema,
            requirement: Requirement::Required,
        };
        let specification = ToolSpecification::new(self.name.clone(), self.description.clone())
            .with_parameters(schema::object(vec![query]));
        let shared = Arc::new(self.clone());
        Tool::from_fn(specification, move |input| {
            let own = Arc::clone(&shared);
            async move { own.run(&input).await }
        })
    }

    async fn run(&self, input: &ToolInput) -> Result<ToolOutput, ToolError> {
        let query: String = input.arguments()?.take("query")?;
        let request = self.request.clone().with_terms(query);
        let found = super::search(&*self.engine, &request).await;
        let found = found.map_err(|error| ToolError::new(error.to_string()))?;
        Ok(ToolOutput::text(self.render(&found)))
    }

    fn render(&self, found: &WebSearchResults) -> String {
        let answer =
            found.answer().map(|answer| indented_part("The search engine answers:", [answer]));
        let pages = found.results().iter().zip(1..).map(|(result, number)| {
            let text = result.text().map(|text| text::clean(text, self.max_text_bytes));
            let lines = [&*result.url].into_iter().chain(text.as_deref());
            indented_part(&format!("{number}. {}", result.title), lines)
        });
        join_parts(answer.into_iter().chain(pages))
    }
}

/// Joins a first line and texts whose lines are indented.
fn indented_part<'a>(first: &str, texts: impl IntoIterator<Item = &'a str>) -> String {
    let lines = texts.into_iter().flat_map(str::lines).map(|line| format!("   {line}"));
    [first.to_owned()].into_iter().chain(lines).collect::<Vec<_>>().join("\n")
}

impl ToolSet for WebSearchTool {
    fn tools(self: Arc<Self>) -> Vec<Tool> {
        vec![self.tool()]
    }
}

impl fmt::Debug for WebSearchTool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WebSearchTool")
            .field("name", &self.name)
            .field("engine", &self.engine.name())
            .field("max_results", &self.request.max_results)
            .finish_non_exhaustive()
    }
}
