//! Prompts: templates for system and user messages, in the source or in a separate file.
//!
//! A placeholder without a parameter, and a parameter without a placeholder, are compile errors.
#![allow(clippy::print_stdout, reason = "examples print their results")]

use ai_services::ai_service;
use ai_services::prompt::LocalDateTime;
use ai_services::testing::ScriptedChatModel;

#[ai_service]
#[system_message("You write for {{magazine}}.", "Today is {{current_date}}.")]
trait Editor {
    /// The user message is a template too; `#[v]` marks its variables.
    #[user_message("Write a headline about {{topic}} in at most {{words}} words.")]
    async fn headline(
        &self,
        #[v] magazine: &str,
        #[v] topic: &str,
        #[v] words: u8,
    ) -> ai_services::Result<String>;

    /// A method's own system message overrides the trait's. The text of a parameter is not a template:
    /// braces in it are sent unchanged.
    #[system_message(file = "prompts/review.txt")]
    async fn review(
        &self,
        #[v] magazine: &str,
        #[user_message] text: &str,
    ) -> ai_services::Result<String>;
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> ai_services::Result<()> {
    let model = ScriptedChatModel::replies(["Crabs Take Over", "accept"]);
    let today: LocalDateTime = "2026-02-28T09:05".parse()?;
    let editor = EditorService::builder()
        .chat_model(model.clone())
        // A fixed clock for the test. Default: the system's clock.
        .clock(move || today)
        .build()?;

    let headline = editor.headline("The Shell", "{{crabs}}", 3).await?;
    let verdict = editor.review("The Shell", "Here is {{no}} placeholder.").await?;

    println!("headline: {headline}\nverdict: {verdict}");
    for request in 0..2 {
        for message in model.messages_of(request) {
            println!("{request}: {}", message.text().unwrap_or_default());
        }
    }
    let text_of = |request: usize, message: usize| {
        model.messages_of(request).get(message).and_then(|m| m.text().map(str::to_owned))
    };
    let system = "You write for The Shell.\nToday is 2026-02-28.";
    assert_eq!(text_of(0, 0).as_deref(), Some(system));
    // The value of a variable is data: braces in it are not parsed.
    let user = "Write a headline about {{crabs}} in at most 3 words.";
    assert_eq!(text_of(0, 1).as_deref(), Some(user));
    assert!(text_of(1, 0).is_some_and(|text| text.contains("issue of 2026-02-28")));
    assert_eq!(text_of(1, 1).as_deref(), Some("Here is {{no}} placeholder."));
    model.check_finished()
}
