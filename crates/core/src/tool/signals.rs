//! Signals between a running tool and its call: deadline, cancellation and progress.

use super::error::ToolError;
use super::progress::ToolProgress;
use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};
use tokio::sync::Notify;
use tokio::time::Instant;

/// The signals between a running tool and its call. Clones share them.
#[derive(Clone, Debug, Default)]
pub(super) struct Signals(Arc<Shared>);

/// A signal that the run of a tool was stopped, for work that outlives the future of the tool.
///
/// An `async` tool does not need it: the future of a stopped tool is dropped. A blocking task, a thread or a child
/// process goes on, unless it checks the token. The token is cancelled if the call or its stream is dropped, if the
/// tool exceeds its time limit or panics, and if the call fails because of its journal. It is not cancelled by a tool
/// that ends by itself, or that is not `async`.
///
/// Cloning is cheap. [`ToolInput::cancellation`](super::ToolInput::cancellation) returns the token.
///
/// # Examples
///
/// ```
/// use ai_services::tool;
/// use ai_services::tool::ToolInput;
/// # use tokio::task::{JoinError, spawn_blocking};
///
/// /// Counts the primes below a number.
/// #[tool(read_only, timeout = "10s")]
/// async fn primes(max: u64, #[context] input: &ToolInput) -> Result<usize, JoinError> {
///     let token = input.cancellation();
///     let is_prime = |n: &u64| (2..*n).all(|divisor| n % divisor != 0);
///     spawn_blocking(move || {
///         let numbers = (2..max).take_while(|_| !token.is_cancelled());
///         numbers.filter(is_prime).count()
///     })
///     .await
/// }
/// # assert_eq!(primes::tool().name(), "primes");
/// ```
#[derive(Clone, Debug)]
pub struct CancellationToken(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    is_cancelled: AtomicBool,
    cancelled: Notify,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// The end of the time limit, if there is one.
    deadline: Option<Instant>,
    /// The last progress, until the call takes it.
    latest: Option<ToolProgress>,
    /// The call, while it waits for the tool.
    call: Option<Waker>,
}

impl Signals {
    /// Awaits the function of a tool, and passes its progress on. A panic becomes an error. If the function is
    /// stopped or dropped before its end, the token is cancelled.
    pub(super) async fn follow<T>(
        &self,
        mut running: Pin<&mut impl Future<Output = Result<T, ToolError>>>,
        on_progress: impl Fn(&ToolProgress),
    ) -> Result<T, ToolError> {
        let unfinished = Unfinished(&self.0);
        let mut is_waiting = false;
        let outcome = poll_fn(|cx| {
            if is_waiting {
                // A report of the tool while it is polled need not wake the call.
                drop(self.0.take_call());
            }
            let polled = catch_unwind(AssertUnwindSafe(|| running.as_mut().poll(cx)));
            let polled = polled.unwrap_or_else(|panic| Poll::Ready(Err(ToolError::panic(&*panic))));
            is_waiting = polled.is_pending();
            if let Some(progress) = self.0.take_latest(is_waiting.then(|| cx.waker().clone())) {
                on_progress(&progress);
            }
            polled
        })
        .await;
        if !matches!(&outcome, Err(error) if error.is_stop()) {
            std::mem::forget(unfinished);
        }
        outcome
    }

    /// Sets the end of the time limit.
    pub(super) fn set_deadline(&self, deadline: Instant) {
        self.0.lock().deadline = Some(deadline);
    }

    pub(super) fn deadline(&self) -> Option<Instant> {
        self.0.lock().deadline
    }

    pub(super) fn cancellation(&self) -> CancellationToken {
        CancellationToken(Arc::clone(&self.0))
    }

    /// Replaces the last progress that the call has not taken, and wakes the call.
    pub(super) fn report(&self, progress: ToolProgress) {
        let Some(progress) = progress.finite() else { return };
        let call = {
            let mut state = self.0.lock();
            state.latest = Some(progress);
            state.call.take()
        };
        // Waking runs code of the executor, which must not hold the lock.
        if let Some(call) = call {
            call.wake();
        }
    }
}

impl CancellationToken {
    /// Returns `true` once the run was stopped.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.0.is_cancelled.load(Ordering::Acquire)
    }

    /// Waits until the run is stopped. Waits for ever if the tool ends by itself.
    ///
    /// # Cancellation
    ///
    /// This method is cancel-safe.
    pub async fn cancelled(&self) {
        let cancelled = self.0.cancelled.notified();
        if !self.is_cancelled() {
            cancelled.await;
        }
    }
}

