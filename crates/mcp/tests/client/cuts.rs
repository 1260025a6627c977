//! Connections that are cut after a call was sent: it is executed at most once, and never repeated.

use crate::agent::{Told, call};
use crate::http_server::{Answer, HttpServer};
use crate::scripted_server::{Scripted, tool};
use ai_services::mcp::{Era, McpTools, RemoteServer};
use futures_util::stream::{self, StreamExt};
use serde_json::{Value, json};
use std::time::Duration;

/// Longest answer of the servers here, in bytes.
const LONGEST_ANSWER: u64 = 300;

/// Numbers that look random, the same in each run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }
}

/// Returns `true` if the answer is whole. Otherwise the outcome has to be unknown.
#[track_caller]
fn is_whole(told: &Told) -> bool {
    if told.is_unknown {
        assert!(told.text().starts_with("outcome unknown: "), "{told:?}");
        return false;
    }
    assert_eq!((told.text(), told.result.is_error()), ("done", false));
    true
}

/// Cuts this many connections by HTTP, and returns the number of whole answers.
async fn cut_by_http(cuts: usize) -> usize {
    let mut numbers = Numbers(0x5eed);
    let offsets: Vec<u64> = (0..cuts).map(|_| numbers.below(LONGEST_ANSWER)).collect();
    let server = HttpServer::new(|message| match message["method"].as_str().unwrap() {
        "initialize" => Answer::Result(json!({
            "protocolVersion": "2025-11-25",
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "scripted", "version": "1"},
        })),
        "tools/list" => Answer::Result(json!({"tools": [tool("act")]})),
        "tools/call" => {
            let arguments = &message["params"]["arguments"];
            let bytes = usize::try_from(arguments["cut"].as_u64().unwrap()).unwrap();
            match arguments["n"].as_u64().unwrap() % 2 {
                0 => Answer::Cut(bytes),
                _ => Answer::CutStream(bytes),
            }
        }
        _ => Answer::Status("400 Bad Request"),
    })
    .await;
    let remote =
        RemoteServer::http("s", &server.url).era(Era::Legacy).call_timeout(Duration::from_secs(5));
    let tools = McpTools::builder().server(remote).build().await.unwrap();
    let calls = offsets.iter().enumerate().map(|(n, cut)| {
        let (tools, arguments) = (&tools, json!({"n": n, "cut": cut}).to_string());
        async move { is_whole(&call(tools, "s__act", &arguments).await) }
    });
    let whole: Vec<bool> = stream::iter(calls).buffer_unordered(8).collect().await;
    let mut executions = vec![0; cuts];
    for received in server.calls() {
        let n = received.message["params"]["arguments"]["n"].as_u64().unwrap();
        executions[usize::try_from(n).unwrap()] += 1;
    }
    assert!(executions.iter().all(|&executions| executions == 1), "{executions:?}");
    whole.into_iter().filter(|&whole| whole).count()
}

/// Ends this many processes in the middle of their answers, and returns the number of whole answers.
async fn cut_by_the_end_of_processes(cuts: usize) -> usize {
    let mut numbers = Numbers(0x5eed);
    let done = json!({"content": [{"type": "text", "text": "done"}]});
    let steps = json!({"steps": [{"cut": done}]});
    let server = Scripted::with_tools(json!([tool("act")]), json!({"tools/call act": steps}));
    let mut whole = 0;
    for n in 0..cuts {
        // The line has less than 100 bytes.
        let arguments = json!({"n": n, "cut": numbers.below(LONGEST_ANSWER / 2)}).to_string();
        let tools = McpTools::builder().server(server.server("s")).build().await.unwrap();
        whole += usize::from(is_whole(&call(&tools, "s__act", &arguments).await));
    }
    let executed = server.received("tools/call");
    let executed: Vec<&Value> =
        executed.iter().map(|call| &call["params"]["arguments"]["n"]).collect();
    assert_eq!(
        executed,
        (0..cuts).map(|n| json!(n)).collect::<Vec<_>>().iter().collect::<Vec<_>>()
    );
    whole
}

/// Kills this many processes while they execute a call.
#[cfg(unix)]
async fn kill_processes(kills: usize) {
    let mut numbers = Numbers(0x5eed);
    let steps = json!({"steps": [{"await_file": "never"}]});
    let server = Scripted::with_tools(json!([tool("act")]), json!({"tools/call act": steps}));
    for n in 0..kills {
        let tools = McpTools::builder().server(server.server("s")).build().await.unwrap();
        let pid = std::fs::read_to_string(server.path("pid")).unwrap();
        let pause = Duration::from_micros(numbers.below(2_000));
        let killing = async {
            crate::scripted_server::until(|| {
                (server.received("tools/call").len() > n).then_some(())
            })
            .await;
            tokio::time::sleep(pause).await;
            let killed = std::process::Command::new("kill").args(["-9", &pid]).status();
            assert!(killed.unwrap().success());
        };
        let (told, ()) = tokio::join!(call(&tools, "s__act", "{}"), killing);
        told.is_unknown("the connection broke");
        assert_eq!(server.received("tools/call").len(), n + 1);
    }
}

#[tokio::test]
async fn call_whose_connection_is_cut_is_executed_at_most_once() {
    let whole = cut_by_http(200).await;
    assert!((20..180).contains(&whole), "{whole}");
    let whole = cut_by_the_end_of_processes(20).await;
    assert!((1..20).contains(&whole), "{whole}");
    #[cfg(unix)]
    kill_processes(10).await;
}

#[tokio::test]
#[ignore = "starts more than a thousand processes"]
async fn thousand_calls_whose_connections_are_cut_are_executed_at_most_once() {
    println!("{} of 1,000 answers by HTTP are whole", cut_by_http(1_000).await);
    let whole = cut_by_the_end_of_processes(1_000).await;
    println!("{whole} of 1,000 answers of processes are whole");
    #[cfg(unix)]
    kill_processes(100).await;
}
