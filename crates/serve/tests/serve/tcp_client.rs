//! A client over TCP, which can disconnect at each byte.

use serde_json::Value;
use std::net::SocketAddr;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// Sends a request over a connection of its own. `headers` are lines with their ends.
pub(crate) async fn connect(
    address: SocketAddr,
    path: &str,
    headers: &str,
    body: &Value,
) -> TcpStream {
    let body = body.to_string();
    let mut stream = TcpStream::connect(address).await.unwrap();
    let head = format!(
        "POST {path} HTTP/1.1\r\nhost: localhost\r\n{headers}content-type: application/json\r\n\
         content-length: {}\r\nconnection: close\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    stream
}

/// Reads until the client has this text.
pub(crate) async fn read_until(client: &mut TcpStream, text: &str) {
    let mut received = Vec::new();
    while !String::from_utf8_lossy(&received).contains(text) {
        assert_ne!(client.read_buf(&mut received).await.unwrap(), 0, "{received:?}");
    }
}
