use ai_services::ai_service;
use ai_services::message::ImageContent;

#[ai_service]
trait Assistant {
    #[user_message("Hello!")]
    async fn template(
        &self,
        #[user_message] image: ImageContent,
        #[user_message] text: &str,
    ) -> ai_services::Result<String>;

    async fn parameters(
        &self,
        #[user_message] first: &str,
        #[user_message] image: Option<ImageContent>,
        #[user_message] second: String,
        #[user_message] third: u8,
    ) -> ai_services::Result<String>;
}

fn main() {}
