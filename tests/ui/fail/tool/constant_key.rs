use ai_services::tool;

/// Pays an order.
#[tool(idempotent, key = "payment")]
fn pay(order: String) {
    let _ = order;
}

fn main() {}
