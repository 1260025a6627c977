use ai_services::ai_service;

struct Report;

#[ai_service]
trait Assistant {
    async fn report(&self, text: &str) -> ai_services::Result<Report>;
}

fn main() {}
