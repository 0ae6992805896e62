//! Waiting for an answer from outside: `ctx.suspend` (SEMANTICS §9).
//!
//! Suspensions are numbered within each try of their block (ARCHITECTURE §5.5), so that each gets its own answer. The
//! block that suspended runs again from its top once there is an answer. If it then asks something else, that is a new
//! suspension, because the answer was given to what was shown before; so it is in a later try, where the earlier
//! question stays answered. A suspension is an outcome of its own: it is not a failure, no rescue sees it, and
//! concurrent blocks run on.

use std::rc::Rc;

use super::Context;
use crate::execution::record::cache::RecordedSuspension;
use crate::execution::record::effect_log::EffectLog;
use crate::model::error::FlowError;
use crate::model::event::{DriftKind, EventKind};
use crate::model::suspension::answer_schema::AnswerSchema;
use crate::model::suspension::{Reply, Resolved, SuspendOptions, SuspensionRequest, SuspensionStatus};

impl Context {
    /// `ctx.suspend`: returns the answer if there is one. Otherwise it never completes: the block ends with outcome
    /// `suspended`, which no `catch` of the author sees (ARCHITECTURE §5.5).
    ///
    /// If the caller [accepts answers](crate::execution::run::Run::accept_answers), it also returns one that is given
    /// while other blocks run.
    pub async fn suspend(&self, options: SuspendOptions) -> Result<Resolved, FlowError> {
        let asked = match self.ask(options).await? {
            Ok(answer) => return Ok(answer),
            Err(asked) => asked,
        };
        if let Some(answer) = self.run.live_answer(&self.frame, &asked).await {
            return Ok(answer);
        }
        self.end_asking().await
    }

    /// Like [`Context::suspend`], but the block suspends at once.
    pub async fn suspend_at_once(&self, options: SuspendOptions) -> Result<Resolved, FlowError> {
        match self.ask(options).await? {
            Ok(answer) => Ok(answer),
            Err(_) => self.end_asking().await,
        }
    }

    /// Ends the block with outcome `suspended`.
    async fn end_asking<T>(&self) -> T {
        self.frame.suspended.set();
        std::future::pending().await
    }

    /// Returns the recorded answer, or else records the question and returns it.
    async fn ask(&self, options: SuspendOptions) -> Result<Result<Resolved, SuspensionRequest>, FlowError> {
        if !self.frame.path.starts_with(crate::model::path::ROOT)
            || crate::model::path::is_of_step_hook(&self.frame.path)
        {
            return Err(FlowError::plain(format!(
                "ctx.suspend: block \"{}\" is a hook, and nothing waits for a hook",
                self.frame.block.name
            )));
        }
        if !self.frame.can_suspend.get() {
            return Err(FlowError::plain("ctx.suspend: the user's message is said before anything can wait"));
        }
        let run = &self.run;
        let (callback, ordinal) = match &self.call {
            Some(call) => (Some(call.name.clone()), call.next_suspension_ordinal()),
            None => (None, self.ordinal("suspend")),
        };
        let (is_json_schema, wrong_pattern) = (options.is_json_schema, options.wrong_pattern.clone());
        let request = self.suspension_request(options, callback, ordinal);
        if let Some(answer) = run.live_questions.answer_to(&self.frame.path, &request) {
            return Ok(Ok(answer));
        }
        self.show_earlier_items();
        let known = run.replay_cache.suspension(&self.frame.path, self.frame.attempt, &request);
        // A replay returns every answer, whatever is shown.
        let differences =
            known.filter(|_| run.effect_log.is_none()).and_then(|recorded| recorded.request.differences(&request));
        match (known, differences) {
            (Some(recorded), None) => {
                if let Some(resolved) = recorded.resolved.clone() {
                    if let Some(effect_log) = &run.effect_log {
                        effect_log.note_question(&self.frame.path, recorded.place.unwrap_or(0), &request, true);
                    }
                    let is_first = run.used_answers.borrow_mut().insert(resolved.id.clone());
                    // A replay shows the items of the question and its answer, as the recorded run did.
                    let shows = is_first && recorded.place == Some(self.frame.attempt);
                    let is_new = |log: &Rc<EffectLog>| log.earlier_items.take_question(&resolved.id);
                    if shows && run.effect_log.as_ref().is_none_or(is_new) {
                        run.record(&self.frame, EventKind::Suspended(recorded.request.clone()));
                    }
                    self.note_other_code(&recorded.request, &request);
                    self.wait_for_answer(recorded).await;
                    let is_new = |log: &Rc<EffectLog>| log.earlier_items.take_answer(&resolved.id);
                    if shows && run.effect_log.as_ref().is_none_or(is_new) {
                        run.recorder.record(None, 0, EventKind::SuspensionResolved(resolved.clone()));
                    }
                    return Ok(Ok(resolved));
                }
                if let Some(effect_log) = &run.effect_log {
                    self.ask_again(effect_log, recorded, request);
                }
                // It may have been asked by an earlier version, with another id.
                return Ok(Err(recorded.request.clone()));
            }
            (Some(recorded), Some(differences)) => {
                self.check_schema(&request, is_json_schema, wrong_pattern)?;
                self.expire_changed(recorded, &differences);
                self.record(EventKind::Suspended(request.clone()));
            }
            (None, _) => {
                self.check_schema(&request, is_json_schema, wrong_pattern)?;
                if let Some(effect_log) = &run.effect_log {
                    effect_log.note_question(&self.frame.path, self.frame.attempt, &request, false);
                }
                self.record(EventKind::Suspended(request.clone()));
            }
        }
        Ok(Err(request))
    }

