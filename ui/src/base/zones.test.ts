import { beforeEach, expect, test } from 'vitest';
import { goToZone, rememberFocus, stepZone } from './zones';

beforeEach(() => {
  document.body.innerHTML = `
    <div data-zone="a"><button>a1</button><button>a2</button></div>
    <div data-zone="empty"><span>nothing</span><button disabled>off</button></div>
    <div data-zone="b"><button>b1</button><div role="treegrid" tabindex="0">grid</div></div>
    <div data-zone="c"><div role="separator" tabindex="0">edge</div><input aria-label="c1"></div>`;
  document.addEventListener('focusin', (event) => rememberFocus(event.target));
});

const at = () => document.activeElement?.getAttribute('aria-label') ?? document.activeElement?.textContent;

test('the zones are walked in order and around, forward and back; one without anything to focus is passed by', () => {
  const seen = [1, 1, 1, 1, -1, -1].map((step) => (stepZone(step as 1 | -1), at()));
  expect(seen).toEqual(['a1', 'grid', 'c1', 'a1', 'c1', 'grid']);
});

test('back from nowhere is the last zone', () => {
  stepZone(-1);
  expect(at()).toBe('c1');
});

test('a zone is entered where it was left', () => {
  document.querySelectorAll('button')[1]?.focus();
  stepZone(1);
  stepZone(-1);
  expect(at()).toBe('a2');
  expect([goToZone('b'), at(), goToZone('empty'), goToZone('none')]).toEqual([true, 'grid', false, false]);
});
