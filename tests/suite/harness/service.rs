//! A service on loopback, and the configuration file that names it.

use std::fs;
use std::net::SocketAddr;
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::Path;
use std::thread::{self, JoinHandle};

use sentbox::server::{self, EmailSource, ServerConfig};
use tokio::net::TcpListener;
use tokio::sync::oneshot;

/// The key of every service; no output may contain it.
pub const KEY: &str = "re_canary_0123456789";

/// A service on its own thread; it stops when this is dropped.
pub struct Service {
    pub address: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Service {
    pub fn new(source: impl EmailSource) -> Self {
        let (sender, receiver) = std::sync::mpsc::channel();
        let (stop, stopped) = oneshot::channel::<()>();
        let thread = thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_multi_thread()
                .worker_threads(1)
                .enable_all()
                .build()
                .unwrap();
            runtime.block_on(async {
                let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
                sender.send(listener.local_addr().unwrap()).unwrap();
                let terms = ServerConfig {
                    key: KEY.into(),
                    rate: 1000,
                    hosts: Vec::new(),
                };
                let until = async { drop(stopped.await) };
                server::serve(
                    listener,
                    source,
                    terms,
                    sentbox::config::clock::system_clock(),
                    until,
                )
                .await;
            });
        });
        Self {
            address: receiver.recv().unwrap(),
            stop: Some(stop),
            thread: Some(thread),
        }
    }

    pub fn base(&self) -> String {
        format!("http://{}", self.address)
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Writes a configuration that only its owner may change, whatever the umask is.
pub fn write_config(folder: &Path, text: &str) {
    fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(folder)
        .unwrap();
    let path = folder.join("config.toml");
    fs::write(&path, text).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
}
