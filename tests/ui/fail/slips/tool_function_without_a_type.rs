use ai_services::tool;

/// Adds.
#[tool]
async fn add(#[p("First.")] a) -> i64 {
    1
}

fn main() {}
