//! Servers that break the protocol, or try to harm, over both transports: each is a typed error or a tool that is left
//! out, within its time limit, with bounded memory, and without a process that is left.

#![cfg(target_os = "linux")]
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "tests panic on failure, and print the figures of each check"
)]

#[path = "../client/agent.rs"]
#[allow(dead_code, reason = "shared with the other tests")]
mod agent;
mod behavior;
mod server;
mod transport;

use agent::{Told, call, offered};
use ai_services::mcp::{Era, McpPins, McpTools, OnChange, RemoteServer};
use ai_services::{Error, ErrorKind};
use behavior::{Behavior, Method};
use std::time::{Duration, Instant};
use transport::{BOTH, Transport, against, alone};

/// Time limit of connections and calls. Each check has one connection and at most two calls or lists.
const LIMIT: Duration = Duration::from_secs(2);

/// Time of a check of a server that answers at once.
const PROMPT: Duration = Duration::from_secs(20);

const ERAS: &[Era] = &[Era::Legacy, Era::Modern];

async fn build(remote: RemoteServer) -> ai_services::Result<McpTools> {
    McpTools::builder().server(remote).build().await
}

async fn rejected(remote: RemoteServer) -> Error {
    build(remote).await.unwrap_err()
}

/// Connects to a server that does not become usable within the limit.
async fn fails_to_connect(remote: RemoteServer) {
    let error = rejected(remote.connect_timeout(LIMIT)).await;
    assert!(matches!(error.kind(), ErrorKind::Timeout | ErrorKind::Connection), "{error}");
}

/// Calls the tool, and then the honest tool on the connection that the server has left usable, or on another one.
async fn called(remote: RemoteServer) -> Told {
    let tools = build(remote).await.unwrap();
    let told = call(&tools, "s__bad", "{}").await;
    acts_again(&tools).await;
    told
}

async fn acts_again(tools: &McpTools) {
    assert_eq!(call(tools, "s__ok", "{}").await.text(), "done");
}

/// Calls the honest tool.
pub(crate) async fn acts(remote: RemoteServer, answer: &str) {
    let tools = build(remote).await.unwrap();
    assert_eq!(call(&tools, "s__ok", "{}").await.text(), answer);
}

/// Returns the reason why the tool `bad` is left out.
async fn left_out(remote: RemoteServer) -> String {
    let tools = build(remote).await.unwrap();
    assert_eq!(offered(&tools).await.unwrap(), ["s__ok"]);
    let [left_out] = &tools.left_out()[..] else { panic!("{:?}", tools.left_out()) };
    assert_eq!(left_out.tool, "bad");
    left_out.reason.clone()
}

#[test]
fn server_that_never_answers_is_a_timeout() {
    alone(|| {
        for method in [Method::Handshake, Method::List] {
            against(Behavior::Silent(method), BOTH, ERAS, LIMIT * 2, fails_to_connect);
        }
    });
}

#[test]
fn call_that_is_never_answered_is_unknown() {
    alone(|| {
        against(Behavior::Silent(Method::Call), BOTH, ERAS, LIMIT * 2, async |remote| {
            called(remote.call_timeout(LIMIT)).await.is_unknown("did not answer within 2s");
        });
    });
}

#[test]
fn second_answer_is_ignored() {
    alone(|| {
        against(Behavior::AnswersTwice, BOTH, ERAS, PROMPT, async |remote| {
            assert_eq!(called(remote).await.text(), "first");
        });
    });
}

#[test]
fn handshake_and_list_of_a_gibibyte_are_errors() {
    alone(|| {
        for method in [Method::Handshake, Method::List] {
            against(Behavior::HugeMessage(method), BOTH, ERAS, LIMIT * 2, fails_to_connect);
        }
    });
}

/// The whole gibibyte is read, because the connection goes on behind it.
#[test]
fn answer_of_a_gibibyte_is_unknown() {
    alone(|| {
        against(
            Behavior::HugeMessage(Method::Call),
            BOTH,
            &[Era::Legacy],
            LIMIT * 20,
            async |remote| {
                called(remote.call_timeout(LIMIT * 5)).await.is_unknown("");
            },
        );
    });
}

#[test]
fn notifications_of_a_gibibyte_are_ignored() {
    alone(|| {
        against(Behavior::HugeStream, BOTH, &[Era::Legacy], LIMIT * 60, async |remote| {
            let remote = remote.call_timeout(LIMIT * 40);
            let tools = build(remote).await.unwrap();
            let told = call(&tools, "s__bad", "{}").await;
            assert_eq!(told.text(), "done");
            acts_again(&tools).await;
        });
    });
}

#[test]
fn bodies_of_a_gibibyte_are_unknown() {
    alone(|| {
        for behavior in [Behavior::HugeBody, Behavior::HugeError] {
            against(behavior, &[Transport::Http], ERAS, PROMPT, async |remote| {
                let told = called(remote.call_timeout(LIMIT * 4)).await;
                assert!(told.is_unknown || told.result.is_error(), "{told:?}");
            });
        }
    });
}

