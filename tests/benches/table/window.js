// What the bench measures in the page. It is put into the window that a person has, and nothing of the page knows it.
window.bench = {
  clicked: 0, opened: 0, bytes: 0, batches: 0, acts: {}, times: null,

  /** From the next click until rows of the request are painted. */
  watchOpen(request) {
    this.clicked = this.opened = 0;
    addEventListener('click', (event) => (this.clicked = event.timeStamp), { capture: true, once: true });
    // At the end of a live request all rows in view may be groups, which are no block's.
    const page = `[data-testid=request-header][data-request=${JSON.stringify(request)}]`;
    const row = '[data-testid=timeline-row]:is([data-instance], [data-group])';
    const look = () => {
      const isThere = document.querySelector(page) && document.querySelector(row);
      if (!this.clicked || !isThere) return requestAnimationFrame(look);
      // A frame's own work and its painting come before the next task.
      setTimeout(() => (this.opened = performance.now()));
    };
    requestAnimationFrame(look);
  },

  /** Measures every frame until `stop`, and does something in each. */
  start(act) {
    const mine = (this.times = []);
    let last = 0;
    let nth = 0;
    const frame = (now) => {
      if (mine !== this.times) return;
      if (last) mine.push(now - last);
      last = now;
      if (act) this.acts[act](nth++);
      requestAnimationFrame(frame);
    };
    requestAnimationFrame(frame);
  },

  stop() {
    const times = this.times.sort((one, other) => one - other);
    this.times = null;
    const at = (share) => times[Math.min(times.length - 1, Math.floor(times.length * share))] ?? 0;
    return { frames: times.length, p50: at(0.5), p95: at(0.95), worst: times.at(-1) ?? 0 };
  },

  /** Counts what Rust answers, and the batches that it sends by itself. */
  count(withBytes) {
    this.bytes = this.batches = 0;
    const { callbacks } = window.__TAURI_INTERNALS__;
    this.fetch ??= window.fetch;
    window.fetch = !withBytes
      ? this.fetch
      : async (...args) => {
          const answer = await this.fetch.apply(window, args);
          const body = await answer.arrayBuffer();
          this.bytes += body.byteLength;
          return new Response(body, { status: answer.status, headers: answer.headers });
        };
    callbacks.get = (id) => {
      const callback = Map.prototype.get.call(callbacks, id);
      return callback && ((data) => {
        if (data && typeof data === 'object' && 'index' in data && 'message' in data) {
          this.batches += data.message?.batch === undefined ? 0 : 1;
          const size = withBytes ? JSON.stringify(data.message).length : 0;
          // Longer ones are fetched, and counted there.
          if (size < 8192) this.bytes += size;
        }
        callback(data);
      });
    };
  },

  turn(deltaY, keys) {
    const list = document.querySelector('[data-testid=timeline]');
    const box = list.getBoundingClientRect();
    const at = { clientX: box.left + box.width * 0.7, clientY: box.top + box.height / 2 };
    list.dispatchEvent(new WheelEvent('wheel', { deltaY, bubbles: true, cancelable: true, ...at, ...keys }));
  },
};

Object.assign(bench.acts, {
  zoom: (nth) => bench.turn(nth % 40 < 20 ? -100 : 100, { ctrlKey: true }),
  pan: (nth) => bench.turn(nth % 60 < 30 ? 40 : -40, { shiftKey: true }),
  scroll: () => (document.querySelector('[data-testid=timeline]').scrollTop += 100),
  leap: () => (document.querySelector('[data-testid=timeline]').scrollTop += 2000),
  fold: (nth) =>
    nth % 30 === 0 && document.querySelector(`[aria-label="${nth % 60 ? 'Unf' : 'F'}old all"]`).click(),
});
