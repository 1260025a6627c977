//! Tools that ask the user of the client.

use super::line_client::{LineClient, connected, initialize, request, stateless};
use super::web_client::WebClient;
use ai_services::mcp::{McpCall, McpPrincipal, McpServer};
use ai_services::schema::JsonSchema;
use ai_services::tool::{ToolError, ToolInput};
use ai_services::tools;
use http::StatusCode;
use serde::Deserialize;
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};

#[derive(Deserialize, JsonSchema)]
struct Name {
    name: String,
}

#[derive(Deserialize, JsonSchema)]
struct Age {
    age: u8,
}

/// The idempotency keys of the runs.
#[derive(Clone, Default)]
struct Club(Arc<Mutex<Vec<String>>>);

#[tools]
impl Club {
    /// Adds a member.
    #[tool]
    async fn join(&self, level: String, #[context] input: &ToolInput) -> Result<String, ToolError> {
        self.0.lock().unwrap().push(input.idempotency_key());
        let call = input.context().get::<McpCall>().expect("a call of a client");
        let Some(Name { name }) = call.elicit("name", "Your name?").await? else {
            return Ok("not added".to_owned());
        };
        let age: Option<Age> = call.elicit("age", "Your age?").await?;
        Ok(format!("{name} is {} and {level}", age.map_or(0, |age| age.age)))
    }
}

fn server() -> (McpServer, Club) {
    let club = Club::default();
    (McpServer::builder("club", "1").tools(club.clone()).build().unwrap(), club)
}

fn accept(content: Value) -> Value {
    json!({ "action": "accept", "content": content })
}

fn join(state: &Value, answers: Value) -> Value {
    let meta = stateless(json!({ "elicitation": {} }));
    let mut params = json!({ "name": "join", "arguments": { "level": "gold" }, "_meta": meta });
    if !state.is_null() {
        params["requestState"] = state.clone();
    }
    if !answers.is_null() {
        params["inputResponses"] = answers;
    }
    request(1, "tools/call", params)
}

async fn result(client: &mut LineClient, message: Value) -> Value {
    let answer = client.ask(&message).await;
    assert!(answer.get("error").is_none(), "{answer}");
    answer["result"].clone()
}

#[tokio::test]
async fn stateless_client_answers_question_by_question() {
    let (server, club) = server();
    connected(server, |mut client| async move {
        let first = result(&mut client, join(&json!(null), json!(null))).await;
        assert_eq!(first["resultType"], "input_required");
        let form = &first["inputRequests"]["name"];
        assert_eq!(form["method"], "elicitation/create");
        assert_eq!(form["params"]["message"], "Your name?");
        assert_eq!(form["params"]["requestedSchema"]["required"], json!(["name"]));
        assert!(first["inputRequests"].get("age").is_none());

        let name = json!({ "name": accept(json!({ "name": "Ann" })) });
        let second = result(&mut client, join(&first["requestState"], name)).await;
        assert_eq!(
            second["inputRequests"].as_object().unwrap().keys().collect::<Vec<_>>(),
            ["age"]
        );

        let age = json!({ "age": accept(json!({ "age": 30 })) });
        let last = result(&mut client, join(&second["requestState"], age)).await;
        assert_eq!(last["resultType"], "complete");
        assert_eq!(last["content"][0]["text"], "Ann is 30 and gold");
    })
    .await;
    let keys = club.0.lock().unwrap();
    assert_eq!(keys.len(), 3);
    assert!(keys.iter().all(|key| *key == keys[0]), "all runs are one call: {keys:?}");
}

#[tokio::test]
async fn invalid_answer_is_asked_again_and_a_declined_one_is_not() {
    let (server, _) = server();
    connected(server, |mut client| async move {
        for invalid in
            [json!({ "name": 7 }), json!({ "name": accept(json!({})) }), json!({ "x": 1 })]
        {
            let again = result(&mut client, join(&json!(null), invalid)).await;
            assert_eq!(again["inputRequests"]["name"]["method"], "elicitation/create");
        }
        let declined = json!({ "name": { "action": "decline" } });
        let last = result(&mut client, join(&json!(null), declined)).await;
        assert_eq!(last["content"][0]["text"], "not added");
    })
    .await;
}

