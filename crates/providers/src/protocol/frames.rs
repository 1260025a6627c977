//! Encoded parameters, kept so that a schema is written once, not with every call.

use ai_services_core::model::{ChatRequest, ChatRequestParameters};
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// How many are kept: as many as a large service has methods with a type of their own.
const MAX_KEPT: usize = 64;

/// How an answer is to come.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Delivery {
    Whole,
    Stream,
}

/// The parameters of a client, and the beginnings of requests that were made from them and from those of
/// services.
pub(crate) struct Frames<F> {
    defaults: ChatRequestParameters,
    whole: Arc<F>,
    stream: Arc<F>,
    kept: Mutex<Vec<Kept<F>>>,
}

struct Kept<F> {
    /// Keeps the address from being used for other parameters, and shared ones never change.
    parameters: Weak<ChatRequestParameters>,
    delivery: Delivery,
    frame: Arc<F>,
}

impl<F> Frames<F> {
    /// Those of a client with these parameters, encoded by `make`.
    pub(crate) fn new(
        defaults: ChatRequestParameters,
        make: impl Fn(&ChatRequestParameters, Delivery) -> F,
    ) -> Self {
        let [whole, stream] =
            [Delivery::Whole, Delivery::Stream].map(|delivery| Arc::new(make(&defaults, delivery)));
        Self { defaults, whole, stream, kept: Mutex::default() }
    }

    /// The parameters of the client.
    pub(crate) fn defaults(&self) -> &ChatRequestParameters {
        &self.defaults
    }

    /// The beginning of a request, made of its parameters over those of the client if there is none.
    pub(crate) fn of(
        &self,
        request: &ChatRequest,
        delivery: Delivery,
        make: impl FnOnce(&ChatRequestParameters) -> F,
    ) -> Arc<F> {
        let parameters = &request.parameters;
        if **parameters == ChatRequestParameters::default() {
            return Arc::clone(match delivery {
                Delivery::Whole => &self.whole,
                Delivery::Stream => &self.stream,
            });
        }
        let make = || Arc::new(make(&parameters.or(&self.defaults)));
        // Parameters that nobody else has were made for one call.
        if Arc::strong_count(parameters) == 1 {
            return make();
        }
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
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
        let frame = make();
        let parameters = Arc::downgrade(parameters);
        kept.push(Kept { parameters, delivery, frame: Arc::clone(&frame) });
        frame
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frames() -> Frames<String> {
        let defaults = ChatRequestParameters::new().top_k(7);
        Frames::new(defaults, |parameters, delivery| format!("{:?} {delivery:?}", parameters.top_k))
    }

    /// Parameters that are not those of the client, with a seed of their own.
    fn seeded(seed: i64) -> Arc<ChatRequestParameters> {
        Arc::new(ChatRequestParameters::new().seed(seed))
    }

    /// The frame of a request with these parameters, which is `text` if it has to be made.
    fn head(
        frames: &Frames<String>,
        parameters: &Arc<ChatRequestParameters>,
        text: &str,
    ) -> String {
        let request = ChatRequest { parameters: Arc::clone(parameters), ..ChatRequest::default() };
        frames.of(&request, Delivery::Whole, |_| text.to_owned()).as_ref().clone()
    }

    #[test]
    fn request_without_parameters_has_the_frame_of_the_client() {
        let (frames, request) = (frames(), ChatRequest::default());
        for delivery in [Delivery::Whole, Delivery::Stream] {
            let frame = frames.of(&request, delivery, |_| unreachable!("it is there already"));
            assert_eq!(*frame, format!("Some(7) {delivery:?}"));
        }
    }

    #[test]
    fn parameters_of_a_request_are_merged_into_those_of_the_client() {
        let parameters = seeded(1);
        let request = ChatRequest { parameters, ..ChatRequest::default() };
        let frame = frames().of(&request, Delivery::Whole, |parameters| {
            format!("{:?} {:?}", parameters.top_k, parameters.seed)
        });
        assert_eq!(*frame, "Some(7) Some(1)");
    }

    #[test]
    fn frame_of_shared_parameters_is_made_once() {
        let (frames, parameters) = (frames(), seeded(1));
        assert_eq!(head(&frames, &parameters, "a"), "a");
        assert_eq!(head(&frames, &parameters, "b"), "a");
        let request = ChatRequest { parameters: Arc::clone(&parameters), ..ChatRequest::default() };
        let streamed = frames.of(&request, Delivery::Stream, |_| "c".to_owned());
        assert_eq!(*streamed, "c");
    }

    #[test]
    fn frame_of_parameters_of_one_call_is_not_kept() {
        let frames = frames();
        let request = ChatRequest { parameters: seeded(1), ..ChatRequest::default() };
        for text in ["a", "b"] {
            assert_eq!(*frames.of(&request, Delivery::Whole, |_| text.to_owned()), text);
        }
    }

    #[test]
    fn changed_parameters_have_a_frame_of_their_own() {
        let (frames, mut parameters) = (frames(), seeded(1));
        assert_eq!(head(&frames, &parameters, "a"), "a");
        // Nobody else shares them any more, but the frame remembers where they were.
        Arc::make_mut(&mut parameters).seed = Some(2);
        assert_eq!(head(&frames, &parameters, "b"), "b");
    }

    #[test]
    fn oldest_frame_goes_first() {
        let frames = frames();
        let all: Vec<_> = (0..=MAX_KEPT).map(|number| seeded(number as i64)).collect();
        for parameters in &all {
            head(&frames, parameters, "old");
        }
        assert_eq!(head(&frames, &all[1], "new"), "old");
        assert_eq!(head(&frames, &all[0], "new"), "new");
    }
}
