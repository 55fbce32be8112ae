//! Tells single emails that the service cannot send from a service that sends none, such as a log-in page.

use crate::error::{Error, ErrorKind, Result};

/// Most invalid responses in a row; more are the service's fault, not that of single emails.
const MAX_INVALID_IN_A_ROW: u32 = 4;

/// The invalid responses to requests for one email each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct InvalidResponses {
    /// The number of emails that were skipped for them.
    pub(crate) count: u64,
    in_a_row: u32,
}

impl InvalidResponses {
    /// Records a response. Returns whether to go on with the next email: an error may concern this
    /// one only.
    pub(crate) fn record<T>(&mut self, response: &Result<T, Error>) -> bool {
        match response.as_ref().map_err(|error| error.kind) {
            Ok(_) => self.in_a_row = 0,
            Err(ErrorKind::NotFound | ErrorKind::NoSuchPart) => {}
            Err(ErrorKind::NotTheApi | ErrorKind::InvalidRequest)
                if self.in_a_row < MAX_INVALID_IN_A_ROW =>
            {
                self.count += 1;
                self.in_a_row += 1;
            }
            Err(_) => return false,
        }
        true
    }
}
