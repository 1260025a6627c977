//! Adding contents to the user's message with a template.

use super::ContentInjector;
use super::contents::{ContentFormat, METADATA_PREFIX};
use crate::error::{Error, Result};
use crate::message::{Content, UserMessage};
use crate::prompt::{PromptTemplate, PromptVariables};
use crate::rag::RetrievedContent;
use crate::rag::prompt::{Prompt, check_variables};

/// An injector that appends the contents to the text of the user.
///
/// ```text
/// What are bananas?
///
/// Answer using the following information:
/// Bananas are berries.
///
/// Bananas are mostly curved.
/// ```
///
/// Contents are separated by empty lines. The template, the metadata, the format of each content and numbers
/// for citations can be configured. Texts are data: a placeholder in a question or in a document is not
/// expanded.
///
/// In a message of several parts, the first text is the text of the user and is replaced. All other parts,
/// both further texts and images, stay at their place. The name of the user and the attributes are kept. A
/// message without text gets one, before its other parts. Without contents, the message is returned
/// unchanged.
///
/// # Examples
///
/// ```
/// use ai_services::document::{Metadata, TextSegment};
/// use ai_services::message::UserMessage;
/// use ai_services::prompt::PromptTemplate;
/// use ai_services::rag::{ContentInjector, DefaultContentInjector, RetrievedContent};
///
/// # fn main() -> ai_services::Result<()> {
/// let injector = DefaultContentInjector::builder()
///     .template(PromptTemplate::parse("{{user_message}}\nCite these sources by number:\n{{contents}}")?)
///     .metadata_keys(["source"])
///     .numbered()
///     .build()?;
/// let segment = TextSegment::new("Bananas are berries.")
///     .with_metadata(Metadata::new().with("source", "fruit.md"));
/// let message = injector.inject(&UserMessage::new("Bananas?"), &[RetrievedContent::new(segment)])?;
/// assert_eq!(
///     message.text(),
///     Some("Bananas?\nCite these sources by number:\n[1] content: Bananas are berries.\nsource: fruit.md")
/// );
/// # Ok(())
/// # }
/// ```
///
/// # Differences from LangChain4j
///
/// The variable is `user_message`. Templates are checked when the injector is built. A content can have a
/// template of its own, which can use each metadata key. A message of several texts is not an error.
#[derive(Clone, Debug)]
pub struct DefaultContentInjector {
    template: Prompt,
    format: ContentFormat,
    numbering: Numbering,
}

/// Numbering of the contents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Numbering {
    None,
    FromOne,
}

impl DefaultContentInjector {
    /// The built-in template.
    pub const DEFAULT_TEMPLATE: &str =
        "{{user_message}}\n\nAnswer using the following information:\n{{contents}}";

    /// Creates an injector with the built-in template, which adds the texts without metadata.
    #[must_use]
    pub fn new() -> Self {
        Self {
            template: Prompt::BuiltIn(Self::DEFAULT_TEMPLATE),
            format: ContentFormat::Keys(Vec::new()),
            numbering: Numbering::None,
        }
    }

    /// Starts building an injector.
    pub fn builder() -> DefaultContentInjectorBuilder {
        DefaultContentInjectorBuilder { injector: Self::new(), keys: None, content_template: None }
    }

    /// Renders the text that replaces the user's text.
    fn render(&self, user_text: &str, contents: &[RetrievedContent]) -> Result<String> {
        let mut rendered = Vec::with_capacity(contents.len());
        for (content, number) in contents.iter().zip(1..) {
            let text = self.format.render(content, number)?;
            rendered.push(match self.numbering {
                Numbering::None => text,
                Numbering::FromOne => format!("[{number}] {text}"),
            });
        }
        let values = PromptVariables::new()
            .with("user_message", user_text)
            .with("contents", rendered.join("\n\n"));
        self.template.render(&values)
    }
}

impl Default for DefaultContentInjector {
    fn default() -> Self {
        Self::new()
    }
}

