//! Web search engines: Tavily, servers with its protocol, and SearXNG.

mod reading;
mod searxng;
mod tavily;
mod terms;

pub use searxng::{SearxngSearchEngine, SearxngSearchEngineBuilder};
pub use tavily::{
    TavilyAnswer, TavilyRawContent, TavilySearchDepth, TavilySearchEngine,
    TavilySearchEngineBuilder, TavilyTopic,
};
