//! The service's API over anything that can answer *page* and *email*.
