//! Compares the window with LangChain4j's algorithm, which is reimplemented here on a plain list.

use crate::error::Result;
use crate::memory::{ChatMemory, TokenCountEstimator, TokenWindowChatMemory};
use crate::message::{AiMessage, ChatMessage, ToolCall, ToolResult};
use proptest::prelude::*;

/// One token per character of a text, one per message, two per list.
struct Lengths;

impl TokenCountEstimator for Lengths {
    fn count_text(&self, text: &str) -> usize {
        text.len()
    }

    fn count_message(&self, message: &ChatMessage) -> Result<usize> {
        Ok(1 + message.text().map_or(0, str::len))
    }

    fn request_overhead(&self) -> usize {
        2
    }
}

struct Reference {
    store: Vec<ChatMessage>,
    max: usize,
    first: bool,
}

impl Reference {
    fn ensure_capacity(&self, list: &mut Vec<ChatMessage>) {
        let count = |message: &ChatMessage| Lengths.count_message(message).unwrap();
        if list.is_empty() {
            return;
        }
        let mut total = Lengths.count_messages(&*list).unwrap();
        while total > self.max && !list.is_empty() {
            let index = usize::from(list[0].is_system());
            if index == list.len() {
                return;
            }
            let evicted = list.remove(index);
            total -= count(&evicted);
            if !evicted.tool_calls().is_empty() {
                while list.get(index).is_some_and(ChatMessage::is_tool_result) {
                    total -= count(&list.remove(index));
                }
            }
        }
    }

    fn messages(&self) -> Vec<ChatMessage> {
        let mut list = self.store.clone();
        self.ensure_capacity(&mut list);
        list
    }

    fn add(&mut self, message: ChatMessage) {
        let mut list = self.messages();
        let mut at = list.len();
        if message.is_system() {
            if let Some(old) = list.iter().position(ChatMessage::is_system) {
                if list[old] == message {
                    return;
                }
                list.remove(old);
            }
            at = if self.first { 0 } else { list.len() };
        }
        list.insert(at, message);
        self.ensure_capacity(&mut list);
        self.store = list;
    }
}

fn any_message() -> impl Strategy<Value = ChatMessage> {
    let call = ToolCall::new("1", "t", "{}");
    prop_oneof![
        "[ab]{0,2}".prop_map(ChatMessage::system),
        "[ab]{0,6}".prop_map(ChatMessage::user),
        "[ab]{0,6}".prop_map(ChatMessage::ai),
        Just(AiMessage::builder().tool_calls([call]).build().into()),
        "[ab]{0,6}".prop_map(|text| ToolResult::new("1", "t", text).into()),
    ]
}

proptest! {
    #[test]
    fn window_matches_the_reference(
        stored in prop::collection::vec(any_message(), 0..8),
        added in prop::collection::vec(prop::collection::vec(any_message(), 1..4), 0..8),
        max in 1_usize..30,
        first: bool,
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let store = crate::memory::InMemoryChatMemoryStore::new();
        let mut builder = TokenWindowChatMemory::builder().max_tokens(max, Lengths).store(store.clone());
        if first {
            builder = builder.always_keep_system_message_first();
        }
        let memory = builder.build().unwrap();
        runtime.block_on(crate::memory::ChatMemoryStore::update_messages(&store, memory.id(), &stored)).unwrap();
        let mut reference = Reference { store: stored, max, first };
        for messages in added {
            messages.iter().cloned().for_each(|message| reference.add(message));
            runtime.block_on(memory.add_all(messages)).unwrap();
            let kept = runtime.block_on(memory.load()).unwrap().messages().to_vec();
            prop_assert_eq!(&kept, &reference.store);
            prop_assert_eq!(runtime.block_on(memory.messages()).unwrap(), reference.messages());
        }
    }
}
