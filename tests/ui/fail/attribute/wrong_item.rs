use ai_services::ai_service;

#[ai_service]
struct Assistant;

fn main() {}
