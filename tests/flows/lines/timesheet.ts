/** A week's hours: they are added, and what is over 40 is paid as overtime. */
import { defineFlow, handler } from '@flow-state-dev/core';
import { z } from 'zod';

const week = z.array(z.number()).length(5);

const overtime = handler({
  name: 'overtime',
  inputSchema: week,
  outputSchema: z.number(),
  execute: (days) => {
    let hours = 0;
    for (let day = 1; day < days.length; day++) {
      hours += days[day] ?? 0;
    }
    return Math.max(0, hours - 40);
  },
});

export default defineFlow({ kind: 'timesheet', actions: { count: { inputSchema: week, block: overtime } } });
