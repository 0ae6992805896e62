//! Statements of a session: prepared once for each text and types of values, asked, or sent ahead of their answers.

use std::task::{Context, Poll, Waker};

use rusqlite::ToSql;
use tokio_postgres::Client;
use tokio_postgres::types::{self, Type};

use super::param::Param;
use super::{MAX_STATEMENTS, Session, Unanswered};
use crate::sql::{Result, dialect};

impl Session {
    /// A statement that is prepared for values of these types.
    fn prepared(&self, sql: &str, types: &[Type]) -> Result<tokio_postgres::Statement> {
        let known =
            self.statements.borrow().get(sql).and_then(|forms| {
                forms.iter().find(|(known, _)| known == types).map(|(_, statement)| statement.clone())
            });
        if let Some(known) = known {
            return Ok(known);
        }
        let text = dialect::statement(sql);
        let prepared = pollster::block_on(self.client.borrow().prepare_typed(&text, types));
        if prepared.is_err() {
            self.fail()?;
        }
        let prepared = prepared?;
        let mut statements = self.statements.borrow_mut();
        if statements.len() >= MAX_STATEMENTS {
            statements.clear();
        }
        statements.entry(sql.to_owned()).or_default().push((types.to_vec(), prepared.clone()));
        Ok(prepared)
    }

    fn with_values<R>(
        &self,
        sql: &str,
        values: &[&dyn ToSql],
        run: impl FnOnce(&Client, &tokio_postgres::Statement, &[&(dyn types::ToSql + Sync)]) -> Result<R>,
    ) -> Result<R> {
        let params = values.iter().map(|value| Param::of(*value)).collect::<Result<Vec<Param>>>()?;
        let types: Vec<Type> = params.iter().map(Param::type_of).collect();
        let statement = self.prepared(sql, &types)?;
        let params: Vec<&(dyn types::ToSql + Sync)> =
            params.iter().map(|param| param as &(dyn types::ToSql + Sync)).collect();
        run(&self.client.borrow(), &statement, &params)
    }

    /// Runs a statement; how many rows it changed.
    pub(in crate::sql) fn execute(&self, sql: &str, values: &[&dyn ToSql]) -> Result<usize> {
        let done = self.with_values(sql, values, |client, statement, params| {
            Ok(usize::try_from(pollster::block_on(client.execute(statement, params))?).unwrap_or(usize::MAX))
        });
        if done.is_err() {
            self.fail()?;
        }
        done
    }

    /// Sends a statement of a transaction that writes, whose answer the next one does not need: if it fails, the
    /// transaction does. Saves a round trip.
    pub(in crate::sql) fn send(&self, sql: &str, values: &[&dyn ToSql]) -> Result<()> {
        if self.writing.borrow().is_none() {
            return self.execute(sql, values).map(drop);
        }
        let params = values.iter().map(|value| Param::of(*value)).collect::<Result<Vec<Param>>>()?;
        let types: Vec<Type> = params.iter().map(Param::type_of).collect();
        let statement = self.prepared(sql, &types)?;
        let client = self.client.borrow().clone();
        self.send_now(Box::pin(async move {
            let params: Vec<&(dyn types::ToSql + Sync)> =
                params.iter().map(|param| param as &(dyn types::ToSql + Sync)).collect();
            client.execute(&statement, &params).await.map(drop)
        }))
    }

    /// As [`send`](Self::send), a statement without values.
    pub(super) fn send_batch(&self, sql: &'static str) -> Result<()> {
        let client = self.client.borrow().clone();
        self.send_now(Box::pin(async move { client.batch_execute(sql).await }))
    }

    fn send_now(&self, mut statement: Unanswered) -> Result<()> {
        // The first poll sends it; the answer is taken when it is waited for.
        match statement.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(answer) => Ok(answer?),
            Poll::Pending => {
                self.unanswered.borrow_mut().push(statement);
                Ok(())
            }
        }
    }

    /// After an error: the transaction that is open has failed, perhaps by what was sent before, whose error this is
    /// then.
    fn fail(&self) -> Result<()> {
        self.has_failed.set(true);
        self.take_answers()
    }

    /// Waits for the answers of what was sent; the first error. What comes after it says only that the transaction has
    /// failed.
    pub(super) fn take_answers(&self) -> Result<()> {
        let sent = std::mem::take(&mut *self.unanswered.borrow_mut());
        let mut first = Ok(());
        for statement in sent {
            let answer = pollster::block_on(statement);
            if first.is_ok() {
                first = answer;
            }
        }
        Ok(first?)
    }

    /// Runs a statement; the rows that it finds. Outside of a transaction it is asked again if the session is cut off.
    pub(in crate::sql) fn query(&self, sql: &str, values: &[&dyn ToSql]) -> Result<Vec<tokio_postgres::Row>> {
        let ask = || {
            self.with_values(sql, values, |client, statement, params| {
                Ok(pollster::block_on(client.query(statement, params))?)
            })
        };
        if !self.is_open.get() {
            // What changes something may have happened before the session was cut off.
            let only_reads = ["SELECT", "WITH"].iter().any(|word| sql.trim_start().starts_with(word));
            self.ensure_connected()?;
            return if only_reads { self.again_if_cut_off(ask) } else { ask() };
        }
        let answer = ask();
        if answer.is_err() {
            self.fail()?;
        }
        answer
    }

    /// The names of the columns that a statement finds.
    pub(in crate::sql) fn column_names(&self, sql: &str) -> Result<Vec<String>> {
        let statement = pollster::block_on(self.client.borrow().prepare(&dialect::statement(sql)))?;
        Ok(statement.columns().iter().map(|column| column.name().to_owned()).collect())
    }

    /// Runs statements without values.
    pub(in crate::sql) fn batch(&self, sql: &str) -> Result<()> {
        Ok(pollster::block_on(self.client.borrow().batch_execute(&dialect::statement(sql)))?)
    }
}
