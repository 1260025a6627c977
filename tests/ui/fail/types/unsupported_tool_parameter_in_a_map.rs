use ai_services::tools;
use std::collections::HashMap;

struct Desk;

#[tools]
impl Desk {
    /// Takes a map.
    #[tool]
    fn map(&self, _map: HashMap<String, &str>) {}
}

fn main() {}
