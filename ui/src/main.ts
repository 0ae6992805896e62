// Chooses what the window talks to and mounts it. Everything else is decided further in.
import { mount } from 'svelte';
import './app.css';
import App from './App.svelte';
import { repaintForDriver } from './base/repaint';
import { applyTheme, chosenTheme } from './base/theme';
import type { Host } from './host/host';
import { AppModel } from './model/app.svelte';
import { Router } from './model/route.svelte';

async function chooseHost(): Promise<Host> {
  const { insideTauri, tauriHost } = await import('./host/tauri');
  const asked = new URLSearchParams(location.search);
  // In a browser tab there is nothing to run flows, so a recording stands in. The program itself holds none.
  if (!import.meta.env.DEV || (insideTauri() && !asked.has('fake'))) return tauriHost();
  const large = Number(asked.get('large')) || 0;
  if (large > 0) return new (await import('./host/load')).LoadHost(large);
  const { FakeHost } = await import('./host/fake');
  return new FakeHost(1, 120, true);
}

applyTheme(chosenTheme());
const target = document.getElementById('app');
if (target) {
  const host = await chooseHost();
  repaintForDriver();
  mount(App, { target, props: { app: new AppModel(host, new Router(window)) } });
}
