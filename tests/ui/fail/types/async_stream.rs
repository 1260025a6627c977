use ai_services::{TokenStream, ai_service};

#[ai_service]
trait Assistant {
    async fn chat(&self, text: &str) -> TokenStream;
}

fn main() {}
