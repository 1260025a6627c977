//! Types of answers and tool parameters derive their traits through the re-exports of `ai-services`, which is the
//! only dependency of this package with these traits.

use mine::memory::{MemoryId, MessageWindowChatMemory};
use mine::schema::JsonSchema;
use mine::serde::{Deserialize, Serialize};
use mine::testing::{ScriptedAnswer, ScriptedChatModel};
use mine::{ai_service, tools};

#[derive(Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(crate = "mine::serde", rename_all = "camelCase", deny_unknown_fields)]
#[schemars(crate = "mine::schemars")]
struct Order {
    /// Numbers of the articles.
    articles: Vec<u32>,
    #[serde(default)]
    delivery_days: Option<u32>,
    urgency: Urgency,
}

#[derive(Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(crate = "mine::serde", tag = "kind")]
#[schemars(crate = "mine::schemars")]
enum Urgency {
    Normal,
    /// As soon as possible.
    Express {
        until: String,
    },
}

#[ai_service(crate = mine)]
trait Desk {
    async fn order(
        &self,
        #[memory_id] user: &str,
        #[user_message] mail: &str,
    ) -> mine::Result<Order>;
}

struct Stock;

#[tools(crate = mine)]
impl Stock {
    /// Reserves the articles of an order.
    #[tool]
    fn reserve(&self, order: Order) -> Order {
        order
    }
}

const ORDER: &str =
    r#"{"articles":[7],"deliveryDays":null,"urgency":{"kind":"Express","until":"Friday"}}"#;

#[tokio::test]
async fn derived_types_work_with_one_dependency() {
    let call = mine::message::ToolCall::new("1", "reserve", format!(r#"{{"order":{ORDER}}}"#));
    let model =
        ScriptedChatModel::new([ScriptedAnswer::tool_calls([call]), ScriptedAnswer::text(ORDER)]);
    let desk = DeskService::builder()
        .chat_model(model.clone())
        .chat_memory_provider(|id: &MemoryId| {
            MessageWindowChatMemory::builder().id(id).max_messages(10).build()
        })
        .tools(Stock)
        .build()
        .unwrap();

    let order = desk.order("ann", "One tea until Friday.").await.unwrap();

    let urgency = Urgency::Express { until: "Friday".to_owned() };
    assert_eq!(order, Order { articles: vec![7], delivery_days: None, urgency });
    let requests = model.requests();
    let [first, second] = requests.as_slice() else { panic!("{} requests", requests.len()) };
    let tools = format!("{:?}", first.tools());
    assert!(tools.contains("deliveryDays") && tools.contains("As soon as possible."), "{tools}");
    assert_eq!(second.messages().last().and_then(|result| result.text()), Some(ORDER));
}
