//! A proxy between the program and a server that can be told to hold back everything, as a server that hangs does.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// A running proxy.
pub struct PausingProxy {
    port: u16,
    is_paused: Arc<AtomicBool>,
}

impl PausingProxy {
    /// Starts one before the server at a port.
    pub fn start(server: u16) -> PausingProxy {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
        let port = listener.local_addr().expect("it is bound").port();
        let is_paused = Arc::new(AtomicBool::new(false));
        let kept = is_paused.clone();
        std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let server = TcpStream::connect(("127.0.0.1", server)).expect("the server is there");
                let ways = [(client.try_clone(), server.try_clone()), (Ok(server), Ok(client))];
                for (from, to) in ways {
                    let (from, to) = (from.expect("it is open"), to.expect("it is open"));
                    let is_paused = kept.clone();
                    std::thread::spawn(move || pass(from, to, &is_paused));
                }
            }
        });
        PausingProxy { port, is_paused }
    }

    /// Where it listens.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// From now on nothing is passed on.
    pub fn pause(&self) {
        self.is_paused.store(true, Ordering::SeqCst);
    }
}

/// Passes on what comes, until one side ends.
fn pass(mut from: TcpStream, mut to: TcpStream, is_paused: &AtomicBool) {
    let mut buffer = [0; 8192];
    while let Ok(length @ 1..) = from.read(&mut buffer) {
        while is_paused.load(Ordering::SeqCst) {
            std::thread::sleep(Duration::from_millis(20));
        }
        if to.write_all(&buffer[..length]).is_err() {
            break;
        }
    }
    // The other side may have ended already.
    let _ = to.shutdown(Shutdown::Both);
}
