use ai_services::tool;

/// Returns the price of an item.
#[tool(read_only, key = "{{item}}")]
fn price(item: &str) -> usize {
    item.len()
}

fn main() {}
