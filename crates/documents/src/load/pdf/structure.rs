//! Opening of a file with bounded memory for its compressed objects.
//!
//! An object stream (ISO 32000-1, 7.5.7) is compressed, and has an offset for each object. If all offsets
//! are equal, a small file can contain the same array a hundred thousand times. The objects of a stream are
//! therefore counted before the stream is read. `lopdf` does not call the filter for encrypted files (only
//! those without a password are read); there each stream is limited, but not their total.

use lopdf::{DecompressError, Document as Pdf, Error, LoadOptions, Object, ObjectId, Stream};
use std::cell::Cell;

/// Maximum size of a decompressed object stream, or of the table of a font, in bytes.
pub(super) const MAX_UNPACKED: usize = 8 * 1024 * 1024;

/// Maximum number of objects in all streams of a file. One object takes about a hundred bytes.
const MAX_OBJECTS: u64 = 4_000_000;

thread_local! {
    /// Number of further objects that the file opened by this thread may have; `None` once it had too many. A
    /// thread-local because the filter of `lopdf` is a plain function.
    static LEFT: Cell<Option<u64>> = const { Cell::new(None) };
}

/// Reads all objects of a file.
pub(super) fn open(bytes: &[u8]) -> lopdf::Result<Pdf> {
    LEFT.set(Some(MAX_OBJECTS));
    let mut options = LoadOptions::with_max_decompressed_size(MAX_UNPACKED);
    options.filter = Some(admit);
    let pdf = Pdf::load_mem_with_options(bytes, options);
    // `lopdf` may also fail because of the objects that were left out.
    if LEFT.take().is_some() { pdf } else { Err(too_large()) }
}

/// Returns the error of `lopdf` for a stream that is too large.
pub(super) fn too_large() -> Error {
    Error::Decompress(DecompressError::MemoryLimitExceeded { limit: MAX_UNPACKED })
}

/// The filter of `lopdf`: called with each object before the objects in it are read.
fn admit(id: ObjectId, object: &mut Object) -> Option<(ObjectId, Object)> {
    let left = LEFT.get()?;
    let Object::Stream(stream) = object else { return Some((id, object.clone())) };
    let weight = if stream.dict.has_type(b"ObjStm") { weight(stream) } else { 0 };
    let left = left.checked_sub(weight);
    LEFT.set(left);
    // Streams are not nested; only whether the result is `Some` matters here.
    left.map(|_| (id, Object::Null))
}

/// Returns an upper bound of the number of objects in an object stream.
fn weight(stream: &Stream) -> u64 {
    let content = match stream.get_plain_content_with_limit(MAX_UNPACKED) {
        Ok(content) => content,
        Err(Error::Decompress(DecompressError::MemoryLimitExceeded { .. })) => return u64::MAX,
        // A stream that cannot be decompressed has no objects.
        Err(_) => return 0,
    };
    let first = stream.dict.get(b"First").and_then(Object::as_i64);
    let first = first.ok().and_then(|first| usize::try_from(first).ok());
    let Some((index, objects)) = first.and_then(|first| content.split_at_checked(first)) else {
        return 0;
    };
    // A number and an offset for each object.
    let index = str::from_utf8(index).unwrap_or_default().split_whitespace();
    let places: Vec<usize> =
        index.skip(1).step_by(2).filter_map(|place| place.parse().ok()).collect();
    let times = if are_apart(objects, &places) { 1 } else { places.len() as u64 };
    objects_in(objects).saturating_mul(times)
}

/// Returns whether each object ends before the next one starts.
fn are_apart(objects: &[u8], places: &[usize]) -> bool {
    places.windows(2).all(|pair| {
        let [from, to] = pair else { return false };
        let (Some(own), Some(next)) = (objects.get(*from..*to), objects.get(*to)) else {
            return false;
        };
        let is_one_word = own.last().is_some_and(|last| is_regular(*last)) && is_regular(*next);
        !is_one_word && is_closed(own)
    })
}

/// Returns whether the object is not empty and all its brackets are closed.
fn is_closed(object: &[u8]) -> bool {
    let (mut depth, mut text_depth) = (0_usize, 0_usize);
    let mut bytes = object.iter();
    while let Some(byte) = bytes.next() {
        let deeper = match byte {
            b'\\' if text_depth > 0 => {
                bytes.next();
                continue;
            }
            b'(' => text_depth.checked_add(1).map(|deeper| text_depth = deeper),
            b')' => text_depth.checked_sub(1).map(|deeper| text_depth = deeper),
            _ if text_depth > 0 => continue,
            b'[' | b'<' => depth.checked_add(1).map(|deeper| depth = deeper),
            b']' | b'>' => depth.checked_sub(1).map(|deeper| depth = deeper),
            // A comment may hide a closing bracket.
            b'%' => None,
            _ => continue,
        };
        if deeper.is_none() {
            return false;
        }
    }
    (depth, text_depth) == (0, 0) && !object.trim_ascii().is_empty()
}

/// Returns an upper bound of the number of objects, including operators, in the bytes: texts count as words,
/// and long words count several times.
pub(super) fn objects_in(bytes: &[u8]) -> u64 {
    let (mut count, mut length) = (0, 0_u64);
    for byte in bytes {
        if is_regular(*byte) {
            // `0-1.5.5` is three numbers, `nullnull` is two words.
            let begins = length.is_multiple_of(4) || matches!(byte, b'+' | b'-' | b'.');
            count += u64::from(begins);
            length += 1;
        } else {
            count += u64::from(matches!(byte, b'(' | b'[' | b'<' | b'/'));
            length = 0;
        }
    }
    count
}

/// Returns whether a byte is part of a word or a number.
fn is_regular(byte: u8) -> bool {
    !matches!(byte, b'\0' | b'\t' | b'\n' | b'\x0c' | b'\r' | b' ')
        && !matches!(byte, b'(' | b')' | b'<' | b'>' | b'[' | b']' | b'{' | b'}' | b'/' | b'%')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn object_count_is_an_upper_bound() {
        for (bytes, objects) in [
            ("0 0 0", 3),
            ("[0 1]", 3),
            ("0-1.5.5", 5),
            ("nullnull", 2),
            ("[][]()///", 6),
            ("<< /a 1 >>", 5),
            ("<<>>", 2),
            ("BT /F1 9 Tf (x) Tj ET", 9),
            ("", 0),
        ] {
            assert_eq!(objects_in(bytes.as_bytes()), objects, "{bytes}");
        }
    }

    #[test]
    fn closed_objects_are_apart() {
        let are_apart = |objects: &str, places: &[usize]| are_apart(objects.as_bytes(), places);
        assert!(are_apart("[1 2] << /a (\\)>) >> 7 ", &[0, 6, 21]));
        assert!(are_apart("7 8", &[0, 2]) && are_apart("/a/b", &[0, 2]) && are_apart("7", &[0]));
        for (objects, places) in [
            ("[1 2]", vec![0, 0]),
            ("[1 2]", vec![0, 1]),
            ("    7", vec![0, 1]),
            ("11111", vec![0, 1]),
            ("(a\\(a\\(a)", vec![0, 4]),
            ("<<<<", vec![0, 2]),
            ("% 1\n7", vec![0, 2]),
            ("] [1", vec![0, 2]),
            ("7 8", vec![2, 0]),
            ("7 8", vec![0, 9]),
        ] {
            assert!(!are_apart(objects, &places), "{objects}");
        }
    }
}
