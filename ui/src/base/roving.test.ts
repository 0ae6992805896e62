import { afterEach, expect, test, vi } from 'vitest';
import { roving } from './roving';

let leave: void | (() => void);

function list(html: string, arrows: 'vertical' | 'horizontal' = 'vertical') {
  document.body.innerHTML = `<div id="box">${html}</div>`;
  const box = document.getElementById('box') as HTMLElement;
  leave = roving({ arrows })(box);
  return box;
}

const stops = () => [...document.querySelectorAll<HTMLElement>('[tabindex="0"]')].map((one) => one.textContent);
const button = (name: string) => [...document.querySelectorAll('button')].find((one) => one.textContent === name)!;
const press = (key: string) =>
  document.activeElement?.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true, cancelable: true }));
const focused = () => document.activeElement?.textContent;

afterEach(() => leave?.());

test('a list is one Tab stop, at what is open', () => {
  list('<button>a</button><button aria-current="true">b</button><button disabled>c</button>');
  expect(stops()).toEqual(['b']);
});

test('arrows move, and Tab comes back to where it was left', () => {
  list('<button>a</button><button>b</button><button>c</button>');
  button('a').focus();
  press('ArrowDown');
  press('ArrowDown');
  press('ArrowDown');
  expect(focused()).toBe('c');
  press('ArrowUp');
  press('ArrowRight');
  expect(focused()).toBe('b');
  button('b').blur();
  expect(stops()).toEqual(['b']);
});

test('Home and End go to the ends', async () => {
  list('<button>a</button><button>b</button><button>c</button>');
  button('b').focus();
  press('End');
  await vi.waitFor(() => expect(focused()).toBe('c'));
  press('Home');
  await vi.waitFor(() => expect(focused()).toBe('a'));
});

test('rows that come, go or become disabled leave exactly one stop', async () => {
  const box = list('<button>a</button><button>b</button>');
  button('b').focus();
  button('b').remove();
  await vi.waitFor(() => expect(stops()).toEqual(['a']));
  box.append(Object.assign(document.createElement('button'), { textContent: 'd' }));
  await vi.waitFor(() => expect(button('d').tabIndex).toBe(-1));
  button('a').disabled = true;
  await vi.waitFor(() => expect(stops().filter((one) => one !== 'a')).toEqual(['d']));
});

test('what CSS hides is neither a Tab stop nor stepped on', async () => {
  list(
    '<button style="display: none">a</button><button>b</button><span style="display: none"><button>c</button></span>' +
      '<button style="visibility: hidden">d</button><button disabled>e</button><button>f</button><span hidden><button>g</button></span>',
  );
  expect(stops().filter((one) => one !== 'e')).toEqual(['b']);
  button('b').focus();
  press('ArrowDown');
  expect(focused()).toBe('f');
  press('ArrowDown');
  expect(focused()).toBe('f');
  press('ArrowUp');
  expect(focused()).toBe('b');
  press('ArrowUp');
  expect(focused()).toBe('b');
  press('End');
  await vi.waitFor(() => expect(focused()).toBe('f'));
  press('Home');
  await vi.waitFor(() => expect(focused()).toBe('b'));
});

test('when the box gets narrower, the Tab stop moves to an element that is still shown', () => {
  let resized = () => {};
  const { ResizeObserver } = globalThis;
  globalThis.ResizeObserver = class extends ResizeObserver {
    constructor(act: ResizeObserverCallback) {
      super(act);
      resized = () => act([], this);
    }
  };
  list('<button>a</button><button>b</button>');
  globalThis.ResizeObserver = ResizeObserver;
  button('a').focus();
  button('a').style.display = 'none';
  resized();
  expect(stops()).toEqual(['b']);
});
