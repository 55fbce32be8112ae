//! Shared by the tests: the binary, a service on loopback, and a faulty one.

#[expect(dead_code, reason = "the tests inside the crate use the rest")]
pub mod faults;
pub mod faulty_server;
pub mod fixed;
pub mod live;
#[cfg(feature = "postgres")]
pub mod postgres_server;
pub mod process;
pub mod raw_server;
pub mod service;
pub mod serving;
pub mod session;
pub mod terminal;
pub mod text;
