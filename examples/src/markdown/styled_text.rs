//! Styled text for a terminal, as ANSI escape codes.

/// Set of text attributes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Style(u8);

/// SGR codes of the attributes.
const CODES: [(Style, &str); 5] = [
    (Style::BOLD, ";1"),
    (Style::DIM, ";2"),
    (Style::ITALIC, ";3"),
    (Style::UNDERLINE, ";4"),
    (Style::CODE, ";36"),
];

impl Style {
    pub(super) const PLAIN: Self = Self(0);
    pub(super) const BOLD: Self = Self(1);
    pub(super) const DIM: Self = Self(2);
    pub(super) const ITALIC: Self = Self(4);
    pub(super) const UNDERLINE: Self = Self(8);
    pub(super) const CODE: Self = Self(16);

    pub(super) const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// Builder of styled text. The result ends unstyled, so that later output has no style by mistake.
#[derive(Debug, Default)]
pub(super) struct StyledText {
    out: String,
    style: Style,
}

impl StyledText {
    pub(super) fn write(&mut self, style: Style, text: &str) {
        if !text.is_empty() {
            self.switch_to(style);
            self.out.push_str(text);
        }
    }

    pub(super) fn finish(mut self) -> String {
        self.switch_to(Style::PLAIN);
        self.out
    }

    fn switch_to(&mut self, style: Style) {
        if style == self.style {
            return;
        }
        self.out.push_str("\u{1b}[0");
        let codes = CODES.iter().filter(|(bit, _)| style.and(*bit) == style);
        codes.for_each(|(_, code)| self.out.push_str(code));
        self.out.push('m');
        self.style = style;
    }
}
