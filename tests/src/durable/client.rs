//! A process that handles the orders of several customers at once, until it is killed.

use super::event::{Event, State};
use super::ledger::Ledger;
use super::outside::{Happened, Line, Outside};
use super::script::{ScriptedTill, answer};
use super::till::{Till, TillService, tools};
use ai_services::memory::{ConversationStore, MemoryId, MessageWindowChatMemory, RequestId};
use ai_services::{DurableTurns, Error, ErrorKind, InvocationContext};
use clap::ValueEnum;
use futures_util::future::{try_join, try_join_all};
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::time::sleep;

/// Window of the memory, in messages: three turns.
const WINDOW: usize = 35;

/// Time limit of [`Start::Finish`].
const PATIENCE: Duration = Duration::from_secs(30);

/// A process that handles orders.
#[allow(missing_debug_implementations, reason = "a service has nothing to show")]
pub struct Client {
    till: TillService,
    store: Arc<dyn ConversationStore>,
    outside: Arc<dyn Outside>,
    work: Work,
}

/// The work of a process.
#[derive(Clone, Debug)]
pub struct Work {
    /// The number of the process.
    pub process: u32,
    /// The treatment of the turns that an earlier process has left.
    pub start: Start,
    /// The customers.
    pub customers: Vec<Customer>,
    /// Number of orders of each customer.
    pub orders: u64,
}

/// A customer.
#[derive(Clone, Debug)]
pub struct Customer {
    /// Id of the conversation.
    pub name: String,
    /// The last order, if an earlier process did not acknowledge it.
    pub unfinished: Option<String>,
}

impl fmt::Display for Customer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, unfinished } = self;
        write!(f, "{name}:{}", unfinished.as_deref().unwrap_or_default())
    }
}

impl FromStr for Customer {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, order) = text.split_once(':').ok_or("a customer without a colon")?;
        let unfinished = Some(order.to_owned()).filter(|order| !order.is_empty());
        Ok(Self { name: name.to_owned(), unfinished })
    }
}

/// The treatment of the turns that an earlier process has left.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Start {
    /// Recovers at most half of the customers first. The next call resumes the other turns.
    #[default]
    Recover,
    /// Recovers all customers while new orders arrive.
    Meanwhile,
    /// The next call resumes the turn.
    NextCall,
    /// The caller repeats its request.
    Retry,
    /// Recovers all customers until no turn is open, and handles no order.
    Finish,
}

impl Client {
    /// Creates the service of a process.
    ///
    /// # Errors
    ///
    /// Fails if the service cannot be built.
    pub fn new(
        store: Arc<dyn ConversationStore>,
        ledger: Ledger,
        durable_turns: Option<DurableTurns>,
        work: Work,
    ) -> ai_services::Result<Self> {
        let outside: Arc<dyn Outside> = Arc::new(ledger);
        let memories = Arc::clone(&store);
        let builder = TillService::builder()
            .chat_model(ScriptedTill::new(Arc::clone(&outside)))
            .tools(tools(&outside))
            .chat_memory_provider(move |id: &MemoryId| {
                let window = MessageWindowChatMemory::builder().id(id).max_messages(WINDOW);
                window.store(Arc::clone(&memories)).build()
            });
        let builder = durable_turns.into_iter().fold(builder, |it, turns| it.durable_turns(turns));
        Ok(Self { till: builder.build()?, store, outside, work })
    }

    /// Handles all orders, and prints an [`Event`] at the begin and end of each.
    ///
    /// # Errors
    ///
    /// Fails if the open turns cannot be listed, or the output is closed. Errors of calls are events.
    pub async fn run(&self) -> anyhow::Result<()> {
        match self.work.start {
            Start::Recover => {
                self.recover(self.work.customers.len() / 2).await?;
                self.serve().await
            }
            Start::Meanwhile => try_join(self.recover(usize::MAX), self.serve()).await.map(|_| ()),
            Start::NextCall | Start::Retry => self.serve().await,
            Start::Finish => self.finish().await,
        }
    }

    /// Recovers at most `limit` turns. Returns the number of turns that another process is running.
    async fn recover(&self, limit: usize) -> anyhow::Result<usize> {
        let recovery = self.till.recover(&*self.store, limit).await?;
        for turn in &recovery.resumed {
            let answer = turn.response.value.text().unwrap_or_default();
            let order = answer.rsplit(' ').next().unwrap_or_default();
            Event::new(turn.memory_id.as_str(), order, State::Done).print()?;
        }
        for (customer, error) in &recovery.failed {
            Event::new(customer.as_str(), "-", State::failed(error)).print()?;
        }
        Ok(recovery.busy)
    }

    async fn finish(&self) -> anyhow::Result<()> {
        let start = Instant::now();
        while self.recover(usize::MAX).await? > 0 {
            anyhow::ensure!(start.elapsed() < PATIENCE, "a turn stays in use");
            sleep(Duration::from_millis(20)).await;
        }
        Ok(())
    }

    async fn serve(&self) -> anyhow::Result<()> {
        try_join_all(self.work.customers.iter().map(|customer| self.serve_one(customer))).await?;
        Ok(())
    }

    async fn serve_one(&self, customer: &Customer) -> anyhow::Result<()> {
        let Work { process, start, orders, .. } = self.work;
        let Customer { name, unfinished } = customer;
        let repeated = unfinished.iter().filter(|_| start == Start::Retry).cloned();
        let orders = (0..orders).map(|n| format!("{name}.{process}.{n}"));
        for order in repeated.chain(orders) {
            Event::new(name, &order, State::Began).print()?;
            self.outside.write(Line::new(&order, Happened::Called, "-")).await;
            let state = match self.handle(name, &order).await {
                Ok(()) => State::Done,
                Err(error) => State::failed(&error),
            };
            Event::new(name, &order, state).print()?;
        }
        Ok(())
    }

    /// Handles an order. A repeated request gets the answer that is stored.
    async fn handle(&self, customer: &str, order: &str) -> ai_services::Result<()> {
        let context = InvocationContext::new().with(RequestId::new(order)?);
        let response = self.till.handle_as(customer, order, context).await?;
        if response.value == answer(order) {
            return Ok(());
        }
        let message = format!("the answer to {order} is `{}`", response.value);
        Err(Error::new(ErrorKind::Output, message))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn customer_round_trips_as_text() {
        for text in ["ann:", "ann:ann.1.0"] {
            assert_eq!(text.parse::<Customer>().unwrap().to_string(), text);
        }
        assert_eq!("ann:".parse::<Customer>().unwrap().unfinished, None);
        assert!("ann".parse::<Customer>().is_err());
    }
}
