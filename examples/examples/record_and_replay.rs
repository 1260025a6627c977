//! Tests with the answers of a real model: recorded once, replayed without a network.
//!
//! In this example a scripted model replaces the real one. With a provider's client, the recording is made
//! once, with a key, and stored with the tests.
#![allow(clippy::print_stdout, reason = "examples print their results")]

use ai_services::ai_service;
use ai_services::combinators::{RecordingModel, ReplayModel};
use ai_services::model::ChatModel;
use ai_services::testing::ScriptedChatModel;
use std::sync::Arc;

/// An assistant that writes poems.
#[ai_service]
trait Poet {
    /// Writes two lines.
    #[user_message("Write two lines about {{it}}.")]
    async fn write(&self, subject: &str) -> ai_services::Result<String>;
}

/// Runs the program under test with any model.
async fn poem(model: Arc<dyn ChatModel>) -> ai_services::Result<String> {
    PoetService::builder().chat_model(model).build()?.write("the sea").await
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<()> {
    let cassette = std::env::temp_dir().join(format!("poem-{}.jsonl", std::process::id()));
    let real = ScriptedChatModel::replies(["The sea, the sea,\nis larger than me."]);

    let recorded = poem(Arc::new(RecordingModel::builder(real, &cassette).build())).await?;

    // From here on the model is not called: a request that was not recorded is an error.
    let replay = ReplayModel::builder().open(&cassette).await?;
    let replayed = poem(Arc::new(replay)).await?;

    assert_eq!(replayed, recorded);
    println!("{replayed}");
    std::fs::remove_file(&cassette)?;
    Ok(())
}
