//! Answers as bytes, whole and wrong.

/// The bytes of an answer with `content-length` and further headers.
#[must_use]
pub fn answer(status: u16, headers: &[(&str, &str)], body: impl AsRef<[u8]>) -> Vec<u8> {
    let body = body.as_ref();
    with_length(status, headers, body.len(), body)
}

/// An [`answer`] after which the connection cannot be reused, so that the next request opens
/// a new one.
#[must_use]
pub fn once(status: u16, headers: &[(&str, &str)], body: impl AsRef<[u8]>) -> Vec<u8> {
    answer(status, &[headers, &[("connection", "close")]].concat(), body)
}

/// An answer that announces this length.
#[must_use]
pub fn with_length(
    status: u16,
    headers: &[(&str, &str)],
    length: usize,
    body: impl AsRef<[u8]>,
) -> Vec<u8> {
    let length = length.to_string();
    let headers = [&[("content-length", &*length)], headers].concat();
    [&head("1.1", status, &headers)[..], body.as_ref()].concat()
}

/// The bytes of an answer with status 200 and this JSON.
#[must_use]
pub fn json_answer(body: &serde_json::Value) -> Vec<u8> {
    answer(200, &[("content-type", "application/json")], body.to_string())
}

/// The head of an answer that consists of events and ends with the connection.
#[must_use]
pub fn events_head() -> Vec<u8> {
    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nx-request-id: r-1\r\n\r\n".to_vec()
}

/// The bytes of an answer of events in one chunk, after which the connection stays open.
#[must_use]
pub fn events_answer(body: impl AsRef<[u8]>) -> Vec<u8> {
    chunked("text/event-stream", body, usize::MAX)
}

/// An answer in chunks of this many bytes.
#[must_use]
pub fn chunked(content_type: &str, body: impl AsRef<[u8]>, size: usize) -> Vec<u8> {
    let headers = [("content-type", content_type), ("transfer-encoding", "chunked")];
    let mut bytes = head("1.1", 200, &headers);
    for chunk in body.as_ref().chunks(size.max(1)) {
        bytes.extend_from_slice(format!("{:x}\r\n", chunk.len()).as_bytes());
        bytes.extend_from_slice(chunk);
        bytes.extend_from_slice(b"\r\n");
    }
    bytes.extend_from_slice(b"0\r\n\r\n");
    bytes
}

/// An answer of HTTP `1.0` or `1.1` that ends with the connection.
#[must_use]
pub fn until_close(version: &str, content_type: &str, body: impl AsRef<[u8]>) -> Vec<u8> {
    let headers = [("content-type", content_type), ("connection", "close")];
    [&head(version, 200, &headers)[..], body.as_ref()].concat()
}

/// An interim answer (1xx).
#[must_use]
pub fn interim(status: u16) -> Vec<u8> {
    head("1.1", status, &[("link", "</style.css>; rel=preload")])
}

/// A redirect.
#[must_use]
pub fn redirect(status: u16, location: &str) -> Vec<u8> {
    once(status, &[("location", location)], "")
}

/// An answer with this many headers before its body.
#[must_use]
pub fn header_flood(headers: usize, body: &str) -> Vec<u8> {
    let flood: Vec<_> = (0..headers).map(|number| format!("x-flood-{number}")).collect();
    let headers: Vec<_> = flood.iter().map(|name| (&**name, "x")).collect();
    once(200, &headers, body)
}

/// 1 MiB of gzip that would become 1 GiB of zeros.
///
/// One block, whose code for "258 times the last byte" has a length of two bits, both zero.
#[must_use]
pub fn gzip_bomb() -> Vec<u8> {
    const HEAD: [u8; 24] = [
        0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff, // no name, no time
        0xed, 0xc0, 0x81, 0, 0, 0, 0, 0x80, 0xa0, 0xfd, 0xa9, 0x17, 0xa9,
        0, // the codes, one zero
    ];
    /// The end of the block, the checksum and the length.
    const TAIL: [u8; 9] = [0x60, 0xcf, 0x37, 0xe8, 0xa1, 0xfd, 0xff, 0xff, 0x3f];
    [&HEAD[..], &vec![0; 1_040_446], &TAIL].concat()
}

fn head(version: &str, status: u16, headers: &[(&str, &str)]) -> Vec<u8> {
    let mut head = format!("HTTP/{version} {status} Status\r\n");
    for (name, value) in headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str("\r\n");
    head.into_bytes()
}