    /// Waits until it is the turn of a recorded answer.
    async fn wait_for_answer(&self, recorded: &RecordedSuspension) {
        let (run, path) = (&self.run, &self.frame.path);
        let Some(position) = recorded.answered else { return self.wait_behind_log().await };
        match run.effect_log.as_ref().filter(|log| !recorded.is_live && !log.calls_others(path)) {
            // In a replay a block that waits for nothing else gets its answer at once; several of its questions get
            // theirs in the order in which they were given.
            Some(effect_log) if run.replay_cache.suspensions.answers_several(path, recorded.place) => {
                effect_log.wait_for((effect_log.now(), position.1)).await;
            }
            Some(_) => {}
            None => run.wait_for_turn(position).await,
        }
    }

    /// In a replay: records a question that the log has without an answer, so that it can be compared. The item of one
    /// that another block has looked at is there already.
    fn ask_again(&self, effect_log: &EffectLog, recorded: &RecordedSuspension, mut asked: SuspensionRequest) {
        effect_log.note_question(&self.frame.path, recorded.place.unwrap_or(0), &asked, false);
        (asked.id, asked.expires_at) = (recorded.request.id.clone(), recorded.request.expires_at);
        // What is shown before an earlier try of the block ends, expires with that try.
        if effect_log.earlier_items.take_question(&recorded.request.id) || self.frame.attempt > 0 {
            self.record(EventKind::Suspended(asked));
        } else if recorded.request.differences(&asked).is_some() {
            let id = recorded.request.id.clone();
            let expired = Resolved { id, resolution: SuspensionStatus::Expired, data: None, by: None };
            self.run.recorder.record(None, 0, EventKind::SuspensionResolved(expired));
            self.record(EventKind::Suspended(asked));
        }
    }

    /// Refuses the schema of a new question if it cannot be compiled. Questions that the log has are not refused. A
    /// pattern that is not checked is named in a log line.
    fn check_schema(
        &self,
        request: &SuspensionRequest,
        is_json_schema: bool,
        wrong_pattern: Option<String>,
    ) -> Result<(), FlowError> {
        let Some(schema) = request.resume_schema.as_ref().filter(|_| is_json_schema) else { return Ok(()) };
        let schema = wrong_pattern
            .map_or_else(|| AnswerSchema::new(schema), Err)
            .map_err(|why| FlowError::new("TypeError", format!("ctx.suspend: resumeSchema cannot be used: {why}")))?;
        for pattern in schema.unchecked {
            let text = format!("ctx.suspend: resumeSchema: answers are not checked against the pattern \"{pattern}\"");
            self.log("warn", text);
        }
        Ok(())
    }

    /// Makes the suspension that is asked for now.
    fn suspension_request(&self, options: SuspendOptions, callback: Option<String>, ordinal: u32) -> SuspensionRequest {
        let (run, caller, by) = (&self.run, self.caller(), callback.as_deref().unwrap_or_default());
        let key = format!("{}\0{}\0{}\0{by}\0{ordinal}", caller.request, self.frame.path, self.frame.attempt);
        let allow = options.allow.filter(|allow| !allow.is_empty());
        let mut request = SuspensionRequest {
            id: format!("susp_{}", &blake3::hash(key.as_bytes()).to_hex()[..16]),
            ordinal,
            callback,
            allow: allow.unwrap_or_else(|| Reply::usual(&options.reason, options.resume_schema.is_some())),
            reason: options.reason,
            message: options.message,
            data: options.data,
            resume_schema: options.resume_schema,
            render: options.render,
            runs: options.runs,
            expires_at: options.timeout_ms.map(|ms| run.effects.now_ms().saturating_add_unsigned(ms)),
        };
        // Here, not where it is recorded, because it is compared with the recorded one.
        let redaction = run.effects.redaction();
        redaction.known_text(&mut request.reason);
        request.message.iter_mut().for_each(|text| redaction.known_text(text));
        request.data.iter_mut().chain(&mut request.render).for_each(|value| redaction.known(value));
        request
    }

    /// Tells once that the code which an answer lets run was changed after the question was asked.
    fn note_other_code(&self, asked: &SuspensionRequest, now: &SuspensionRequest) {
        // A replay runs today's code, and says where that does something else.
        let is_replay = self.run.effect_log.is_some();
        let is_same = is_replay || asked.runs.is_none() || now.runs.is_none() || asked.runs == now.runs;
        let text = format!(
            "drift: the code that the answer to suspension \"{}\" lets run at {} was changed after the question was \
             asked; it runs as it is now",
            asked.id, self.frame.path
        );
        if !is_same && !self.run.replay_cache.has_drift_text(&text) && self.run.note_once(text.clone()) {
            self.record(EventKind::drift(DriftKind::Source, text));
        }
    }

    /// Expires a recorded suspension that would show something else now. Its answer, if any, is not used, because it
    /// was given to what was shown before.
    fn expire_changed(&self, recorded: &RecordedSuspension, differences: &str) {
        let (run, id) = (&self.run, &recorded.request.id);
        let answer = match &recorded.resolved {
            Some(resolved) => format!("; its answer \"{}\" is not used", resolved.resolution.as_str()),
            None => String::new(),
        };
        let text = format!(
            "drift: {} asks something else than suspension \"{id}\" showed: {differences}{answer}; it is asked anew",
            self.frame.path
        );
        self.record(EventKind::drift(DriftKind::Question, text));
        // Counts as used, so that the suspension is not reopened.
        run.used_answers.borrow_mut().insert(id.clone());
        let expired = Resolved { id: id.clone(), resolution: SuspensionStatus::Expired, data: None, by: None };
        run.recorder.record(None, 0, EventKind::SuspensionResolved(expired));
    }
}
