use ai_services::{Result, ai_service};
use std::future::Future;

#[ai_service]
trait Support {
    fn chat(&self, text: &str) -> impl Future<Output = Result<String>>;
}

fn main() {}
