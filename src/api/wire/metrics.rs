//! The JSON of the metrics operation, of which only the totals are read.

use std::collections::BTreeMap;

use serde::Serialize;
use serde::de::Error as _;

use super::{OrderedObject, parse_scalar};

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

impl Metrics {
    /// Parses the totals; what is no count, such as a rate, is left out.
    pub(crate) fn parse_totals(json: &str) -> Result<BTreeMap<String, u64>, serde_json::Error> {
        let object = OrderedObject::parse(json)?;
        let totals = object.get("totals");
        let totals =
            totals.ok_or_else(|| serde_json::Error::custom("no metrics without totals"))?;
        let totals = OrderedObject::parse(totals)?;
        let counts = totals.members().filter_map(|(name, json)| {
            let count = parse_scalar(json)?.parse().ok()?;
            Some((name.to_owned(), count))
        });
        Ok(counts.collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn totals_are_whole_numbers() {
        let parse = |totals: &str| {
            Metrics::parse_totals(&format!(r#"{{"object":"metrics","totals":{totals}}}"#))
        };
        assert_eq!(parse("{}").unwrap(), BTreeMap::new());
        let totals = parse(
            r#"{"opened":3,"clicked":"1","sent":null,"open_rate":50.0,"bounced":-1,"failed":[],
                "delivered":18446744073709551615,"complained":18446744073709551616,"suppressed":1e30}"#,
        );
        let expected = [
            ("opened", 3),
            ("clicked", 1),
            ("delivered", 18_446_744_073_709_551_615),
        ];
        let expected = expected.map(|(name, count)| (name.to_owned(), count));
        assert_eq!(totals.unwrap(), BTreeMap::from(expected));
        for wrong in ["null", "[]", "3"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
        for wrong in ["{}", "[]", r#"{"data":[]}"#] {
            assert!(Metrics::parse_totals(wrong).is_err(), "{wrong}");
        }
    }
}
