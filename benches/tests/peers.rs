//! Services and their hand-written peers do the same work.
#![allow(clippy::unwrap_used, reason = "tests")]

use ai_services::memory::ChatMemory;
use ai_services_benches::by_hand;
use ai_services_benches::server::Server;
use ai_services_benches::workload::{self, Assistant, ROUNDS, TEXT, USER};

#[test]
fn peers_send_identical_requests() {
    let server = Server::start();
    workload::runtime().block_on(async {
        for history in [0, 10, 100] {
            let service = workload::remote_assistant(&server.url(), history).await;
            let peer = by_hand::Assistant::new(USER, history);
            let client = by_hand::Server::new(&server.url());
            for _ in 0..3 {
                assert_eq!(service.chat(USER, TEXT).await.unwrap(), TEXT);
                let sent = server.last_body();
                assert_eq!(peer.chat_with(&client, USER, TEXT).await, TEXT);
                let (sent, expected) = (String::from_utf8(sent), server.last_body());
                assert_eq!(sent.unwrap(), String::from_utf8(expected).unwrap());
            }
        }
    });
}

#[test]
fn windows_stay_full() {
    workload::runtime().block_on(async {
        for size in [10, 100] {
            let messages = workload::message_window(size).await;
            let tokens = workload::token_window(size).await;
            for _ in 0..3 {
                workload::add_turn(&messages).await;
                workload::add_turn(&tokens).await;
                assert_eq!(messages.messages().await.unwrap().len(), size);
                assert_eq!(tokens.messages().await.unwrap().len(), size);
            }
        }
    });
}

#[test]
fn tool_loop_runs_all_rounds() {
    workload::runtime().block_on(async {
        let response = workload::researcher().research(TEXT).await.unwrap();
        let results = response.tool_executions.iter().map(|run| run.result().text().unwrap());
        assert!(results.eq((0..ROUNDS).map(|round| format!("3 results for round {round}"))));
        assert_eq!(response.value, by_hand::research(TEXT).await);
    });
}
