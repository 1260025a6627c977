//! Definitions of tools, resources and prompts.

use super::line_client::{connected, request, stateless, stateless_call};
use ai_services::ErrorKind;
use ai_services::mcp::{McpResource, McpServer};
use ai_services::message::{Content, ImageContent};
use ai_services::model::ToolSpecification;
use ai_services::schema::JsonSchema;
use ai_services::tool::{Tool, ToolOutput, ToolSet};
use ai_services::{tool, tools};
use serde::Serialize;
use serde_json::{Value, json};
use std::sync::Arc;

#[derive(Serialize, JsonSchema)]
struct Price {
    amount: f64,
}

struct Shop;

#[tools]
impl Shop {
    /// Returns the price of an article.
    #[tool(read_only)]
    async fn price(
        &self,
        /// Name of the article.
        article: String,
    ) -> Result<Price, String> {
        if article == "lamp" { Ok(Price { amount: 19.5 }) } else { Err(format!("no `{article}`")) }
    }

    /// Orders an article.
    #[tool(idempotent, key = "order-{{number}}")]
    async fn order(&self, number: u32) -> String {
        format!("ordered {number}")
    }

    /// Shows an article.
    #[tool(read_only)]
    async fn photo(&self) -> Vec<Content> {
        vec!["The lamp:".into(), ImageContent::base64("aGk=", "image/png").into()]
    }
}

fn shop() -> McpServer {
    let builder = McpServer::builder("shop", "1.2.3").instructions("Sells lamps.").tools(Shop);
    builder.typed_output::<Price>("price").build().unwrap()
}

#[tokio::test]
async fn tools_have_schemas_titles_and_hints() {
    connected(shop(), |mut client| async move {
        client.handshake(json!({})).await;
        let list = client.ask(&request(1, "tools/list", json!({}))).await;
        let tools = &list["result"]["tools"];
        assert_eq!(tools[0]["name"], "price");
        assert_eq!(tools[0]["title"], "Price");
        assert_eq!(tools[0]["description"], "Returns the price of an article.");
        assert_eq!(
            tools[0]["inputSchema"]["properties"]["article"],
            json!({ "type": "string", "description": "Name of the article." })
        );
        assert_eq!(tools[0]["outputSchema"]["properties"]["amount"]["type"], "number");
        assert_eq!(tools[0]["annotations"], json!({ "readOnlyHint": true }));
        let order = json!({ "readOnlyHint": false, "idempotentHint": true });
        assert_eq!(tools[1]["annotations"], order);
        assert_eq!(list["result"].get("ttlMs"), None, "unknown to this revision: {list}");
    })
    .await;
}

#[tokio::test]
async fn lists_have_caching_hints_in_the_stateless_revision() {
    connected(shop(), |mut client| async move {
        let params = json!({ "_meta": stateless(json!({})) });
        let list = client.ask(&request(1, "tools/list", params.clone())).await["result"].take();
        assert_eq!(list["resultType"], "complete");
        assert_eq!(list["ttlMs"], 60_000);
        assert_eq!(list["cacheScope"], "public");
        let discovered = client.ask(&request(2, "server/discover", params)).await["result"].take();
        let versions = discovered["supportedVersions"].as_array().unwrap();
        assert!(versions.contains(&json!("2026-07-28")), "{versions:?}");
        assert_eq!(discovered["instructions"], "Sells lamps.");
        assert_eq!(discovered["capabilities"], json!({ "tools": {} }));
        let server = &discovered["_meta"]["io.modelcontextprotocol/serverInfo"];
        assert_eq!((&server["name"], &server["version"]), (&json!("shop"), &json!("1.2.3")));
    })
    .await;
}

#[tokio::test]
async fn fixed_set_has_no_subscriptions() {
    connected(shop(), |mut client| async move {
        let params = json!({
            "_meta": stateless(json!({})), "notifications": { "toolsListChanged": true },
        });
        let answer = client.ask(&request(1, "subscriptions/listen", params)).await;
        assert_eq!(answer["error"]["code"], -32601, "{answer}");
    })
    .await;
}

