use ai_services::{tool, tools};

#[tools]
fn cancel() -> impl Sized {}

#[tool]
struct Desk(u8);

fn main() {}
