//! The reference lines of `make bench`: the least that a durable step can cost on this disk.
//!
//! `line FILE process|power STEPS BYTES` makes a table, commits one row of so many bytes at a time, and prints the
//! nanoseconds of a median step: batches of a hundred, so that the clock does not count. With `rows` at the end
//! it commits what a step leaves in the log by which instants are read: three events of so many bytes together
//! and a step of state, with their indexes, and nothing else.

use std::error::Error;
use std::time::Instant;

use rusqlite::Connection;

/// Steps between two looks at the clock.
const BATCH: usize = 100;

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let ([file, durability, steps, bytes] | [file, durability, steps, bytes, _]) = args.as_slice() else {
        return Err("line FILE process|power STEPS BYTES [rows]".into());
    };
    let connection = Connection::open(file)?;
    connection.pragma_update(None, "journal_mode", "WAL")?;
    connection.pragma_update(None, "synchronous", if durability == "power" { "FULL" } else { "NORMAL" })?;
    let (steps, bytes): (usize, usize) = (steps.parse()?, bytes.parse()?);
    let nanoseconds = match args.get(4).map(String::as_str) {
        None => bare(&connection, steps, bytes)?,
        Some("rows") => rows(&connection, steps, bytes)?,
        Some(other) => return Err(format!("\"rows\" or nothing, not \"{other}\"").into()),
    };
    println!("{nanoseconds}");
    Ok(())
}

/// Nanoseconds of a median step.
fn median(steps: usize, mut step: impl FnMut(usize) -> rusqlite::Result<()>) -> Result<u128, Box<dyn Error>> {
    let mut batches = Vec::new();
    for batch in 0..steps / BATCH {
        let begin = Instant::now();
        for n in 0..BATCH {
            step(batch * BATCH + n)?;
        }
        batches.push(begin.elapsed().as_nanos() / BATCH as u128);
    }
    batches.sort_unstable();
    Ok(*batches.get(batches.len() / 2).ok_or("at least a hundred steps")?)
}

/// One row a step.
fn bare(connection: &Connection, steps: usize, bytes: usize) -> Result<u128, Box<dyn Error>> {
    connection.execute_batch("CREATE TABLE step (id INTEGER PRIMARY KEY, body TEXT)")?;
    let body = "x".repeat(bytes);
    median(steps, |_| {
        connection.prepare_cached("BEGIN IMMEDIATE")?.execute(())?;
        connection.prepare_cached("INSERT INTO step (body) VALUES (?1)")?.execute((&body,))?;
        connection.prepare_cached("COMMIT")?.execute(())?;
        Ok(())
    })
}

/// The rows of a step as the log has them, by statements that are prepared once.
fn rows(connection: &Connection, steps: usize, bytes: usize) -> Result<u128, Box<dyn Error>> {
    connection.execute_batch(include_str!("../src/schema.sql"))?;
    let body = "x".repeat(bytes / 3);
    let mut begin = connection.prepare("BEGIN IMMEDIATE")?;
    let mut event = connection.prepare("INSERT INTO event VALUES (?1, 1, ?1, 1700000000000, ?2, 1, 0, ?3, ?1)")?;
    let mut change = connection.prepare("INSERT INTO change VALUES (1, ?1, ?2, 30, NULL)")?;
    let mut commit = connection.prepare("COMMIT")?;
    median(steps, |n| {
        begin.execute(())?;
        for (nth, kind) in ["block_started", "state_changed", "block_finished"].into_iter().enumerate() {
            event.execute((n * 3 + nth, kind, &body))?;
        }
        change.execute((n * 3 + 1, n))?;
        commit.execute(())?;
        Ok(())
    })
}
