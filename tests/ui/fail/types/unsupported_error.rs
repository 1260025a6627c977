use ai_services::ai_service;
use std::error::Error;

struct Own;

#[ai_service]
trait Support {
    async fn chat(&self, text: &str) -> Result<String, Box<dyn Error>>;

    async fn other(&self, text: &str) -> Result<String, Own>;
}

fn main() {}
