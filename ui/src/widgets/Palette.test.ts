import { cleanup, fireEvent, render, screen } from '@testing-library/svelte';
import { afterEach, expect, test } from 'vitest';
import Palette from './Palette.svelte';

afterEach(cleanup);

const noop = () => {};
const command = (id: string, group: string, title: string, hint?: string) => ({
  id,
  group,
  title,
  icon: 'chat',
  run: noop,
  ...(hint && { hint }),
});

async function found(query: string) {
  const commands = [
    command('session dark-1', 'Session', 'desk.answer Ada has broken a link'),
    command('home', 'Command', 'Home', 'Alt+Home'),
    command('theme', 'Command', 'Theme: dark'),
  ];
  render(Palette, { props: { commands: () => commands, onclose: noop } });
  await fireEvent.input(screen.getByTestId('palette-input'), { target: { value: query } });
  const rows = screen.queryAllByRole('option').map((row) => row.textContent?.trim().replaceAll(/\s+/g, ' '));
  cleanup();
  return rows;
}

test('a command is found by what its row shows, and by nothing else', async () => {
  expect(await found('dark')).toEqual(['Theme: dark Command']);
  expect(await found('alt+home')).toEqual(['Home Alt+Home']);
  // Beside "Home" stands its key, not its group.
  expect(await found('command')).toEqual(['Theme: dark Command']);
  expect(await found('dark-1')).toEqual([]);
});

test('where else to look comes last, also where nothing was found', async () => {
  const beyond = (query: string) => (query ? command('search', 'Search', `Search for ${query}`) : null);
  const commands = [command('theme', 'Command', 'Theme: dark')];
  render(Palette, { props: { commands: () => commands, beyond, onclose: noop } });
  const type = (value: string) => fireEvent.input(screen.getByTestId('palette-input'), { target: { value } });
  const titles = () => screen.queryAllByRole('option').map((row) => row.textContent?.trim().replaceAll(/\s+/g, ' '));
  expect(titles()).toEqual(['Theme: dark Command']);
  await type('dark');
  expect(titles()).toEqual(['Theme: dark Command', 'Search for dark Search']);
  await type('desk lamp');
  expect(titles()).toEqual(['Search for desk lamp Search']);
});
