//! What the model is told.

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

/// What the message "Q" becomes.
fn told(builder: DefaultContentInjectorBuilder, contents: &[RetrievedContent]) -> String {
    let message = builder.build().unwrap().inject(&UserMessage::new("Q"), contents).unwrap();
    message.text().unwrap().to_owned()
}

#[test]
fn contents_stand_behind_the_question() {
    let told = told(DefaultContentInjector::builder(), &contents(&["a", "b\nc"]));
    assert_eq!(told, "Q\n\nAnswer using the following information:\na\n\nb\nc");
}

#[test]
fn keys_are_shown_in_their_order_and_skipped_where_missing() {
    let builder = DefaultContentInjector::builder().metadata_keys(["page", "nope", "source"]);
    let contents = [bananas(), "plain".into()];
    assert_eq!(
        told(builder.template(template("{{contents}}")), &contents),
        "content: Bananas are berries.\npage: 3\nsource: fruit.md\n\nplain"
    );
}

#[test]
fn contents_are_numbered() {
    let builder = DefaultContentInjector::builder().template(template("{{contents}}"));
    assert_eq!(told(builder.numbered(), &contents(&["a", "b"])), "[1] a\n\n[2] b");
}

#[test]
fn template_of_contents_addresses_metadata() {
    let source = "{{number}} {{metadata.source}}:{{ metadata.page }}{{metadata.nope}} {{score}} {{id}} {{content}}";
    let builder = DefaultContentInjector::builder()
        .template(template("{{contents}} {{user_message}}"))
        .content_template(template(source));
    assert_eq!(
        told(builder, &[bananas(), "plain".into()]),
        "1 fruit.md:3 0.75 b-1 Bananas are berries.\n\n2 :   plain Q"
    );
}

#[test]
fn texts_are_never_read_as_templates() {
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
fn other_parts_of_a_message_stay_where_they_are() {
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
    let told = injector.inject(&message, &contents(&["a"])).unwrap();
    assert_eq!(told.contents(), [image, "Q: a".into(), "And this?".into()]);
    assert_eq!((told.name(), told.attributes()), (Some("Klaus"), Some(&attributes)));
}

#[test]
fn message_without_a_text_gets_one() {
    let image = Content::image_url("https://example.org/a.png");
    let message = UserMessage::from_contents([image.clone()]);
    let told = DefaultContentInjector::new().inject(&message, &contents(&["a"])).unwrap();
    assert_eq!(told.contents(), ["Answer using the following information:\na".into(), image]);
}

#[test]
fn message_stays_as_it_is_without_contents() {
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
        "the template of the content injector needs `{{contents}}` in it"
    );
    assert_eq!(
        error(builder().template(template("{{contents}} {{question}}"))),
        "the template of the content injector has no value for `question`"
    );
    assert_eq!(
        error(builder().content_template(template("{{content}} {{source}}"))),
        "the content template of the content injector has no value for `source`"
    );
    let both = builder().content_template(template("{{content}}")).metadata_keys(["source"]);
    assert!(error(both).contains("{{metadata.KEY}}"));
}

proptest! {
    #[test]
    fn every_text_arrives_as_it_is(
        said in "[{}a-c$ \\n]{0,20}|.{0,20}",
        found in prop::collection::vec("[{}a-c$ \\n]{0,20}|.{0,20}", 1..4),
    ) {
        let contents: Vec<_> = found.iter().map(|text| RetrievedContent::from(text.as_str())).collect();
        let told = DefaultContentInjector::new().inject(&UserMessage::new(said.as_str()), &contents);
        let expected =
            format!("{said}\n\nAnswer using the following information:\n{}", found.join("\n\n"));
        let told = told.unwrap();
        prop_assert_eq!(told.text(), Some(expected.as_str()));
    }
}
