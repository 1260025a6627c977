//! The listeners of a service.

use crate::event::{Call, Event};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};

type OnEvent = dyn Fn(&Call<'_>, &Event<'_>) + Send + Sync;

/// A listener of the application, whose panics do not affect the call.
///
/// An event may be emitted by a destructor while another panic unwinds the call. A second panic that
/// leaves the destructor would abort the process.
pub(super) struct Listener {
    on_event: Box<OnEvent>,
    has_panicked: AtomicBool,
}

impl Listener {
    pub(super) fn new(on_event: impl Fn(&Call<'_>, &Event<'_>) + Send + Sync + 'static) -> Self {
        Self { on_event: Box::new(on_event), has_panicked: AtomicBool::new(false) }
    }

    /// Passes an event to the listener. Its first panic is logged, without the text of the panic, which
    /// may quote the conversation.
    pub(super) fn notify(&self, call: &Call<'_>, event: &Event<'_>) {
        let outcome = catch_unwind(AssertUnwindSafe(|| (self.on_event)(call, event)));
        if outcome.is_err() && !self.has_panicked.swap(true, Ordering::Relaxed) {
            let Call { service, method, .. } = *call;
            tracing::error!(
                service,
                method,
                "a listener panicked; the call is not affected, and further panics of the listener are not logged"
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::InvocationContext;
    use crate::event::CallId;
    use std::fmt::{Debug, Write};
    use std::sync::{Arc, Mutex};
    use tracing::field::{Field, Visit};
    use tracing::span::{Attributes, Id, Record};
    use tracing::{Metadata, Subscriber};

    /// Records all log entries of a thread.
    #[derive(Clone, Default)]
    struct Log(Arc<Mutex<Vec<String>>>);

    struct Entry(String);

    impl Visit for Entry {
        fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
            write!(self.0, "{field}={value:?} ").unwrap();
        }
    }

    impl Subscriber for Log {
        fn enabled(&self, _: &Metadata<'_>) -> bool {
            true
        }

        fn new_span(&self, _: &Attributes<'_>) -> Id {
            Id::from_u64(1)
        }

        fn event(&self, event: &tracing::Event<'_>) {
            let mut entry = Entry(event.metadata().level().to_string() + " ");
            event.record(&mut entry);
            self.0.lock().unwrap().push(entry.0);
        }

        fn record(&self, _: &Id, _: &Record<'_>) {}
        fn record_follows_from(&self, _: &Id, _: &Id) {}
        fn enter(&self, _: &Id) {}
        fn exit(&self, _: &Id) {}
    }

    #[test]
    fn first_panic_is_logged_without_its_text() {
        let log = Log::default();
        let listener = Listener::new(|_, _| panic!("SECRET"));
        tracing::subscriber::with_default(log.clone(), || {
            let context = InvocationContext::new();
            let call = Call::new(CallId::new(), "Agent", "chat", None, &context);
            for _ in 0..3 {
                listener.notify(&call, &Event::Started);
            }
        });
        let log = log.0.lock().unwrap();
        let [entry] = &**log else { panic!("not one entry: {log:?}") };
        assert!(entry.starts_with("ERROR ") && entry.contains("\"Agent\""), "{entry}");
        assert!(!entry.contains("SECRET"), "{entry}");
    }
}
