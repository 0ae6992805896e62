import { afterEach, expect, test, vi } from 'vitest';
import { whenSeen } from './seen';

afterEach(() => vi.unstubAllGlobals());

test('it acts once when the element comes into view, and not after it was stopped', () => {
  const observers: { tell: (isIntersecting: boolean) => void; isStopped: boolean }[] = [];
  class Observer {
    #seen;
    constructor(tell: (entries: { isIntersecting: boolean }[]) => void) {
      this.#seen = { tell: (isIntersecting: boolean) => tell([{ isIntersecting }]), isStopped: false };
      observers.push(this.#seen);
    }
    observe() {}
    disconnect() {
      this.#seen.isStopped = true;
    }
  }
  vi.stubGlobal('IntersectionObserver', Observer);
  const act = vi.fn();
  whenSeen(document.body, act);
  observers[0]?.tell(false);
  expect(act).not.toHaveBeenCalled();
  observers[0]?.tell(true);
  expect(act).toHaveBeenCalledOnce();
  expect(observers[0]?.isStopped).toBe(true);
  whenSeen(document.body, act)();
  expect(observers[1]?.isStopped).toBe(true);
});

test('without a layout it acts at once', () => {
  vi.stubGlobal('IntersectionObserver', undefined);
  const act = vi.fn();
  whenSeen(document.body, act);
  expect(act).toHaveBeenCalledOnce();
});
