use ai_services::ai_service;

#[ai_service]
trait Assistant {
    fn chat(&self, text: &str);
}

fn main() {}
