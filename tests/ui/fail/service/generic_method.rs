use ai_services::ai_service;

#[ai_service]
trait Assistant {
    async fn chat<T: AsRef<str>>(&self, text: T) -> ai_services::Result<String>;
}

fn main() {}
