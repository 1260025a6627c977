//! IP addresses.

use super::scan::{at, follows_word};
use crate::steps;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::ops::Range;

/// Maximum length of an address: IPv6 with IPv4 at its end.
const MAX_LENGTH: usize = 45;

/// Finds addresses.
pub(super) fn addresses(text: &str, found: &mut Vec<Range<usize>>) {
    let bytes = text.as_bytes();
    let mut start = 0;
    while start < bytes.len() {
        let run = run(bytes, start);
        steps::add(1 + run);
        if run == 0 {
            start += 1;
            continue;
        }
        let word = text.get(start..start + run).unwrap_or_default();
        let next = at(bytes, start + run);
        let ends = !next.is_ascii_alphanumeric() && next != b'_';
        if ends
            && let Some(range) = address(word)
            && !follows_word(bytes, start + range.start)
        {
            found.push(start + range.start..start + range.end);
        }
        start += run;
    }
}

/// Returns the number of bytes from here on that could be part of an address.
fn run(bytes: &[u8], start: usize) -> usize {
    let may = |b: &&u8| b.is_ascii_hexdigit() || matches!(b, b'.' | b':');
    bytes.iter().skip(start).take_while(may).count()
}

/// Returns the range of the address within a run.
fn address(run: &str) -> Option<Range<usize>> {
    let begin = run.len() - run.trim_start_matches('.').len();
    let word = run.get(begin..)?.trim_end_matches('.');
    // A single colon before or after the address belongs to the sentence.
    let lead = usize::from(word.starts_with(':') && !word.starts_with("::"));
    let word = word.get(lead..)?;
    let word = match word.strip_suffix(':') {
        Some(shorter) if !word.ends_with("::") => shorter,
        _ => word,
    };
    if word.len() > MAX_LENGTH {
        return None;
    }
    let start = begin + lead;
    if word.parse::<Ipv6Addr>().is_ok() && word.bytes().any(|b| b.is_ascii_digit()) {
        return Some(start..start + word.len());
    }
    // The port in `192.0.2.7:80` is not part of the address.
    let host = word.split(':').next()?;
    host.parse::<Ipv4Addr>().is_ok().then_some(start..start + host.len())
}

#[cfg(test)]
mod tests {
    use super::super::tests::all;
    use super::*;

    #[test]
    fn addresses_are_found() {
        for (text, address) in [
            ("from 192.0.2.7.", "192.0.2.7"),
            ("http://192.0.2.7:8080/x", "192.0.2.7"),
            ("host:192.0.2.7", "192.0.2.7"),
            ("[2001:db8::1]:443", "2001:db8::1"),
            ("at 2001:db8:0:0:0:0:2:1: yes", "2001:db8:0:0:0:0:2:1"),
            ("fe80::1%eth0", "fe80::1"),
            ("::ffff:192.0.2.7", "::ffff:192.0.2.7"),
        ] {
            assert_eq!(all(addresses, text), [address], "{text}");
        }
    }

    #[test]
    fn other_words_are_ignored() {
        for text in [
            "256.1.1.1",
            "1.2.3",
            "1.2.3.4.5",
            "v1.2.3.4",
            "add::bed",
            "a::b",
            "std::fmt",
            "12:30:45",
            "aa:bb:cc:dd:ee:ff",
            "::",
            "2001:db8::1g",
            "dead beef",
        ] {
            assert!(all(addresses, text).is_empty(), "{text}");
        }
    }
}
