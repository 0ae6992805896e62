// Starts a page with one request inside: reads its data and mounts what the audience of the file may see.
import { mount } from 'svelte';
import './app.css';
import { applyTheme, chosenTheme } from './base/theme';
import { Chunks, inDocument } from './host/page/chunks';
import { FORMAT, pageHost, type Head } from './host/page/page-host';
import { shownItems, type ShownHead } from './host/page/shown';
import { AppModel } from './model/app.svelte';
import { Router } from './model/route.svelte';
import Page from './Page.svelte';
import PageFault from './PageFault.svelte';
import PageItems from './PageItems.svelte';

applyTheme(chosenTheme());
const target = document.getElementById('app');
if (!target) throw new Error('This page has no place for the run.');

async function start(target: HTMLElement): Promise<void> {
  const chunks = new Chunks(inDocument);
  const head = await chunks.load<Head | ShownHead>('head');
  if (head.format !== FORMAT) throw new Error(`Its data has the form ${head.format}, and the page reads ${FORMAT}.`);
  if (head.audience !== 'all') {
    mount(PageItems, { target, props: { head, items: await shownItems(chunks, head) } });
    return;
  }
  const app = new AppModel(await pageHost(chunks, head), new Router(window));
  const { id, sessionId } = head.view.request;
  const { current } = app.route;
  if (current.at !== 'request' || current.request !== id) app.route.toRequest(id, sessionId, 'replace');
  mount(Page, { target, props: { app, head } });
}

start(target).catch((thrown: unknown) => mount(PageFault, { target, props: { thrown } }));
