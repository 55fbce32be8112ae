//! An [`Output`] that keeps what is written, for tests.

use std::io::{self, Write};
use std::sync::{Arc, Mutex};

use super::Output;
use crate::config::Env;

type CapturedBytes = Arc<Mutex<Vec<u8>>>;

struct Kept(CapturedBytes);

impl Write for Kept {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Output {
    /// Creates streams that keep what is written: stdout, stderr.
    pub(in crate::cli) fn captured() -> (Self, CapturedBytes, CapturedBytes) {
        let (stdout, stderr) = (CapturedBytes::default(), CapturedBytes::default());
        let output = Self {
            stdout: Box::new(Kept(stdout.clone())),
            stderr: Box::new(Kept(stderr.clone())),
            ..Self::before_parsing(false, &Env::default())
        };
        (output, stdout, stderr)
    }
}
