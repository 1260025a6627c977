//! The proxies of the environment are used only by clients that read the environment, or on request.

use super::own_process::in_own_process_with;
use ai_services::message::ChatMessage;
use ai_services::model::{ChatModel, ChatRequest};
use ai_services::providers::openai::{OpenAiChatModel, OpenAiChatModelBuilder};
use ai_services::providers::{any_model, http_client_builder, reqwest};
use ai_services_tests::PATIENCE;
use ai_services_tests::fault_server::Step::{Request, Send};
use ai_services_tests::fault_server::{FaultServer, once};
use ai_services_tests::protocols::exchanges;
use tokio::runtime::Runtime;

/// The status of all answers of the proxy.
const BY_PROXY: u16 = 418;

/// Runs `body` in a process whose environment names a proxy, and a server of OpenAI that only the proxy can
/// reach.
fn behind_a_proxy<B: AsyncFnOnce()>(body: B) {
    let runtime = Runtime::new().unwrap();
    let script = vec![Request, Send(once(BY_PROXY, &[], ""))];
    let proxy = runtime.block_on(FaultServer::start(vec![script; 64])).unwrap();
    let origin = proxy.origin();
    let proxies = ["HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"];
    let mut variables: Vec<_> = proxies.iter().map(|name| (*name, &*origin)).collect();
    variables.extend([
        ("NO_PROXY", ""),
        ("no_proxy", ""),
        ("OPENAI_API_KEY", "k"),
        ("OPENAI_BASE_URL", "http://provider.invalid/v1"),
    ]);
    in_own_process_with(&variables, body);
}

async fn status_of(model: &dyn ChatModel) -> Option<u16> {
    let request = ChatRequest::new([ChatMessage::user("Hello!")]);
    model.chat(&request).await.err().and_then(|error| error.status())
}

fn local(server: &FaultServer) -> OpenAiChatModelBuilder {
    OpenAiChatModel::builder().base_url(server.url()).model("m").max_retries(0)
}

#[test]
fn client_with_a_key_and_an_address_uses_no_proxy() {
    behind_a_proxy(async || {
        for exchange in exchanges() {
            exchange.ask_once(exchange.answer()).await.assert_whole(&exchange, "with a proxy");
        }
    });
}

#[test]
fn client_of_the_environment_uses_its_proxy() {
    behind_a_proxy(async || {
        assert_eq!(status_of(&*any_model("openai/m").unwrap()).await, Some(BY_PROXY));
        assert_eq!(status_of(&OpenAiChatModel::from_env().unwrap()).await, Some(BY_PROXY));
    });
}

#[test]
fn client_uses_a_proxy_on_request() {
    behind_a_proxy(async || {
        let server = FaultServer::start([]).await.unwrap();
        let model = local(&server).system_proxies().build().unwrap();
        assert_eq!(status_of(&model).await, Some(BY_PROXY));
        assert_eq!(server.connections(), 0);
    });
}

#[test]
fn http_client_uses_only_the_proxies_that_it_was_given() {
    behind_a_proxy(async || {
        let answer = vec![Request, Send(once(503, &[], ""))];
        let server = FaultServer::start([answer.clone(), answer]).await.unwrap();
        let plain = http_client_builder().unwrap().build().unwrap();
        let model = local(&server).http_client(plain).build().unwrap();
        assert_eq!(status_of(&model).await, Some(503));

        let own = reqwest::Proxy::all(server.origin()).unwrap();
        let client = http_client_builder().unwrap().proxy(own).build().unwrap();
        let model = local(&server).base_url("http://provider.invalid").http_client(client);
        let model = model.timeout(PATIENCE).build().unwrap();
        assert_eq!(status_of(&model).await, Some(503));
    });
}
