use ai_services::memory::MemoryId;
use ai_services::tools;

struct Payments;

#[tools]
impl Payments {
    /// Pays an order.
    #[tool(idempotent, key = "pay-{{oder}}")]
    fn pay(&self, order: String) {
        let _ = order;
    }

    /// Refunds an order.
    #[tool(idempotent, key = "refund-{{customer}}")]
    fn refund(&self, #[memory_id] customer: &MemoryId, order: String) {
        let _ = (customer, order);
    }
}

fn main() {}
