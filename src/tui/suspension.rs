//! Stops and continues with the job of the shell: SIGTSTP and SIGCONT.

use std::fs;

use rustix::process::{Pid, Signal, getpgid, getpgrp, getpid, getppid, getsid, kill_process};
use tokio::sync::mpsc::UnboundedSender;

use super::terminal;

/// The signals of [`handle_signal`].
pub const JOB_SIGNALS: [Signal; 2] = [Signal::TSTP, Signal::CONT];

/// Stops the process with its terminal restored, or reports that it continues;
/// returns whether `number` is a signal of that kind.
///
/// Runs on the thread of the signals, so that a stop does not wait for the event loop. SIGSTOP
/// cannot be handled: the terminal is restored when the process continues after it.
pub fn handle_signal(number: i32, continued: &UnboundedSender<()>) -> bool {
    if JOB_SIGNALS.iter().all(|signal| signal.as_raw() != number) {
        return false;
    }
    let is_stop = number == Signal::TSTP.as_raw();
    if is_stop {
        terminal::restore();
    }
    // After a stop, SIGCONT follows.
    if !(is_stop && has_shell() && kill_process(getpid(), Signal::STOP).is_ok()) {
        // A program that no longer listens has ended.
        let _ = continued.send(());
    }
    true
}

/// Whether a shell can continue the job.
///
/// Without one, the system ignores SIGTSTP: the group of the process is orphaned (POSIX, "orphaned
/// process group"), as that of a command which `ssh` runs. A process stopped there would stay stopped.
fn has_shell() -> bool {
    let (group, session) = (getpgrp(), getsid(None));
    let mut ancestor = getppid();
    while let Some(member) = ancestor.filter(|it| getpgid(Some(*it)) == Ok(group)) {
        ancestor = parent_of(member);
    }
    ancestor.is_some() && getsid(ancestor) == session
}

/// The parent of another process; `None` where the system does not say (it is not Linux):
/// there, a script cannot be suspended.
fn parent_of(process: Pid) -> Option<Pid> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let parent = status.lines().find_map(|line| line.strip_prefix("PPid:"))?;
    Pid::from_raw(parent.trim().parse().ok()?)
}
