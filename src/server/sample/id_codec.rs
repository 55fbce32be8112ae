//! `Identity`: the UUID of an email from its number and back, so that no index of ids is kept.

use super::rng::{Rng, Stream, mix64};

/// How often the halves of a number are mixed into each other; four already look random.
const ROUNDS: usize = 4;

/// Half of the bits that a UUID leaves free beside its variant.
const HALF_BITS: u32 = 31;
const HALF_MASK: u64 = (1 << HALF_BITS) - 1;

/// A keyed, invertible spelling of numbers as random-looking UUIDs of version 4.
///
/// The lower half of an id is the number through a Feistel network, the upper half a check value,
/// so that a made-up id is recognised: it is well formed, and it is nobody's.
#[derive(Debug, Clone)]
pub(super) struct IdCodec {
    keys: [u64; ROUNDS],
    check_key: u64,
}

/// Why a text is no email's id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum IdError {
    /// It is not a UUID.
    Malformed,
    /// It is a UUID that this mailbox never gives to an email.
    Unknown,
}

impl IdCodec {
    pub(super) fn new(seed: u64) -> Self {
        let mut chance = Rng::new(seed, 0, Stream::Ids);
        Self {
            keys: std::array::from_fn(|_| chance.next_u64()),
            check_key: chance.next_u64(),
        }
    }

    /// The id of an email.
    pub(super) fn encode(&self, number: u64) -> String {
        let (mut left, mut right) = (number >> HALF_BITS & HALF_MASK, number & HALF_MASK);
        for key in self.keys {
            (left, right) = (right, left ^ (mix64(right ^ key) & HALF_MASK));
        }
        let value = left << HALF_BITS | right;
        format_uuid(self.check_bits(value), value)
    }

    /// Another UUID for the same email, as its message id needs one.
    pub(super) fn encode_message_id(&self, number: u64) -> String {
        let value = mix64(number ^ self.check_key);
        format_uuid(mix64(value), value)
    }

    /// The number of the email that has this id. Capitals are as good as small letters.
    pub(super) fn decode(&self, id: &str) -> Result<u64, IdError> {
        let (upper, lower) = parse_uuid(id).ok_or(IdError::Malformed)?;
        let value = lower & !VARIANT_MASK;
        if (upper, lower) != with_version_bits(self.check_bits(value), value) {
            return Err(IdError::Unknown);
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

/// The two halves with the bits that make them a UUID of version 4.
const fn with_version_bits(upper: u64, lower: u64) -> (u64, u64) {
    (
        upper & !VERSION_MASK | 0x4000,
        lower & !VARIANT_MASK | 0b10 << 62,
    )
}

fn format_uuid(upper: u64, lower: u64) -> String {
    let (upper, lower) = with_version_bits(upper, lower);
    let group = |half: u64, shift: u32| half >> shift & 0xFFFF;
    let (node, clock) = (lower & 0xFFFF_FFFF_FFFF, group(lower, 48));
    format!(
        "{:08x}-{:04x}-{:04x}-{clock:04x}-{node:012x}",
        upper >> 32,
        group(upper, 16),
        group(upper, 0)
    )
}

fn parse_uuid(id: &str) -> Option<(u64, u64)> {
    let dash = |place: usize| matches!(place, 8 | 13 | 18 | 23);
    let shaped = id.len() == 36
        && id.bytes().enumerate().all(|(i, b)| {
            if dash(i) {
                b == b'-'
            } else {
                b.is_ascii_hexdigit()
            }
        });
    let bits = shaped.then(|| u128::from_str_radix(&id.replace('-', ""), 16).ok())??;
    Some(((bits >> 64) as u64, bits as u64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn ids_look_like_uuids_and_are_all_different() {
        let identity = IdCodec::new(1);
        let ids: std::collections::BTreeSet<String> =
            (0..5000).map(|n| identity.encode(n)).collect();
        assert_eq!(ids.len(), 5000);
        for id in &ids {
            assert_eq!((id.len(), &id[14..15]), (36, "4"), "{id}");
            assert!(matches!(&id[19..20], "8" | "9" | "a" | "b"), "{id}");
        }
        assert_ne!(identity.encode(0), IdCodec::new(2).encode(0));
        assert_ne!(identity.encode(0), identity.encode_message_id(0));
    }

    #[test]
    fn what_is_no_id_is_told_from_what_is_nobodys() {
        let identity = IdCodec::new(1);
        for text in [
            "",
            "not-a-uuid",
            "00000000-0000-4000-8000-00000000000",
            "00000000-0000-4000-8000-00000000000g",
            "+0000000-0000-4000-8000-000000000000",
            "é0000000-0000-4000-8000-0000000000000",
        ] {
            assert_eq!(identity.decode(text), Err(IdError::Malformed), "{text}");
        }
        assert_eq!(
            identity.decode("00000000-0000-4000-8000-000000000000"),
            Err(IdError::Unknown)
        );
        assert_eq!(
            identity.decode(&IdCodec::new(2).encode(7)),
            Err(IdError::Unknown)
        );
        assert_eq!(
            identity.decode(&identity.encode_message_id(7)),
            Err(IdError::Unknown)
        );
    }

    proptest! {
        #[test]
        fn an_id_leads_back_to_its_number(seed: u64, number in 0..1u64 << 62) {
            let identity = IdCodec::new(seed);
            let id = identity.encode(number);
            prop_assert_eq!(identity.decode(&id), Ok(number));
            prop_assert_eq!(identity.decode(&id.to_uppercase()), Ok(number));
        }

        #[test]
        fn an_id_with_one_digit_changed_is_nobodys(number in 0..10_000_u64, place in 0..36_usize) {
            let identity = IdCodec::new(0);
            let mut id = identity.encode(number).into_bytes();
            prop_assume!(id[place] != b'-');
            id[place] = if id[place] == b'0' { b'1' } else { b'0' };
            let id = String::from_utf8(id).unwrap();
            prop_assert_eq!(identity.decode(&id), Err(IdError::Unknown));
        }
    }
}
