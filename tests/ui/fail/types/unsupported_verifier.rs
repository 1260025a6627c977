use ai_services::tool::ToolInput;
use ai_services::tools;

struct Payments;

#[tools]
impl Payments {
    /// Pays an order.
    #[tool(verify = find_payment)]
    async fn pay(&self, order: String) {
        let _ = order;
    }

    async fn find_payment(&self, call: ToolInput) -> bool {
        call.attempt() > 1
    }
}

fn main() {}
