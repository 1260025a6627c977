//! The encoded parameters of services, kept so that a schema is written once, not with every call.

use crate::model::ChatRequestParameters;
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// How many are kept: as many as a large service has methods with a type of their own.
const MAX_KEPT: usize = 64;

/// How an answer is to come.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::providers) enum Delivery {
    Whole,
    Stream,
}

/// Frames by the shared parameters that they were made from.
pub(in crate::providers) struct Frames<F>(Mutex<Vec<Kept<F>>>);

struct Kept<F> {
    /// Keeps the address from being used for other parameters, and shared ones never change.
    parameters: Weak<ChatRequestParameters>,
    delivery: Delivery,
    frame: Arc<F>,
}

impl<F> Default for Frames<F> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<F> Frames<F> {
    /// The frame of `parameters`, made if there is none.
    pub(in crate::providers) fn get(
        &self,
        parameters: &Arc<ChatRequestParameters>,
        delivery: Delivery,
        make: impl FnOnce() -> F,
    ) -> Arc<F> {
        // Parameters that nobody else has were made for one call.
        if Arc::strong_count(parameters) == 1 {
            return Arc::new(make());
        }
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_same = |kept: &&Kept<F>| {
            kept.delivery == delivery
                && std::ptr::eq(kept.parameters.as_ptr(), &raw const **parameters)
        };
        if let Some(known) = kept.iter().find(is_same) {
            return Arc::clone(&known.frame);
        }
        kept.retain(|kept| kept.parameters.strong_count() > 0);
        if kept.len() >= MAX_KEPT {
            kept.remove(0);
        }
        let frame = Arc::new(make());
        let parameters = Arc::downgrade(parameters);
        kept.push(Kept { parameters, delivery, frame: Arc::clone(&frame) });
        frame
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(
        frames: &Frames<String>,
        parameters: &Arc<ChatRequestParameters>,
        text: &str,
    ) -> String {
        frames.get(parameters, Delivery::Whole, || text.to_owned()).as_ref().clone()
    }

    #[test]
    fn frame_of_shared_parameters_is_made_once() {
        let (frames, parameters) = (Frames::default(), Arc::default());
        let _shared = Arc::clone(&parameters);
        assert_eq!(head(&frames, &parameters, "a"), "a");
        assert_eq!(head(&frames, &parameters, "b"), "a");
        let streamed = frames.get(&parameters, Delivery::Stream, || "c".to_owned());
        assert_eq!(*streamed, "c");
    }

    #[test]
    fn frame_of_parameters_of_one_call_is_not_kept() {
        let (frames, parameters) = (Frames::default(), Arc::default());
        assert_eq!(head(&frames, &parameters, "a"), "a");
        assert_eq!(head(&frames, &parameters, "b"), "b");
    }

    #[test]
    fn changed_parameters_have_a_frame_of_their_own() {
        let (frames, mut parameters) = (Frames::default(), Arc::new(ChatRequestParameters::new()));
        let shared = Arc::clone(&parameters);
        assert_eq!(head(&frames, &parameters, "a"), "a");
        drop(shared);
        // Nobody else shares them any more, but the frame remembers where they were.
        Arc::make_mut(&mut parameters).seed = Some(1);
        let _shared = Arc::clone(&parameters);
        assert_eq!(head(&frames, &parameters, "b"), "b");
    }

    #[test]
    fn oldest_frame_goes_first() {
        let frames = Frames::default();
        let all: Vec<Arc<ChatRequestParameters>> = (0..=MAX_KEPT).map(|_| Arc::default()).collect();
        let _shared = all.clone();
        for parameters in &all {
            head(&frames, parameters, "old");
        }
        assert_eq!(head(&frames, &all[1], "new"), "old");
        assert_eq!(head(&frames, &all[0], "new"), "new");
    }
}
