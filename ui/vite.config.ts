// One configuration for the window's bundle and for its tests, so that both see the same plugins.
import { svelte } from '@sveltejs/vite-plugin-svelte';
import { svelteTesting } from '@testing-library/svelte/vite';
import tailwindcss from '@tailwindcss/vite';
import { defineConfig } from 'vitest/config';

export default defineConfig({
  // Relative addresses, because the window is served from a custom scheme and not from a web root.
  base: './',
  plugins: [svelte(), tailwindcss(), svelteTesting()],
  build: {
    outDir: 'dist',
    // The policy lets typefaces come from files of the program alone, not from the style sheet.
    assetsInlineLimit: 0,
    // WebKitGTK of Debian 12 is the oldest engine the window runs in.
    target: 'safari16.4',
    // The policy allows no inline script, and Vite's preload polyfill would be one.
    modulePreload: { polyfill: false },
    // In kB. The page comes out of the program, not over a network, so that one module is the quickest.
    chunkSizeWarningLimit: 900,
  },
  server: { port: 5173, strictPort: true },
  test: {
    // Two processors may be busy with other things; a test that hangs is found all the same.
    testTimeout: 30_000,
    // One processor less is the default, which leaves one of two idle.
    maxWorkers: '100%',
    // A worker keeps its modules from file to file, and every test cleans up what it rendered: to load all of them for
    // each file takes more than twice the processor's time.
    isolate: false,
    environment: 'jsdom',
    setupFiles: ['src/setup.test-env.ts'],
    include: ['src/**/*.test.ts'],
  },
});
