//! `next()` of a middleware, as the context of its function holds it (SEMANTICS §2.13).

use std::cell::RefCell;
use std::rc::Rc;

use futures_channel::{mpsc, oneshot};

use crate::execution::run::callback_call::CallbackCall;
use crate::model::data::Data;
use crate::model::error::FlowError;

/// Waits for the result of what is inside a layer.
pub(crate) type Waiting = oneshot::Sender<Result<Data, FlowError>>;

/// A call of `next()`: the input in place of the block's, if the layer gives one, and who waits for the result.
pub(crate) type NextCall = (Option<Data>, Waiting);

/// `next()` of one layer.
pub(crate) struct Next {
    pub(crate) calls: mpsc::UnboundedSender<NextCall>,
    /// The calls of the layer that went on: one, unless a conflict repeats it.
    pub(crate) callers: RefCell<Vec<Rc<CallbackCall>>>,
}
