// A tooltip never lies over what opened: it is taken where something is pressed, and below menus and dialogs.
import { afterEach, expect, test } from 'vitest';
import { quietTooltips } from './tooltips';

let stop = () => {};

function open(html: string) {
  document.body.innerHTML = html;
  stop = quietTooltips(document);
}
const one = (id: string) => document.getElementById(id) as HTMLElement;
const titleOf = (id: string) => one(id).getAttribute('title');
function point(kind: string, id: string, relatedTarget?: HTMLElement) {
  one(id).dispatchEvent(new MouseEvent(kind, { bubbles: true, relatedTarget }));
}

afterEach(() => stop());

test('what was pressed has its tooltip again once the pointer has left it', () => {
  open('<div id="row" title="row"><button id="menu" title="More"><i id="icon"></i></button></div><p id="away"></p>');
  point('pointerdown', 'icon');
  expect([titleOf('row'), titleOf('menu')]).toEqual([null, null]);
  point('pointerout', 'icon', one('menu'));
  expect(titleOf('menu')).toBe(null);
  point('pointerout', 'menu', one('row'));
  expect([titleOf('row'), titleOf('menu')]).toEqual([null, 'More']);
  point('pointerout', 'row', one('away'));
  expect(titleOf('row')).toBe('row');
});

test('with a menu open only what is in it says a tooltip', () => {
  open('<button id="below" title="below"></button><div id="menu"><b id="inside" title="inside"></b></div>');
  point('pointerover', 'below');
  expect(titleOf('below')).toBe('below');
  one('menu').setAttribute('role', 'menu');
  point('pointerover', 'below');
  expect(titleOf('below')).toBe(null);
  point('pointerout', 'below', one('inside'));
  point('pointerover', 'inside');
  expect([titleOf('below'), titleOf('inside')]).toEqual(['below', 'inside']);
});

test('a tooltip that changed meanwhile stays as it is', () => {
  open('<button id="turn" title="Show it"></button><p id="away"></p>');
  point('pointerdown', 'turn');
  one('turn').title = 'Put it away';
  point('pointerout', 'turn', one('away'));
  expect(titleOf('turn')).toBe('Put it away');
});
