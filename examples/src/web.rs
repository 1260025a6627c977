//! The chat in a web page.

use crate::assistant::{Assistant, AssistantService};
use crate::screen::Screen;
use crate::turn::ChatOptions;
use ai_services::AiService;
use ai_services::memory::ConversationStore;
use ai_services::playground::Playground;
use std::process::ExitCode;
use std::sync::Arc;

/// Serves the page until Ctrl-C. `playground` is the one whose listener the service has.
pub(crate) async fn serve(
    playground: Playground,
    service: AssistantService,
    store: Arc<dyn ConversationStore>,
    options: ChatOptions,
    screen: &Screen,
) -> anyhow::Result<ExitCode> {
    let mut playground = playground.store(store);
    if options.asks_approval {
        playground = playground.decisions("assistant", AiService::clone(&service));
    }
    let server = playground
        .service("assistant", move |turn| {
            service.stream(turn.memory_id().as_str(), "in simple Markdown", turn.text())
        })
        .bind(([127, 0, 0, 1], 0))
        .await?;
    screen.notice(&format!("open {} in a browser; Ctrl-C exits", server.url()));
    server.serve(async { drop(tokio::signal::ctrl_c().await) }).await?;
    Ok(ExitCode::SUCCESS)
}
