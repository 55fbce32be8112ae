//! Waits until no process reads stdout any more, for commands that rarely write.

use std::future::pending;
use std::io;
use std::os::fd::AsFd;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{FileType, fstat};
use tokio::time::sleep;

/// Time between two looks at stdout.
const INTERVAL: Duration = Duration::from_secs(1);

/// Waits until the reader of stdout is gone; forever if it is no pipe and no socket.
pub(in crate::cli) async fn wait_for_closed_stdout() {
    wait_for_closed(io::stdout()).await;
}

async fn wait_for_closed(output: impl AsFd) {
    let kind = fstat(&output).map(|stat| FileType::from_raw_mode(stat.st_mode));
    if !matches!(kind, Ok(FileType::Fifo | FileType::Socket)) {
        return pending().await;
    }
    // Between two readers of a named pipe there is none for a moment.
    let mut was_closed = false;
    loop {
        let is_closed = is_closed(&output);
        if is_closed && was_closed {
            return;
        }
        was_closed = is_closed;
        sleep(INTERVAL).await;
    }
}

/// Whether what is written is read no more; that is reported without a request.
fn is_closed(output: &impl AsFd) -> bool {
    let mut polled = [PollFd::new(output, PollFlags::empty())];
    let result = poll(&mut polled, Some(&Timespec::default()));
    let closed = PollFlags::ERR | PollFlags::HUP;
    result.is_ok() && polled[0].revents().intersects(closed)
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixStream;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn end_of_reader_is_noticed() {
        let (reader, pipe) = io::pipe().unwrap();
        let (socket, peer) = UnixStream::pair().unwrap();
        assert!(!is_closed(&pipe) && !is_closed(&socket));
        drop((reader, peer));
        wait_for_closed(pipe).await;
        wait_for_closed(socket).await;
    }

    #[tokio::test(start_paused = true)]
    async fn file_is_never_closed() {
        let file = tempfile::tempfile().unwrap();
        let wait = tokio::time::timeout(INTERVAL * 9, wait_for_closed(file));
        assert!(wait.await.is_err());
    }
}
