//! Web search engines: Tavily, servers with its protocol, and SearXNG.

mod searxng;
mod tavily;
mod terms;
mod tolerant_json;

pub use searxng::{SearxngSearchEngine, SearxngSearchEngineBuilder};
pub use tavily::{
    TavilyAnswer, TavilyRawContent, TavilySearchDepth, TavilySearchEngine,
    TavilySearchEngineBuilder, TavilyTopic,
};
