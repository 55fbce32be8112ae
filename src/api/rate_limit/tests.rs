//! The decisions one by one, and what holds whatever is asked and answered.

use super::*;
use proptest::prelude::*;

mod contention;

const S: fn(f64) -> Duration = Duration::from_secs_f64;
/// No jitter, to either side.
const NO_JITTER: f64 = 0.5;

fn limits(limit: u32, remaining: u32, reset: f64) -> LimitHeaders {
    LimitHeaders {
        limit: Some(limit),
        window: Some(S(1.0)),
        remaining: Some(remaining),
        reset: Some(S(reset)),
    }
}

/// Asks for one request, and gives it up if it may not go at once.
fn try_once(pace: &mut LimiterState, now: f64, urgency: Priority) -> Decision {
    let place = pace.enqueue(urgency);
    let turn = pace.try_acquire(S(now), place, NO_JITTER);
    pace.dequeue(place);
    turn
}

#[test]
fn a_burst_goes_at_once_and_then_the_rate_holds() {
    let mut pace = LimiterState::new(Rate::default());
    for _ in 0..4 {
        assert_eq!(
            try_once(&mut pace, 0.0, Priority::Interactive),
            Decision::Allowed
        );
    }
    assert_eq!(
        try_once(&mut pace, 0.0, Priority::Interactive),
        Decision::Wait(S(0.5))
    );
    assert_eq!(
        try_once(&mut pace, 0.5, Priority::Interactive),
        Decision::Allowed
    );
}

#[test]
fn background_leaves_a_token_for_the_person() {
    let mut pace = LimiterState::new(Rate::default());
    for now in [0.0, 0.1, 0.2, 0.3] {
        while try_once(&mut pace, now, Priority::Backfill) == Decision::Allowed {}
    }
    assert_eq!(
        try_once(&mut pace, 0.3, Priority::Interactive),
        Decision::Allowed
    );
}

#[test]
fn the_queue_is_let_through_by_urgency_and_then_in_turn() {
    let mut pace = LimiterState::new(Rate::default());
    let wanted = [
        Priority::Prefetch,
        Priority::Backfill,
        Priority::Interactive,
        Priority::Recheck,
        Priority::Interactive,
        Priority::Refresh,
    ];
    let places: Vec<QueuePosition> = wanted
        .into_iter()
        .map(|urgency| pace.enqueue(urgency))
        .collect();
    let mut gone = Vec::new();
    for second in 0..20 {
        for (n, place) in places.iter().enumerate() {
            if !gone.contains(&n)
                && pace.try_acquire(S(f64::from(second)), *place, NO_JITTER) == Decision::Allowed
            {
                gone.push(n);
            }
        }
    }
    assert_eq!(gone, [2, 4, 5, 3, 1, 0]);
}

#[test]
fn who_leaves_the_queue_holds_up_nobody() {
    let mut pace = LimiterState::new(Rate::default());
    let (person, head) = (
        pace.enqueue(Priority::Interactive),
        pace.enqueue(Priority::Refresh),
    );
    assert_eq!(
        pace.try_acquire(S(0.0), head, NO_JITTER),
        Decision::NotFirst
    );
    pace.dequeue(person);
    assert_eq!(pace.try_acquire(S(0.0), head, NO_JITTER), Decision::Allowed);
}

#[test]
fn the_rate_is_a_share_of_the_stated_limit() {
    let mut pace = LimiterState::new(Rate::default());
    pace.update_limits(S(0.0), limits(4, 4, 1.0), NO_JITTER);
    assert!((pace.budget(S(0.0)).rate - 1.0).abs() < 1e-9);
    let mut by_hand = LimiterState::new(Rate::explicit(50.0).unwrap());
    by_hand.update_limits(S(0.0), limits(10, 10, 1.0), NO_JITTER);
    assert!((by_hand.budget(S(0.0)).rate - 9.0).abs() < 1e-9);
}

#[test]
fn a_small_limit_makes_a_small_burst_and_background_still_gets_its_turn() {
    let mut pace = LimiterState::new(Rate::default());
    pace.update_limits(S(0.0), limits(2, 2, 1.0), NO_JITTER);
    assert_eq!(
        try_once(&mut pace, 1.0, Priority::Backfill),
        Decision::Allowed
    );
    assert_eq!(
        try_once(&mut pace, 1.0, Priority::Interactive),
        Decision::Wait(S(2.0))
    );
}

#[test]
fn background_yields_when_less_than_half_is_left_and_everybody_when_nothing_is() {
    let mut pace = LimiterState::new(Rate::default());
    pace.update_limits(S(0.0), limits(10, 4, 1.0), 0.0);
    assert_eq!(
        try_once(&mut pace, 0.2, Priority::Refresh),
        Decision::Wait(S(0.8)).max_of(&mut pace, 0.2)
    );
    assert_eq!(
        try_once(&mut pace, 0.2, Priority::Interactive),
        Decision::Allowed
    );
    pace.update_limits(S(1.0), limits(10, 0, 0.5), 0.0);
    assert_eq!(
        try_once(&mut pace, 1.25, Priority::Interactive),
        Decision::Paused(S(0.25))
    );
}

