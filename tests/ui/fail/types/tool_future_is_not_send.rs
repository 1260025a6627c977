use ai_services::tools;
use std::sync::Mutex;

struct Desk(Mutex<u8>);

#[tools]
impl Desk {
    /// Holds a lock while it waits.
    #[tool]
    async fn first(&self) {
        let guard = self.0.lock();
        std::future::ready(()).await;
        drop(guard);
    }

    /// Holds a lock while it waits.
    #[tool]
    async fn second(&self) {
        let guard = self.0.lock();
        std::future::ready(()).await;
        drop(guard);
    }
}

fn main() {}
