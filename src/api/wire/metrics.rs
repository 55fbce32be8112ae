//! The JSON of the metrics operation.

use std::collections::BTreeMap;

use serde::Serialize;

/// The counts of some emails in a range of time.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub(crate) struct Metrics {
    pub(crate) object: &'static str,
    pub(crate) start_date: String,
    pub(crate) end_date: String,
    /// The names of the counts.
    #[serde(rename = "metrics")]
    pub(crate) names: Vec<String>,
    pub(crate) dimensions: [(); 0],
    pub(crate) granularity: &'static str,
    pub(crate) totals: BTreeMap<String, u64>,
}
