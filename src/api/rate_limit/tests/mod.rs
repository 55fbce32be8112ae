//! Single decisions, and properties of any sequence of requests and responses.

use Decision::{Allowed, Contended, NotFirst, Paused, Wait};
use Priority::{Backfill, Interactive, Prefetch, Recheck, Refresh};

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

impl LimiterState {
    fn try_acquire(&mut self, now: Duration, position: QueuePosition, jitter: f64) -> Decision {
        let decision = self.check(now, position);
        if decision == Allowed {
            self.record_send(now, position, jitter);
        }
        decision
    }
}

/// Requests to send once, and leaves the queue if that is not allowed at once.
fn try_once(state: &mut LimiterState, now: f64, priority: Priority) -> Decision {
    let position = state.enqueue(priority);
    let decision = state.try_acquire(S(now), position, NO_JITTER);
    state.dequeue(position);
    decision
}

#[test]
fn burst_is_immediate_then_rate_applies() {
    let mut state = LimiterState::new(Rate::default());
    for _ in 0..4 {
        assert_eq!(try_once(&mut state, 0.0, Interactive), Allowed);
    }
    assert_eq!(try_once(&mut state, 0.0, Interactive), Wait(S(0.5)));
    assert_eq!(try_once(&mut state, 0.5, Interactive), Allowed);
}

#[test]
fn waiting_request_names_whose_limit_it_is() {
    let mut state = LimiterState::new(Rate::default());
    assert_eq!(state.budget(S(0.0)).waits_for, None);
    let position = state.enqueue(Interactive);
    assert_eq!(state.budget(S(0.0)).waits_for, Some(LimitOwner::User));
    state.pause(S(0.0), S(1.0));
    assert_eq!(state.budget(S(0.5)).waits_for, Some(LimitOwner::Service));
    assert_eq!(state.budget(S(1.0)).waits_for, Some(LimitOwner::User));
    state.update_limits(S(1.0), limits(1, 1, 1.0), NO_JITTER);
    assert_eq!(state.budget(S(1.0)).waits_for, Some(LimitOwner::Service));
    state.dequeue(position);
    assert_eq!(state.budget(S(1.0)).waits_for, None);
}

#[test]
fn background_leaves_a_token_for_interactive() {
    let mut state = LimiterState::new(Rate::default());
    for now in [0.0, 0.1, 0.2, 0.3] {
        while try_once(&mut state, now, Backfill) == Allowed {}
    }
    assert_eq!(try_once(&mut state, 0.3, Interactive), Allowed);
}

#[test]
fn queue_is_ordered_by_priority_then_arrival() {
    let mut state = LimiterState::new(Rate::default());
    let priorities = [
        Prefetch,
        Backfill,
        Interactive,
        Recheck,
        Interactive,
        Refresh,
    ];
    let positions: Vec<QueuePosition> = priorities
        .into_iter()
        .map(|priority| state.enqueue(priority))
        .collect();
    let mut sent = Vec::new();
    for second in 0..20 {
        for (n, position) in positions.iter().enumerate() {
            if !sent.contains(&n)
                && state.try_acquire(S(f64::from(second)), *position, NO_JITTER) == Allowed
            {
                sent.push(n);
            }
        }
    }
    assert_eq!(sent, [2, 4, 5, 3, 1, 0]);
}

#[test]
fn dequeued_request_blocks_no_other() {
    let mut state = LimiterState::new(Rate::default());
    let interactive = state.enqueue(Interactive);
    let refresh = state.enqueue(Refresh);
    assert_eq!(state.try_acquire(S(0.0), refresh, NO_JITTER), NotFirst);
    state.dequeue(interactive);
    assert_eq!(state.try_acquire(S(0.0), refresh, NO_JITTER), Allowed);
}

#[test]
fn rate_is_a_share_of_the_limit() {
    let mut state = LimiterState::new(Rate::default());
    state.update_limits(S(0.0), limits(4, 4, 1.0), NO_JITTER);
    assert!((state.budget(S(0.0)).rate - 1.0).abs() < 1e-9);
    let mut explicit = LimiterState::new(Rate::explicit(50.0).unwrap());
    explicit.update_limits(S(0.0), limits(10, 10, 1.0), NO_JITTER);
    assert!((explicit.budget(S(0.0)).rate - 9.0).abs() < 1e-9);
}

#[test]
fn small_limit_gives_small_burst_and_background_rate() {
    let mut state = LimiterState::new(Rate::default());
    state.update_limits(S(0.0), limits(2, 2, 1.0), NO_JITTER);
    assert_eq!(try_once(&mut state, 1.0, Backfill), Allowed);
    assert_eq!(try_once(&mut state, 1.0, Interactive), Wait(S(2.0)));
}

