//! A server on this machine that counts: flows tell it their side effects, outside of any database.
//!
//! Whoever gets an answer has been counted, even if it dies of a crash a moment later.

use std::collections::BTreeMap;
use std::io::Write;
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use crate::server::read;

/// How often each side effect was told, by its name.
pub type Counts = BTreeMap<String, usize>;

/// A running counter; it ends with the value.
pub struct Counter {
    port: u16,
    counts: Arc<Mutex<Counts>>,
    over: Arc<AtomicBool>,
}

impl Counter {
    /// Starts one.
    pub fn start() -> Counter {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
        let port = listener.local_addr().expect("it is bound").port();
        let (counts, over) = (Arc::<Mutex<Counts>>::default(), Arc::<AtomicBool>::default());
        let (kept, stopped) = (counts.clone(), over.clone());
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if stopped.load(Ordering::Relaxed) {
                    return;
                }
                let counts = kept.clone();
                std::thread::spawn(move || count(stream, &counts));
            }
        });
        Counter { port, counts, over }
    }

    /// `127.0.0.1:port`
    pub fn host(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// What a request's blocks told, by their paths.
    pub fn of(&self, request: &str) -> Counts {
        let counts = self.counts.lock().expect("nobody panicked");
        let own = |name: &String| Some(name.strip_prefix(request)?.strip_prefix(':')?.to_owned());
        counts.iter().filter_map(|(name, count)| Some((own(name)?, *count))).collect()
    }
}

impl Drop for Counter {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        // Wakes the thread that waits for connections.
        let _ = TcpStream::connect(("127.0.0.1", self.port));
    }
}

fn count(mut stream: TcpStream, counts: &Mutex<Counts>) {
    let Some(asked) = read(&stream) else { return };
    let name = String::from_utf8_lossy(&asked.body).into_owned();
    *counts.lock().expect("nobody panicked").entry(name).or_insert(0) += 1;
    // The client may be dead already.
    let _ = stream.write_all(b"HTTP/1.1 200 Whatever\r\nconnection: close\r\ncontent-length: 0\r\n\r\n");
}