impl Decision {
    /// The later of this and what the share of background work still asks for.
    fn max_of(self, pace: &mut LimiterState, now: f64) -> Self {
        let share = pace
            .background
            .time_until_allowed(S(now), pace.max_rate(), pace.window());
        match self {
            Self::Wait(wait) => Self::Wait(wait.max(share)),
            other => other,
        }
    }
}

#[test]
fn what_is_left_bounds_what_a_person_may_take_at_once() {
    let mut pace = LimiterState::new(Rate::default());
    pace.update_limits(S(0.0), limits(10, 2, 1.0), NO_JITTER);
    assert_eq!(
        try_once(&mut pace, 0.0, Priority::Interactive),
        Decision::Wait(S(1.0)),
        "half a token, at the rate of one among others"
    );
}

#[test]
fn warming_is_for_when_there_is_plenty() {
    let mut pace = LimiterState::new(Rate::default());
    assert_eq!(
        try_once(&mut pace, 0.0, Priority::Prefetch),
        Decision::Allowed
    );
    assert!(
        matches!(
            try_once(&mut pace, 0.0, Priority::Prefetch),
            Decision::Wait(_)
        ),
        "one token is missing"
    );
    assert_eq!(
        try_once(&mut pace, 1.0, Priority::Backfill),
        Decision::Wait(S(1.0)).max_of(&mut pace, 1.0),
        "half a token a second"
    );
    pace.update_limits(S(20.0), limits(10, 7, 1.0), NO_JITTER);
    assert_eq!(
        try_once(&mut pace, 20.9, Priority::Prefetch),
        Decision::Contended,
        "somebody is using the limit"
    );
    assert_eq!(
        try_once(&mut pace, 25.0, Priority::Prefetch),
        Decision::Contended,
        "somebody was there just now"
    );
    assert_eq!(
        try_once(&mut pace, 60.0, Priority::Prefetch),
        Decision::Allowed
    );
}

/// How long it takes one who is alone to make so many requests, one after the other.
fn alone(rate: f64, told: LimitHeaders, requests: u32) -> f64 {
    let mut pace = LimiterState::new(Rate::explicit(rate).unwrap());
    let (mut now, mut made) = (Duration::ZERO, 0);
    while made < requests {
        match try_once(&mut pace, now.as_secs_f64(), Priority::Backfill) {
            Decision::Allowed => {
                made += 1;
                pace.update_limits(now, told, NO_JITTER);
            }
            Decision::Wait(wait) => now += wait,
            turn @ (Decision::NotFirst | Decision::Paused(_) | Decision::Contended) => {
                panic!("{turn:?}")
            }
        }
    }
    now.as_secs_f64()
}

#[test]
fn one_alone_loses_little_to_holding_its_breath_however_fast_it_goes() {
    let took = alone(9.0, limits(10, 10, 1.0), 900);
    assert!(took <= 100.0 * 1.04, "{took}");
    let untold = LimitHeaders {
        limit: None,
        window: None,
        remaining: None,
        reset: None,
    };
    let took = alone(1000.0, untold, 1000);
    assert!(
        took <= 2.0,
        "where nothing is told there is nothing to listen for: {took}"
    );
}

#[test]
fn a_refusal_silences_everybody_and_background_for_longer() {
    let mut pace = LimiterState::new(Rate::default());
    pace.on_rate_limited(S(0.0), Some(S(3.0)), 0.0);
    assert_eq!(
        try_once(&mut pace, 1.0, Priority::Interactive),
        Decision::Paused(S(2.0))
    );
    assert_eq!(pace.budget(S(1.0)).paused_for, S(2.0));
    assert_eq!(
        try_once(&mut pace, 3.0, Priority::Interactive),
        Decision::Allowed
    );
    assert_eq!(
        try_once(&mut pace, 3.0, Priority::Backfill),
        Decision::Wait(S(5.0))
    );
    pace.on_rate_limited(S(20.0), Some(S(3.0)), 1.0);
    assert_eq!(
        pace.budget(S(20.0)).paused_for,
        S(3.5),
        "not all at the same moment"
    );
}

#[test]
fn a_rate_by_hand_may_use_more_than_half_if_it_says_so() {
    let mut pace = LimiterState::new(Rate::explicit(8.0).unwrap());
    pace.update_limits(S(0.0), limits(10, 4, 1.0), 0.0);
    assert!(pace.background_paused_until.is_zero());
    pace.update_limits(S(0.0), limits(10, 1, 1.0), 0.0);
    assert_eq!(pace.background_paused_until, S(1.0));
}

fn urgency() -> impl Strategy<Value = Priority> {
    prop::sample::select(vec![
        Priority::Interactive,
        Priority::Refresh,
        Priority::Recheck,
        Priority::Backfill,
        Priority::Prefetch,
    ])
}

