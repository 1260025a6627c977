//! Injection of contents into the user message.

use crate::contents;
use ai_services::ErrorKind;
use ai_services::document::{Metadata, TextSegment};
use ai_services::message::{Attributes, Content, UserMessage};
use ai_services::prompt::PromptTemplate;
use ai_services::rag::{
    ContentInjector, DefaultContentInjector, DefaultContentInjectorBuilder, RetrievedContent,
};
use proptest::prelude::*;

fn template(source: &str) -> PromptTemplate {
    PromptTemplate::parse(source).unwrap()
}

fn bananas() -> RetrievedContent {
    let metadata = Metadata::new().with("source", "fruit.md").with("page", 3).with("draft", false);
    RetrievedContent::new(TextSegment::new("Bananas are berries.").with_metadata(metadata))
        .with_score(0.75)
        .with_id("b-1")
}

/// Returns the text of the message "Q" after injection.
fn inject(builder: DefaultContentInjectorBuilder, contents: &[RetrievedContent]) -> String {
    let message = builder.build().unwrap().inject(&UserMessage::new("Q"), contents).unwrap();
    message.text().unwrap().to_owned()
}

#[test]
fn contents_follow_the_question() {
    let injected = inject(DefaultContentInjector::builder(), &contents(&["a", "b\nc"]));
    assert_eq!(injected, "Q\n\nAnswer using the following information:\na\n\nb\nc");
}

#[test]
fn metadata_keys_are_written_in_order() {
    let builder = DefaultContentInjector::builder().metadata_keys(["page", "nope", "source"]);
    let contents = [bananas(), "plain".into()];
    assert_eq!(
        inject(builder.template(template("{{contents}}")), &contents),
        "content: Bananas are berries.\npage: 3\nsource: fruit.md\n\nplain"
    );
}

#[test]
fn contents_are_numbered() {
    let builder = DefaultContentInjector::builder().template(template("{{contents}}"));
    assert_eq!(inject(builder.numbered(), &contents(&["a", "b"])), "[1] a\n\n[2] b");
}

#[test]
fn content_template_can_use_metadata() {
    let source = "{{number}} {{metadata.source}}:{{ metadata.page }}{{metadata.nope}} {{score}} {{id}} {{content}}";
    let builder = DefaultContentInjector::builder()
        .template(template("{{contents}} {{user_message}}"))
        .content_template(template(source));
    assert_eq!(
        inject(builder, &[bananas(), "plain".into()]),
        "1 fruit.md:3 0.75 b-1 Bananas are berries.\n\n2 :   plain Q"
    );
}

#[test]
fn placeholders_in_texts_are_not_expanded() {
    let hostile = "{{contents}} {{user_message}} {{current_date}} {{ $1 \\1 }}}}";
    let metadata = Metadata::new().with("k", "{{content}}");
    let segment = TextSegment::new(hostile).with_metadata(metadata);
    let injector = DefaultContentInjector::builder()
        .template(template("<{{user_message}}|{{contents}}>"))
        .content_template(template("{{content}}/{{metadata.k}}"))
        .build()
        .unwrap();
    let message =
        injector.inject(&UserMessage::new(hostile), &[RetrievedContent::new(segment)]).unwrap();
    assert_eq!(message.text(), Some(format!("<{hostile}|{hostile}/{{{{content}}}}>").as_str()));
}

#[test]
fn other_parts_of_a_message_stay_in_place() {
    let image = Content::image_url("https://example.org/a.png");
    let mut attributes = Attributes::new();
    attributes.insert("ticket".to_owned(), 7.into());
    let message = UserMessage::from_contents([image.clone(), "Q".into(), "And this?".into()])
        .with_name("Klaus")
        .with_attributes(attributes.clone());
    let injector = DefaultContentInjector::builder()
        .template(template("{{user_message}}: {{contents}}"))
        .build()
        .unwrap();
    let injected = injector.inject(&message, &contents(&["a"])).unwrap();
    assert_eq!(injected.contents(), [image, "Q: a".into(), "And this?".into()]);
    assert_eq!((injected.name(), injected.attributes()), (Some("Klaus"), Some(&attributes)));
}

#[test]
fn message_without_text_gets_one() {
    let image = Content::image_url("https://example.org/a.png");
    let message = UserMessage::from_contents([image.clone()]);
    let injected = DefaultContentInjector::new().inject(&message, &contents(&["a"])).unwrap();
    assert_eq!(injected.contents(), ["Answer using the following information:\na".into(), image]);
}

#[test]
fn message_without_contents_is_unchanged() {
    let message = UserMessage::new("Q").with_name("Klaus");
    assert_eq!(DefaultContentInjector::new().inject(&message, &[]).unwrap(), message);
}

#[test]
fn templates_are_checked_when_built() {
    let error = |builder: DefaultContentInjectorBuilder| {
        let error = builder.build().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Configuration);
        error.to_string()
    };
    let builder = DefaultContentInjector::builder;
    assert_eq!(
        error(builder().template(template("{{user_message}}"))),
        "the template of the content injector must contain `{{contents}}`"
    );
    assert_eq!(
        error(builder().template(template("{{contents}} {{question}}"))),
        "the template of the content injector has an unknown variable `question`"
    );
    assert_eq!(
        error(builder().content_template(template("{{content}} {{source}}"))),
        "the content template of the content injector has an unknown variable `source`"
    );
    let both = builder().content_template(template("{{content}}")).metadata_keys(["source"]);
    assert!(error(both).contains("{{metadata.KEY}}"));
}

proptest! {
    #[test]
    fn every_text_is_inserted_verbatim(
        question in "[{}a-c$ \\n]{0,20}|.{0,20}",
        found in prop::collection::vec("[{}a-c$ \\n]{0,20}|.{0,20}", 1..4),
    ) {
        let contents: Vec<_> = found.iter().map(|text| RetrievedContent::from(text.as_str())).collect();
        let injected = DefaultContentInjector::new().inject(&UserMessage::new(question.as_str()), &contents);
        let expected =
            format!("{question}\n\nAnswer using the following information:\n{}", found.join("\n\n"));
        let injected = injected.unwrap();
        prop_assert_eq!(injected.text(), Some(expected.as_str()));
    }
}
