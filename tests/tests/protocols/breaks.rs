//! Connections that break at every moment of an exchange.

use super::start;
use ai_services::ErrorKind;
use ai_services::model::PartialAnswer;
use ai_services_tests::fault_server::Step::{Close, Finish, Hang, Request, Reset, Send};
use ai_services_tests::fault_server::{Step, answer, chunked, once, until_close};
use ai_services_tests::protocols::{Mode, exchanges};

#[tokio::test]
async fn connection_lost_before_an_answer_is_retried() {
    for exchange in exchanges() {
        let part = |len: usize| Send(exchange.answer()[..len].to_vec());
        for first in [
            vec![Reset],
            vec![Close],
            vec![Request, Reset],
            vec![Request, Close],
            vec![Request, Finish, Hang],
            vec![Request, part(1), Close],
            vec![Request, part(12), Close],
            vec![Request, part(30), Reset],
        ] {
            let context = format!("{exchange:?} {first:?}");
            let server = start([first, vec![Request, Send(exchange.answer())]]).await;
            let model = exchange.client_with(&server, |client| client.max_retries = 1);
            let outcome = exchange.ask(&*model).await;
            outcome.assert_whole(&exchange, &context);
            assert_eq!(outcome.end.unwrap().attempts, Some(2), "{context}");
            assert_eq!(server.connections(), 2, "{context}");
        }
    }
}

#[tokio::test]
async fn connection_always_lost_before_an_answer_is_an_error() {
    for exchange in exchanges() {
        for end in [Close, Reset] {
            let server = start([(); 3].map(|()| vec![Request, end.clone()])).await;
            let model = exchange.client_with(&server, |client| client.max_retries = 2);
            let error = exchange.ask(&*model).await.unwrap_err();
            assert_eq!((error.kind(), error.attempts()), (ErrorKind::Connection, Some(3)));
            assert!(error.is_retryable(), "{exchange:?} {end:?}");
            assert!(error.detail::<PartialAnswer>().is_none(), "{exchange:?} {end:?}");
        }
    }
}

#[tokio::test]
async fn head_cut_anywhere_is_retried() {
    for exchange in exchanges() {
        let answer = exchange.answer();
        let head = answer.windows(4).position(|window| window == b"\r\n\r\n").unwrap() + 3;
        for cut in (0..=head).step_by(3) {
            let first = vec![Request, Send(answer[..cut].to_vec()), Close];
            let server = start([first, vec![Request, Send(answer.clone())]]).await;
            let model = exchange.client_with(&server, |client| client.max_retries = 1);
            let outcome = exchange.ask(&*model).await;
            outcome.assert_whole(&exchange, &format!("head cut at {cut}"));
            assert_eq!(outcome.end.unwrap().attempts, Some(2), "{exchange:?} {cut}");
        }
    }
}

#[tokio::test]
async fn answer_that_breaks_after_its_head_is_not_retried() {
    for exchange in exchanges() {
        let answer = exchange.answer();
        let head = answer.len() - exchange.body().len();
        for (at, end) in [
            (head, Close),
            (head, Reset),
            (head + 1, Close),
            ((head + answer.len()) / 2, Close),
            ((head + answer.len()) / 2, Reset),
        ] {
            let context = format!("{exchange:?} {at} {end:?}");
            let first = vec![Request, Send(answer[..at].to_vec()), end];
            let server = start([first, vec![Request, Send(answer.clone())]]).await;
            let model = exchange.client_with(&server, |client| client.max_retries = 2);
            let outcome = exchange.ask(&*model).await;
            assert!(!outcome.is_ok(), "{context}");
            outcome.assert_whole_or_error(&exchange, &context);
            let error = outcome.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Connection, "{context}: {error}");
            // A reset may overtake the head; the client then received no answer.
            if server.requests().len() == 1 {
                assert_eq!((error.status(), error.attempts()), (Some(200), Some(1)), "{context}");
            }
        }
    }
}

/// One answer in each framing: by length, in chunks, until the connection closes.
fn framings(content_type: &str, body: &str) -> [Vec<u8>; 5] {
    [
        once(200, &[("content-type", content_type)], body),
        chunked(content_type, body, 23),
        chunked(content_type, body, usize::MAX),
        until_close("1.1", content_type, body),
        until_close("1.0", content_type, body),
    ]
}

/// Some positions between `from` and `to`, including all of the last ones.
fn places(from: usize, to: usize) -> impl Iterator<Item = usize> {
    let step = ((to - from) / 24).max(1);
    (from..to.saturating_sub(10)).step_by(step).chain(to.saturating_sub(10)..=to)
}