/// Something that happens to a pace.
#[derive(Debug, Clone)]
enum Event {
    Joins(Priority),
    /// One of those who wait leaves.
    Leaves(usize),
    /// Time passes, in milliseconds.
    Passes(u64),
    Answered(u32),
    Refused(Option<u64>),
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        4 => urgency().prop_map(Event::Joins),
        1 => any::<usize>().prop_map(Event::Leaves),
        4 => (0_u64..1500).prop_map(Event::Passes),
        3 => (0_u32..=10).prop_map(Event::Answered),
        1 => prop::option::of(0_u64..4000).prop_map(Event::Refused),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever is asked and learnt: in no stretch of time goes out more than a burst and the rate; the
    /// more urgent never waits behind the less urgent; and what nobody waits for does not go while the
    /// service is known to have less than half left, nor in the seconds after a refusal.
    #[test]
    fn the_rules_hold(events in prop::collection::vec((event(), 0.0_f64..=1.0), 1..200)) {
        let mut pace = LimiterState::new(Rate::default());
        let mut now = Duration::ZERO;
        let mut waiting: Vec<QueuePosition> = Vec::new();
        let mut sent: Vec<Duration> = Vec::new();
        let (mut scarce_until, mut silent_until, mut paused_until) = (Duration::ZERO, Duration::ZERO, Duration::ZERO);
        for (event, jitter) in events {
            match event {
                Event::Joins(urgency) => waiting.push(pace.enqueue(urgency)),
                Event::Leaves(n) if !waiting.is_empty() => {
                    let place = waiting.remove(n % waiting.len());
                    pace.dequeue(place);
                }
                Event::Leaves(_) => {}
                Event::Passes(millis) => now += Duration::from_millis(millis),
                Event::Answered(remaining) => {
                    pace.update_limits(now, limits(10, remaining, 1.0), jitter);
                    scarce_until = if remaining < 5 { now + S(1.0) } else { scarce_until.min(now) };
                    if remaining == 0 {
                        paused_until = paused_until.max(now + S(1.0));
                    }
                }
                Event::Refused(wait) => {
                    let wait = wait.map(Duration::from_millis);
                    pace.on_rate_limited(now, wait, jitter);
                    paused_until = paused_until.max(now + wait.unwrap_or(DEFAULT_PAUSE));
                    silent_until = silent_until.max(now + BACKGROUND_PAUSE);
                }
            }
            // Everybody asks, in any order.
            let mut first = waiting.iter().copied().min();
            let mut n = 0;
            while n < waiting.len() {
                let place = waiting[n];
                match pace.try_acquire(now, place, jitter) {
                    Decision::Allowed => {
                        prop_assert_eq!(Some(place), first);
                        prop_assert!(now >= paused_until);
                        if place.priority.is_background() {
                            prop_assert!(now >= scarce_until && now >= silent_until, "{:?} at {:?}", place, now);
                        }
                        sent.push(now);
                        waiting.remove(n);
                        first = waiting.iter().copied().min();
                        n = 0;
                    }
                    Decision::NotFirst => {
                        prop_assert_ne!(Some(place), first);
                        n += 1;
                    }
                    Decision::Contended => {
                        prop_assert!(Some(place) == first && place.priority == Priority::Prefetch);
                        pace.dequeue(place);
                        waiting.remove(n);
                        first = waiting.iter().copied().min();
                        n = 0;
                    }
                    Decision::Wait(wait) | Decision::Paused(wait) => {
                        prop_assert!(Some(place) == first && !wait.is_zero());
                        n += 1;
                    }
                }
            }
            for (n, begin) in sent.iter().enumerate() {
                let most = BURST + 2.0 * now.saturating_sub(*begin).as_secs_f64() + 1e-6;
                prop_assert!(f64::from(u32::try_from(sent.len() - n).unwrap()) <= most);
            }
        }
    }

    /// Whoever is first and waits as long as it is told is let through in the end, if it has a limit that
    /// is not used up; what nobody has asked for yet may be told not to wait.
    #[test]
    fn patience_is_rewarded(urgency in urgency(), remaining in 0_u32..=10, refused in any::<bool>()) {
        let mut pace = LimiterState::new(Rate::default());
        pace.update_limits(S(0.0), limits(10, remaining, 1.0), NO_JITTER);
        if refused {
            pace.on_rate_limited(S(0.0), None, NO_JITTER);
        }
        let place = pace.enqueue(urgency);
        let mut now = Duration::ZERO;
        for _ in 0..60 {
            match pace.try_acquire(now, place, NO_JITTER) {
                Decision::Allowed => return Ok(()),
                Decision::Wait(wait) | Decision::Paused(wait) => now += wait,
                Decision::Contended => {
                    prop_assert_eq!(urgency, Priority::Prefetch);
                    return Ok(());
                }
                Decision::NotFirst => prop_assert!(false, "there is nobody else"),
            }
        }
        prop_assert!(false, "still waiting at {now:?}");
    }
}
