//! The JSON of parts of a record.

use crate::combinators::canonical::Answer;
use crate::document::{Metadata, TextSegment};
use crate::model::{
    ChatRequestParameters, ChatResponse, Cost, ToolSpecification, ToolSpecifications,
};
use crate::rag::RetrievedContent;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;
use std::sync::Arc;
use std::time::Duration;

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
pub(super) fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// Whole microseconds.
pub(super) mod microseconds {
    use super::{Deserialize, Deserializer, Duration, Serializer};

    #[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
    pub(in super::super) fn serialize<S: Serializer>(
        duration: &Duration,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.serialize_u64(u64::try_from(duration.as_micros()).unwrap_or(u64::MAX))
    }

    pub(in super::super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Duration, D::Error> {
        u64::deserialize(deserializer).map(Duration::from_micros)
    }
}

/// The parts of a cost. At most 2⁶⁴ parts, which are 18 million currency units.
pub(super) mod cost {
    use super::{Cost, Deserialize, Deserializer, Serialize, Serializer};

    #[derive(Serialize, Deserialize)]
    struct WireCost {
        parts: u64,
        unpriced_calls: u32,
    }

    #[allow(clippy::ref_option, reason = "serde passes a reference")]
    pub(in super::super) fn serialize<S: Serializer>(
        cost: &Option<Cost>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        let wire = cost.map(|cost| WireCost {
            parts: u64::try_from(cost.parts()).unwrap_or(u64::MAX),
            unpriced_calls: cost.unpriced_calls(),
        });
        wire.serialize(serializer)
    }

    pub(in super::super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Cost>, D::Error> {
        let wire: Option<WireCost> = Option::deserialize(deserializer)?;
        Ok(wire.map(|wire| Cost::restored(wire.parts.into(), wire.unpriced_calls)))
    }
}

/// A number that is read exactly: the parser of `serde_json` may change its last digit.
pub(super) mod score {
    use super::{Deserialize, Deserializer, RawValue, Serialize, Serializer};
    use serde::de::Error as _;

    #[allow(clippy::ref_option, reason = "serde passes a reference")]
    pub(in super::super) fn serialize<S: Serializer>(
        score: &Option<f64>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        score.serialize(serializer)
    }

    pub(in super::super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<f64>, D::Error> {
        match Box::<RawValue>::deserialize(deserializer)?.get() {
            "null" => Ok(None),
            number => number.parse().map(Some).map_err(D::Error::custom),
        }
    }
}

pub(super) mod response {
    use super::{Answer, ChatResponse, Deserialize, Deserializer, Serialize, Serializer};

    #[allow(clippy::borrowed_box, reason = "serde passes a reference to the field")]
    pub(in super::super) fn serialize<S: Serializer>(
        response: &Box<ChatResponse>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        Answer(ChatResponse::clone(response)).serialize(serializer)
    }

    pub(in super::super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Box<ChatResponse>, D::Error> {
        Answer::deserialize(deserializer).map(|Answer(response)| Box::new(response))
    }
}

pub(super) mod parameters {
    use super::{Arc, ChatRequestParameters, Deserialize, Deserializer, Serialize, Serializer};

    pub(in super::super) fn serialize<S: Serializer>(
        parameters: &Arc<ChatRequestParameters>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        ChatRequestParameters::serialize(parameters, serializer)
    }

    pub(in super::super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Arc<ChatRequestParameters>, D::Error> {
        ChatRequestParameters::deserialize(deserializer).map(Arc::new)
    }
}

pub(super) mod tools {
    use super::{
        Deserialize, Deserializer, Serialize, Serializer, ToolSpecification, ToolSpecifications,
    };
    use crate::schema::in_order;
    use serde_json::Value;

    #[derive(Deserialize)]
    struct WireTool {
        name: Box<str>,
        description: Box<str>,
        #[serde(default)]
        parameters: Option<Value>,
    }

    struct Tool<'a>(&'a ToolSpecification);

    impl Serialize for Tool<'_> {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            use serde::ser::SerializeMap;
            let Self(tool) = self;
            let mut map = serializer.serialize_map(None)?;
            map.serialize_entry("name", &tool.name)?;
            map.serialize_entry("description", &tool.description)?;
            if let Some(parameters) = &tool.parameters {
                map.serialize_entry("parameters", &in_order(parameters))?;
            }
            map.end()
        }
    }

    #[allow(clippy::ref_option, reason = "serde passes a reference")]
    pub(in super::super) fn serialize<S: Serializer>(
        tools: &Option<ToolSpecifications>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        match tools {
            Some(tools) => serializer.collect_seq(tools.as_slice().iter().map(Tool)),
            None => serializer.serialize_none(),
        }
    }

    pub(in super::super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<ToolSpecifications>, D::Error> {
        let tools = Vec::<WireTool>::deserialize(deserializer)?;
        let tools: Result<Vec<_>, D::Error> = tools.into_iter().map(specification).collect();
        Ok(Some(tools?.into()))
    }

    fn specification<E: serde::de::Error>(tool: WireTool) -> Result<ToolSpecification, E> {
        let specification = ToolSpecification::new(tool.name, tool.description);
        match tool.parameters {
            Some(schema) => {
                let schema = schema.try_into().map_err(E::custom)?;
                Ok(specification.with_parameters(schema))
            }
            None => Ok(specification),
        }
    }
}

pub(super) mod sources {
    use super::{
        Deserialize, Deserializer, Metadata, RetrievedContent, Serialize, Serializer, TextSegment,
    };

    #[derive(Serialize, Deserialize)]
    struct WireSource {
        text: Box<str>,
        #[serde(default, skip_serializing_if = "Metadata::is_empty")]
        metadata: Metadata,
        #[serde(default, skip_serializing_if = "Option::is_none", with = "super::score")]
        score: Option<f64>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        id: Option<Box<str>>,
    }

    pub(in super::super) fn serialize<S: Serializer>(
        contents: &[RetrievedContent],
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(contents.iter().map(|content| WireSource {
            text: content.segment.text().into(),
            metadata: content.segment.metadata().clone(),
            score: content.score.filter(|score| score.is_finite()),
            id: content.id.clone(),
        }))
    }

    pub(in super::super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Vec<RetrievedContent>, D::Error> {
        let sources = Vec::<WireSource>::deserialize(deserializer)?;
        let content = |source: WireSource| {
            let segment = TextSegment::new(source.text).with_metadata(source.metadata);
            let mut content = RetrievedContent::new(segment);
            (content.score, content.id) = (source.score, source.id);
            content
        };
        Ok(sources.into_iter().map(content).collect())
    }
}
