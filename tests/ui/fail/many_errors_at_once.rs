//! All mistakes of a trait are reported in one run, and the trait can still be implemented and called.

use ai_services::{Result, ai_service};

struct NotDisplay;

#[ai_service(nam = "Helper")]
#[system_message("You work for {{compny}}.")]
trait Assistant {
    async fn one(&self, #[v] company: &str, #[user_message] text: &str) -> Result<String>;

    async fn two(&self, #[v] company: &str) -> Result<String>;

    #[system_message("")]
    async fn three(&self, text: &str) -> Result<String>;

    #[system_message("Be brief.")]
    #[user_message("Hello {{name!")]
    async fn four(&self, #[v] name: &str) -> Result<String>;

    #[system_message("Be brief.")]
    async fn five(
        &self,
        #[memory_id] user: u64,
        #[memory_id] room: u64,
        #[user_message] text: &str,
    ) -> Result<String>;

    #[system_message("Be brief.")]
    async fn six(&self, text: &str, language: &str) -> Result<String>;

    #[system_message("Be brief.")]
    fn seven(&self, text: &str) -> Result<String>;

    #[system_message("Be brief.")]
    async fn eight(&self, text: &str);

    #[system_message("Be {{mood}}.")]
    async fn nine(&self, #[v] mood: NotDisplay, #[user_message] text: &str) -> Result<String>;

    #[system_message("Be brief.")]
    async fn ten(&self, text: &str) -> u8;
}

struct Mock;

#[ai_services::async_trait]
impl Assistant for Mock {
    async fn one(&self, company: &str, text: &str) -> Result<String> {
        Ok(format!("{company}{text}"))
    }
    async fn two(&self, company: &str) -> Result<String> {
        self.one(company, "two").await
    }
    async fn three(&self, text: &str) -> Result<String> {
        self.two(text).await
    }
    async fn four(&self, name: &str) -> Result<String> {
        self.two(name).await
    }
    async fn five(&self, _user: u64, _room: u64, text: &str) -> Result<String> {
        self.two(text).await
    }
    async fn six(&self, text: &str, language: &str) -> Result<String> {
        self.one(text, language).await
    }
    fn seven(&self, text: &str) -> Result<String> {
        Ok(text.to_owned())
    }
    async fn eight(&self, _text: &str) {}
    async fn nine(&self, _mood: NotDisplay, text: &str) -> Result<String> {
        self.two(text).await
    }
    async fn ten(&self, _text: &str) -> u8 {
        10
    }
}

async fn ask(service: AssistantService) -> Result<String> {
    let service: Box<dyn Assistant> = Box::new(service);
    service.one("", "").await
}

fn main() {
    let _ = ask;
    let _: Box<dyn Assistant> = Box::new(Mock);
}
