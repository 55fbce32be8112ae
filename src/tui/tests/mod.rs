//! The whole terminal program on its loop, by keys, against a server on loopback.

mod attachments;
mod export;
mod fault_matrix;
#[path = "../../../tests/suite/harness/faults.rs"]
mod faults;
#[path = "../../../tests/suite/harness/faulty_server.rs"]
mod faulty_server;
#[expect(dead_code, reason = "the tests of the program use the rest")]
#[path = "../../../tests/suite/harness/fixed.rs"]
mod fixed;
pub mod harness;
mod linear;
mod output_bytes;
mod profiles;
mod program;
mod readme_screenshot;
mod received;
#[path = "../../../tests/suite/harness/service.rs"]
mod service;
mod sharing;
pub mod start_screens;
