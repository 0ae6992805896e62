import { cleanup, render, screen } from '@testing-library/svelte';
import { afterEach, expect, test } from 'vitest';
import BlockInput from './BlockInput.svelte';

afterEach(cleanup);

test('of a Call the arguments are shown, and the rest is folded', () => {
  const input = { call: { _tool: 'pay', amount: 45, _scopes: ['account'] }, role: 'explicit' };
  render(BlockInput, { props: { input, testid: 'given', onask: null } });
  expect(screen.getByTestId('given').textContent).toContain('amount');
  expect(screen.getByTestId('given').textContent).not.toContain('_scopes');
  expect(screen.getByTestId('call-input').closest('details')?.open).toBe(false);
});

test('any other input is shown whole', () => {
  render(BlockInput, { props: { input: { order: '17' }, testid: 'given', onask: null } });
  expect(screen.getByTestId('given').textContent).toContain('order');
  expect(screen.queryByTestId('call-input')).toBeNull();
});