#[tokio::test]
async fn forged_or_foreign_state_is_rejected() {
    let (server, club) = server();
    connected(server, |mut client| async move {
        let first = result(&mut client, join(&json!(null), json!(null))).await;
        let state = first["requestState"].as_str().unwrap();
        let runs = club.0.lock().unwrap().len();
        let mut other_arguments = join(&json!(state), json!(null));
        other_arguments["params"]["arguments"]["level"] = "platinum".into();
        let forged =
            ["", "x", &format!("{state}x"), &state[..state.len() - 1], &"A".repeat(1 << 20)];
        let forged = forged.map(|state| join(&json!(state), json!(null)));
        for message in forged.into_iter().chain([other_arguments]) {
            let answer = client.ask(&message).await;
            assert_eq!(answer["error"]["code"], -32602, "{answer}");
        }
        assert_eq!(club.0.lock().unwrap().len(), runs, "no tool has run");
    })
    .await;
}

#[tokio::test]
async fn state_belongs_to_the_principal_and_the_key() {
    let server = |key: &str| {
        let builder = McpServer::builder("club", "1").tools(Club::default());
        let builder = builder.request_state_key(key.repeat(32)).principal(|request| {
            let user = request.headers.get("x-user").and_then(|user| user.to_str().ok());
            Ok(McpPrincipal::new(user.unwrap_or_default()))
        });
        WebClient::new(builder.build().unwrap().into_http_service())
    };
    let name = || json!({ "name": accept(json!({ "name": "Ann" })) });
    let (one, two) = (server("k"), server("k"));
    let first =
        one.with("x-user", "ann").stateless(&join(&json!(null), json!(null))).await.next().await;
    let state = &first["result"]["requestState"];
    let second = two.with("x-user", "ann").stateless(&join(state, name())).await.next().await;
    assert_eq!(second["result"]["resultType"], "input_required", "{second}");
    for (client, user) in [(&one, "bob"), (&server("other"), "ann")] {
        let answer = client.with("x-user", user).stateless(&join(state, name())).await.next().await;
        assert_eq!(answer["error"]["code"], -32602, "{answer}");
    }
}

#[tokio::test]
async fn client_without_forms_gets_the_missing_capability() {
    let (server, _) = server();
    let client = WebClient::new(server.into_http_service());
    let mut message = join(&json!(null), json!(null));
    message["params"]["_meta"] = stateless(json!({}));
    let mut answer = client.stateless(&message).await;
    assert_eq!(answer.status, StatusCode::BAD_REQUEST);
    let error = answer.next().await["error"].take();
    assert_eq!(error["code"], -32021);
    assert_eq!(error["data"]["requiredCapabilities"], json!({ "elicitation": {} }));
}

#[tokio::test]
async fn earlier_revisions_ask_while_the_tool_waits() {
    let (server, club) = server();
    connected(server, |mut client| async move {
        client.ask(&initialize(json!({ "elicitation": {} }))).await;
        let params = json!({ "name": "join", "arguments": { "level": "gold" } });
        let mut question = client.ask(&request(1, "tools/call", params)).await;
        for content in [json!({ "name": "Ann" }), json!({ "age": 30 })] {
            assert_eq!(question["method"], "elicitation/create");
            let answer =
                json!({ "jsonrpc": "2.0", "id": question["id"], "result": accept(content) });
            question = client.ask(&answer).await;
        }
        assert_eq!(question["result"]["content"][0]["text"], "Ann is 30 and gold");
    })
    .await;
    assert_eq!(club.0.lock().unwrap().len(), 1);
}

#[tokio::test]
async fn earlier_revisions_without_forms_get_an_error_result() {
    let (server, _) = server();
    connected(server, |mut client| async move {
        client.handshake(json!({})).await;
        let result = client.call("join", json!({ "level": "gold" })).await;
        assert_eq!(result["isError"], true);
        let text = result["content"][0]["text"].as_str().unwrap();
        assert!(text.contains("lacks the capability"), "{text}");
    })
    .await;
}
