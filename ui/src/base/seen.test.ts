import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { whenSeen } from './seen';

/** Tells what it observes, like a browser, until it is disconnected. */
class Observer {
  static all: Observer[] = [];
  readonly observed = new Set<Element>();
  constructor(
    readonly callback: (entries: { isIntersecting: boolean }[]) => void,
    readonly options: IntersectionObserverInit,
  ) {
    Observer.all.push(this);
  }
  observe(element: Element) {
    this.observed.add(element);
  }
  disconnect() {
    this.observed.clear();
  }
  tell(isIntersecting: boolean) {
    if (this.observed.size > 0) this.callback([{ isIntersecting }]);
  }
}

beforeEach(() => {
  Observer.all = [];
  vi.stubGlobal('IntersectionObserver', Observer);
});
afterEach(() => {
  vi.unstubAllGlobals();
  document.body.replaceChildren();
});

test('it acts once when the element comes into view', () => {
  const act = vi.fn();
  whenSeen(document.body, act);
  const [observer] = Observer.all;
  observer?.tell(false);
  expect(act).not.toHaveBeenCalled();
  observer?.tell(true);
  observer?.tell(true);
  expect(act).toHaveBeenCalledOnce();
});

test('it does not act after it was stopped, not even by an entry that was queued before', () => {
  const act = vi.fn();
  const stop = whenSeen(document.body, act);
  const [observer] = Observer.all;
  stop();
  observer?.tell(true);
  observer?.callback([{ isIntersecting: true }]);
  expect(act).not.toHaveBeenCalled();
  expect(observer?.observed.size).toBe(0);
});

test('what is near counts in the pane that scrolls', () => {
  document.body.innerHTML =
    '<div id="pane" style="overflow-y: auto"><div><p id="item"></p></div></div><p id="out"></p>';
  for (const id of ['item', 'out']) whenSeen(document.getElementById(id) as Element, vi.fn());
  expect(Observer.all.map((one) => one.options.root)).toEqual([document.getElementById('pane'), null]);
  expect(Observer.all[0]?.options.rootMargin).toBe('200px');
});

test('without a layout it acts at once', () => {
  vi.stubGlobal('IntersectionObserver', undefined);
  const act = vi.fn();
  whenSeen(document.body, act);
  expect(act).toHaveBeenCalledOnce();
});
