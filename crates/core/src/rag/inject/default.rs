//! Telling the model by a template.

use super::ContentInjector;
use super::contents::{Form, METADATA};
use crate::error::{Error, Result};
use crate::message::{Content, UserMessage};
use crate::prompt::{PromptTemplate, PromptVariables};
use crate::rag::RetrievedContent;
use crate::rag::prompt::{Prompt, check};

/// Writes what was found behind what the user said.
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
/// Contents are separated by empty lines. All of it can be changed: the template, the metadata that is shown,
/// the form of each content, numbers to cite them by. Texts are data: what looks like a placeholder in a
/// question or in a document is left as it is.
///
/// Of a message of several parts, the first text is what the user said and is replaced. All other parts,
/// further texts as well as images, stay as and where they are, and so do the name of the user and the
/// attributes. A message without a text gets one, before its other parts. Without contents a message stays as it is.
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
/// The variable is `user_message`. A template is checked when the injector is built. A content can have a
/// template of its own, in which its metadata are addressed one by one. A message of several texts is no error.
#[derive(Clone, Debug)]
pub struct DefaultContentInjector {
    template: Prompt,
    form: Form,
    numbering: Numbering,
}

/// Whether contents have numbers before them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Numbering {
    None,
    FromOne,
}

impl DefaultContentInjector {
    /// The built-in template.
    pub const DEFAULT_TEMPLATE: &str =
        "{{user_message}}\n\nAnswer using the following information:\n{{contents}}";

    /// An injector with the built-in template, which shows texts alone.
    #[must_use]
    pub fn new() -> Self {
        Self {
            template: Prompt::BuiltIn(Self::DEFAULT_TEMPLATE),
            form: Form::Keys(Vec::new()),
            numbering: Numbering::None,
        }
    }

    /// Starts an injector.
    pub fn builder() -> DefaultContentInjectorBuilder {
        DefaultContentInjectorBuilder { injector: Self::new(), keys: None, content_template: None }
    }

    /// What takes the place of the user's text.
    fn render(&self, said: &str, contents: &[RetrievedContent]) -> Result<String> {
        let mut written = Vec::with_capacity(contents.len());
        for (content, number) in contents.iter().zip(1..) {
            let text = self.form.write(content, number)?;
            written.push(match self.numbering {
                Numbering::None => text,
                Numbering::FromOne => format!("[{number}] {text}"),
            });
        }
        let values = PromptVariables::new()
            .with("user_message", said)
            .with("contents", written.join("\n\n"));
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
        let told = UserMessage::from_contents(parts);
        let told = match message.name() {
            Some(name) => told.with_name(name),
            None => told,
        };
        Ok(match message.attributes() {
            Some(attributes) => told.with_attributes(attributes.clone()),
            None => told,
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
    /// Sets what takes the place of the user's text. It must have `{{contents}}` in it, and should have
    /// `{{user_message}}`: without it the model is not told what the user said.
    #[doc(alias = "promptTemplate")]
    pub fn template(mut self, template: PromptTemplate) -> Self {
        self.injector.template = Prompt::Given(template);
        self
    }

    /// Sets which metadata is shown, in this order. A content that has some of it is written as
    /// `content: …`, followed by a line for each key that it has.
    #[doc(alias = "metadataKeysToInclude")]
    pub fn metadata_keys<K: Into<Box<str>>>(mut self, keys: impl IntoIterator<Item = K>) -> Self {
        self.keys = Some(keys.into_iter().map(Into::into).collect());
        self
    }

    /// Sets how each content is written, in place of [`metadata_keys`](Self::metadata_keys).
    ///
    /// It must have `{{content}}` in it, and can have `{{number}}` (from 1), `{{score}}`, `{{id}}` and
    /// `{{metadata.KEY}}` for any key. What a content does not have is empty.
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

    /// Numbers the contents, `[1]` first, so that an answer can cite them.
    pub fn numbered(mut self) -> Self {
        self.injector.numbering = Numbering::FromOne;
        self
    }

    /// The injector.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Configuration`](crate::ErrorKind::Configuration) if a template lacks a variable or has one
    /// that it cannot have, and if there are both metadata keys and a template for contents.
    pub fn build(self) -> Result<DefaultContentInjector> {
        let Self { mut injector, keys, content_template } = self;
        injector.template.check(
            "template of the content injector",
            &["contents"],
            &["user_message"],
        )?;
        injector.form = match (keys, content_template) {
            (keys, None) => Form::Keys(keys.unwrap_or_default()),
            (None, Some(template)) => {
                check(
                    &template,
                    "content template of the content injector",
                    &["content"],
                    |name| matches!(name, "number" | "score" | "id") || name.starts_with(METADATA),
                )?;
                Form::Template(template)
            }
            (Some(_), Some(_)) => {
                return Err(Error::configuration(
                    "the content injector has both metadata keys and a content template; put the \
                     keys into the template as `{{metadata.KEY}}`",
                ));
            }
        };
        Ok(injector)
    }
}
