//! Accepts connections, over TCP, TLS or a Unix socket,
//! and closes those of clients that send or read nothing.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::io;
use std::path::{Path, PathBuf};
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use hyper::Request;
use hyper::body::{Body as HttpBody, Bytes, Frame, Incoming, SizeHint};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use rustix::process::{Resource, getrlimit};
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, UnixListener};
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinSet;
use tokio::time::{Sleep, sleep, timeout};
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;
use tower_service::Service as _;

use crate::error::{Error, ErrorKind, Result};
use crate::tasks::lock;

/// How long a client may take for the head of a request, or for a TLS handshake;
/// also how long an idle connection is kept.
const READ_TIMEOUT: Duration = Duration::from_secs(30);

/// How long a client may take no byte of a response.
const WRITE_TIMEOUT: Duration = Duration::from_secs(30);

/// The most connections. A further one closes that which has been without a request
/// for the longest time.
const MAX_CONNECTIONS: usize = 1024;

/// The file descriptors that are left for the archive, the logs,
/// and requests to the service.
const OTHER_DESCRIPTORS: u64 = 128;

/// The fewest connections, however few descriptors there are.
const MIN_CONNECTIONS: usize = 16;

/// The pause after the system refused a connection, as for lack of descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(200);

/// The most clients that wait to be accepted on a Unix socket,
/// as of the standard library.
const BACKLOG: u32 = 128;

/// Time for open requests to finish after the shutdown signal.
const SHUTDOWN_GRACE: Duration = Duration::from_secs(1);

pub(crate) enum Listener {
    Tcp(TcpListener),
    Unix(UnixSocket),
}

/// A Unix socket whose file is removed in the end.
pub(crate) struct UnixSocket {
    listener: UnixListener,
    path: PathBuf,
}

impl UnixSocket {
    /// Listens on a path, where it replaces a socket that no process listens on any
    /// more; only this user may connect.
    pub(crate) fn bind(path: &Path) -> io::Result<Self> {
        use std::os::unix::fs::{FileTypeExt as _, PermissionsExt as _};
        let is_socket =
            std::fs::symlink_metadata(path).is_ok_and(|found| found.file_type().is_socket());
        if is_socket {
            match std::os::unix::net::UnixStream::connect(path) {
                Ok(_) => return Err(io::ErrorKind::AddrInUse.into()),
                Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
                    std::fs::remove_file(path)?;
                }
                Err(error) => return Err(error),
            }
        }
        let socket = tokio::net::UnixSocket::new_stream()?;
        socket.bind(path)?;
        // Until it listens, it refuses every connection.
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600))?;
        Ok(Self {
            listener: socket.listen(BACKLOG)?,
            path: path.to_owned(),
        })
    }
}

impl Drop for UnixSocket {
    fn drop(&mut self) {
        // Another process may have removed it.
        let _ = std::fs::remove_file(&self.path);
    }
}

/// Reads a chain of certificates and its private key, both PEM.
pub(crate) fn load_tls(certificates: &Path, key: &Path) -> Result<TlsAcceptor> {
    let unusable = |path: &Path, why: &dyn std::fmt::Display| {
        Error::cannot("used", ErrorKind::Config, path.display(), why)
    };
    let chain: Vec<CertificateDer<'static>> = CertificateDer::pem_file_iter(certificates)
        .and_then(Iterator::collect)
        .map_err(|error| unusable(certificates, &error))?;
    if chain.is_empty() {
        return Err(unusable(certificates, &"it contains no certificate"));
    }
    let secret = PrivateKeyDer::from_pem_file(key).map_err(|error| unusable(key, &error))?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .and_then(|builder| {
            builder
                .with_no_client_auth()
                .with_single_cert(chain, secret)
        })
        .map_err(|error| unusable(key, &error))?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(TlsAcceptor::from(Arc::new(config)))
}

/// The IP address of a client, or `unix`.
#[derive(Debug, Clone)]
pub(crate) struct ClientAddress(pub(crate) Arc<str>);

/// A stream of bytes to a client.
trait ByteStream: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> ByteStream for T {}

/// Returns how many connections the limit on file descriptors allows.
pub(crate) fn max_connections() -> usize {
    let Some(descriptors) = getrlimit(Resource::Nofile).current else {
        return MAX_CONNECTIONS;
    };
    let free = descriptors.saturating_sub(OTHER_DESCRIPTORS);
    usize::try_from(free).map_or(MAX_CONNECTIONS, |free| {
        free.clamp(MIN_CONNECTIONS, MAX_CONNECTIONS)
    })
}

