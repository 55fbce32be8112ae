//! Stops and continues with the job of the shell: SIGTSTP and SIGCONT.

use rustix::process::{Signal, getpid, kill_process};
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
#[cfg(target_os = "linux")]
fn has_shell() -> bool {
    is_continued_by_ancestor(getpid().as_raw_pid(), |process| {
        ProcessStat::parse(&std::fs::read(format!("/proc/{process}/stat")).ok()?)
    })
}

/// As above, of the parent alone: a script cannot be suspended.
#[cfg(not(target_os = "linux"))]
fn has_shell() -> bool {
    use rustix::process::{getpgid, getpgrp, getppid, getsid};
    getppid().is_some_and(|parent| {
        getpgid(Some(parent)).is_ok_and(|group| group != getpgrp())
            && getsid(Some(parent)) == getsid(None)
    })
}

/// The ids of `/proc/PID/stat` (`proc_pid_stat(5)`): they decide who continues it.
///
/// An id is 0 where that process lives outside the namespace of this one (`pid_namespaces(7)`),
/// for instance the parent of the first process of a container.
#[cfg(any(target_os = "linux", test))]
struct ProcessStat {
    parent: i32,
    group: i32,
    session: i32,
}

#[cfg(any(target_os = "linux", test))]
impl ProcessStat {
    fn parse(stat: &[u8]) -> Option<Self> {
        let stat = String::from_utf8_lossy(stat);
        // The name of the program, in parentheses, may hold any byte:
        // the kernel cuts it at 15, perhaps inside a character.
        let (_, after_name) = stat.rsplit_once(')')?;
        let mut fields = after_name.split_ascii_whitespace().skip(1);
        let mut next_id = || fields.next()?.parse().ok();
        Some(Self {
            parent: next_id()?,
            group: next_id()?,
            session: next_id()?,
        })
    }
}

/// Whether the first ancestor outside the group of `process` is in its session.
#[cfg(any(target_os = "linux", test))]
fn is_continued_by_ancestor(process: i32, read: impl Fn(i32) -> Option<ProcessStat>) -> bool {
    let Some(own) = read(process) else {
        return false;
    };
    let mut parent = own.parent;
    while let Some(ancestor) = read(parent) {
        if ancestor.group != own.group {
            return ancestor.session == own.session;
        }
        parent = ancestor.parent;
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Looks process 40 up in lines of `/proc/PID/stat`.
    fn is_continued(stats: &[&str]) -> bool {
        is_continued_by_ancestor(40, |process| {
            let start = format!("{process} ");
            let stat = stats.iter().find(|stat| stat.starts_with(&start))?;
            ProcessStat::parse(stat.as_bytes())
        })
    }

    #[test]
    fn shell_continues_jobs_and_scripts() {
        let shell = "20 (bash) S 10 20 20 34816 40 4194304";
        assert!(is_continued(&[shell, "40 (sentbox) S 20 40 20 34816 40"]));
        let script = "30 (a) script) S 20 30 20 34816 30";
        assert!(is_continued(&[
            shell,
            script,
            "40 (sentbox) S 30 30 20 34816 30"
        ]));
    }

    #[test]
    fn name_cut_inside_a_character_is_parsed() {
        let stat = ProcessStat::parse(b"30 (post-tr\xc3\xa9s-l\xc3) S 20 31 32 34816 30").unwrap();
        assert_eq!((stat.parent, stat.group, stat.session), (20, 31, 32));
    }

    #[test]
    fn command_of_ssh_is_not_continued() {
        let daemon = "10 (sshd) S 1 5 5 0 -1";
        let shell = "20 (sh) S 10 20 20 34816 20";
        let own = "40 (sentbox) S 20 20 20 34816 20";
        assert!(!is_continued(&[daemon, shell, own]));
    }

    #[test]
    fn processes_outside_the_namespace_are_no_shell() {
        // The tester's own group and session began outside, as its parent did.
        let tester = "10 (suite) S 0 0 0 0 -1";
        let shell = "20 (sh) S 10 20 20 34816 20";
        let own = "40 (sentbox) S 20 20 20 34816 20";
        assert!(!is_continued(&[tester, shell, own]));
        assert!(!is_continued(&["40 (sentbox) S 0 0 0 34816 1"]));
        assert!(!is_continued(&[]));
    }
}