#[tokio::test]
async fn typed_answer_has_structured_content() {
    connected(shop(), |mut client| async move {
        let answer = client.ask(&stateless_call(1, "price", json!({ "article": "lamp" }))).await;
        assert_eq!(answer["result"]["structuredContent"], json!({ "amount": 19.5 }));
        assert_eq!(answer["result"]["content"][0]["text"], r#"{"amount":19.5}"#);
        let answer = client.ask(&stateless_call(2, "price", json!({ "article": "x" }))).await;
        assert_eq!(answer["result"]["isError"], true);
        assert_eq!(answer["result"]["content"][0]["text"], "no `x`");
        assert_eq!(answer["result"].get("structuredContent"), None);
        let answer = client.ask(&stateless_call(3, "order", json!({ "number": "7" }))).await;
        assert_eq!(answer["result"]["content"][0]["text"], "ordered 7");
        assert_eq!(answer["result"].get("structuredContent"), None);
    })
    .await;
}

#[tokio::test]
async fn images_are_sent_as_images() {
    connected(shop(), |mut client| async move {
        let answer = client.ask(&stateless_call(1, "photo", json!({}))).await;
        let image = json!({ "type": "image", "data": "aGk=", "mimeType": "image/png" });
        assert_eq!(answer["result"]["content"][1], image);
    })
    .await;
}

#[tokio::test]
async fn wrong_arguments_are_a_result_and_unknown_tools_an_error() {
    connected(shop(), |mut client| async move {
        let answer = client.ask(&stateless_call(1, "order", json!({ "number": "seven" }))).await;
        assert_eq!(answer["result"]["isError"], true);
        let text = r#"number: expected u32, found "seven""#;
        assert_eq!(answer["result"]["content"][0]["text"], text);
        let answer = client.ask(&stateless_call(2, "sell", json!({}))).await;
        assert_eq!(answer["error"]["code"], -32602);
        assert_eq!(answer["error"]["message"], "unknown tool: sell");
    })
    .await;
}

fn numbered(count: usize) -> Vec<Tool> {
    let specification = |number| ToolSpecification::new(format!("tool_{number}"), "A tool.");
    let tool =
        |number| Tool::from_fn(specification(number), |_call| async { Ok(ToolOutput::text("")) });
    (0..count).map(tool).collect()
}

#[tokio::test]
async fn lists_have_pages_in_a_stable_order() {
    let server = McpServer::builder("many", "1").tools(numbered(5)).page_size(2).build().unwrap();
    connected(server, |mut client| async move {
        client.handshake(json!({})).await;
        let (mut names, mut cursor) = (Vec::new(), Value::Null);
        for _ in 0..3 {
            let params = if cursor.is_null() { json!({}) } else { json!({ "cursor": cursor }) };
            let page = client.ask(&request(1, "tools/list", params)).await["result"].take();
            let tools = page["tools"].as_array().unwrap();
            names.extend(tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()));
            cursor = page["nextCursor"].clone();
        }
        assert_eq!(names, ["tool_0", "tool_1", "tool_2", "tool_3", "tool_4"]);
        assert!(cursor.is_null());
        for cursor in ["5", "6", "0", "-1", "x", "99999999999999999999"] {
            let answer = client.ask(&request(1, "tools/list", json!({ "cursor": cursor }))).await;
            assert_eq!(answer["error"]["code"], -32602, "{cursor}");
        }
    })
    .await;
}

/// The opening hours of a shop.
#[tool(read_only)]
async fn hours(city: String) -> Result<String, String> {
    if city == "Oslo" { Ok("9 to 5".to_owned()) } else { Err(format!("no shop in {city}")) }
}

/// Asks for a review.
#[tool(read_only)]
async fn review(text: String, points: u8) -> String {
    format!("Review in {points} points: {text}")
}

#[tokio::test]
async fn resources_are_read_by_their_tools() {
    let resource = McpResource::new("shop://{city}/hours", hours::tool());
    let server = McpServer::builder("shop", "1").resource(resource).build().unwrap();
    connected(server, |mut client| async move {
        client.handshake(json!({})).await;
        let templates = client.ask(&request(1, "resources/templates/list", json!({}))).await;
        let template = &templates["result"]["resourceTemplates"][0];
        assert_eq!(template["uriTemplate"], "shop://{city}/hours");
        assert_eq!(template["description"], "The opening hours of a shop.");
        let resources = client.ask(&request(1, "resources/list", json!({}))).await;
        assert_eq!(resources["result"]["resources"], json!([]));
        let params = json!({ "uri": "shop://Oslo/hours" });
        let read = client.ask(&request(2, "resources/read", params)).await;
        let contents =
            json!({ "uri": "shop://Oslo/hours", "mimeType": "text/plain", "text": "9 to 5" });
        assert_eq!(read["result"]["contents"], json!([contents]));
        let read =
            client.ask(&request(3, "resources/read", json!({ "uri": "shop://Rome/hours" }))).await;
        assert_eq!(read["error"]["message"], "no shop in Rome");
        let read = client.ask(&request(4, "resources/read", json!({ "uri": "shop://Rome" }))).await;
        assert_eq!(
            (&read["error"]["code"], &read["error"]["data"]["uri"]),
            (&json!(-32002), &json!("shop://Rome"))
        );
    })
    .await;
}

#[tokio::test]
async fn arguments_of_prompts_are_read_from_texts() {
    let server = McpServer::builder("editor", "1").prompts(review::tool()).build().unwrap();
    connected(server, |mut client| async move {
        client.handshake(json!({})).await;
        let arguments = json!({ "text": "Hi.", "points": "3" });
        let params = json!({ "name": "review", "arguments": arguments });
        let prompt = client.ask(&request(1, "prompts/get", params)).await["result"].take();
        let content = json!({ "type": "text", "text": "Review in 3 points: Hi." });
        assert_eq!(prompt["messages"], json!([{ "role": "user", "content": content }]));
        let answer = client.ask(&request(2, "prompts/get", json!({ "name": "review" }))).await;
        assert_eq!(answer["error"]["message"], "text: required, but missing");
        let answer = client.ask(&request(3, "prompts/get", json!({ "name": "x" }))).await;
        assert_eq!(answer["error"]["code"], -32602);
    })
    .await;
}

#[test]
fn inconsistent_server_does_not_build() {
    let fails = |builder: ai_services::mcp::McpServerBuilder, part: &str| {
        let error = builder.build().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Configuration);
        assert!(error.to_string().contains(part), "{error}");
    };
    let builder = || McpServer::builder("shop", "1");
    fails(builder().tools(Shop).tools(Shop), "tool name `price` is already taken");
    fails(builder().tools(hours::tool().requiring_approval()), "requires approval");
    fails(builder().tools(Shop).typed_output::<String>("price"), "not a JSON object");
    fails(builder().tools(Shop).typed_output::<Price>("cost"), "unknown tool: `cost`");
    let resource = |uri| builder().resource(McpResource::new(uri, hours::tool()));
    fails(resource("shop://hours"), "no placeholder `{city}`");
    fails(resource("shop://{town}/hours"), "no parameter `town`");
    fails(resource("hours"), "needs a scheme");
    fails(builder().request_state_key([0; 31]), "at least 32 bytes");
    assert!(Arc::new(Shop).tools().len() == 3);
}
