use ai_services::tools;

struct Desk;

#[tools]
impl Desk {
    /// Takes a constant.
    #[tool]
    fn constant(&self, _text: &'static str) {}

    /// Takes a list.
    #[tool]
    fn list(&self, _list: &[&str]) {}
}

fn main() {}
