//! Resources and prompts.

use crate::agent::{call, offered};
use crate::scripted_server::Scripted;
use ai_services::mcp::{McpTools, RemoteServer};
use ai_services::message::Content;
use serde_json::{Map, json};

async fn library(configure: fn(RemoteServer) -> RemoteServer) -> (Scripted, McpTools) {
    let resource = json!({"uri": "file:///a", "name": "a", "mimeType": "text/plain", "size": 3});
    let argument = json!({"name": "city", "required": true});
    let message = json!({"role": "user", "content": {"type": "text", "text": "Plan a trip."}});
    let server = Scripted::new(json!({
        "resources/list": {"result": {"resources": [resource]}},
        "resources/read": {"result": {"contents": [{"uri": "file:///a", "text": "abc"}]}},
        "prompts/list": {"result": {"prompts": [
            {"name": "trip", "description": "Plans.", "arguments": [argument]},
        ]}},
        "prompts/get trip": {"result": {"messages": [message]}},
    }));
    let remote = configure(server.server("s"));
    (server, McpTools::builder().server(remote).build().await.unwrap())
}

#[tokio::test]
async fn resources_are_listed_and_read() {
    let (server, tools) = library(|server| server).await;
    assert_eq!(offered(&tools).await.unwrap(), Vec::<String>::new());
    let [resource] = &tools.resources("s").await.unwrap()[..] else { panic!("not one") };
    assert_eq!((resource.uri.as_str(), resource.size), ("file:///a", Some(3)));
    let contents = tools.read_resource("s", "file:///a").await.unwrap();
    assert_eq!(contents, [Content::from("abc")]);
    assert_eq!(server.received("resources/read")[0]["params"]["uri"], "file:///a");
    assert!(tools.resources("t").await.is_err());
}

#[tokio::test]
async fn prompts_are_listed_and_rendered() {
    let (server, tools) = library(|server| server).await;
    let [prompt] = &tools.prompts("s").await.unwrap()[..] else { panic!("not one") };
    let [argument] = &prompt.arguments[..] else { panic!("not one") };
    assert_eq!((argument.name.as_str(), argument.is_required), ("city", true));
    let arguments = Map::from_iter([("city".to_owned(), json!("Oslo"))]);
    let [message] = &tools.prompt("s", "trip", arguments).await.unwrap()[..] else {
        panic!("not one")
    };
    assert_eq!((message.is_user, &message.content), (true, &Content::from("Plan a trip.")));
    assert_eq!(server.received("prompts/get")[0]["params"]["arguments"], json!({"city": "Oslo"}));
    assert!(tools.prompt("s", "other", Map::new()).await.is_err());
}

#[tokio::test]
async fn model_reads_resources_and_prompts_with_tools() {
    let (_server, tools) = library(|server| server.resource_tools().prompt_tools()).await;
    let names = ["s__list_resources", "s__read_resource", "s__list_prompts", "s__get_prompt"];
    assert_eq!(offered(&tools).await.unwrap(), names);
    let told = call(&tools, "s__list_resources", "{}").await;
    assert_eq!(told.text(), "Resource: a (text/plain, 3 bytes): file:///a");
    let told = call(&tools, "s__read_resource", r#"{"uri": "file:///a"}"#).await;
    assert_eq!(told.text(), "abc");
    call(&tools, "s__read_resource", "{}").await.is_error("the argument `uri` is not a text");
    assert_eq!(call(&tools, "s__list_prompts", "{}").await.text(), "trip(city): Plans.");
    let arguments = r#"{"name": "trip", "arguments": {"city": "Oslo"}}"#;
    assert_eq!(call(&tools, "s__get_prompt", arguments).await.text(), "Plan a trip.");
}
