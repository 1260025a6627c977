//! The server that clients of other projects call.

use ai_services::mcp::McpServer;
use ai_services::message::ImageContent;
use ai_services::schema::JsonSchema;
use ai_services::tool::{ToolInput, ToolProgress};
use ai_services::tools;
use serde::Serialize;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A red pixel.
const PNG: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==";

/// Builds the server.
pub(crate) fn build() -> ai_services::Result<McpServer> {
    McpServer::builder("counterparts", env!("CARGO_PKG_VERSION"))
        .tools(Tools::default())
        .typed_output::<Sum>("sum")
        .build()
}

#[derive(Serialize, JsonSchema)]
struct Sum {
    sum: i64,
}

#[derive(Default)]
struct Tools {
    dropped: Arc<AtomicUsize>,
}

/// Counts a dropped call.
struct OnDrop(Arc<AtomicUsize>);

impl Drop for OnDrop {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

#[tools]
impl Tools {
    /// Returns the text.
    #[tool(read_only)]
    async fn echo(&self, text: String) -> String {
        text
    }

    /// Fails.
    #[tool(read_only)]
    async fn fail(&self) -> Result<String, String> {
        Err("sold out".to_owned())
    }

    /// Returns an image.
    #[tool(read_only)]
    async fn pixel(&self) -> ImageContent {
        ImageContent::base64(PNG, "image/png")
    }

    /// Adds two numbers.
    #[tool(read_only)]
    async fn sum(&self, a: i64, b: i64) -> Sum {
        Sum { sum: a.saturating_add(b) }
    }

    /// Reports progress, and never ends by itself.
    #[tool(read_only)]
    async fn endless(&self, #[context] input: &ToolInput) -> &'static str {
        let _dropped = OnDrop(Arc::clone(&self.dropped));
        for completed in 1..=3 {
            input.report(ToolProgress::new(completed.into()).with_total(3.0));
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
        std::future::pending().await
    }

    /// Returns the number of dropped calls of `endless`.
    #[tool(read_only)]
    async fn dropped(&self) -> usize {
        self.dropped.load(Ordering::SeqCst)
    }

    /// Returns the id of the process.
    #[tool(read_only)]
    async fn process_id(&self) -> u32 {
        std::process::id()
    }
}
