//! Parts of the mail of the benchmarks.

use jiff::{SignedDuration, Timestamp};

pub const SUBJECTS: [&str; 4] = [
    "Your receipt",
    "Reset your password",
    "Ihre Bestellung ist unterwegs",
    "ご注文の確認",
];

pub fn start() -> Timestamp {
    Timestamp::from_second(1_780_000_000).expect("a time in 2026")
}

/// When all of this is seen: after the last email.
pub fn now() -> Timestamp {
    start() + SignedDuration::from_hours(24 * 365)
}

/// Scatters the bits of a number, so that ids and choices look drawn.
pub fn scattered(number: u64) -> u64 {
    let mixed = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

pub fn uuid(number: u64) -> String {
    let hex = format!("{:016x}{:016x}", scattered(number), scattered(!number));
    [
        &hex[..8],
        &hex[8..12],
        &hex[12..16],
        &hex[16..20],
        &hex[20..],
    ]
    .join("-")
}
