//! The memory of a runtime, counted and limited by an allocator of this crate.
//!
//! QuickJS's own limit refuses the allocation that passes it, and some of its out-of-memory paths free half-made
//! objects, which ends the process. Here an allocation that passes the limit succeeds, and the script is stopped: no
//! function can be called any more, and the interrupt handler ends what runs. Only an allocation that would pass the
//! ceiling, which lies far above the limit, is refused.

use std::cell::Cell;
use std::ptr::null_mut;
use std::rc::Rc;

use rquickjs::allocator::{Allocator, RustAllocator};
use rquickjs::{Ctx, qjs};

/// How far the ceiling lies above the limit at least: what a script may allocate before it is stopped.
const MIN_MARGIN: usize = 64 << 20;

/// A native stack on which no function of JavaScript can be called, in bytes. 0 means "unlimited".
const NO_STACK: qjs::size_t = 1;

/// When a runtime collects garbage for the first time, in bytes; from then on it decides by itself. More than the SDK
/// and zod take: while they load, nothing is garbage, and looking for it would take a tenth of the time.
const FIRST_GC: usize = 16 << 20;
/// The same as a part of the limit, so that a small limit is not reached by garbage.
const FIRST_GC_OF_LIMIT: usize = 8;

/// Whether a runtime has kept its limit.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Within,
    Exceeded,
    /// The script has ended; what still runs is the SDK's.
    Lifted,
}

/// Counts the memory of one runtime.
pub(crate) struct Meter {
    used: Cell<usize>,
    limit: usize,
    ceiling: usize,
    state: Cell<State>,
    /// Null until the runtime has a context.
    runtime: Cell<*mut qjs::JSRuntime>,
    #[cfg(test)]
    refusals: tests::Refusals,
}

impl Meter {
    /// Creates a meter for a runtime that may use `limit` bytes.
    pub(crate) fn new(limit: usize) -> Rc<Meter> {
        Meter::with_margin(limit, MIN_MARGIN.max(limit / 2))
    }

    fn with_margin(limit: usize, margin: usize) -> Rc<Meter> {
        Rc::new(Meter {
            used: Cell::new(0),
            limit,
            ceiling: limit.saturating_add(margin),
            state: Cell::new(State::Within),
            runtime: Cell::new(null_mut()),
            #[cfg(test)]
            refusals: tests::Refusals::default(),
        })
    }

    /// Returns the allocator for the runtime.
    pub(crate) fn allocator(self: &Rc<Self>) -> impl Allocator + use<> {
        Metered(self.clone())
    }

    /// Lets the meter stop the scripts of a runtime. Must be called before any script runs.
    pub(crate) fn attach(&self, ctx: &Ctx<'_>) {
        // SAFETY: the context is alive.
        self.runtime.set(unsafe { qjs::JS_GetRuntime(ctx.as_raw().as_ptr()) });
        if self.is_exceeded() {
            self.stop();
        }
    }

    /// Whether the script has passed the limit and must end.
    pub(crate) fn is_exceeded(&self) -> bool {
        self.state.get() == State::Exceeded
    }

    /// The limit, in bytes.
    pub(crate) fn limit(&self) -> usize {
        self.limit
    }

    /// When the runtime collects garbage for the first time, in bytes.
    pub(crate) fn first_collection(&self) -> usize {
        FIRST_GC.min(self.limit / FIRST_GC_OF_LIMIT)
    }

    /// Lets the scripts of a runtime go on after one was ended that is gone with all that it made, if what is left is
    /// within the limit. `stack` is the size of the stack that they have.
    pub(crate) fn recover(&self, ctx: &Ctx<'_>, stack: usize) {
        self.state.set(State::Within);
        // SAFETY: the context is alive, no object is half-made, and the functions take any size.
        unsafe {
            let runtime = qjs::JS_GetRuntime(ctx.as_raw().as_ptr());
            qjs::JS_SetMaxStackSize(runtime, stack as qjs::size_t);
            qjs::JS_SetGCThreshold(runtime, self.first_collection() as qjs::size_t);
            qjs::JS_RunGC(runtime);
        }
        if self.used.get() > self.limit {
            self.exceed();
        }
    }

    /// Ends the limit, so that the SDK can say whose code ran. The caller restores the size of the stack.
    pub(crate) fn lift(&self) {
        self.state.set(State::Lifted);
    }

    /// Counts `more` bytes and returns whether they may be allocated.
    fn admit(&self, more: usize) -> bool {
        let used = self.used.get().saturating_add(more);
        if used > self.limit && self.state.get() == State::Within {
            self.exceed();
        }
        #[cfg(test)]
        if self.refusals.refuses(more) {
            self.exceed();
            return false;
        }
        used <= self.ceiling || self.state.get() == State::Lifted
    }

    fn exceed(&self) {
        self.state.set(State::Exceeded);
        self.stop();
    }

    /// Makes every call of a function fail, because the interrupt handler is asked only every 10,000 calls and jumps,
    /// and each of those may allocate a megabyte. Collects no garbage any more, because QuickJS would do so while it
    /// throws the error of a refused allocation, with an object half-made.
    fn stop(&self) {
        let runtime = self.runtime.get();
        if !runtime.is_null() {
            // SAFETY: the runtime outlives its allocator's last call, and the functions only set fields of it.
            unsafe {
                qjs::JS_SetMaxStackSize(runtime, NO_STACK);
                qjs::JS_SetGCThreshold(runtime, qjs::size_t::MAX);
            }
        }
    }

    fn add(&self, ptr: *mut u8) -> *mut u8 {
        if ptr.is_null() {
            // The machine has no memory left.
            if self.state.get() == State::Within {
                self.exceed();
            }
        } else {
            // SAFETY: the block was allocated by `RustAllocator`.
            self.used.set(self.used.get() + unsafe { RustAllocator::usable_size(ptr) });
        }
        ptr
    }

    fn subtract(&self, size: usize) {
        self.used.set(self.used.get().saturating_sub(size));
    }
}

/// The allocator of a runtime. QuickJS asks it for whole arenas of small blocks, and for each block above 512 bytes.
struct Metered(Rc<Meter>);

// SAFETY: every block comes from `RustAllocator` and goes back to it.
unsafe impl Allocator for Metered {
    fn alloc(&mut self, size: usize) -> *mut u8 {
        if self.0.admit(size) { self.0.add(RustAllocator.alloc(size)) } else { null_mut() }
    }

    fn calloc(&mut self, count: usize, size: usize) -> *mut u8 {
        if self.0.admit(count.saturating_mul(size)) {
            self.0.add(RustAllocator.calloc(count, size))
        } else {
            null_mut()
        }
    }

    unsafe fn dealloc(&mut self, ptr: *mut u8) {
        // SAFETY: the caller passes a block of this allocator.
        unsafe {
            self.0.subtract(RustAllocator::usable_size(ptr));
            RustAllocator.dealloc(ptr);
        }
    }

    unsafe fn realloc(&mut self, ptr: *mut u8, new_size: usize) -> *mut u8 {
        // SAFETY: the caller passes a block of this allocator.
        unsafe {
            let old_size = RustAllocator::usable_size(ptr);
            if !self.0.admit(new_size.saturating_sub(old_size)) {
                return null_mut();
            }
            let moved = self.0.add(RustAllocator.realloc(ptr, new_size));
            if !moved.is_null() {
                self.0.subtract(old_size);
            }
            moved
        }
    }

    unsafe fn usable_size(ptr: *mut u8) -> usize {
        // SAFETY: the caller passes a block of this allocator.
        unsafe { RustAllocator::usable_size(ptr) }
    }
}

#[cfg(test)]
mod tests;
