//! Downloads of media by URL. The clients of this crate do not fetch URLs from messages.

use ai_services_core::message::{Content, Media};
use ai_services_core::{Error, ErrorKind, Result};
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, LOCATION};
use reqwest::{Client, Response, Url};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::time::Duration;

/// Limits of [`fetch_media`]: size, time, redirects and hosts.
///
/// # Examples
///
/// ```
/// use ai_services::providers::FetchLimits;
/// use std::time::Duration;
///
/// let limits = FetchLimits::new().max_bytes(1 << 20).timeout(Duration::from_secs(5));
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct FetchLimits {
    max_bytes: usize,
    timeout: Duration,
    max_redirects: usize,
    hosts: FetchHosts,
}

/// Hosts that [`fetch_media`] accepts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum FetchHosts {
    /// All hosts except this machine and private networks: loopback, private, link-local, shared
    /// (100.64.0.0/10), multicast and reserved addresses, `localhost`, `*.localhost`, `*.local` and
    /// `*.internal`. The URL alone is checked: a public name may resolve to a private address.
    #[default]
    Public,
    /// All hosts.
    Any,
}

impl FetchLimits {
    /// Creates the default limits.
    pub fn new() -> Self {
        Self {
            max_bytes: Media::MAX_BYTES,
            timeout: Duration::from_secs(30),
            max_redirects: 5,
            hosts: FetchHosts::default(),
        }
    }

    /// Sets the maximum size of the body in bytes. Default: [`Media::MAX_BYTES`].
    pub fn max_bytes(self, max_bytes: usize) -> Self {
        Self { max_bytes, ..self }
    }

    /// Sets the time limit of the whole call, with redirects. Default: 30 seconds.
    pub fn timeout(self, timeout: Duration) -> Self {
        Self { timeout, ..self }
    }

    /// Sets the maximum number of redirects. Default: 5.
    pub fn max_redirects(self, max_redirects: usize) -> Self {
        Self { max_redirects, ..self }
    }

    /// Sets the accepted hosts of the URL and of redirects. Default: [`Public`](FetchHosts::Public).
    pub fn hosts(self, hosts: FetchHosts) -> Self {
        Self { hosts, ..self }
    }
}

impl Default for FetchLimits {
    fn default() -> Self {
        Self::new()
    }
}

/// Downloads an image, audio, video or PDF for a model that does not fetch URLs itself.
///
/// Most providers fetch URLs of images themselves; use [`ImageContent::url`] for these. The type is
/// detected from the first bytes and must agree with the `content-type` header. Failed requests are not
/// retried.
///
/// Build `client` with [`http_client_builder`](super::http_client_builder), which turns redirects off.
/// This function follows redirects itself, to `http` and `https` only, never from `https` to `http`.
///
/// # Security
///
/// A URL of a user or a model can make this program send a request to a network that its author cannot
/// reach (server-side request forgery). [`FetchHosts::Public`] checks the URL alone: a name in a
/// stranger's domain can still resolve to a private address. If this matters, use a client with a
/// resolver or a proxy that checks addresses. Cookies and keys are sent only if the client adds them.
///
/// # Errors
///
/// - [`ErrorKind::Media`] for a URL that is not accepted, too many redirects, an answer that is too large,
///   of an unknown type or of another type than its `content-type`, and for other statuses than 200.
/// - [`ErrorKind::Connection`], [`ErrorKind::Timeout`], [`ErrorKind::RateLimited`] (status 429) and
///   [`ErrorKind::Unavailable`] (status 500 and above) for failures that may be temporary.
///
/// Errors contain the host of the URL, not the URL.
///
/// # Cancellation
///
/// Dropping the future closes the connection.
///
/// # Examples
///
/// ```no_run
/// use ai_services::message::Content;
/// use ai_services::providers::{FetchLimits, fetch_media, http_client_builder};
///
/// # async fn run() -> Result<(), Box<dyn std::error::Error>> {
/// let client = http_client_builder()?.build()?;
/// let url = "https://example.org/paper.pdf";
/// let paper: Content = fetch_media(&client, url, &FetchLimits::new()).await?;
/// # Ok(())
/// # }
/// ```
///
/// [`ImageContent::url`]: ai_services_core::message::ImageContent::url
pub async fn fetch_media(client: &Client, url: &str, limits: &FetchLimits) -> Result<Content> {
    let fetching = fetch(client, url, limits);
    match tokio::time::timeout(limits.timeout, fetching).await {
        Ok(content) => content,
        Err(_) => Err(Error::new(
            ErrorKind::Timeout,
            format!("the media did not arrive within {:?}", limits.timeout),
        )),
    }
}

async fn fetch(client: &Client, url: &str, limits: &FetchLimits) -> Result<Content> {
    let mut url = Url::parse(url)
        .map_err(|error| media_error("malformed URL".to_owned()).with_source(error))?;
    for _ in 0..=limits.max_redirects {
        check(&url, limits.hosts)?;
        let request = client.get(url.clone()).header(ACCEPT, "*/*").timeout(limits.timeout);
        let mut response = request.send().await.map_err(|error| unreachable(&url, error))?;
        // A client may have followed redirects by itself.
        check(response.url(), limits.hosts)?;
        if !response.status().is_redirection() {
            check_status(&response)?;
            let bytes = read(&mut response, limits.max_bytes).await?;
            return Content::of_declared_type(&bytes, content_type(response.headers()));
        }
        let next = target(&response)?;
        if url.scheme() == "https" && next.scheme() != "https" {
            return Err(media_error("a redirect leads from https to http".to_owned()));
        }
        url = next;
    }
    Err(media_error(format!("more than {} redirects", limits.max_redirects)))
}

