//! The slots of a conversation: positions of its messages in the table.
//!
//! A turn of a full window evicts messages and appends others. The new rows overwrite the evicted ones, so
//! that the B-tree keeps its shape: rows that are inserted at one end and deleted at the other would split and
//! merge its pages all the time. Therefore a row is found by a slot, which is reused, and not by the number of
//! its message.

use std::iter::once;
use std::ops::Range;

/// A message by its number and the slot of its row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) number: u64,
    pub(super) slot: u64,
}

/// The slots of the messages in memory, in the order of their numbers. The first slot is 1: the head has
/// slot 0.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Slots(Vec<Run>);

/// Messages with consecutive numbers in consecutive slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Run {
    number: u64,
    slot: u64,
    length: u64,
}

impl Run {
    /// Splits the run behind its first `length` messages.
    fn split(self, length: u64) -> (Self, Self) {
        let Self { number, slot, length: all } = self;
        let rest = Self { number: number + length, slot: slot + length, length: all - length };
        (Self { length, ..self }, rest)
    }

    fn slots(self) -> Range<u64> {
        self.slot..self.slot + self.length
    }

    fn places(self) -> impl Iterator<Item = Place> {
        (0..self.length).map(move |at| Place { number: self.number + at, slot: self.slot + at })
    }
}

impl Slots {
    /// Collects places. Returns `None` unless their numbers are ascending.
    pub(super) fn collect(places: impl IntoIterator<Item = Place>) -> Option<Self> {
        let mut slots = Self::default();
        for place in places {
            if slots.newest() >= Some(place.number) {
                return None;
            }
            slots.push(place);
        }
        Some(slots)
    }

    /// Reads the form of [`encode`](Self::encode). Returns `None` if it is damaged, or if there are not
    /// `messages` messages.
    pub(super) fn decode(mut bytes: &[u8], messages: u64) -> Option<Self> {
        let (mut runs, mut count, mut end) = (Vec::new(), 0_u64, 0_u64);
        while !bytes.is_empty() {
            let mut next = || decode_number(&mut bytes);
            let (gap, slot, length) = (next()?, next()?, next()?);
            let number = end.checked_add(gap)?;
            end = number.checked_add(length)?;
            count = count.checked_add(length)?;
            let is_valid = length > 0 && slot > 0 && slot.checked_add(length)? <= i64::MAX as u64;
            runs.push(Some(Run { number, slot, length }).filter(|_| is_valid)?);
        }
        Some(Self(runs)).filter(|_| count == messages)
    }

    /// Returns the bytes to store: for each run, the gap to the number before, the slot and the length.
    pub(super) fn encode(&self) -> Vec<u8> {
        let (mut bytes, mut end) = (Vec::with_capacity(16 * self.0.len()), 0);
        for Run { number, slot, length } in &self.0 {
            [number - end, *slot, *length].iter().for_each(|it| encode_number(*it, &mut bytes));
            end = number + length;
        }
        bytes
    }

    /// Adds a message whose number is higher than all others.
    pub(super) fn push(&mut self, place: Place) {
        let Place { number, slot } = place;
        match self.0.last_mut() {
            Some(run) if (run.number + run.length, run.slot + run.length) == (number, slot) => {
                run.length += 1;
            }
            _ => self.0.push(Run { number, slot, length: 1 }),
        }
    }

    /// Removes the messages at these positions, counted from the oldest, and returns them. Positions past
    /// the end are ignored.
    pub(super) fn remove(&mut self, positions: Range<u64>) -> Vec<Place> {
        let (mut removed, mut at) = (Vec::new(), 0);
        if positions.is_empty() {
            return removed;
        }
        for run in std::mem::take(&mut self.0) {
            let end = at + run.length;
            let cut = |position: u64| position.clamp(at, end) - at;
            let start = cut(positions.start);
            let (before, rest) = run.split(start);
            let (inside, after) = rest.split(cut(positions.end).max(start) - start);
            self.0.extend([before, after].into_iter().filter(|run| run.length > 0));
            removed.extend(inside.places());
            at = end;
        }
        removed
    }

    /// Returns the number of messages.
    pub(super) fn len(&self) -> u64 {
        self.0.iter().map(|run| run.length).sum()
    }

    /// Returns the number of the newest message.
    pub(super) fn newest(&self) -> Option<u64> {
        self.0.last().map(|run| run.number + run.length - 1)
    }

    /// Returns the position of a message, counted from the oldest.
    pub(super) fn position(&self, number: u64) -> Option<u64> {
        let mut before = 0;
        for run in &self.0 {
            match number.checked_sub(run.number) {
                Some(at) if at < run.length => return Some(before + at),
                _ => before += run.length,
            }
        }
        None
    }

    /// Returns the two oldest messages.
    pub(super) fn oldest(&self) -> impl Iterator<Item = Place> {
        self.0.iter().flat_map(|run| run.places()).take(2)
    }

    /// Returns the slots of the messages from a number on.
    pub(super) fn since(&self, number: u64) -> impl Iterator<Item = Range<u64>> {
        let newer = self.0.iter().rev().take_while(move |run| run.number + run.length > number);
        newer.map(move |run| run.split(number.saturating_sub(run.number)).1.slots())
    }

