//! Prompts: templates for the system and the user, in the source or in a file beside it.
//!
//! A placeholder without a parameter, and a parameter without a placeholder, are compile errors.
#![allow(clippy::print_stdout, reason = "an example shows what it sent")]

use ai_services::ai_service;
use ai_services::prompt::LocalDateTime;
use ai_services::testing::ScriptedChatModel;

#[ai_service]
#[system_message("You write for {{magazine}}.", "Today is {{current_date}}.")]
trait Editor {
    /// The text of the message is a template too; `#[v]` marks its variables.
    #[user_message("Write a headline about {{topic}} in at most {{words}} words.")]
    async fn headline(
        &self,
        #[v] magazine: &str,
        #[v] topic: &str,
        #[v] words: u8,
    ) -> ai_services::Result<String>;

    /// A method's own system message wins. The message is sent as it is: braces in it mean nothing.
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
        // The system's clock, unless a test or a time machine wants another one.
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
    let said = |request: usize, message: usize| {
        model.messages_of(request).get(message).and_then(|m| m.text().map(str::to_owned))
    };
    let system = "You write for The Shell.\nToday is 2026-02-28.";
    assert_eq!(said(0, 0).as_deref(), Some(system));
    // What a variable holds is data: its braces are not looked at again.
    let user = "Write a headline about {{crabs}} in at most 3 words.";
    assert_eq!(said(0, 1).as_deref(), Some(user));
    assert!(said(1, 0).is_some_and(|text| text.contains("issue of 2026-02-28")));
    assert_eq!(said(1, 1).as_deref(), Some("Here is {{no}} placeholder."));
    model.check_finished()
}
