//! The trait can be implemented manually with `async_trait`.

use ai_services::{Result, ai_service, async_trait};

#[ai_service]
trait Assistant {
    async fn chat(&self, #[memory_id] user: &str, #[user_message] text: &str) -> Result<String>;
}

struct Double;

#[async_trait]
impl Assistant for Double {
    async fn chat(&self, user: &str, text: &str) -> Result<String> {
        Ok(format!("{user}: {text}"))
    }
}

/// `#[async_trait]` below `#[ai_service]` has no effect.
#[ai_service]
#[async_trait]
trait Redundant: Send + Sync {
    async fn chat(&self, text: &str) -> Result<String>;
}

fn main() {
    let share = |service: RedundantService| -> std::sync::Arc<dyn Redundant> { std::sync::Arc::new(service) };
    let _ = share;
    let _: Box<dyn Assistant> = Box::new(Double);
}