/// The connections that may be open, and those of them without a request.
///
/// A client without a key can open as many connections as it likes, and send no request.
struct ConnectionSlots {
    free: Arc<Semaphore>,
    /// The tokens that close connections without a request, in the order in which the
    /// connections became idle.
    idle: Mutex<BTreeMap<u64, CancellationToken>>,
    next: AtomicU64,
    became_idle: Notify,
}

impl ConnectionSlots {
    fn new(max: usize) -> Self {
        Self {
            free: Arc::new(Semaphore::new(max)),
            idle: Mutex::default(),
            next: AtomicU64::default(),
            became_idle: Notify::new(),
        }
    }

    /// Waits for a slot. If none is free, the connection that was idle first is closed.
    async fn acquire(&self) -> OwnedSemaphorePermit {
        loop {
            if let Ok(permit) = Arc::clone(&self.free).try_acquire_owned() {
                return permit;
            }
            if let Some((_, close)) = lock(&self.idle).pop_first() {
                close.cancel();
            }
            tokio::select! {
                permit = Arc::clone(&self.free).acquire_owned() => {
                    return permit.expect("it is never closed");
                }
                () = self.became_idle.notified() => {}
            }
        }
    }
}

/// A connection in its slot; it is idle at first.
struct Connection {
    slots: Arc<ConnectionSlots>,
    _permit: OwnedSemaphorePermit,
    close: CancellationToken,
    /// Its key among those that are idle.
    key: AtomicU64,
    has_had_request: AtomicBool,
}

impl Connection {
    fn new(slots: &Arc<ConnectionSlots>, permit: OwnedSemaphorePermit) -> Arc<Self> {
        let connection = Arc::new(Self {
            slots: Arc::clone(slots),
            _permit: permit,
            close: CancellationToken::new(),
            key: AtomicU64::default(),
            has_had_request: AtomicBool::default(),
        });
        connection.mark_idle();
        connection
    }

    fn mark_idle(&self) {
        let key = self.slots.next.fetch_add(1, Ordering::Relaxed);
        self.key.store(key, Ordering::Relaxed);
        lock(&self.slots.idle).insert(key, self.close.clone());
        self.slots.became_idle.notify_one();
    }

    fn mark_busy(&self) {
        self.has_had_request.store(true, Ordering::Relaxed);
        lock(&self.slots.idle).remove(&self.key.load(Ordering::Relaxed));
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        lock(&self.slots.idle).remove(&self.key.load(Ordering::Relaxed));
    }
}

/// The body of a response, after which the connection is idle.
struct TrackedBody {
    body: Body,
    connection: Arc<Connection>,
}

impl HttpBody for TrackedBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl Drop for TrackedBody {
    fn drop(&mut self) {
        self.connection.mark_idle();
    }
}

/// Serves at most `max` connections at once until `shutdown` completes, then lets open requests
/// finish.
pub(crate) async fn serve(
    max: usize,
    listener: Listener,
    tls: Option<TlsAcceptor>,
    router: Router,
    shutdown: impl Future<Output = ()>,
) {
    let stop = CancellationToken::new();
    let slots = Arc::new(ConnectionSlots::new(max));
    let mut connections = JoinSet::new();
    let mut shutdown = pin!(shutdown);
    loop {
        let accepted = async {
            let accepted = accept(&listener).await?;
            Ok::<_, io::Error>((accepted, slots.acquire().await))
        };
        let accepted = tokio::select! {
            accepted = accepted => accepted,
            () = &mut shutdown => break,
        };
        while connections.try_join_next().is_some() {}
        let ((stream, client), permit) = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                tracing::warn!(%error, "a connection was not accepted");
                sleep(ACCEPT_PAUSE).await;
                continue;
            }
        };
        let connection = Connection::new(&slots, permit);
        let (tls, router, stop) = (tls.clone(), router.clone(), stop.clone());
        connections.spawn(async move {
            let Some(tls) = tls else {
                return serve_stream(stream, client, connection, router, stop).await;
            };
            let handshake = timeout(READ_TIMEOUT, tls.accept(stream));
            let stream = tokio::select! {
                stream = handshake => stream,
                () = connection.close.cancelled() => return,
            };
            // A client that speaks no TLS, or is silent, is not an error of this program.
            if let Ok(Ok(stream)) = stream {
                serve_stream(stream, client, connection, router, stop).await;
            }
        });
    }
    drop(listener);
    stop.cancel();
    let all_ended = async { while connections.join_next().await.is_some() {} };
    let _ = timeout(SHUTDOWN_GRACE, all_ended).await;
}

