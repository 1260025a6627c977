//! A typed answer that can be shown while it grows.
//!
//! The model writes JSON, and `partial` yields the value so far. Fields that have not arrived are empty.
//! The last item is the complete value.
#![allow(clippy::print_stdout, reason = "examples print their results")]

use ai_services::testing::{ScriptedAnswer, ScriptedChatModel};
use ai_services::{AnswerStream, Error, ErrorKind, Result, ai_service};
use schemars::JsonSchema;
use serde::Deserialize;
use std::time::Duration;

#[derive(Debug, Deserialize, JsonSchema)]
struct Recipe {
    title: String,
    minutes: u32,
    ingredients: Vec<String>,
    steps: Vec<String>,
}

#[ai_service]
trait Cook {
    #[user_message("A recipe for {{it}}.")]
    fn recipe(&self, dish: &str) -> AnswerStream<Recipe>;
}

const ANSWER: &str = r#"{
    "title": "Pancakes",
    "minutes": 20,
    "ingredients": ["2 eggs", "300 ml milk", "150 g flour"],
    "steps": ["Stir.", "Let it rest.", "Fry on both sides."]
}"#;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let answer = ScriptedAnswer::text(ANSWER).chunked(12).with_pauses(Duration::from_millis(20));
    let cook = CookService::builder().chat_model(ScriptedChatModel::new([answer])).build()?;

    let mut recipes = cook.recipe("pancakes").partial();
    let mut states = 0;
    let mut last = None;
    while let Some(recipe) = recipes.next().await {
        let recipe = recipe?;
        let Recipe { title, ingredients, steps, .. } = &recipe;
        println!("{title:8} needs {ingredients:?}: {}", steps.join(" "));
        states += 1;
        last = Some(recipe);
    }

    println!("{states} states, the last one is the answer");
    assert!(states > 1, "only the complete value was yielded");
    let recipe =
        last.ok_or_else(|| Error::new(ErrorKind::Output, "the stream ended without a recipe"))?;
    assert_eq!((recipe.minutes, recipe.ingredients.len(), recipe.steps.len()), (20, 3, 3));
    Ok(())
}