    /// Returns an endless iterator over slots for new messages: the free ones behind the newest message, those
    /// before it, and those behind all others. The slots of a window of changing length then stay a ring, with
    /// few runs.
    pub(super) fn free(&self, evicted: &[Place]) -> impl Iterator<Item = u64> {
        let newest = self.0.last().map_or(1, |run| run.slots().end);
        let mut used: Vec<_> = self.0.iter().map(|run| run.slots()).collect();
        used.sort_unstable_by_key(|slots| slots.start);
        let ends = used.iter().map(|slots| slots.end);
        let end = ends.clone().chain(evicted.iter().map(|place| place.slot + 1)).max().unwrap_or(1);
        let gaps = once(1).chain(ends).zip(used.iter().map(|slots| slots.start).chain(once(end)));
        let (behind, before): (Vec<_>, Vec<_>) =
            gaps.map(|(start, end)| start..end).partition(|gap| gap.start >= newest);
        behind.into_iter().chain(before).flatten().chain(end..)
    }
}

/// Appends a number, seven bits to a byte, the lowest ones first.
fn encode_number(mut number: u64, bytes: &mut Vec<u8>) {
    while number > 0x7f {
        bytes.push(0x80 | (number & 0x7f) as u8);
        number >>= 7;
    }
    bytes.push(number as u8);
}

fn decode_number(bytes: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for shift in (0..63).step_by(7) {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        number |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn places(slots: &Slots) -> Vec<Place> {
        slots.0.iter().flat_map(|run| run.places()).collect()
    }

    /// Evicts the oldest messages and appends others, as a commit does.
    fn turn(slots: &mut Slots, evicted: Range<u64>, appended: Range<u64>) -> Vec<Place> {
        let gone = slots.remove(evicted);
        let free: Vec<_> = slots.free(&gone).take(appended.clone().count()).collect();
        appended.zip(free).for_each(|(number, slot)| slots.push(Place { number, slot }));
        gone
    }

    #[test]
    fn new_messages_take_the_slots_of_evicted_ones() {
        let mut slots = Slots::default();
        turn(&mut slots, 0..0, 101..111);
        for first in (111..151).step_by(2) {
            let gone = turn(&mut slots, 0..2, first..first + 2);
            let new = places(&slots).split_off(8);
            assert!(gone.iter().map(|it| it.slot).eq(new.iter().map(|it| it.slot)));
        }
        assert_eq!(slots.0, [Run { number: 141, slot: 1, length: 10 }]);
    }

    #[test]
    fn window_that_varies_has_few_runs() {
        let (mut slots, mut next) = (Slots::default(), 1);
        turn(&mut slots, 0..0, 1..101);
        for step in 0..1_000_u64 {
            let (evicted, appended) = if step % 2 == 0 { (4, 2) } else { (2, 4) };
            next += appended;
            turn(&mut slots, 0..evicted, 100 + next - appended..100 + next);
        }
        assert!(slots.0.len() <= 4, "{slots:?}");
    }

    proptest! {
        #[test]
        fn slots_are_a_list_of_places_without_duplicates(
            steps in prop::collection::vec((0_u64..9, 0_u64..9, 0_u64..3, 0_u64..6), 0..20),
        ) {
            let (mut slots, mut list, mut next) = (Slots::default(), Vec::new(), 1);
            for (start, end, gap, count) in steps {
                let new = next + gap..next + gap + count;
                next = new.end;
                let gone = turn(&mut slots, start..end, new.clone());
                let end = end.min(list.len() as u64).max(start.min(list.len() as u64));
                let evicted: Vec<_> = list.drain(start.min(end) as usize..end as usize).collect();
                prop_assert_eq!(&gone.iter().map(|it| it.number).collect::<Vec<_>>(), &evicted);
                list.extend(new);
                let found = places(&slots);
                prop_assert!(found.iter().map(|it| it.number).eq(list.iter().copied()));
                let mut used: Vec<_> = found.iter().map(|it| it.slot).collect();
                used.sort_unstable();
                used.dedup();
                prop_assert_eq!((used.len(), used.contains(&0)), (list.len(), false));
                let count = list.len() as u64;
                prop_assert_eq!(Slots::decode(&slots.encode(), count), Some(slots.clone()));
                prop_assert_eq!(Slots::decode(&slots.encode(), count + 1), None);
                prop_assert_eq!(Slots::collect(found.clone()), Some(slots.clone()));
                prop_assert!(slots.oldest().eq(found.iter().copied().take(2)));
                for number in 0..next + 1 {
                    let position = list.iter().position(|it| *it == number).map(|it| it as u64);
                    prop_assert_eq!(slots.position(number), position);
                    let newer = found.iter().filter(|it| it.number >= number).map(|it| it.slot);
                    let (mut newer, mut since) =
                        (newer.collect::<Vec<_>>(), slots.since(number).flatten().collect::<Vec<_>>());
                    newer.sort_unstable();
                    since.sort_unstable();
                    prop_assert_eq!(newer, since);
                }
            }
        }

        #[test]
        fn damaged_slots_are_not_decoded_or_have_the_right_number(
            bytes in prop::collection::vec(any::<u8>(), 0..40),
        ) {
            if let Some(slots) = Slots::decode(&bytes, 3) {
                prop_assert_eq!(places(&slots).len(), 3);
            }
        }
    }
}
