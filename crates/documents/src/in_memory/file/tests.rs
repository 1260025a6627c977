//! A file is read back exactly as it was written, or not at all.

use super::read::{self, LoadFailure};
use super::{Table, UnreadableEmbeddingsProblem, checksum, write};
use crate::in_memory::table::{Addition, Snapshot};
use ai_services_core::document::{Metadata, MetadataValue, TextSegment};
use ai_services_core::embedding::{EmbeddingEntry, Replace};
use futures_util::FutureExt;
use proptest::collection::vec;
use proptest::prelude::*;
use std::io;
use std::sync::atomic::AtomicBool;

static NOT_DROPPED: AtomicBool = AtomicBool::new(false);

fn value() -> impl Strategy<Value = MetadataValue> {
    let float = any::<f64>().prop_filter("finite", |number| number.is_finite());
    prop_oneof![
        ".{0,9}".prop_map(MetadataValue::from),
        any::<i64>().prop_map(MetadataValue::from),
        float.prop_map(MetadataValue::from),
        any::<bool>().prop_map(MetadataValue::from),
    ]
}

fn entry(dimensions: usize) -> impl Strategy<Value = EmbeddingEntry> {
    let vector = vec((-1.0..1.0_f32).prop_map(|number| number + 2.0), dimensions);
    let metadata = vec((".{1,9}", value()), 0..4);
    (".{1,9}", vector, ".{0,40}", metadata).prop_map(|(id, vector, text, metadata)| {
        let metadata: Metadata = metadata.into_iter().collect();
        EmbeddingEntry::new(id, vector, TextSegment::new(text).with_metadata(metadata))
    })
}

fn entries() -> impl Strategy<Value = Vec<EmbeddingEntry>> {
    (1..40_usize).prop_flat_map(|dimensions| vec(entry(dimensions), 0..12))
}

fn table(entries: Vec<EmbeddingEntry>) -> Table {
    let mut table = Table::default();
    let addition = Addition::new(entries).now_or_never().unwrap().unwrap();
    table.replace(Replace::Nothing, addition, usize::MAX).unwrap();
    table
}

fn written(table: &Table) -> Vec<u8> {
    let mut bytes = Vec::new();
    write::snapshot_to(&mut bytes, &table.snapshot(), &NOT_DROPPED).unwrap();
    bytes
}

fn contents(snapshot: &Snapshot) -> Vec<(Vec<u32>, String, TextSegment, Vec<String>)> {
    let entries = snapshot.blocks().iter().flat_map(|block| block.entries());
    let entries = entries.map(|(vector, row)| {
        let bits = vector.iter().map(|number| number.to_bits()).collect();
        let keys = row.segment.metadata().iter().map(|(key, _)| key.to_owned()).collect();
        (bits, row.id.to_string(), row.segment.clone(), keys)
    });
    entries.collect()
}

fn problem(bytes: &[u8]) -> UnreadableEmbeddingsProblem {
    match read::table(bytes, usize::MAX, &NOT_DROPPED) {
        Err(LoadFailure::Problem(problem)) => problem,
        other => panic!("{other:?}"),
    }
}

proptest! {
    #[test]
    fn file_round_trips(entries in entries()) {
        let table = table(entries);
        let again = read::table(&*written(&table), usize::MAX, &NOT_DROPPED).unwrap();
        prop_assert_eq!(contents(&again.snapshot()), contents(&table.snapshot()));
        prop_assert_eq!(again.len(), table.len());
        prop_assert_eq!(again.snapshot().dimensions(), table.snapshot().dimensions());
    }

    #[test]
    fn damage_anywhere_is_detected(
        entries in entries(),
        at in any::<prop::sample::Index>(),
        bits in 1..=u8::MAX,
    ) {
        let good = written(&table(entries));
        let mut flipped = good.clone();
        flipped[at.index(good.len())] ^= bits;
        prop_assert!(read::table(&*flipped, usize::MAX, &NOT_DROPPED).is_err());
        let cut = &good[..at.index(good.len())];
        prop_assert!(read::table(cut, usize::MAX, &NOT_DROPPED).is_err());
        let longer = [&*good, &[bits]].concat();
        prop_assert!(read::table(&*longer, usize::MAX, &NOT_DROPPED).is_err());
    }
}

