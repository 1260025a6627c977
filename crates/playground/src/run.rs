//! A turn that the page has started, while it runs.

use ai_services_core::event::CallId;
use ai_services_core::model::{BodyObserver, observe_bodies};
use futures_util::stream::Stream;
use std::cell::RefCell;
use std::fmt;
use std::future::Future;
use std::mem;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

/// Largest total size of the recorded bodies of a turn, in bytes. Later ones are left out.
const MAX_BODY_BYTES: usize = 16 << 20;

thread_local! {
    /// The run whose poll runs on this thread.
    static CURRENT: RefCell<Option<Arc<Run>>> = const { RefCell::new(None) };
}

/// The body of a request to a model.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct SentBody {
    /// Index of the request in its call.
    pub(crate) request: usize,
    pub(crate) bytes: Vec<u8>,
}

/// A turn that the page has started. Services that are tools of the service run in it, too.
pub(crate) struct Run {
    /// The name under which the service is registered.
    pub(crate) service: Arc<str>,
    /// The id of the turn that this one repeats.
    pub(crate) parent: Option<Arc<str>>,
    /// The text of the message. Empty if the turn goes on with an open one.
    pub(crate) text: Box<str>,
    requests: Mutex<Requests>,
}

#[derive(Default)]
struct Requests {
    /// The calls of the run, each with the number of its requests so far.
    counts: Vec<(CallId, usize)>,
    /// The call whose request was issued last.
    current: Option<CallId>,
    bodies: Vec<(CallId, SentBody)>,
    bytes: usize,
}

impl Run {
    pub(crate) fn new(service: Arc<str>, parent: Option<Arc<str>>, text: &str) -> Arc<Self> {
        Arc::new(Self { service, parent, text: text.into(), requests: Mutex::default() })
    }

    /// Returns the run whose poll runs on this thread.
    pub(crate) fn current() -> Option<Arc<Self>> {
        CURRENT.with(|slot| slot.borrow().clone())
    }

    /// Notes that a call issues a request. The bodies that follow belong to it.
    pub(crate) fn request_issued(&self, call: CallId) {
        let mut requests = self.lock();
        requests.current = Some(call);
        match requests.counts.iter_mut().find(|(known, _)| *known == call) {
            Some((_, count)) => *count += 1,
            None => requests.counts.push((call, 1)),
        }
    }

    /// Removes and returns the bodies of a call, in the order in which they were sent.
    pub(crate) fn take_bodies(&self, call: CallId) -> Vec<SentBody> {
        let mut requests = self.lock();
        let all = mem::take(&mut requests.bodies);
        let (own, others): (Vec<_>, Vec<_>) = all.into_iter().partition(|(of, _)| *of == call);
        requests.bodies = others;
        own.into_iter().map(|(_, body)| body).collect()
    }

    fn body_sent(&self, bytes: &[u8]) {
        let mut requests = self.lock();
        let Some(call) = requests.current else { return };
        let count = requests.counts.iter().find(|(known, _)| *known == call);
        let Some(request) = count.and_then(|(_, count)| count.checked_sub(1)) else { return };
        let total = requests.bytes.saturating_add(bytes.len());
        if total <= MAX_BODY_BYTES {
            requests.bytes = total;
            requests.bodies.push((call, SentBody { request, bytes: bytes.to_vec() }));
        }
    }

    fn lock(&self) -> MutexGuard<'_, Requests> {
        // The lock is never held across code of others.
        self.requests.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A stream or future of a run: [`Run::current`] returns the run while it is polled, and while it is dropped.
pub(crate) struct Observed<T> {
    inner: Option<T>,
    run: Arc<Run>,
    observer: Arc<BodyObserver>,
}

impl<T> Observed<T> {
    pub(crate) fn new(run: &Arc<Run>, inner: T) -> Self {
        let observed = Arc::clone(run);
        let observer = Arc::new(move |body: &[u8]| observed.body_sent(body));
        Self { inner: Some(inner), run: Arc::clone(run), observer }
    }

    fn within<R>(&mut self, poll: impl FnOnce(&mut Option<T>) -> R) -> R {
        /// Restores the outer run, also after a panic.
        struct Restore(Option<Arc<Run>>);

        impl Drop for Restore {
            fn drop(&mut self) {
                let outer = self.0.take();
                // Fails at the end of the thread only.
                let _ = CURRENT.try_with(|slot| slot.replace(outer));
            }
        }

        let run = Some(Arc::clone(&self.run));
        let _restore = Restore(CURRENT.with(|slot| slot.replace(run)));
        let inner = &mut self.inner;
        observe_bodies(&self.observer, || poll(inner))
    }
}

impl<S: Stream + Unpin> Stream for Observed<S> {
    type Item = S::Item;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<S::Item>> {
        self.get_mut().within(|inner| match inner {
            Some(stream) => Pin::new(stream).poll_next(context),
            None => Poll::Ready(None),
        })
    }
}

impl<F: Future + Unpin> Future for Observed<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        self.get_mut().within(|inner| match inner {
            Some(future) => Pin::new(future).poll(context),
            // The future is dropped with `self` only.
            None => Poll::Pending,
        })
    }
}

impl<T> Unpin for Observed<T> {}

impl<T> Drop for Observed<T> {
    /// Drops the call within its run, because a call that is dropped emits its last event.
    fn drop(&mut self) {
        self.within(|inner| drop(inner.take()));
    }
}

impl fmt::Debug for Run {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Run").field("service", &self.service).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ai_services_core::model::report_body;
    use futures_util::FutureExt;
    use std::future::ready;

    #[test]
    fn body_belongs_to_the_request_that_was_issued_last() {
        let run = Run::new("support".into(), None, "Hi");
        let (outer, nested) = (CallId::new(), CallId::new());
        let inner = async {
            let run = Run::current().unwrap();
            run.request_issued(outer);
            report_body(b"1");
            run.request_issued(nested);
            report_body(b"2");
            run.request_issued(outer);
            report_body(b"3");
            // A retry or a fallback.
            report_body(b"4");
        };
        Observed::new(&run, inner.boxed()).now_or_never().unwrap();
        assert!(Run::current().is_none());
        let body = |request, bytes: &[u8]| SentBody { request, bytes: bytes.to_vec() };
        assert_eq!(run.take_bodies(outer), [body(0, b"1"), body(1, b"3"), body(1, b"4")]);
        assert_eq!(run.take_bodies(nested), [body(0, b"2")]);
        assert!(run.take_bodies(outer).is_empty());
    }

    #[test]
    fn bodies_of_a_turn_are_bounded() {
        let run = Run::new("support".into(), None, "Hi");
        let call = CallId::new();
        run.request_issued(call);
        run.body_sent(&vec![b' '; MAX_BODY_BYTES]);
        run.body_sent(b"1");
        assert_eq!(run.take_bodies(call).len(), 1);
    }

    #[test]
    fn call_is_dropped_within_its_run() {
        struct Last(Arc<Mutex<bool>>);
        impl Drop for Last {
            fn drop(&mut self) {
                *self.0.lock().unwrap() = Run::current().is_some();
            }
        }
        let was_within = Arc::new(Mutex::new(false));
        let last = Last(Arc::clone(&was_within));
        let call = async move {
            ready(()).await;
            drop(last);
        };
        drop(Observed::new(&Run::new("support".into(), None, "Hi"), call.boxed()));
        assert!(*was_within.lock().unwrap());
    }
}
