//! Actions, entries and middleware: from the SDK's descriptions to the engine's types.

use std::rc::Rc;

use engine::error::FlowError;
use engine::flow::{Action, ActionHooks, EntryType, Middleware, OnExceeded, TokenBudget, join_declarations};
use serde::{Deserialize, Serialize};

use crate::describe::registry::Registry;
use crate::describe::schema::schema;
use crate::describe::wire::{WireAction, WireBlock, WireLayer};
use crate::vm::Vm;

/// What an entry is, besides the action that it runs (SEMANTICS §1.7).
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct EntryDescription {
    /// What starts it.
    #[serde(rename = "type")]
    pub entry_type: EntryType,
    /// `summarize`, `stripe/invoice.paid`, `mention`, `monthly-invoices`.
    pub name: String,
    /// When a schedule would be fired.
    pub cron: Option<String>,
    /// Where `cron` is read.
    pub timezone: Option<String>,
    /// Whether its author has switched it on.
    pub enabled: Option<bool>,
}

impl Registry {
    pub(super) fn action(self: &Rc<Self>, vm: &Rc<Vm>, wire: WireAction) -> Result<Action, FlowError> {
        Ok(Action {
            input_schema: wire.input_schema.map(|id| schema(vm, id)),
            description: wire.description,
            block: self.block(wire.block)?,
            hooks: ActionHooks {
                on_completed: self.optional(wire.hooks.on_completed)?,
                on_errored: self.optional(wire.hooks.on_errored)?,
            },
            user_message: wire.user_message.map(|id| self.function(vm, id)),
            concurrency: wire.concurrency.map(|wire| wire.build(vm)),
            token_budget: wire.token_budget.map(|budget| TokenBudget {
                max_total_tokens: budget.max_total_tokens,
                warn_at: budget.warn_at,
                on_exceeded: match budget.on_exceeded.as_str() {
                    "stop" => OnExceeded::Stop,
                    "warn" => OnExceeded::Warn,
                    _ => OnExceeded::Error,
                },
            }),
            requires_project: wire.requires_project,
        })
    }

    /// Returns an action that was found while its flow is loaded, with the blocks that it brings along.
    pub(crate) fn resolved_action(
        self: &Rc<Self>,
        vm: &Rc<Vm>,
        wire: WireAction,
        blocks: Vec<WireBlock>,
    ) -> Result<Action, FlowError> {
        for block in blocks {
            self.add(vm, block)?;
        }
        let action = self.action(vm, wire)?;
        join_declarations(vec![action.block.clone()]);
        Ok(action)
    }

    pub(super) fn layer(self: &Rc<Self>, vm: &Rc<Vm>, wire: WireLayer) -> Middleware {
        Middleware { name: wire.name, around: self.function(vm, wire.call), is_of_flow: wire.flow }
    }
}