#[test]
fn handshake_and_list_of_seven_million_values_are_errors() {
    alone(|| {
        for method in [Method::Handshake, Method::List] {
            against(Behavior::ManyValues(method), BOTH, ERAS, LIMIT * 2, fails_to_connect);
        }
    });
}

#[test]
fn answers_of_seven_million_values_are_unknown() {
    alone(|| {
        against(Behavior::ManyValues(Method::Call), BOTH, ERAS, PROMPT, async |remote| {
            called(remote.call_timeout(LIMIT)).await.is_unknown("");
        });
        against(Behavior::BodyOfManyValues, &[Transport::Http], ERAS, LIMIT, async |remote| {
            called(remote).await.is_unknown("more than 250000 structural characters");
        });
    });
}

#[test]
fn ten_thousand_pages_are_an_error() {
    alone(|| {
        against(Behavior::ManyPages, BOTH, ERAS, PROMPT, async |remote| {
            let error = rejected(remote).await;
            assert!(error.to_string().contains("more than 1000 pages"), "{error}");
        });
    });
}

#[test]
fn repeated_cursor_is_an_error() {
    alone(|| {
        against(Behavior::RepeatedCursor, BOTH, ERAS, PROMPT, async |remote| {
            let error = rejected(remote).await;
            assert!(error.to_string().contains("the cursor of a list repeats"), "{error}");
        });
    });
}

#[test]
fn schema_of_ten_thousand_levels_is_an_error() {
    alone(|| {
        against(Behavior::DeepSchema, BOTH, ERAS, LIMIT * 2, fails_to_connect);
    });
}

#[test]
fn tools_with_dangerous_schemas_are_left_out() {
    alone(|| {
        for (behavior, reason) in [
            (Behavior::NestedSchema, "nested more than 64 levels deep"),
            (Behavior::RemoteReference, "refers to another document"),
        ] {
            against(behavior, BOTH, ERAS, PROMPT, async |remote| {
                let left_out = left_out(remote).await;
                assert!(left_out.contains(reason), "{left_out}");
            });
        }
    });
}

/// Only calls of modern servers by HTTP send parameters in headers.
#[test]
fn tool_with_an_invalid_header_is_left_out() {
    alone(|| {
        against(
            Behavior::InvalidHeader,
            &[Transport::Http],
            &[Era::Modern],
            PROMPT,
            async |remote| {
                let tools = build(remote).await.unwrap();
                assert_eq!(offered(&tools).await.unwrap(), ["s__ok"]);
            },
        );
    });
}

#[test]
fn hidden_text_of_descriptions_does_not_reach_the_model() {
    alone(|| {
        against(Behavior::HiddenText, BOTH, ERAS, PROMPT, async |remote| {
            let tools = build(remote).await.unwrap();
            assert_eq!(&*tools.tools()[1].specification().description, "Adds.");
        });
    });
}

#[test]
fn definition_that_changes_before_the_call_is_rejected() {
    alone(|| {
        against(Behavior::ChangedDefinition, BOTH, &[Era::Legacy], PROMPT, async |remote| {
            let directory = tempfile::tempdir().unwrap();
            let pins =
                McpPins::file(directory.path().join("pins.json")).on_change(OnChange::Reject);
            let tools = McpTools::builder().server(remote).pins(pins).build().await.unwrap();
            assert_eq!(offered(&tools).await.unwrap(), ["s__ok", "s__bad"]);
            call(&tools, "s__bad", "{}").await;
            let end = Instant::now() + PROMPT;
            let error = loop {
                match offered(&tools).await {
                    Err(error) => break error,
                    Ok(offered) => assert!(Instant::now() < end, "{offered:?}"),
                }
                tokio::time::sleep(Duration::from_millis(5)).await;
            };
            assert_eq!(error.kind(), ErrorKind::Configuration);
            assert!(error.to_string().contains("`bad` was changed"), "{error}");
        });
    });
}

#[test]
fn two_tools_with_one_name_are_an_error() {
    alone(|| {
        against(Behavior::TwoNames, BOTH, ERAS, PROMPT, async |remote| {
            let error = rejected(remote).await;
            assert_eq!(error.kind(), ErrorKind::Configuration);
            assert!(error.to_string().contains("are both named `s__o_k`"), "{error}");
        });
    });
}

#[test]
fn endless_progress_ends_at_the_total_time_limit() {
    alone(|| {
        against(Behavior::EndlessProgress, BOTH, ERAS, LIMIT * 4, async |remote| {
            let tools = build(remote.call_timeout(LIMIT / 4).total_timeout(LIMIT)).await.unwrap();
            let started = Instant::now();
            call(&tools, "s__bad", "{}").await.is_unknown("longer than 2s");
            assert!(started.elapsed() >= LIMIT, "progress did not extend the time limit");
        });
    });
}

#[test]
fn state_of_a_mebibyte_is_an_error() {
    alone(|| {
        against(Behavior::LargeState, BOTH, &[Era::Modern], PROMPT, async |remote| {
            called(remote).await.is_error("larger than 1 MiB");
        });
    });
}
