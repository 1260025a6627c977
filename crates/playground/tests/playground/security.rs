//! Requests that are not those of the page.

use super::fixture::Fixture;
use ai_services::ErrorKind;
use ai_services::playground::Playground;
use ai_services::testing::ScriptedChatModel;
use ai_services::{AnswerStream, ai_service};

/// All routes, also those of the server below the playground.
const ROUTES: [(&str, &str); 12] = [
    ("GET", "/"),
    ("GET", "/app.js"),
    ("GET", "/style.css"),
    ("GET", "/health"),
    ("GET", "/v1/models"),
    ("GET", "/api/info"),
    ("GET", "/api/turns"),
    ("GET", "/api/memory/ann"),
    ("GET", "/unknown"),
    ("POST", "/ag-ui/support"),
    ("POST", "/v1/chat/completions"),
    ("POST", "/api/turns/1/fork"),
];

fn request(method: &str, path: &str, headers: &[(&str, &str)]) -> String {
    let mut text =
        format!("{method} {path} HTTP/1.1\r\nconnection: close\r\ncontent-length: 2\r\n");
    for (name, value) in headers {
        text.push_str(&format!("{name}: {value}\r\n"));
    }
    text + "\r\n{}"
}

#[tokio::test]
async fn foreign_hosts_are_misdirected() {
    let fixture = Fixture::start().await;
    for (method, path) in ROUTES {
        for host in ["evil.test", "evil.test:80", "localhost.evil.test", "192.168.0.1", ""] {
            let headers = [("host", host), ("x-playground-token", &fixture.token)];
            let answer = fixture.raw(&request(method, path, &headers)).await;
            assert_eq!(answer.status, 421, "{method} {path} {host}");
        }
        let absolute = format!("http://evil.test{path}");
        let headers = [("host", "localhost"), ("x-playground-token", &fixture.token)];
        let answer = fixture.raw(&request(method, &absolute, &headers)).await;
        assert_eq!(answer.status, 421, "{method} {absolute}");
    }
}

#[tokio::test]
async fn other_pages_are_forbidden() {
    let fixture = Fixture::start().await;
    let host = fixture.address.to_string();
    for (method, path) in ROUTES {
        for (name, value) in [
            ("origin", "http://evil.test"),
            ("origin", "null"),
            ("origin", "http://127.0.0.1:1"),
            ("sec-fetch-site", "cross-site"),
            ("sec-fetch-site", "same-site"),
        ] {
            let headers = [("host", &*host), ("x-playground-token", &fixture.token), (name, value)];
            let answer = fixture.raw(&request(method, path, &headers)).await;
            assert_eq!(answer.status, 403, "{method} {path} {name}: {value}");
        }
    }
}

#[tokio::test]
async fn forms_are_unsupported() {
    let fixture = Fixture::start().await;
    let host = fixture.address.to_string();
    let posts = ROUTES.iter().filter(|(method, _)| *method == "POST");
    for (method, path) in posts {
        for media_type in
            ["application/x-www-form-urlencoded", "multipart/form-data; boundary=a", "text/plain"]
        {
            let headers = [
                ("host", &*host),
                ("x-playground-token", &fixture.token),
                ("content-type", media_type),
            ];
            let answer = fixture.raw(&request(method, path, &headers)).await;
            assert_eq!(answer.status, 415, "{path} {media_type}");
        }
        let headers = [("host", &*host), ("x-playground-token", &fixture.token)];
        assert_eq!(fixture.raw(&request(method, path, &headers)).await.status, 415, "{path}");
    }
}

#[tokio::test]
async fn token_is_required_except_for_the_page_itself() {
    let fixture = Fixture::start().await;
    let host = fixture.address.to_string();
    let false_token = "0".repeat(64);
    for (method, path) in ROUTES {
        let expected = if ["/", "/app.js", "/style.css"].contains(&path) { 200 } else { 401 };
        let base = [("host", &*host), ("content-type", "application/json")];
        let without = fixture.raw(&request(method, path, &base)).await;
        assert_eq!(without.status, expected, "{method} {path}");
        let [host, media_type] = base;
        let headers = [host, media_type, ("x-playground-token", &false_token)];
        assert_eq!(fixture.raw(&request(method, path, &headers)).await.status, expected, "{path}");
    }
    assert_eq!(fixture.send("GET", "/api/info", "").await.status, 200);
}

#[tokio::test]
async fn every_response_has_the_security_headers() {
    let fixture = Fixture::start().await;
    for path in ["/", "/app.js", "/style.css", "/api/info", "/unknown"] {
        let answer = fixture.send("GET", path, "").await;
        for header in [
            "x-content-type-options: nosniff",
            "referrer-policy: no-referrer",
            "cross-origin-opener-policy: same-origin",
            "cross-origin-resource-policy: same-origin",
            "cache-control: no-store",
            "require-trusted-types-for 'script'",
            "default-src 'none'",
            "frame-ancestors 'none'",
        ] {
            assert!(answer.head.contains(header), "{path} {header}\n{}", answer.head);
        }
        assert!(!answer.head.contains("unsafe-"), "{}", answer.head);
        assert!(!answer.body.contains(&fixture.token));
    }
    let refused = fixture.raw(&request("GET", "/", &[("host", "evil.test")])).await;
    assert!(refused.head.contains("content-security-policy"), "{}", refused.head);
}

#[ai_service]
trait Plain {
    fn chat(&self, #[user_message] text: &str) -> AnswerStream;
}

#[tokio::test]
async fn other_addresses_than_loopback_are_refused() {
    for address in ["0.0.0.0:0", "[::]:0", "192.0.2.1:0"] {
        let model = ScriptedChatModel::replies(["Hello."]);
        let service = PlainService::builder().chat_model(model).build().unwrap();
        let playground = Playground::new().service("plain", move |turn| service.chat(turn.text()));
        let address: std::net::SocketAddr = address.parse().unwrap();
        let error = playground.bind(address).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Configuration);
        assert!(error.to_string().contains("loopback"), "{error}");
    }
}

#[tokio::test]
async fn debug_output_has_no_token() {
    let service =
        PlainService::builder().chat_model(ScriptedChatModel::replies(["Hello."])).build().unwrap();
    let playground = Playground::new().service("plain", move |turn| service.chat(turn.text()));
    let server = playground.bind(([127, 0, 0, 1], 0)).await.unwrap();
    let token = server.url().rsplit_once('#').unwrap().1.to_owned();
    assert_eq!(token.len(), 64);
    assert!(!format!("{server:?}").contains(&token));
}
