//! A proxy between the program and a PostgreSQL server that closes the connection at a chosen commit.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// When the connection is closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cut {
    /// Before the server receives the commit.
    Before,
    /// After the server has committed, and before the program receives the answer.
    After,
}

/// The bytes of a commit, and the end of the server's answer to it.
const COMMIT: &[u8] = b"Q\x00\x00\x00\x0bCOMMIT\0";
const COMMITTED: &[u8] = b"COMMIT\0";

/// A running proxy; dropping it stops it.
pub struct CuttingProxy {
    port: u16,
    plan: Arc<Plan>,
}

struct Plan {
    server: u16,
    /// The number of the commit, from 1.
    at: usize,
    cut: Cut,
    commits: AtomicUsize,
    is_over: AtomicBool,
}

impl CuttingProxy {
    /// Starts a proxy for the server at a port.
    pub fn start(server: u16, at: usize, cut: Cut) -> CuttingProxy {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
        let port = listener.local_addr().expect("it is bound").port();
        let (commits, is_over) = (AtomicUsize::default(), AtomicBool::default());
        let plan = Arc::new(Plan { server, at, cut, commits, is_over });
        let kept = plan.clone();
        std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                if kept.is_over.load(Ordering::Relaxed) {
                    return;
                }
                let server = TcpStream::connect(("127.0.0.1", kept.server)).expect("the server is there");
                join(client, server, kept.clone());
            }
        });
        CuttingProxy { port, plan }
    }

    /// The port on which it listens.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// How many commits have passed through.
    pub fn commits(&self) -> usize {
        self.plan.commits.load(Ordering::Relaxed)
    }
}

impl Drop for CuttingProxy {
    fn drop(&mut self) {
        self.plan.is_over.store(true, Ordering::Relaxed);
        // Wakes the thread that waits for connections.
        let _ = TcpStream::connect(("127.0.0.1", self.port));
    }
}

/// Forwards data in both directions until a side ends or the connection is closed.
fn join(client: TcpStream, server: TcpStream, plan: Arc<Plan>) {
    let is_cut = Arc::new(AtomicBool::default());
    let (to_server, to_client) = (server.try_clone(), client.try_clone());
    let (Ok(to_server), Ok(to_client)) = (to_server, to_client) else { return };
    let kept = is_cut.clone();
    std::thread::spawn(move || forward_requests(client, to_server, &plan, &kept));
    std::thread::spawn(move || forward_answers(server, to_client, &is_cut));
}

fn end(one: &TcpStream, other: &TcpStream) {
    // Either may have ended before.
    let _ = one.shutdown(Shutdown::Both);
    let _ = other.shutdown(Shutdown::Both);
}

fn position(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    bytes.windows(wanted.len()).position(|window| window == wanted)
}

fn forward_requests(mut client: TcpStream, mut server: TcpStream, plan: &Plan, is_cut: &AtomicBool) {
    let mut buffer = vec![0; 64 << 10];
    // The program writes a commit in one call, so it arrives in one piece.
    while let Ok(length @ 1..) = client.read(&mut buffer) {
        let mut rest = &buffer[..length];
        while let Some(at) = position(rest, COMMIT) {
            let (before, behind) = rest.split_at(at + COMMIT.len());
            let is_it = plan.commits.fetch_add(1, Ordering::Relaxed) + 1 == plan.at;
            if is_it && plan.cut == Cut::Before {
                let _ = server.write_all(&before[..at]);
                return end(&client, &server);
            }
            // `forward_answers` closes the connection after the answer to this commit.
            is_cut.store(is_it, Ordering::SeqCst);
            if server.write_all(before).is_err() || is_it {
                return;
            }
            rest = behind;
        }
        if server.write_all(rest).is_err() {
            break;
        }
    }
    end(&client, &server);
}

fn forward_answers(mut server: TcpStream, mut client: TcpStream, is_cut: &AtomicBool) {
    let mut buffer = vec![0; 64 << 10];
    let mut kept: Vec<u8> = Vec::new();
    while let Ok(length @ 1..) = server.read(&mut buffer) {
        if is_cut.load(Ordering::SeqCst) {
            kept.extend_from_slice(&buffer[..length]);
            if position(&kept, COMMITTED).is_some() {
                break;
            }
        } else if client.write_all(&buffer[..length]).is_err() {
            break;
        }
    }
    end(&server, &client);
}
