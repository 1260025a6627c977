//! Search engines: Tavily and servers that imitate it, SearXNG.

mod reading;
mod searxng;
mod tavily;
mod terms;

pub use searxng::{SearxngSearchEngine, SearxngSearchEngineBuilder};
pub use tavily::{
    TavilyAnswer, TavilyRawContent, TavilySearchDepth, TavilySearchEngine,
    TavilySearchEngineBuilder, TavilyTopic,
};