#[tokio::test]
async fn answer_cut_anywhere_is_whole_or_an_error() {
    for exchange in exchanges() {
        for whole in framings(exchange.content_type(), &exchange.body()) {
            let cuts: Vec<_> = places(0, whole.len()).collect();
            let script = |cut: &usize| vec![Request, Send(whole[..*cut].to_vec())];
            let server = start(cuts.iter().map(script)).await;
            let model = exchange.client(&server);
            for cut in cuts {
                let context = format!("{cut} of {}", whole.len());
                let outcome = exchange.ask(&*model).await;
                outcome.assert_whole_or_error(&exchange, &context);
                // The last bytes of a chunked body are insignificant, and the last line of a
                // stream may be incomplete.
                assert!(!outcome.is_ok() || cut + 11 >= whole.len(), "{exchange:?}, {context}");
                assert!(cut < whole.len() || outcome.is_ok(), "{exchange:?}, {context}");
                let kinds = [None, Some(ErrorKind::Connection), Some(ErrorKind::InvalidResponse)];
                assert!(kinds.contains(&outcome.kind()), "{exchange:?}, {context}");
            }
        }
    }
}

#[tokio::test]
async fn answer_in_single_bytes_is_read() {
    for exchange in exchanges() {
        for whole in framings(exchange.content_type(), &exchange.body()) {
            let bytes = whole.iter().map(|byte| Send(vec![*byte]));
            let server = start([[Request].into_iter().chain(bytes).collect()]).await;
            let outcome = exchange.ask(&*exchange.client(&server)).await;
            outcome.assert_whole(&exchange, "byte by byte");
        }
    }
}

#[tokio::test]
async fn stale_connection_is_replaced() {
    for exchange in exchanges() {
        let content_type = [("content-type", exchange.content_type())];
        let kept = answer(200, &content_type, exchange.body());
        for end in [Close, Reset] {
            let first = vec![Request, Send(kept.clone()), Request, end];
            let server = start([first, vec![Request, Send(exchange.answer())]]).await;
            let model = exchange.client_with(&server, |client| client.max_retries = 1);
            for attempts in [1, 2] {
                let outcome = exchange.ask(&*model).await;
                outcome.assert_whole(&exchange, &format!("attempts: {attempts}"));
                assert_eq!(outcome.end.unwrap().attempts, Some(attempts), "{exchange:?}");
            }
        }
        // Closed before the second request. The client may or may not notice in time.
        let server = start([(); 8].map(|()| vec![Request, Send(kept.clone()), Close])).await;
        let model = exchange.client_with(&server, |client| client.max_retries = 2);
        for _ in 0..4 {
            exchange.ask(&*model).await.assert_whole(&exchange, "closed at once");
        }
    }
}

#[tokio::test]
async fn connection_is_reused_after_the_end() {
    for exchange in exchanges() {
        let content_type = [("content-type", exchange.content_type())];
        let kept = answer(200, &content_type, exchange.body());
        let chunked = chunked(exchange.content_type(), exchange.body(), 50);
        let script: Vec<Step> = [kept.clone(), chunked, kept]
            .into_iter()
            .flat_map(|kept| [Request, Send(kept)])
            .collect();
        let server = start([script]).await;
        let model = exchange.client(&server);
        for _ in 0..3 {
            exchange.ask(&*model).await.assert_whole(&exchange, "kept connection");
        }
        assert_eq!(server.connections(), 1, "{exchange:?}");
    }
}

#[tokio::test]
async fn refused_connection_is_a_connection_error() {
    for exchange in exchanges() {
        let server = start([]).await;
        let model = exchange.client_with(&server, |client| client.max_retries = 1);
        drop(server);
        // The port stays open until the task of the server has ended.
        tokio::task::yield_now().await;
        let error = exchange.ask(&*model).await.unwrap_err();
        let what = (error.kind(), error.attempts(), error.is_retryable());
        assert_eq!(what, (ErrorKind::Connection, Some(2), true), "{exchange:?}: {error}");
    }
}

#[tokio::test]
async fn stream_cut_in_the_middle_keeps_the_partial_answer() {
    for exchange in exchanges().filter(|exchange| exchange.mode == Mode::Stream) {
        let body = exchange.body();
        for end in [Close, Finish] {
            let part = until_close("1.1", exchange.content_type(), &body[..body.len() * 3 / 4]);
            let server = start([vec![Request, Send(part), end, Hang]]).await;
            let outcome = exchange.ask(&*exchange.client(&server)).await;
            outcome.assert_whole_or_error(&exchange, "cut");
            let error = outcome.end.unwrap_err();
            let partial = error.detail::<PartialAnswer>().unwrap();
            assert_eq!(partial.text, outcome.content.text, "{exchange:?}");
            assert!(!partial.text.is_empty(), "{exchange:?}");
            assert!(!format!("{error:?} {error}").contains(&partial.text), "{exchange:?}");
        }
    }
}