impl ContentInjector for DefaultContentInjector {
    fn inject(&self, message: &UserMessage, contents: &[RetrievedContent]) -> Result<UserMessage> {
        if contents.is_empty() {
            return Ok(message.clone());
        }
        let mut parts = message.contents().to_vec();
        match parts.iter_mut().find(|part| part.text().is_some()) {
            Some(first) => {
                let text = self.render(first.text().unwrap_or_default(), contents)?;
                *first = Content::from(text);
            }
            None => parts.insert(0, Content::from(self.render("", contents)?.trim_start())),
        }
        let injected = UserMessage::from_contents(parts);
        let injected = match message.name() {
            Some(name) => injected.with_name(name),
            None => injected,
        };
        Ok(match message.attributes() {
            Some(attributes) => injected.with_attributes(attributes.clone()),
            None => injected,
        })
    }
}

/// Builds a [`DefaultContentInjector`].
#[derive(Clone, Debug)]
#[must_use]
pub struct DefaultContentInjectorBuilder {
    injector: DefaultContentInjector,
    keys: Option<Vec<Box<str>>>,
    content_template: Option<PromptTemplate>,
}

impl DefaultContentInjectorBuilder {
    /// Sets the template of the text that replaces the user's text. It must contain `{{contents}}`, and
    /// should contain `{{user_message}}`: without it, the user's text is not sent to the model.
    #[doc(alias = "promptTemplate")]
    pub fn template(mut self, template: PromptTemplate) -> Self {
        self.injector.template = Prompt::Custom(template);
        self
    }

    /// Sets the metadata keys to include, in this order. A content that has any of them is rendered as
    /// `content: …`, followed by one line per key that it has. Default: none.
    #[doc(alias = "metadataKeysToInclude")]
    pub fn metadata_keys<K: Into<Box<str>>>(mut self, keys: impl IntoIterator<Item = K>) -> Self {
        self.keys = Some(keys.into_iter().map(Into::into).collect());
        self
    }

    /// Sets the template of each content, in place of [`metadata_keys`](Self::metadata_keys).
    ///
    /// It must contain `{{content}}`, and may contain `{{number}}` (from 1), `{{score}}`, `{{id}}` and
    /// `{{metadata.KEY}}` for any key. A value that a content does not have is empty.
    ///
    /// # Examples
    ///
    /// ```
    /// use ai_services::prompt::PromptTemplate;
    /// use ai_services::rag::DefaultContentInjector;
    ///
    /// # fn main() -> ai_services::Result<()> {
    /// let quote = "<quote source=\"{{metadata.file}}, page {{metadata.page}}\">\n{{content}}\n</quote>";
    /// let injector =
    ///     DefaultContentInjector::builder().content_template(PromptTemplate::parse(quote)?).build()?;
    /// # let _ = injector;
    /// # Ok(())
    /// # }
    /// ```
    pub fn content_template(mut self, template: PromptTemplate) -> Self {
        self.content_template = Some(template);
        self
    }

    /// Numbers the contents from `[1]`, so that an answer can cite them.
    pub fn numbered(mut self) -> Self {
        self.injector.numbering = Numbering::FromOne;
        self
    }

    /// Builds the injector.
    ///
    /// # Errors
    ///
    /// Returns [`ErrorKind::Configuration`](crate::ErrorKind::Configuration) if a template lacks a variable
    /// or has an unknown one, or if there are both metadata keys and a template for contents.
    pub fn build(self) -> Result<DefaultContentInjector> {
        let Self { mut injector, keys, content_template } = self;
        injector.template.check(
            "template of the content injector",
            &["contents"],
            &["user_message"],
        )?;
        injector.format = match (keys, content_template) {
            (keys, None) => ContentFormat::Keys(keys.unwrap_or_default()),
            (None, Some(template)) => {
                check_variables(
                    &template,
                    "content template of the content injector",
                    &["content"],
                    |name| {
                        matches!(name, "number" | "score" | "id")
                            || name.starts_with(METADATA_PREFIX)
                    },
                )?;
                ContentFormat::Template(template)
            }
            (Some(_), Some(_)) => {
                return Err(Error::configuration(
                    "the content injector has both metadata keys and a content template; use \
                     `{{metadata.KEY}}` in the template instead of the keys",
                ));
            }
        };
        Ok(injector)
    }
}
