use ai_services::tool;

/// Cancels a booking.
#[tool(read_only, idempotent)]
fn cancel(number: String) {
    let _ = number;
}

fn main() {}