impl Shared {
    fn take_call(&self) -> Option<Waker> {
        self.lock().call.take()
    }

    /// Takes the last progress. A later one wakes `call`.
    fn take_latest(&self, call: Option<Waker>) -> Option<ToolProgress> {
        let mut state = self.lock();
        state.call = call;
        state.latest.take()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A run that has not ended by itself. Dropping it cancels the token.
struct Unfinished<'a>(&'a Shared);

impl Drop for Unfinished<'_> {
    fn drop(&mut self) {
        let call = self.0.take_call();
        self.0.is_cancelled.store(true, Ordering::Release);
        self.0.cancelled.notify_waiters();
        drop(call);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt;
    use std::future::pending;
    use std::pin::pin;
    use std::sync::atomic::AtomicUsize;
    use std::task::{Context, Wake};

    type Outcome = Result<(), ToolError>;

    /// Counts its wake-ups.
    #[derive(Default)]
    struct Call(AtomicUsize);

    impl Wake for Call {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }

    /// Follows a run that ends when it is polled. Returns its reports, and whether it is cancelled.
    fn followed(run: impl FnOnce(&Signals) -> Outcome) -> (Vec<f64>, bool) {
        let (signals, seen) = (Signals::default(), Mutex::new(Vec::new()));
        let running = pin!(async { run(&signals) });
        let on_progress = |progress: &ToolProgress| seen.lock().unwrap().push(progress.completed);
        drop(signals.follow(running, on_progress).now_or_never().unwrap());
        (seen.into_inner().unwrap(), signals.cancellation().is_cancelled())
    }

    fn report(signals: &Signals, completed: f64) {
        signals.report(ToolProgress::new(completed));
    }

    #[test]
    fn run_that_ends_by_itself_is_not_cancelled() {
        assert!(!followed(|_| Ok(())).1);
        assert!(!followed(|_| Err(ToolError::new("sold out"))).1);
    }

    #[test]
    fn run_that_panics_is_cancelled() {
        assert!(followed(|_| panic!("oh no")).1);
    }

    #[test]
    fn run_that_is_dropped_is_cancelled() {
        let signals = Signals::default();
        let token = signals.cancellation();
        let mut waiting = pin!(token.cancelled());
        {
            let running = pin!(pending::<Outcome>());
            let mut following = pin!(signals.follow(running, |_| {}));
            assert!(following.as_mut().now_or_never().is_none());
            assert!(waiting.as_mut().now_or_never().is_none());
        }
        assert!(token.is_cancelled());
        assert!(waiting.now_or_never().is_some());
        assert!(signals.cancellation().cancelled().now_or_never().is_some());
    }

    #[test]
    fn last_report_wins() {
        let reports = |signals: &Signals| {
            report(signals, 1.0);
            report(signals, 2.0);
            Ok(())
        };
        assert_eq!(followed(reports).0, [2.0]);
    }

    #[test]
    fn numbers_that_are_not_finite_are_ignored() {
        for number in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            let reports = |signals: &Signals| {
                report(signals, 1.0);
                report(signals, number);
                Ok(())
            };
            assert_eq!(followed(reports).0, [1.0]);
            let without_total = ToolProgress::new(1.0).with_total(number).finite();
            assert_eq!(without_total, Some(ToolProgress::new(1.0)));
        }
    }

    #[test]
    fn report_from_elsewhere_wakes_the_call_once() {
        let (signals, seen, call) =
            (Signals::default(), AtomicUsize::new(0), Arc::new(Call(0.into())));
        let waker = Arc::clone(&call).into();
        let running = pin!(poll_fn(|_| {
            report(&signals, 0.0);
            Poll::<Outcome>::Pending
        }));
        let count = |_: &ToolProgress| {
            seen.fetch_add(1, Ordering::SeqCst);
        };
        let mut following = pin!(signals.follow(running, count));
        let mut poll =
            || assert!(following.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
        poll();
        assert_eq!(call.0.load(Ordering::SeqCst), 0, "the call sees the tool's own report");
        report(&signals, 1.0);
        report(&signals, 2.0);
        assert_eq!(call.0.load(Ordering::SeqCst), 1);
        poll();
        assert_eq!(seen.load(Ordering::SeqCst), 2);
    }
}