async fn accept(listener: &Listener) -> io::Result<(Box<dyn ByteStream>, ClientAddress)> {
    match listener {
        Listener::Tcp(listener) => {
            let (stream, address) = listener.accept().await?;
            // A response is written at once, so that nothing is won by waiting for more.
            stream.set_nodelay(true)?;
            let client = ClientAddress(address.ip().to_string().into());
            Ok((Box::new(stream), client))
        }
        Listener::Unix(socket) => {
            let (stream, _) = socket.listener.accept().await?;
            Ok((Box::new(stream), ClientAddress("unix".into())))
        }
    }
}

async fn serve_stream(
    stream: impl AsyncRead + AsyncWrite + Send + Unpin,
    client: ClientAddress,
    slot: Arc<Connection>,
    router: Router,
    stop: CancellationToken,
) {
    let connection = Arc::clone(&slot);
    let service = service_fn(move |mut request: Request<Incoming>| {
        connection.mark_busy();
        request.extensions_mut().insert(client.clone());
        let (response, connection) = (router.clone().call(request), Arc::clone(&connection));
        async move {
            let response = response.await?;
            let track = |body| Body::new(TrackedBody { body, connection });
            Ok::<_, Infallible>(response.map(track))
        }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(READ_TIMEOUT)
        .serve_connection(TokioIo::new(WriteTimeout::new(stream)), service);
    let mut connection = pin!(connection);
    let result = tokio::select! {
        result = connection.as_mut() => Some(result),
        () = stop.cancelled() => None,
        // A connection with an incomplete head is not idle to hyper.
        () = slot.close.cancelled() => {
            if !slot.has_had_request.load(Ordering::Relaxed) {
                return;
            }
            None
        }
    };
    let result = if let Some(result) = result {
        result
    } else {
        connection.as_mut().graceful_shutdown();
        connection.await
    };
    if let Err(error) = result {
        tracing::debug!(%error, "a connection ended");
    }
}

/// A stream that fails when its client takes no byte for [`WRITE_TIMEOUT`].
struct WriteTimeout<S> {
    stream: S,
    /// Runs while a write waits.
    deadline: Option<Pin<Box<Sleep>>>,
}

impl<S: AsyncWrite + Unpin> WriteTimeout<S> {
    const fn new(stream: S) -> Self {
        Self {
            stream,
            deadline: None,
        }
    }

    fn poll_timed<T>(
        &mut self,
        cx: &mut Context<'_>,
        poll: impl FnOnce(Pin<&mut S>, &mut Context<'_>) -> Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        let result = poll(Pin::new(&mut self.stream), cx);
        if result.is_ready() {
            self.deadline = None;
            return result;
        }
        let deadline = self
            .deadline
            .get_or_insert_with(|| Box::pin(sleep(WRITE_TIMEOUT)));
        match deadline.as_mut().poll(cx) {
            Poll::Ready(()) => Poll::Ready(Err(io::ErrorKind::TimedOut.into())),
            Poll::Pending => Poll::Pending,
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for WriteTimeout<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for WriteTimeout<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.poll_timed(cx, |stream, cx| stream.poll_write(cx, bytes))
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffers: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.poll_timed(cx, |stream, cx| stream.poll_write_vectored(cx, buffers))
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll_timed(cx, AsyncWrite::poll_flush)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll_timed(cx, AsyncWrite::poll_shutdown)
    }
}

#[cfg(test)]
mod tests {
    use std::future::pending;

    use axum::routing::get;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream, duplex};
    use tokio::net::TcpStream;
    use tokio::time::Instant;

    use super::*;

    /// Serves one connection that the test holds the other end of.
    fn connect(body_len: usize) -> (DuplexStream, CancellationToken, JoinSet<()>) {
        let body = "x".repeat(body_len);
        let router = Router::new().route("/", get(async move || body.clone()));
        let (client, server) = duplex(1024);
        let stop = CancellationToken::new();
        let mut tasks = JoinSet::new();
        let (slots, stopped) = (Arc::new(ConnectionSlots::new(1)), stop.clone());
        tasks.spawn(async move {
            let client = ClientAddress("unix".into());
            let slot = Connection::new(&slots, slots.acquire().await);
            serve_stream(server, client, slot, router, stopped).await;
        });
        (client, stop, tasks)
    }

    const REQUEST: &[u8] = b"GET / HTTP/1.1\r\nhost: localhost\r\n\r\n";

    #[tokio::test(start_paused = true)]
    async fn client_that_sends_nothing_is_disconnected() {
        for start in ["", "GET / HTTP/1.1\r\nhost: local"] {
            let (mut client, _stop, mut tasks) = connect(10);
            client.write_all(start.as_bytes()).await.unwrap();
            let started = Instant::now();
            tasks.join_next().await.unwrap().unwrap();
            assert!((29..32).contains(&started.elapsed().as_secs()), "{start}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn client_that_reads_nothing_is_disconnected() {
        let (mut client, _stop, mut tasks) = connect(100_000);
        client.write_all(REQUEST).await.unwrap();
        let started = Instant::now();
        tasks.join_next().await.unwrap().unwrap();
        assert!((29..32).contains(&started.elapsed().as_secs()));
    }

    #[tokio::test(start_paused = true)]
    async fn slow_client_that_reads_gets_all() {
        let (mut client, _stop, _tasks) = connect(20_000);
        client.write_all(REQUEST).await.unwrap();
        let (mut read, mut buffer) = (0, [0; 1000]);
        while read < 20_000 {
            sleep(Duration::from_secs(20)).await;
            read += client.read(&mut buffer).await.unwrap();
        }
    }

    #[tokio::test(start_paused = true)]
    async fn idle_connection_ends_at_shutdown() {
        let (mut client, stop, mut tasks) = connect(10);
        client.write_all(REQUEST).await.unwrap();
        let mut buffer = [0; 1000];
        assert!(client.read(&mut buffer).await.unwrap() > 0);
        let started = Instant::now();
        stop.cancel();
        tasks.join_next().await.unwrap().unwrap();
        assert!(started.elapsed().is_zero());
    }

    #[tokio::test]
    async fn incomplete_heads_keep_no_client_out() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let router = Router::new().route("/", get(async || "hello"));
        let mut tasks = JoinSet::new();
        let listener = Listener::Tcp(listener);
        tasks.spawn(serve(2, listener, None, router, pending()));
        let connect = || TcpStream::connect(address);
        let mut buffer = [0; 1000];
        let mut kept = connect().await.unwrap();
        kept.write_all(REQUEST).await.unwrap();
        assert!(kept.read(&mut buffer).await.unwrap() > 0);
        let mut silent = connect().await.unwrap();
        silent.write_all(b"GET / HTTP/1.1\r\nhost: ").await.unwrap();
        let mut client = connect().await.unwrap();
        assert_eq!(
            kept.read(&mut buffer).await.unwrap(),
            0,
            "idle for the longest time"
        );
        client.write_all(REQUEST).await.unwrap();
        assert!(client.read(&mut buffer).await.unwrap() > 0);
        let mut other = connect().await.unwrap();
        assert_eq!(silent.read(&mut buffer).await.unwrap_or(0), 0);
        other.write_all(REQUEST).await.unwrap();
        assert!(other.read(&mut buffer).await.unwrap() > 0);
    }

    #[test]
    fn connections_leave_descriptors_free() {
        let limit = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
        let connections = u64::try_from(max_connections()).unwrap();
        assert!(connections == 16 || connections + OTHER_DESCRIPTORS <= limit);
    }

    #[tokio::test]
    async fn stale_unix_socket_is_replaced_and_removed() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("socket");
        drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
        assert!(path.exists(), "a killed process leaves it");
        let socket = UnixSocket::bind(&path).unwrap();
        let mode = std::fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        let error = UnixSocket::bind(&path).err().unwrap();
        assert_eq!(error.kind(), io::ErrorKind::AddrInUse);
        drop(socket);
        assert!(!path.exists());
        let other = std::os::unix::net::UnixDatagram::bind(&path).unwrap();
        assert!(UnixSocket::bind(&path).is_err() && path.exists(), "in use");
        drop(other);
        std::fs::remove_file(&path).unwrap();
        std::fs::write(&path, "a file").unwrap();
        assert!(UnixSocket::bind(&path).is_err(), "no socket");
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "a file");
    }
}
