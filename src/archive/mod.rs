//! The archive: the near, fast and searchable copy of what the service has shown.
