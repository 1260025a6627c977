//! Cutting a text into pieces of a size.

use super::TextMeasure;
use super::breaks::{Break, breaks, joins};
use super::measure::{Measure, before};
use std::ops::Range;

/// How large segments are.
#[derive(Clone, Debug)]
pub(super) struct Limits {
    pub(super) max: usize,
    /// How much of a segment the next one may repeat; at most half of `max`, so that each brings as
    /// much of its own and time stays linear.
    pub(super) overlap: usize,
    pub(super) measure: TextMeasure,
}

/// How far back a cut between characters that belong together is moved, in characters.
const MAX_JOINED: usize = 32;

/// How many beginnings are tried for a repetition whose size is not known before.
const MAX_TRIES: usize = 8;

/// The pieces of a range of a text, in order and without white space around them. Every character that
/// is not white space is in one. Ranges in `kept`, in order, stay whole if they fit.
pub(super) fn cut(
    text: &str,
    range: Range<usize>,
    kept: &[Range<usize>],
    limits: &Limits,
) -> Vec<Range<usize>> {
    let Some(text) = text.get(..range.end) else { return Vec::new() };
    Cutter { text, kept, limits, hint: limits.max, hint_back: limits.overlap }.cut(range.start)
}

struct Cutter<'a> {
    /// Up to the end of the range.
    text: &'a str,
    kept: &'a [Range<usize>],
    limits: &'a Limits,
    /// How many bytes fitted the last time.
    hint: usize,
    hint_back: usize,
}

impl Cutter<'_> {
    fn cut(mut self, start: usize) -> Vec<Range<usize>> {
        let mut pieces = Vec::new();
        // All before `done` is in a piece; the next piece begins there or, with an overlap, earlier.
        let mut done = self.next_visible(start);
        let mut start = done;
        while done < self.text.len() {
            let Some(stop) = self.stop(start, done) else {
                // What is repeated leaves no room for anything new.
                start = done;
                continue;
            };
            let piece = start..start + self.part(start, stop).trim_end().len();
            done = self.next_visible(stop);
            start = self.next_start(&piece, done);
            pieces.push(piece);
        }
        pieces
    }

    /// Where the piece from `start` ends, behind `done`; none if it has to begin later.
    fn stop(&mut self, start: usize, done: usize) -> Option<usize> {
        let rest = self.part(start, self.text.len());
        let fitting = self.limits.measure.fitting_prefix(rest, self.limits.max, self.hint);
        self.hint = fitting.max(1);
        let mut limit = start + fitting;
        loop {
            if limit <= done {
                // A character that is larger than the maximum is a piece of its own.
                return (start == done).then(|| done + self.first_length(done));
            }
            let stop = self.best(start, done, limit);
            if self.fits(start, stop) {
                return Some(stop);
            }
            // A measure by which a part may be larger than the whole.
            limit = before(self.text, stop.saturating_sub(1));
        }
    }

    /// The best place to cut between `done` and `limit`: behind the largest unit that leaves at least
    /// half a piece, else behind a word, else between characters.
    fn best(&self, start: usize, done: usize, limit: usize) -> usize {
        if limit >= self.text.len() {
            return self.text.len();
        }
        if let Some(kept) = self.kept_around(limit)
            && kept.start > done
            && self.fits(kept.start, kept.end)
        {
            return kept.start;
        }
        let half = start + (limit - start) / 2;
        let mut best: Option<(Break, usize)> = None;
        let mut last = None;
        breaks(self.text, start, limit, |at, level| {
            if at <= done {
                return;
            }
            last = Some(at);
            let level = match self.kept_around(at) {
                Some(_) if level <= Break::Line => Break::Row,
                Some(_) => Break::Word,
                None => level,
            };
            if at >= half && best.is_none_or(|(best, _)| level <= best) {
                best = Some((level, at));
            }
        });
        best.map(|(_, at)| at).or(last).unwrap_or_else(|| self.between_characters(done, limit))
    }

    /// A place at `limit` or a little before that does not part what is shown as one character.
    fn between_characters(&self, done: usize, limit: usize) -> usize {
        let mut after = self.part(limit, self.text.len()).chars().next();
        let mut at = limit;
        for before in self.part(done, limit).chars().rev().take(MAX_JOINED) {
            match after {
                Some(after) if joins(before, after) => at -= before.len_utf8(),
                _ => return at,
            }
            after = Some(before);
        }
        limit
    }

    /// Where the piece behind this one begins: at `done`, or earlier by what is repeated.
    fn next_start(&mut self, piece: &Range<usize>, done: usize) -> usize {
        if self.limits.overlap == 0 || done >= self.text.len() {
            return done;
        }
        let Some(start) = self.repeated(piece) else { return done };
        // A repetition must not tear apart what would fit without it.
        let kept = self.kept.get(self.kept.partition_point(|kept| kept.start < done));
        match kept.filter(|kept| kept.start == done) {
            Some(kept) if !self.fits(start, kept.end) => done,
            _ => start,
        }
    }

    /// Where in a piece begins what the next one repeats: with a sentence if it can be, else with a
    /// word.
    fn repeated(&mut self, piece: &Range<usize>) -> Option<usize> {
        let Limits { overlap, measure, .. } = self.limits;
        let fitting =
            measure.fitting_suffix(self.part(piece.start, piece.end), *overlap, self.hint_back);
        self.hint_back = fitting.max(1);
        let low = (piece.end - fitting).max(piece.start + 1);
        let (mut sentences, mut words) = (Vec::new(), Vec::new());
        breaks(self.text, piece.start, piece.end, |at, level| {
            let begin = self.next_visible(at);
            if begin < low || begin >= piece.end || self.kept_around(begin).is_some() {
                return;
            }
            let list = if level <= Break::Sentence { &mut sentences } else { &mut words };
            if list.len() < MAX_TRIES {
                list.push(begin);
            }
        });
        let fits = |begin: &usize| match measure.0 {
            Measure::Characters => true,
            Measure::Counted(_) => measure.size(self.part(*begin, piece.end)) <= *overlap,
        };
        sentences.into_iter().chain(words).find(fits)
    }

    /// What is to stay whole, if this place is within it.
    fn kept_around(&self, at: usize) -> Option<&Range<usize>> {
        let index = self.kept.partition_point(|kept| kept.end <= at);
        self.kept.get(index).filter(|kept| kept.start < at)
    }

    fn fits(&self, start: usize, stop: usize) -> bool {
        self.limits.measure.size(self.part(start, stop).trim()) <= self.limits.max
    }

    fn next_visible(&self, at: usize) -> usize {
        let rest = self.part(at, self.text.len());
        self.text.len() - rest.trim_start().len()
    }

    /// The length of the character here, and of all that is shown with it, in bytes.
    fn first_length(&self, at: usize) -> usize {
        self.part(at, self.text.len()).chars().next().map_or(1, char::len_utf8)
    }

    fn part(&self, start: usize, end: usize) -> &str {
        self.text.get(start..end).unwrap_or_default()
    }
}
