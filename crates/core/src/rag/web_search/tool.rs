//! A search engine as a tool.

use super::request::request_setters;
use super::retriever::MAX_TEXT;
use super::{WebSearchEngine, WebSearchRequest, WebSearchResults, text};
use crate::model::ToolSpecification;
use crate::rag::telling::told;
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

/// Lets the model search the web by itself.
///
/// The model is told pages by number, each with title, address and text, so that it can name its sources:
///
/// ```text
/// 1. Ferns
///    https://plants.example/ferns
///    Ferns grow in shade.
///
/// 2. …
/// ```
///
/// All lines but the first of a page are indented, so that no page can pretend to be several. All pages together are
/// cut off behind 192 KiB.
///
/// If nothing is found the model is told so; if the search fails it is told why, as for any tool.
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
/// Pages are numbered, and how much of a page is told is limited. An answer of the engine comes first.
#[derive(Clone)]
pub struct WebSearchTool {
    engine: Arc<dyn WebSearchEngine>,
    request: WebSearchRequest,
    max_text_bytes: usize,
    name: Box<str>,
    description: Box<str>,
}

impl WebSearchTool {
    /// A tool `search_web` that finds five pages at a time.
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

    /// Sets the name by which the model calls it; `search_web` by default.
    #[must_use]
    pub fn name(mut self, name: impl Into<Box<str>>) -> Self {
        self.name = name.into();
        self
    }

    /// Sets what the model is told about when to call it.
    #[must_use]
    pub fn description(mut self, description: impl Into<Box<str>>) -> Self {
        self.description = description.into();
        self
    }

    request_setters!();

    /// The tool. Its only parameter is `query`, a text.
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
        Ok(ToolOutput::text(self.told(&found)))
    }

    fn told(&self, found: &WebSearchResults) -> String {
        let answer = found.answer().map(|answer| part("The search engine answers:", [answer]));
        let pages = found.results().iter().zip(1..).map(|(result, number)| {
            let text = result.text().map(|text| text::clean(text, self.max_text_bytes));
            let lines = [&*result.url].into_iter().chain(text.as_deref());
            part(&format!("{number}. {}", result.title), lines)
        });
        told(answer.into_iter().chain(pages))
    }
}

/// A line, and below it texts whose lines are indented.
fn part<'a>(first: &str, texts: impl IntoIterator<Item = &'a str>) -> String {
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
