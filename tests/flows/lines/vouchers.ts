/** Vouchers at a till: two letters and four digits each; others are given back. */
import { defineFlow, handler } from '@flow-state-dev/core';
import { z } from 'zod';

const codes = z.array(z.string());
const VOUCHER = /[A-Z]{2}\d{4}/g;

const check = handler({
  name: 'check',
  inputSchema: codes,
  outputSchema: codes,
  execute: (given) => given.filter((code) => !VOUCHER.test(code)),
});

export default defineFlow({ kind: 'vouchers', actions: { check: { inputSchema: codes, block: check } } });
