//! Converts the number of an email to its UUID and back,
//! so that no table of ids is kept.

use super::rng::{Rng, Stream, mix64};
use crate::server::SourceError;
use crate::text::uuid;

/// Rounds of the Feistel network; the result looks random after four.
const ROUNDS: usize = 4;

/// Half of the bits of the lower half of a UUID that the variant leaves free.
const HALF_BITS: u32 = 31;
const HALF_MASK: u64 = (1 << HALF_BITS) - 1;

/// A keyed bijection of 62-bit numbers to random-looking UUIDs of version 4.
///
/// The lower half of an id is the number after a 4-round Feistel network, the upper half is a check
/// value that tells ids of this mailbox from other UUIDs.
#[derive(Debug, Clone)]
pub(super) struct IdCodec {
    keys: [u64; ROUNDS],
    check_key: u64,
}

impl IdCodec {
    pub(super) fn new(seed: u64) -> Self {
        let mut rng = Rng::new(seed, 0, Stream::Ids);
        Self {
            keys: std::array::from_fn(|_| rng.next_u64()),
            check_key: rng.next_u64(),
        }
    }

    /// Returns the id of an email.
    pub(super) fn encode(&self, number: u64) -> String {
        let (mut left, mut right) = (number >> HALF_BITS & HALF_MASK, number & HALF_MASK);
        for key in self.keys {
            (left, right) = (right, left ^ (mix64(right ^ key) & HALF_MASK));
        }
        let value = left << HALF_BITS | right;
        uuid::format(join(self.check_bits(value), value))
    }

    /// Returns another UUID of the same email, for its message id.
    pub(super) fn encode_message_id(&self, number: u64) -> String {
        let value = mix64(number ^ self.check_key);
        uuid::format(join(mix64(value), value))
    }

    /// Returns the UUID of an attachment of this email.
    pub(super) fn encode_attachment(&self, number: u64, index: u64) -> String {
        let value = mix64(mix64(number ^ self.check_key) ^ index);
        uuid::format(join(mix64(value), value))
    }

    /// Returns the number of the email with this id, in upper or lower case.
    pub(super) fn decode(&self, id: &str) -> Result<u64, SourceError> {
        let id = uuid::parse(&id.to_ascii_lowercase()).ok_or(SourceError::Malformed)?;
        let value = id as u64 & !VARIANT_MASK;
        if id != join(self.check_bits(value), value) {
            return Err(SourceError::Unknown);
        }
        let (mut left, mut right) = (value >> HALF_BITS, value & HALF_MASK);
        for key in self.keys.iter().rev() {
            (left, right) = (right ^ (mix64(left ^ key) & HALF_MASK), left);
        }
        Ok(left << HALF_BITS | right)
    }

    const fn check_bits(&self, value: u64) -> u64 {
        mix64(value ^ self.check_key)
    }
}

const VERSION_MASK: u64 = 0xF000;
const VARIANT_MASK: u64 = 0b11 << 62;

/// Joins the halves of a UUID of version 4; sets its version and variant.
const fn join(upper: u64, lower: u64) -> u128 {
    let upper = upper & !VERSION_MASK | 0x4000;
    let lower = lower & !VARIANT_MASK | 0b10 << 62;
    (upper as u128) << 64 | lower as u128
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn ids_are_unique_uuids_of_version_4() {
        let codec = IdCodec::new(1);
        let ids: std::collections::BTreeSet<String> = (0..5000).map(|n| codec.encode(n)).collect();
        assert_eq!(ids.len(), 5000);
        for id in &ids {
            assert_eq!((id.len(), &id[14..15]), (36, "4"), "{id}");
            assert!(matches!(&id[19..20], "8" | "9" | "a" | "b"), "{id}");
        }
        assert_ne!(codec.encode(0), IdCodec::new(2).encode(0));
        assert_ne!(codec.encode(0), codec.encode_message_id(0));
    }

    #[test]
    fn malformed_id_differs_from_unknown_id() {
        let codec = IdCodec::new(1);
        for text in [
            "",
            "not-a-uuid",
            "00000000-0000-4000-8000-00000000000",
            "00000000-0000-4000-8000-00000000000g",
            "+0000000-0000-4000-8000-000000000000",
            "é0000000-0000-4000-8000-0000000000000",
        ] {
            assert_eq!(codec.decode(text), Err(SourceError::Malformed), "{text}");
        }
        assert_eq!(
            codec.decode("00000000-0000-4000-8000-000000000000"),
            Err(SourceError::Unknown)
        );
        let expected = Err(SourceError::Unknown);
        assert_eq!(codec.decode(&IdCodec::new(2).encode(7)), expected);
        let expected = Err(SourceError::Unknown);
        assert_eq!(codec.decode(&codec.encode_message_id(7)), expected);
    }

    proptest! {
        #[test]
        fn encoded_number_decodes_to_itself(seed: u64, number in 0..1u64 << 62) {
            let codec = IdCodec::new(seed);
            let id = codec.encode(number);
            prop_assert_eq!(codec.decode(&id), Ok(number));
            prop_assert_eq!(codec.decode(&id.to_uppercase()), Ok(number));
        }

        #[test]
        fn id_with_one_changed_digit_is_unknown(number in 0..10_000_u64, index in 0..36_usize) {
            let codec = IdCodec::new(0);
            let mut id = codec.encode(number).into_bytes();
            prop_assume!(id[index] != b'-');
            id[index] = if id[index] == b'0' { b'1' } else { b'0' };
            let id = String::from_utf8(id).unwrap();
            prop_assert_eq!(codec.decode(&id), Err(SourceError::Unknown));
        }
    }
}
