use ai_services::tool;

/// Adds.
#[tool]
async fn add(#[p("First.")] a: i64) -> i64 {
    let b = ;
    a
}

fn main() {}