fn sample() -> Vec<u8> {
    let entry = |id: &str| EmbeddingEntry::new(id, vec![1.0; 30], TextSegment::new("text"));
    written(&table(["a", "b", "c", "d", "e"].map(entry).into()))
}

#[test]
fn damage_of_every_byte_is_detected() {
    let good = sample();
    for at in 0..good.len() {
        for bits in [1, 0x80, 0xff] {
            let mut flipped = good.clone();
            flipped[at] ^= bits;
            assert!(read::table(&*flipped, usize::MAX, &NOT_DROPPED).is_err(), "{bits:x} at {at}");
        }
        assert!(read::table(&good[..at], usize::MAX, &NOT_DROPPED).is_err(), "cut at {at}");
    }
}

#[test]
fn problems_are_named() {
    use UnreadableEmbeddingsProblem::{Corrupt, Newer, UnknownFormat};
    let good = sample();
    assert_eq!(problem(b""), UnknownFormat);
    assert_eq!(problem(b"PK\x03\x04"), UnknownFormat);
    assert_eq!(problem(&good[..20]), Corrupt("the header is truncated".into()));
    assert_eq!(problem(&good[..40]), Corrupt("block 1 is truncated".into()));
    assert_eq!(problem(&good[..good.len() - 9]), Corrupt("block 3 is truncated".into()));
    let with = |at: usize, byte: u8| {
        let mut bytes = good.clone();
        bytes[at] = byte;
        bytes
    };
    assert_eq!(problem(&with(8, 7)), Newer { found: 7, supported: 1 });
    assert_eq!(problem(&with(16, 9)), Corrupt("the checksum of the header does not match".into()));
    assert_eq!(problem(&with(57, 9)), Corrupt("the checksum of block 1 does not match".into()));
    let longer = [&*good, b"!"].concat();
    assert_eq!(problem(&longer), Corrupt("there are bytes after the last entry".into()));
}

/// The checksums of these files match: the files were forged by a writer of valid files.
#[test]
fn forged_blocks_are_rejected() {
    let good = sample();
    let length = u64::from_le_bytes(good[32..40].try_into().unwrap()) as usize;
    let forge = |change: &dyn Fn(&mut [u8])| {
        let mut bytes = good.clone();
        change(&mut bytes[40..40 + length]);
        let sum = checksum(1, &bytes[40..40 + length]);
        bytes[40 + length..48 + length].copy_from_slice(&sum.to_le_bytes());
        problem(&bytes)
    };
    let wrong = UnreadableEmbeddingsProblem::Corrupt("block 1 is malformed".into());
    // The number of entries, the length of an id, a byte of a text, the last number of a vector.
    assert_eq!(forge(&|payload| payload[..8].fill(0xff)), wrong);
    assert_eq!(forge(&|payload| payload[8..16].fill(0xff)), wrong);
    assert_eq!(forge(&|payload| payload[16] = 0xff), wrong);
    assert_eq!(forge(&|payload| payload[length - 4..].fill(0xff)), wrong);
}

#[test]
fn file_with_too_many_entries_is_rejected() {
    let refused = read::table(&*sample(), 4, &NOT_DROPPED);
    assert!(matches!(refused, Err(LoadFailure::TooMany(4))), "{refused:?}");
}

#[test]
fn dropped_caller_stops_reading_and_writing() {
    let dropped = AtomicBool::new(true);
    let is_interrupted = |error: &io::Error| error.kind() == io::ErrorKind::Interrupted;
    let read = read::table(&*sample(), usize::MAX, &dropped);
    assert!(matches!(&read, Err(LoadFailure::Io(error)) if is_interrupted(error)), "{read:?}");
    let table = read::table(&*sample(), usize::MAX, &NOT_DROPPED).unwrap();
    let written = write::snapshot_to(&mut Vec::new(), &table.snapshot(), &dropped);
    assert!(written.is_err_and(|error| is_interrupted(&error)));
}