#[test]
fn background_pauses_below_half_and_all_at_zero() {
    let mut state = LimiterState::new(Rate::default());
    state.update_limits(S(0.0), limits(10, 4, 1.0), 0.0);
    let expected = Wait(S(0.8)).max_of(&mut state, 0.2);
    assert_eq!(try_once(&mut state, 0.2, Refresh), expected);
    assert_eq!(try_once(&mut state, 0.2, Interactive), Allowed);
    state.update_limits(S(1.0), limits(10, 0, 0.5), 0.0);
    assert_eq!(try_once(&mut state, 1.25, Interactive), Paused(S(0.25)));
}

impl Decision {
    /// Returns the longer of this wait and that of the background quota.
    fn max_of(self, state: &mut LimiterState, now: f64) -> Self {
        let share = state
            .background
            .time_until_allowed(S(now), state.max_rate(), state.window());
        match self {
            Wait(wait) => Wait(wait.max(share)),
            other => other,
        }
    }
}

#[test]
fn remaining_limit_bounds_the_interactive_burst() {
    let mut state = LimiterState::new(Rate::default());
    state.update_limits(S(0.0), limits(10, 2, 1.0), NO_JITTER);
    assert_eq!(
        try_once(&mut state, 0.0, Interactive),
        Wait(S(1.0)),
        "half a token, at the rate under contention"
    );
}

#[test]
fn own_use_of_a_low_limit_slows_no_user() {
    let mut state = LimiterState::new(Rate::default());
    let _ = [5.0, 5.0].map(|at| try_once(&mut state, at, Interactive));
    let _ = [1, 0].map(|left| state.update_limits(S(5.0), limits(2, left, 1.0), NO_JITTER));
    let mut at = 6.0;
    while let Wait(wait) = try_once(&mut state, at, Interactive) {
        at += wait.as_secs_f64().max(0.001);
    }
    assert!(at < 8.0, "the full rate is two thirds a second: {at}");
}

#[test]
fn prefetch_needs_full_bucket_and_no_contention() {
    let mut state = LimiterState::new(Rate::default());
    assert_eq!(try_once(&mut state, 0.0, Prefetch), Allowed);
    assert!(
        matches!(try_once(&mut state, 0.0, Prefetch), Wait(_)),
        "one token is missing"
    );
    assert_eq!(
        try_once(&mut state, 1.0, Backfill),
        Wait(S(1.0)).max_of(&mut state, 1.0),
        "half a token a second"
    );
    state.update_limits(S(20.0), limits(10, 7, 1.0), NO_JITTER);
    assert_eq!(
        try_once(&mut state, 20.9, Prefetch),
        Contended,
        "others use the limit"
    );
    assert_eq!(
        try_once(&mut state, 25.0, Prefetch),
        Contended,
        "others were noticed just now"
    );
    assert_eq!(try_once(&mut state, 60.0, Prefetch), Allowed);
}

/// Returns how long a single process takes for so many requests in sequence.
fn alone(rate: f64, headers: LimitHeaders, requests: u32) -> f64 {
    let mut state = LimiterState::new(Rate::explicit(rate).unwrap());
    let (mut now, mut made) = (Duration::ZERO, 0);
    while made < requests {
        match try_once(&mut state, now.as_secs_f64(), Backfill) {
            Allowed => {
                made += 1;
                state.update_limits(now, headers, NO_JITTER);
            }
            Wait(wait) => now += wait,
            decision @ (NotFirst | Paused(_) | Contended) => {
                panic!("{decision:?}")
            }
        }
    }
    now.as_secs_f64()
}

#[test]
fn probes_cost_a_single_process_little_time() {
    let took = alone(9.0, limits(10, 10, 1.0), 900);
    assert!(took <= 100.0 * 1.04, "{took}");
    let took = alone(1000.0, LimitHeaders::default(), 1000);
    assert!(took <= 2.0, "no probes without limit headers: {took}");
}

#[test]
fn rate_limited_response_pauses_background_longer() {
    let mut state = LimiterState::new(Rate::default());
    state.on_rate_limited(S(0.0), Some(S(3.0)), 0.0);
    assert_eq!(try_once(&mut state, 1.0, Interactive), Paused(S(2.0)));
    assert_eq!(state.budget(S(1.0)).paused_for, S(2.0));
    assert_eq!(try_once(&mut state, 3.0, Interactive), Allowed);
    assert_eq!(try_once(&mut state, 3.0, Backfill), Wait(S(5.0)));
    state.on_rate_limited(S(20.0), Some(S(3.0)), 1.0);
    assert_eq!(
        state.budget(S(20.0)).paused_for,
        S(3.5),
        "not all at the same moment"
    );
}

