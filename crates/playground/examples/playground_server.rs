//! The server that `scripts/playground` opens in a browser. Its argument is the base URL of the provider. It prints its
//! address.
#![allow(clippy::print_stdout, reason = "the script reads the address")]

#[path = "playground_server/checks.rs"]
mod checks;
#[path = "playground_server/tools.rs"]
mod tools;

use ai_services::memory::{InMemoryChatMemoryStore, MemoryId, MessageWindowChatMemory};
use ai_services::model::{Price, PriceTable};
use ai_services::playground::Playground;
use ai_services::providers::openai::OpenAiChatModel;
use ai_services::{AiService, AnswerStream, DurableTurns, ai_service};

#[ai_service]
#[system_message("You are the support agent of a shop for garden tools. Answer briefly.")]
trait Support {
    fn chat(
        &self,
        #[memory_id] conversation: &MemoryId,
        #[user_message] text: &str,
    ) -> AnswerStream;
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let provider = std::env::args().nth(1).unwrap_or_default();
    let store = InMemoryChatMemoryStore::new();
    let mut playground = Playground::new().store(store.clone());
    for name in ["support", "support-mini", "support-checked"] {
        let model =
            OpenAiChatModel::builder().base_url(&provider).api_key("key").model(name).build()?;
        let memories = store.clone();
        let mut builder = SupportService::builder()
            .chat_model(model)
            .tools(tools::all())
            .chat_memory_provider(move |id: &MemoryId| {
                let memory = MessageWindowChatMemory::builder().id(id).max_messages(40);
                memory.store(memories.clone()).build()
            })
            .price_table(PriceTable::new().price("support", Price::per_million(2.5, 10.0)))
            .durable_turns(DurableTurns::new())
            .listener(playground.listener());
        if name == "support-checked" {
            builder = builder
                .content_retriever(checks::care_guide)
                .input_guardrail(checks::CardNumbers)
                .output_guardrail(checks::Discounts);
        }
        let support = builder.build()?;
        let turns = AiService::clone(&support);
        playground = playground
            .service(name, move |turn| support.chat(turn.memory_id(), turn.text()))
            .decisions(name, turns);
    }
    let server = playground.bind(([127, 0, 0, 1], 0)).await?;
    println!("{}", server.url());
    server.serve(async { drop(tokio::signal::ctrl_c().await) }).await?;
    Ok(())
}
