//! `TerminalEvents`: what the terminal on stdin sends, and its sizes.

use std::io;
use std::os::fd::BorrowedFd;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use crossterm::terminal;
use futures_util::Stream;
use ratatui::layout::Size;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use secrecy::zeroize::Zeroizing;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// The most bytes that are read at once.
const CHUNK_BYTES: usize = 1_024;

/// The input or a signal of a terminal.
#[derive(Debug)]
pub enum TerminalEvent {
    /// The bytes of keys, the mouse, pastes and reports.
    /// They may be an API key.
    Bytes(Zeroizing<Vec<u8>>),
    Resized(Size),
}

/// The events of the terminal on stdin; they end with the terminal.
/// Nothing is read unless they are polled.
pub struct TerminalEvents {
    stdin: AsyncFd<BorrowedFd<'static>>,
    resizes: Signal,
}

impl TerminalEvents {
    #[expect(
        deprecated,
        reason = "the new function is unsafe, because a descriptor may be closed; that of stdin never is"
    )]
    pub fn new() -> io::Result<Self> {
        Ok(Self {
            stdin: AsyncFd::with_interest(rustix::stdio::stdin(), Interest::READABLE)?,
            resizes: signal(SignalKind::window_change())?,
        })
    }
}

impl Stream for TerminalEvents {
    type Item = io::Result<TerminalEvent>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if self.resizes.poll_recv(context).is_ready() {
            let size = terminal::size();
            return Poll::Ready(Some(
                size.map(|size| TerminalEvent::Resized(Size::from(size))),
            ));
        }
        loop {
            let mut ready = ready!(self.stdin.poll_read_ready(context))?;
            match ready.try_io(|stdin| read_available(*stdin.get_ref())) {
                Ok(Err(error)) if error.kind() == io::ErrorKind::Interrupted => {}
                Ok(Ok(bytes)) if bytes.is_empty() => return Poll::Ready(None),
                Ok(read) => return Poll::Ready(Some(read.map(TerminalEvent::Bytes))),
                // Read by another process: the wait begins again.
                Err(_) => {}
            }
        }
    }
}

/// Reads what has arrived; nothing at the end.
/// Does not block, though the descriptor may: its mode belongs to the open file, which the shell
/// shares.
fn read_available(stdin: BorrowedFd<'_>) -> io::Result<Zeroizing<Vec<u8>>> {
    let mut watched = [PollFd::new(&stdin, PollFlags::IN)];
    if poll(&mut watched, Some(&Timespec::default()))? == 0 {
        return Err(io::ErrorKind::WouldBlock.into());
    }
    let mut bytes = Zeroizing::new(vec![0; CHUNK_BYTES]);
    let count = rustix::io::read(stdin, &mut **bytes)?;
    bytes.truncate(count);
    Ok(bytes)
}
