//! A trait declared in a function, and one that another macro writes.

use ai_services::{Result, ai_service, tools};

macro_rules! assistant {
    ($name:ident, $prompt:literal, $argument:ident: $ty:ty) => {
        #[ai_service]
        #[system_message($prompt)]
        trait $name {
            async fn chat(&self, $argument: $ty) -> Result<String>;
        }
    };
}

assistant!(Assistant, "Be brief.", text: &str);

macro_rules! clock {
    ($ty:ident, $method:ident, $description:literal) => {
        struct $ty;

        #[tools]
        impl $ty {
            #[tool(description = $description)]
            fn $method(&self, zone: &str) -> String {
                zone.to_owned()
            }
        }
    };
}

clock!(Clock, now, "The time.");

fn main() {
    #[ai_service]
    trait Local {
        async fn chat(&self, text: String) -> Result<String>;
    }

    let _ = (Clock, LocalService::builder, AssistantService::builder);
}