#[test]
fn explicit_rate_may_use_more_than_half() {
    let mut state = LimiterState::new(Rate::explicit(8.0).unwrap());
    state.update_limits(S(0.0), limits(10, 4, 1.0), 0.0);
    assert!(state.background_paused_until.is_zero());
    state.update_limits(S(0.0), limits(10, 1, 1.0), 0.0);
    assert_eq!(state.background_paused_until, S(1.0));
}

fn any_priority() -> impl Strategy<Value = Priority> {
    prop::sample::select(vec![Interactive, Refresh, Recheck, Backfill, Prefetch])
}

#[derive(Debug, Clone)]
enum Event {
    Enqueue(Priority),
    /// One of the waiting requests leaves.
    Dequeue(usize),
    /// In milliseconds.
    TimePasses(u64),
    Response(u32),
    RateLimited(Option<u64>),
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        4 => any_priority().prop_map(Event::Enqueue),
        1 => any::<usize>().prop_map(Event::Dequeue),
        4 => (0_u64..1500).prop_map(Event::TimePasses),
        3 => (0_u32..=10).prop_map(Event::Response),
        1 => prop::option::of(0_u64..4000).prop_map(Event::RateLimited),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// After any events: no period has more requests than a burst and the rate;
    /// a higher priority never waits behind a lower one; and no background request is sent while
    /// less than half of the limit is left, nor in the seconds after a 429.
    #[test]
    fn any_events_keep_rate_priority_and_pauses(events in prop::collection::vec((event(), 0.0_f64..=1.0), 1..200)) {
        let mut state = LimiterState::new(Rate::default());
        let mut now = Duration::ZERO;
        let mut waiting: Vec<QueuePosition> = Vec::new();
        let mut sent: Vec<Duration> = Vec::new();
        let (mut low_until, mut background_paused_until, mut paused_until) = (Duration::ZERO, Duration::ZERO, Duration::ZERO);
        for (event, jitter) in events {
            match event {
                Event::Enqueue(priority) => waiting.push(state.enqueue(priority)),
                Event::Dequeue(n) if !waiting.is_empty() => {
                    let position = waiting.remove(n % waiting.len());
                    state.dequeue(position);
                }
                Event::Dequeue(_) => {}
                Event::TimePasses(millis) => now += Duration::from_millis(millis),
                Event::Response(remaining) => {
                    state.update_limits(now, limits(10, remaining, 1.0), jitter);
                    low_until = if remaining < 5 { now + S(1.0) } else { low_until.min(now) };
                    if remaining == 0 {
                        paused_until = paused_until.max(now + S(1.0));
                    }
                }
                Event::RateLimited(wait) => {
                    let wait = wait.map(Duration::from_millis);
                    state.on_rate_limited(now, wait, jitter);
                    paused_until = paused_until.max(now + wait.unwrap_or(DEFAULT_PAUSE));
                    background_paused_until = background_paused_until.max(now + BACKGROUND_PAUSE);
                }
            }
            // All requests try, in any order.
            let mut first = waiting.iter().copied().min();
            let mut n = 0;
            while n < waiting.len() {
                let position = waiting[n];
                match state.try_acquire(now, position, jitter) {
                    Allowed => {
                        prop_assert_eq!(Some(position), first);
                        prop_assert!(now >= paused_until);
                        if position.priority.is_background() {
                            prop_assert!(now >= low_until && now >= background_paused_until, "{:?} at {:?}", position, now);
                        }
                        sent.push(now);
                        waiting.remove(n);
                        first = waiting.iter().copied().min();
                        n = 0;
                    }
                    NotFirst => {
                        prop_assert_ne!(Some(position), first);
                        n += 1;
                    }
                    Contended => {
                        prop_assert!(Some(position) == first && position.priority == Prefetch);
                        state.dequeue(position);
                        waiting.remove(n);
                        first = waiting.iter().copied().min();
                        n = 0;
                    }
                    Wait(wait) | Paused(wait) => {
                        prop_assert!(Some(position) == first && !wait.is_zero());
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

    /// The first request is sent after the stated waits, or is a denied prefetch.
    #[test]
    fn first_request_is_sent_after_stated_waits(priority in any_priority(), remaining in 0_u32..=10, refused in any::<bool>()) {
        let mut state = LimiterState::new(Rate::default());
        state.update_limits(S(0.0), limits(10, remaining, 1.0), NO_JITTER);
        if refused {
            state.on_rate_limited(S(0.0), None, NO_JITTER);
        }
        let position = state.enqueue(priority);
        let mut now = Duration::ZERO;
        for _ in 0..60 {
            match state.try_acquire(now, position, NO_JITTER) {
                Allowed => return Ok(()),
                Wait(wait) | Paused(wait) => now += wait,
                Contended => {
                    prop_assert_eq!(priority, Prefetch);
                    return Ok(());
                }
                NotFirst => prop_assert!(false, "there is no other request"),
            }
        }
        prop_assert!(false, "still waiting at {now:?}");
    }
}
