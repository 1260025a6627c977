//! Observation of the bodies of HTTP requests to chat models, for developer tools.

use std::cell::RefCell;
use std::sync::Arc;

/// Receives the body of each request to a chat model.
pub type BodyObserver = dyn Fn(&[u8]) + Send + Sync;

thread_local! {
    /// The observer of the poll that runs on this thread.
    static OBSERVER: RefCell<Option<Arc<BodyObserver>>> = const { RefCell::new(None) };
}

/// Calls a function, usually the poll of a call, and passes the bodies that chat models encode in it to an observer.
///
/// A service polls its model on the task of the call, so that the bodies of a call are exactly those that are encoded
/// while the call is polled.
pub fn observe_bodies<T>(observer: &Arc<BodyObserver>, poll: impl FnOnce() -> T) -> T {
    /// Restores the observer around this one, also after a panic.
    struct Restore(Option<Arc<BodyObserver>>);

    impl Drop for Restore {
        fn drop(&mut self) {
            let outer = self.0.take();
            // Fails at the end of the thread only.
            let _ = OBSERVER.try_with(|slot| slot.replace(outer));
        }
    }

    let outer = OBSERVER.with(|slot| slot.replace(Some(Arc::clone(observer))));
    let _restore = Restore(outer);
    poll()
}

/// Passes the body of a request to the observer, if there is one. A client calls it before it sends the body.
pub fn report_body(body: &[u8]) {
    // Fails at the end of the thread only.
    if let Ok(Some(observer)) = OBSERVER.try_with(|slot| slot.borrow().clone()) {
        observer(body);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::Mutex;

    #[test]
    fn innermost_observer_receives_the_body() {
        let log = Arc::new(Mutex::new(Vec::new()));
        let observer = |name: &'static str| -> Arc<BodyObserver> {
            let log = Arc::clone(&log);
            Arc::new(move |body: &[u8]| log.lock().unwrap().push((name, body.to_vec())))
        };
        let (outer, inner) = (observer("outer"), observer("inner"));
        report_body(b"0");
        observe_bodies(&outer, || {
            observe_bodies(&inner, || report_body(b"1"));
            let panicked = AssertUnwindSafe(|| observe_bodies(&inner, || panic!("a model failed")));
            assert!(catch_unwind(panicked).is_err());
            report_body(b"2");
        });
        report_body(b"3");
        let expected = [("inner", b"1".to_vec()), ("outer", b"2".to_vec())];
        assert_eq!(*log.lock().unwrap(), expected);
    }
}
