#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| ai_services::fuzzing::history(input));
