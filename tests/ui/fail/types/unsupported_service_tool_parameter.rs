use ai_services::ai_service;
use std::fmt;

struct Language;

impl fmt::Display for Language {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("English")
    }
}

#[ai_service]
trait Translator {
    /// Translates a text.
    #[tool]
    #[user_message("Translate to {{language}}: {{text}}")]
    async fn translate(&self, text: &str, language: Language) -> ai_services::Result<String>;
}

fn main() {}
