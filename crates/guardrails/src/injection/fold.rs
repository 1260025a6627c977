//! Normalization of texts with look-alike and invisible characters.

use crate::characters::{is_invisible, styled, tag};
use crate::steps;
use std::collections::HashMap;
use std::sync::LazyLock;

/// Look-alikes and accented forms of letters, by the letter that a reader sees.
///
/// Written by hand after Unicode's list of confusable characters (Technical Standard 39), with the scripts
/// that are commonly used to hide texts: Cyrillic, Greek, Armenian, Cherokee, small capitals, superscripts.
const LOOK_ALIKES: [(&str, &str); 31] = [
    ("a", "àáâãäåāăąǎǻȧạảаαάɑᴀᵃªᎪₐ"),
    ("ae", "æǽ"),
    ("b", "вβьʙᵇƀᏴᖯ"),
    ("c", "çćĉċčсϲᴄᶜℂℭᏟ"),
    ("d", "ďđðԁᴅᵈɗᎠ"),
    ("e", "èéêëēĕėęěẹẻẽеёєεέᴇᵉℯℰᎬₑ"),
    ("f", "ꜰᶠƒℱϝ"),
    ("g", "ĝğġģǧɡɢᵍℊᏀց"),
    ("h", "ĥħһнʜʰℎℋℌℍհᎻ"),
    ("i", "ìíîïĩīĭįıǐịỉіїιίɪɩⁱℐℑᎥᵢ"),
    ("j", "ĵјᴊʲϳᎫ"),
    ("k", "ķкκᴋᵏᏦ"),
    ("l", "ĺļľŀłʟˡℒℓᏞӏ"),
    ("m", "мμᴍᵐℳᎷ"),
    ("n", "ñńņňŋпηήɴⁿℕոռ"),
    ("o", "òóôõöøōŏőǒọỏơоοόσᴏᵒºℴօₒ"),
    ("oe", "œ"),
    ("p", "рρᴘᵖℙᏢ"),
    ("q", "ԛℚզ"),
    ("r", "ŕŗřгʀʳℛℜℝᏒᵣ"),
    ("s", "śŝşšșѕꜱˢᏚ"),
    ("ss", "ß"),
    ("t", "ţťŧțтτᴛᵗᎢ"),
    ("th", "þ"),
    ("u", "ùúûüũūŭůűųǔụủưυύцսʋᴜᵘᵤ"),
    ("v", "νѵᴠᵛᏙᵥ"),
    ("w", "ŵԝѡωώᴡʷᏔ"),
    ("x", "хχˣ×"),
    ("y", "ýÿŷуγʏʸᎩүỳỹ"),
    ("z", "źżžᴢᶻℤℨᏃ"),
    ("!", "¡ǃ"),
];

/// Greek capitals that look like a different letter than their small forms.
const CAPITALS: [(char, &str); 6] =
    [('Ν', "n"), ('Η', "h"), ('Ζ', "z"), ('Υ', "y"), ('Β', "b"), ('Χ', "x")];

static LETTERS: LazyLock<HashMap<char, &'static str>> = LazyLock::new(|| {
    let small = LOOK_ALIKES.iter().flat_map(|(letter, all)| all.chars().map(move |c| (c, *letter)));
    small.chain(CAPITALS).collect()
});

/// Returns a text in small ASCII letters, without accents, look-alikes and invisible characters.
///
/// Punctuation and line breaks are kept. Every other white space is replaced by a space.
pub(super) fn fold(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        steps::add(1);
        match c {
            c if c.is_ascii() => out.push(ascii(c)),
            c if is_invisible(c) => {}
            '\u{85}' | '\u{2028}' | '\u{2029}' => out.push('\n'),
            c if c.is_whitespace() => out.push(' '),
            c => match styled(c).or_else(|| tag(c)).or_else(|| emoji(c)) {
                Some(letter) => out.push(ascii(letter)),
                None => fold_letter(c, &mut out),
            },
        }
    }
    out
}

fn ascii(c: char) -> char {
    if matches!(c, '\t' | '\u{b}' | '\u{c}' | '\r') { ' ' } else { c.to_ascii_lowercase() }
}

fn fold_letter(c: char, out: &mut String) {
    if let Some(letters) = LETTERS.get(&c) {
        return out.push_str(letters);
    }
    for small in c.to_lowercase() {
        match LETTERS.get(&small) {
            Some(letters) => out.push_str(letters),
            None if is_invisible(small) => {}
            None => out.push(small),
        }
    }
}

/// Returns the letter of a squared, circled or regional emoji.
fn emoji(c: char) -> Option<char> {
    let code = u32::from(c);
    let letter = |from: u32| char::from_u32(u32::from(b'a') + (code - from) % 26);
    match code {
        0x1F110..=0x1F129 => letter(0x1F110),
        0x1F130..=0x1F149 => letter(0x1F130),
        0x1F150..=0x1F169 => letter(0x1F150),
        0x1F170..=0x1F189 => letter(0x1F170),
        0x1F1E6..=0x1F1FF => letter(0x1F1E6),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn look_alikes_are_folded_to_the_same_text() {
        for text in [
            "Ignore",
            "IGNORE",
            "іgnоrе",
            "ｉｇｎｏｒｅ",
            "𝐢𝐠𝐧𝐨𝐫𝐞",
            "𝕴𝖌𝖓𝖔𝖗𝖊",
            "ⓘⓖⓝⓞⓡⓔ",
            "ɪɢɴᴏʀᴇ",
            "i\u{200b}g\u{ad}n\u{2060}o\u{feff}re",
            "i\u{301}gn\u{308}ore",
            "ígñörè",
            "🅘🅖🅝🅞🅡🅔",
            "\u{e0069}\u{e0067}\u{e006e}\u{e006f}\u{e0072}\u{e0065}",
            "ΙgΝΟre",
        ] {
            assert_eq!(fold(text), "ignore", "{text}");
        }
    }

    #[test]
    fn punctuation_and_line_breaks_are_kept() {
        assert_eq!(fold("A,\tb.\r\n<|Straße|>\u{2028}忽略"), "a, b. \n<|strasse|>\n忽略");
    }

    #[test]
    fn each_look_alike_has_one_letter() {
        let mut seen = HashMap::new();
        for (letter, all) in LOOK_ALIKES {
            for c in all.chars() {
                let earlier = seen.insert(c, letter);
                assert!(earlier.is_none_or(|earlier| earlier == letter), "{c}");
                assert!(!c.is_ascii(), "{c}");
            }
        }
    }

    proptest! {
        #[test]
        fn folding_is_idempotent(text in any::<String>()) {
            let once = fold(&text);
            prop_assert_eq!(fold(&once), once);
        }
    }
}