fn check(url: &Url, hosts: FetchHosts) -> Result<()> {
    if !matches!(url.scheme(), "http" | "https") {
        let message = format!("unsupported scheme `{}`: use http or https", url.scheme());
        return Err(media_error(message));
    }
    if hosts == FetchHosts::Public && !is_public(url) {
        return Err(media_error(format!(
            "`{}` is not a public host; `FetchHosts::Any` allows all",
            host(url)
        )));
    }
    Ok(())
}

/// Returns `false` if the URL names a host on this machine or in a private network.
fn is_public(url: &Url) -> bool {
    let name = host(url).trim_end_matches('.').to_ascii_lowercase();
    let address = name.trim_start_matches('[').trim_end_matches(']');
    match address.parse() {
        Ok(IpAddr::V4(address)) => is_public_v4(address),
        Ok(IpAddr::V6(address)) => is_public_v6(address),
        Err(_) => {
            let private = [".localhost", ".local", ".internal"];
            name != "localhost" && !private.iter().any(|end| name.ends_with(end))
        }
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let [first, second, ..] = address.octets();
    // 100.64/10 is shared by the customers of a provider, 0/8 is this machine, 240/4 is reserved.
    let is_shared = first == 100 && (64..128).contains(&second);
    !(address.is_loopback()
        || address.is_private()
        || address.is_link_local()
        || address.is_multicast()
        || is_shared
        || first == 0
        || first >= 240)
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    // IPv4 addresses in IPv6: mapped, compatible, and translated.
    let embedded = match address.segments() {
        [0, 0, 0, 0, 0, 0xFFFF | 0, a, b] | [0x64, 0xFF9B, 0, 0, 0, 0, a, b] => {
            let ([a, b], [c, d]) = (a.to_be_bytes(), b.to_be_bytes());
            Some(Ipv4Addr::new(a, b, c, d))
        }
        _ => None,
    };
    match embedded {
        Some(address) => is_public_v4(address),
        None => {
            !(address.is_loopback()
                || address.is_unspecified()
                || address.is_unique_local()
                || address.is_unicast_link_local()
                || address.is_multicast())
        }
    }
}

fn host(url: &Url) -> &str {
    url.host_str().unwrap_or_default()
}

/// Returns the target of a redirect.
fn target(response: &Response) -> Result<Url> {
    let location = response.headers().get(LOCATION).and_then(|value| value.to_str().ok());
    location.and_then(|location| response.url().join(location).ok()).ok_or_else(|| {
        media_error("a redirect without a valid `location` header".to_owned())
            .with_status(response.status().as_u16())
    })
}

fn check_status(response: &Response) -> Result<()> {
    let status = response.status().as_u16();
    let kind = match status {
        200 => return Ok(()),
        429 => ErrorKind::RateLimited,
        500.. => ErrorKind::Unavailable,
        _ => ErrorKind::Media,
    };
    let message = format!("`{}` answered with status {status}", host(response.url()));
    Err(Error::new(kind, message).with_status(status))
}

/// Reads the whole body. Fails if it is larger than `max` bytes.
async fn read(response: &mut Response, max: usize) -> Result<Vec<u8>> {
    let too_large =
        || media_error(format!("the media are larger than {max} bytes, the limit of this call"));
    let announced = response.content_length().unwrap_or(0);
    if usize::try_from(announced).is_ok_and(|announced| announced > max) {
        return Err(too_large());
    }
    let mut bytes = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(interrupted)? {
        if bytes.len().saturating_add(chunk.len()) > max {
            return Err(too_large());
        }
        bytes.extend_from_slice(&chunk);
    }
    Ok(bytes)
}

fn content_type(headers: &HeaderMap) -> Option<&str> {
    headers.get(CONTENT_TYPE)?.to_str().ok()
}

fn media_error(message: String) -> Error {
    Error::new(ErrorKind::Media, message)
}

fn unreachable(url: &Url, error: reqwest::Error) -> Error {
    let kind = if error.is_timeout() { ErrorKind::Timeout } else { ErrorKind::Connection };
    Error::new(kind, format!("`{}` cannot be reached", host(url))).with_source(error.without_url())
}

fn interrupted(error: reqwest::Error) -> Error {
    let kind = if error.is_timeout() { ErrorKind::Timeout } else { ErrorKind::Connection };
    Error::new(kind, "the connection broke before the end of the media")
        .with_source(error.without_url())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn private_hosts_are_recognized_by_url() {
        let is_public = |url: &str| is_public(&Url::parse(url).unwrap());
        for url in [
            "http://localhost/",
            "http://LOCALHOST.:80/",
            "http://a.localhost/",
            "http://printer.local/",
            "http://metadata.google.internal/",
            "http://127.0.0.1/",
            "http://127.1/",
            "http://0x7f000001/",
            "http://2130706433/",
            "http://0.0.0.0/",
            "http://10.0.0.1/",
            "http://172.16.0.1/",
            "http://192.168.1.1/",
            "http://169.254.169.254/latest/meta-data",
            "http://100.64.0.1/",
            "http://255.255.255.255/",
            "http://224.0.0.1/",
            "http://[::1]/",
            "http://[::]/",
            "http://[::ffff:10.0.0.1]/",
            "http://[64:ff9b::7f00:1]/",
            "http://[fd00::1]/",
            "http://[fe80::1]/",
            "http://[ff02::1]/",
            "http://user@127.0.0.1/",
        ] {
            assert!(!is_public(url), "{url}");
        }
        for url in [
            "https://example.org/",
            "http://localhost.example.org/",
            "http://93.184.216.34/",
            "http://172.32.0.1/",
            "http://[2606:2800:220:1::1]/",
            "http://[::ffff:93.184.216.34]/",
        ] {
            assert!(is_public(url), "{url}");
        }
    }
}
