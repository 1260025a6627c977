use ai_services::{TokenStream, ai_service};

struct Secret;

#[ai_service]
trait Assistant {
    fn chat(&self, text: &str) -> TokenStream<Secret>;
}

fn main() {}
