/** Invoices of suppliers: their lines come page by page from the archive, and the total is booked. */
import { defineFlow, handler, sequencer } from "@flow-state-dev/core";
import { z } from "zod";

interface Line {
  item: string;
  eur: number;
}

const ARCHIVE: Record<string, Line[]> = {
  "INV-31": [
    { item: "flour", eur: 60 },
    { item: "butter", eur: 90 },
    { item: "sugar", eur: 35 },
    { item: "eggs", eur: 80 },
    { item: "yeast", eur: 25 },
    { item: "almonds", eur: 120 },
    { item: "delivery", eur: 60 },
  ],
};
const PAGE = 3;

const asked = z.object({ invoice: z.string() });
const reading = z.object({
  invoice: z.string(),
  page: z.number(),
  pages: z.number(),
  lines: z.array(z.object({ item: z.string(), eur: z.number() })),
});

const openInvoice = handler({
  name: "open-invoice",
  inputSchema: asked,
  outputSchema: reading,
  execute: ({ invoice }) => {
    const count = ARCHIVE[invoice]?.length ?? 0;
    return { invoice, page: 0, pages: Math.floor(count / PAGE), lines: [] };
  },
});

const readPage = handler({
  name: "read-page",
  inputSchema: reading,
  outputSchema: reading,
  execute: (so) => {
    const found = ARCHIVE[so.invoice]?.slice(so.page * PAGE, (so.page + 1) * PAGE) ?? [];
    return { ...so, page: so.page + 1, lines: [...so.lines, ...found] };
  },
});

const book = handler({
  name: "book",
  inputSchema: reading,
  sessionStateSchema: z.object({ booked: z.record(z.number()).default({}) }),
  execute: async ({ invoice, lines }, ctx) => {
    const total = lines.reduce((sum, line) => sum + line.eur, 0);
    await ctx.session.setStateRecord("booked", invoice, total);
    ctx.emit.message(`${invoice}: ${total} EUR booked.`);
    return { invoice, total };
  },
});

const read = sequencer({ name: "book-invoice", inputSchema: asked })
  .step(openInvoice)
  .doUntil((so) => so.page >= so.pages, readPage)
  .step(book);

export default defineFlow({ kind: "supplier-invoice", actions: { book: { inputSchema: asked, block: read } } });
