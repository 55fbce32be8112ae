//! Findings, one small html each.
