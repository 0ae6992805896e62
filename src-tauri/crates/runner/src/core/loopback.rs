//! HTTP servers on the loopback address, for programs of this machine.
//!
//! Must listen on nothing but the loopback address. What may be asked, and by whom, is decided by who answers.

use std::error::Error;
use std::future::Future;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::thread::JoinHandle;
use std::time::Duration;

use hyper::body::{Body, Incoming};
use hyper::{Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto::Builder;
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Runtime;
use tokio::sync::watch;

/// After how long it is tried again to accept a connection: too many files were open, for one.
const RETRY: Duration = Duration::from_millis(50);

/// A server that answers until it is dropped.
pub struct LoopbackServer {
    /// Its port.
    pub port: u16,
    stop: watch::Sender<bool>,
    thread: Option<JoinHandle<()>>,
}

impl LoopbackServer {
    /// Opens a server on a port, or on a free one for 0. `name` is that of its thread. `ended` runs on that thread once
    /// nothing is answered any more.
    pub fn open<B, F>(
        name: &str,
        port: u16,
        runtime: Runtime,
        answer: impl Fn(Request<Incoming>) -> F + Clone + Send + Sync + 'static,
        ended: impl FnOnce() + Send + 'static,
    ) -> io::Result<LoopbackServer>
    where
        B: Body + Send + 'static,
        B::Data: Send,
        B::Error: Into<Box<dyn Error + Send + Sync>>,
        F: Future<Output = Response<B>> + Send + 'static,
    {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let listener = runtime.block_on(TcpListener::bind(address))?;
        let port = listener.local_addr()?.port();
        // Some programs take `localhost` for this address only. A machine may not have it.
        let other = runtime.block_on(TcpListener::bind((Ipv6Addr::LOCALHOST, port))).ok();
        let (stop, stopped) = watch::channel(false);
        let run = move || {
            runtime.block_on(accept((listener, other), answer, stopped));
            runtime.shutdown_background();
            ended();
        };
        let thread = std::thread::Builder::new().name(name.to_owned()).spawn(run)?;
        Ok(LoopbackServer { port, stop, thread: Some(thread) })
    }

    /// Stops, and waits until `ended` has run.
    pub fn close(mut self) {
        let _ = self.stop.send(true); // The server may have ended already.
        if let Some(thread) = self.thread.take() {
            // A panic was reported when it happened.
            let _ = thread.join();
        }
    }
}

impl Drop for LoopbackServer {
    fn drop(&mut self) {
        let _ = self.stop.send(true); // The server may have ended already.
    }
}

/// The next connection to one of the addresses.
async fn next((listener, other): &(TcpListener, Option<TcpListener>)) -> io::Result<(TcpStream, SocketAddr)> {
    match other {
        None => listener.accept().await,
        Some(other) => tokio::select! {
            accepted = listener.accept() => accepted,
            accepted = other.accept() => accepted,
        },
    }
}

async fn accept<B, F>(
    listeners: (TcpListener, Option<TcpListener>),
    answer: impl Fn(Request<Incoming>) -> F + Clone + Send + Sync + 'static,
    mut stopped: watch::Receiver<bool>,
) where
    B: Body + Send + 'static,
    B::Data: Send,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
    F: Future<Output = Response<B>> + Send + 'static,
{
    loop {
        let stream = tokio::select! {
            _ = stopped.changed() => return,
            accepted = next(&listeners) => match accepted {
                Ok((stream, _)) => stream,
                Err(_) => {
                    tokio::time::sleep(RETRY).await;
                    continue;
                }
            },
        };
        let (answer, mut stopped) = (answer.clone(), stopped.clone());
        tokio::spawn(async move {
            let answer = hyper::service::service_fn(move |request| {
                let answered = answer(request);
                async move { Ok::<_, std::convert::Infallible>(answered.await) }
            });
            let builder = Builder::new(TokioExecutor::new());
            tokio::select! {
                _ = stopped.changed() => {}
                // A connection that breaks concerns its client alone.
                _ = builder.serve_connection(TokioIo::new(stream), answer) => {}
            }
        });
    }
}

/// Whether a call can only come from a program of this machine that means this server: it names a loopback host, and
/// no page of a browser sent it, because those name an origin.
pub fn is_local<T>(request: &Request<T>) -> bool {
    let header = |name: hyper::header::HeaderName| request.headers().get(name);
    let authority = request.uri().authority().map(|authority| authority.as_str());
    let host = header(hyper::header::HOST).and_then(|host| host.to_str().ok()).or(authority).unwrap_or_default();
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    };
    let is_loopback = name.eq_ignore_ascii_case("localhost") || ["127.0.0.1", "[::1]"].contains(&name);
    is_loopback && header(hyper::header::ORIGIN).is_none()
}
