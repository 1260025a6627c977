//! Decoding of text with the fonts of a file.

use super::structure::MAX_UNPACKED;
use lopdf::{Dictionary, Document as Pdf, Encoding, Object, ObjectId};
use std::collections::BTreeMap;
use std::rc::Rc;

/// Maximum number of characters in the `ToUnicode` tables of all fonts of a file. One line of a table can map
/// four billion characters, and each would take memory. No font has more than 65,536.
const MAX_CODES: u64 = 1_000_000;

/// A cache of the fonts of a file. Most pages share their fonts.
pub(super) struct Library<'a> {
    pdf: &'a Pdf,
    /// Fonts by the address of their dictionary; `None` if a font cannot be read.
    known: BTreeMap<*const Dictionary, Option<Rc<Font<'a>>>>,
    /// Number of characters that further fonts may map.
    codes_left: u64,
}

/// The fonts of a page by their resource names.
pub(super) struct Fonts<'a>(BTreeMap<Vec<u8>, Rc<Font<'a>>>);

struct Font<'a> {
    encoding: Encoding<'a>,
    /// The code of the first character with a known width, and the widths in thousandths of the font size.
    widths: Option<(usize, Vec<f32>)>,
}

impl<'a> Library<'a> {
    pub(super) fn new(pdf: &'a Pdf) -> Self {
        Self { pdf, known: BTreeMap::new(), codes_left: MAX_CODES }
    }

    /// Returns the fonts of a page. Unreadable fonts are left out, and so is the text in them.
    pub(super) fn fonts(&mut self, page: ObjectId) -> Fonts<'a> {
        let fonts = self.pdf.get_page_fonts(page).unwrap_or_default();
        Fonts(fonts.into_iter().filter_map(|(name, font)| Some((name, self.font(font)?))).collect())
    }

    fn font(&mut self, font: &'a Dictionary) -> Option<Rc<Font<'a>>> {
        let place = std::ptr::from_ref(font);
        if let Some(known) = self.known.get(&place) {
            return known.clone();
        }
        let read = self.read(font).map(Rc::new);
        self.known.insert(place, read.clone());
        read
    }

    fn read(&mut self, font: &'a Dictionary) -> Option<Font<'a>> {
        self.codes_left = self.codes_left.checked_sub(codes_of(self.pdf, font)?)?;
        let encoding = font.get_font_encoding_with_limit(self.pdf, MAX_UNPACKED).ok()?;
        Some(Font { encoding, widths: widths(self.pdf, font) })
    }
}

impl Fonts<'_> {
    /// Decodes bytes with a font.
    pub(super) fn decode(&self, font: &[u8], bytes: &[u8]) -> Option<String> {
        Pdf::decode_text(&self.0.get(font)?.encoding, bytes).ok()
    }

    /// Returns the width of the bytes at font size 1, if the file has the widths.
    pub(super) fn width(&self, font: &[u8], bytes: &[u8]) -> Option<f32> {
        let (first, widths) = self.0.get(font)?.widths.as_ref()?;
        let width =
            |byte: &u8| usize::from(*byte).checked_sub(*first).and_then(|at| widths.get(at));
        bytes.iter().map(width).sum::<Option<f32>>().map(|sum| sum / 1000.0)
    }
}

/// Returns the widths of a single-byte font.
fn widths(pdf: &Pdf, font: &Dictionary) -> Option<(usize, Vec<f32>)> {
    let first = usize::try_from(font.get(b"FirstChar").ok()?.as_i64().ok()?).ok()?;
    let (_, widths) = pdf.dereference(font.get(b"Widths").ok()?).ok()?;
    Some((first, widths.as_array().ok()?.iter().take(256).filter_map(number).collect()))
}

/// Returns the value of an integer or real number.
pub(super) fn number(object: &Object) -> Option<f32> {
    match object {
        #[allow(clippy::cast_precision_loss, reason = "numbers on a page are small")]
        Object::Integer(number) => Some(*number as f32),
        Object::Real(number) => Some(*number),
        _ => None,
    }
}

/// Returns the number of characters that the table of a font maps; `None` if it cannot be decompressed.
fn codes_of(pdf: &Pdf, font: &Dictionary) -> Option<u64> {
    let table = font.get(b"ToUnicode").and_then(|table| pdf.dereference(table));
    let Ok((_, Object::Stream(table))) = table else { return Some(0) };
    Some(codes(&table.get_plain_content_with_limit(MAX_UNPACKED).ok()?))
}

/// Returns the number of characters that a table maps. Its ranges are `<first> <last> <character>`.
fn codes(table: &[u8]) -> u64 {
    let text = String::from_utf8_lossy(table);
    // Single characters are pairs.
    let single = text.split("beginbfchar").skip(1);
    let single = single.map(|section| section.split("endbfchar").next().unwrap_or_default());
    let mut sum =
        single.map(|section| section.matches('<').count().div_ceil(2) as u64).sum::<u64>();
    for section in text.split("beginbfrange").skip(1) {
        let section = section.split("endbfrange").next().unwrap_or_default();
        // The hexadecimal codes between angle brackets. Lists of single characters for a range shift the
        // triples, so sections with lists are counted differently below.
        let codes: Vec<u64> = section
            .split('<')
            .skip(1)
            .map(|code| code.split('>').next().unwrap_or_default())
            .map(|code| code.split_whitespace().collect::<String>())
            .map(|code| u64::from_str_radix(&code, 16).unwrap_or(u64::MAX))
            .collect();
        let mut ranges = codes.chunks_exact(3);
        if section.contains('[') {
            // A list is as long as its range.
            sum = sum.saturating_add(codes.len() as u64);
        } else {
            for range in &mut ranges {
                if let [first, last, _] = range {
                    sum = sum.saturating_add(last.saturating_sub(*first).saturating_add(1));
                }
            }
        }
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mapped_characters_are_counted() {
        let table = b"2 beginbfrange\n<0000> <00FF> <0041>\n<0100><01ff><0141> endbfrange";
        assert_eq!(codes(table), 512);
        assert_eq!(codes(b"1 beginbfrange <01> <03> [<41> <42> <43>] endbfrange"), 5);
        assert!(codes(b"beginbfrange <00000000> <FFFFFFFF> <0041> endbfrange") > MAX_CODES);
        assert_eq!(codes(b"beginbfchar <01> <0041> <02> <0042> endbfchar"), 2);
    }
}
