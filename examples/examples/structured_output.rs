//! Typed answers: the return type of a method defines the format of the answer.
//!
//! The schema of the return type is sent with the request. An invalid answer is sent back to the model with
//! the problem and its path.
#![allow(clippy::print_stdout, reason = "examples print their results")]

use ai_services::testing::ScriptedChatModel;
use ai_services::{Response, Result, ai_service};
use schemars::JsonSchema;
use serde::Deserialize;

/// A customer's complaint.
#[derive(Debug, PartialEq, Deserialize, JsonSchema)]
struct Complaint {
    /// The full name, if the letter contains it.
    customer: Option<String>,
    parts: Vec<Part>,
    wish: Wish,
}

#[derive(Debug, PartialEq, Deserialize, JsonSchema)]
struct Part {
    name: String,
    /// Number of broken parts.
    count: u32,
}

/// The customer's request.
#[derive(Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Wish {
    Repair,
    Refund { euros: u32 },
}

/// An enum makes a method a classifier.
#[derive(Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Mood {
    Happy,
    Neutral,
    Angry,
}

#[ai_service]
trait Desk {
    #[user_message("Read this complaint:\n{{it}}")]
    async fn read(&self, letter: &str) -> Result<Response<Complaint>>;

    #[user_message("In what mood was this written?\n{{it}}")]
    async fn mood(&self, letter: &str) -> Result<Mood>;

    #[user_message("Which questions does this leave open?\n{{it}}")]
    async fn questions(&self, letter: &str) -> Result<Vec<String>>;
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let model = ScriptedChatModel::replies([
        // A word instead of a number.
        r#"{"customer":"Ada King","parts":[{"name":"bell","count":"two"}],"wish":"repair"}"#,
        r#"{"customer":"Ada King","parts":[{"name":"bell","count":2}],"wish":{"refund":{"euros":9}}}"#,
        // Lists and plain values are wrapped for models that support only objects.
        r#"{"value":"angry"}"#,
        r#"{"values":["When were they bought?","Where?"]}"#,
    ]);
    let desk = DeskService::builder().chat_model(model.clone()).build()?;
    let letter = "Both bells are broken. I want my 9 euros back! Ada King";

    let response = desk.read(letter).await?;
    for rejected in &response.rejected_answers {
        println!("sent back: {}", rejected.error);
    }
    println!("{:#?}", response.value);
    assert_eq!(response.rejected_answers.len(), 1);
    assert_eq!(response.value.parts, [Part { name: "bell".to_owned(), count: 2 }]);
    assert_eq!(response.value.wish, Wish::Refund { euros: 9 });

    let mood = desk.mood(letter).await?;
    println!("mood: {mood:?}");
    assert_eq!(mood, Mood::Angry);

    let questions = desk.questions(letter).await?;
    println!("open: {questions:?}");
    assert_eq!(questions, ["When were they bought?", "Where?"]);
    model.check_finished()
}
