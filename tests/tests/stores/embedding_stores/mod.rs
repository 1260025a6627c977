//! Tests of every embedding store in a database.

mod crash;
mod filters;
mod measure;
#[cfg(feature = "postgres")]
mod postgres;
mod samples;
#[cfg(feature = "sqlite")]
mod sqlite;
mod words;
