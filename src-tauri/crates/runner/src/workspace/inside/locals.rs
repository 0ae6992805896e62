//! Compares the locals of two executions of a block, statement by statement: of two requests, or of one and of what the
//! code of today does with it.

use std::sync::Arc;

use engine::event::{Event, Seq};
use script::{Asked, Code, Execution, Hit, Question};
use serde_json::Value;

use super::super::Workspace;
use super::Answer;
use super::at::InsideAt;
use super::executions::execution_of;
use super::first_difference::{Seen, first_difference};
use super::handle::Handle;
use super::probed_code::ProbedCode;
use super::recorded_seq::RecordedAttempts;
use crate::core::fault::Fault;
use crate::run::replay::Watch;
use crate::views::{ComparedStatement, DifferingLocal, LocalsCompared, LocalsQuery, PrintedValue};

/// How many statements of an execution are compared.
const MAX_COMPARED: usize = 10_000;

/// What was seen at the statements of one execution.
struct Side {
    request: String,
    execution: Execution,
    code: Arc<ProbedCode>,
    answer: Answer,
    /// Whether it is what the code of today does.
    is_replay: bool,
}

impl Workspace {
    /// Finds the first statement at which the locals of two executions differ, or at which they go another way. Writes
    /// nothing to the database.
    pub fn compare_locals(&self, query: &LocalsQuery) -> Result<LocalsCompared, Fault> {
        self.check_trusted()?;
        let at = |text: &str| text.parse::<InsideAt>().map_err(Fault::invalid);
        let left = self.locals_of(&query.left, &at(&query.left_at)?, false)?;
        let right = query.right.as_ref().unwrap_or(&query.left);
        let right = self.locals_of(right, &at(&query.right_at)?, query.right.is_none())?;
        let is_cut = left.hits().len() >= MAX_COMPARED && right.hits().len() >= MAX_COMPARED;
        let notes = [&left, &right].into_iter().find_map(|side| side.answer.note.clone());
        let Some(found) = first_difference(left.seen(), right.seen()) else {
            let equal = left.hits().len() as u64;
            let only = format!("only the first {MAX_COMPARED} statements are compared");
            let note = notes.or_else(|| is_cut.then_some(only));
            return Ok(LocalsCompared { equal, note, ..LocalsCompared::default() });
        };
        let local = |name: &String| DifferingLocal {
            name: name.clone(),
            old: left.value(found.equal, name),
            new: right.value(found.equal, name),
        };
        Ok(LocalsCompared {
            equal: found.equal as u64,
            left: left.statement(found.equal),
            right: right.statement(found.equal),
            locals: found.names.iter().map(local).collect(),
            note: notes,
        })
    }

    /// Takes the locals at the statements of an execution.
    fn locals_of(&self, request: &str, at: &InsideAt, is_replay: bool) -> Result<Side, Fault> {
        let (row, events) = self.whole_log_of(request)?;
        let execution = execution_of(request, &events, at)?;
        let question = Question { locals: true, ..Question::default() };
        let ticks = (1, u64::from(u32::MAX));
        let mut of = execution.clone();
        RecordedAttempts::read(&events).name_counted(&mut of)?;
        let asked = |of| Asked::Values { of: Some(of), ticks, limit: MAX_COMPARED, open: None };
        let (code, answer) = if is_replay {
            let code = self.code_of_today(&row.flow)?;
            let answer = self.ask_whole(&row, events, &code, question, asked(of), Watch::default())?;
            (code, answer)
        } else {
            let code = self.code_of_execution(&row.id, &events, &execution)?;
            let answer = self.ask(&row, events, &code, question, asked(execution.clone()))?;
            (code, answer)
        };
        Ok(Side { request: row.id, execution, code, answer, is_replay })
    }

    /// Returns the code with which an execution began.
    fn code_of_execution(
        &self,
        request: &str,
        events: &[Event],
        execution: &Execution,
    ) -> Result<Arc<ProbedCode>, Fault> {
        let parts = self.parts(events)?;
        let part = parts.all.get(parts.of(execution));
        let code = part.map_or_else(|| Err(parts.missing()), |part| part.code.clone());
        code.map_err(|why| Fault::not_found(format!("request \"{request}\": {why}")))
    }

    /// Returns the code of a flow as its files are today.
    fn code_of_today(&self, flow: &str) -> Result<Arc<ProbedCode>, Fault> {
        let loaded = self.with_catalogue(|catalogue| catalogue.find(flow))?;
        let code = Code::of(&loaded.bundle, &self.dir);
        Ok(Arc::new(ProbedCode::new(&loaded.bundle.hash, code)))
    }
}

impl Side {
    fn hits(&self) -> &[Hit] {
        &self.answer.replayed.probed.hits
    }

    /// What was seen at each statement. Statements without names have no hit only if they were not asked; all are.
    fn seen(&self) -> impl Iterator<Item = Seen<'_>> {
        (0..self.hits().len()).filter_map(|at| self.seen_at(at))
    }

    fn seen_at(&self, at: usize) -> Option<Seen<'_>> {
        let hit = self.hits().get(at)?;
        let site = &self.code.table.sites[hit.site as usize];
        let values: &[Value] = hit.values.as_array().map_or(&[], Vec::as_slice);
        let text = self.code.statement(site);
        Some(Seen { text, function: &site.function, names: &site.names, values })
    }

    /// The value of a local at a statement, which can be opened if a recorded run has it.
    fn value(&self, at: usize, name: &str) -> Option<PrintedValue> {
        let (hit, value) = (self.hits().get(at)?, self.seen_at(at)?.value(name)?);
        let handle = || Handle {
            request: self.request.clone(),
            path: self.execution.path.to_string(),
            attempt: self.execution.attempt,
            tick: hit.tick,
            site: hit.site,
            code: self.code.hash.clone(),
            expression: name.to_owned(),
            keys: Vec::new(),
        };
        let mut value = PrintedValue::read(value, || handle().text());
        if let (true, PrintedValue::Captured(captured)) = (self.is_replay, &mut value) {
            captured.handle = None;
        }
        Some(value)
    }

    fn statement(&self, at: usize) -> Option<ComparedStatement> {
        let hit = self.hits().get(at)?;
        let site = &self.code.table.sites[hit.site as usize];
        let seq: Seq = self.answer.numbers().of(hit.seq).0;
        let Execution { path, attempt } = &self.execution;
        let instant = (!self.is_replay).then(|| format!("{path}#{attempt}+{}", hit.tick));
        Some(ComparedStatement {
            request_id: self.request.clone(),
            instant,
            seq,
            tick: hit.tick,
            file: site.file.clone(),
            line: site.line,
            function: site.function.to_string(),
        })
    }
}
