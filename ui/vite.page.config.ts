// Builds the page that `export --html` writes a request into: one file with its style sheet, its typefaces and its script
// inside, under a policy that lets it load nothing.
import { createHash } from 'node:crypto';
import { svelte } from '@sveltejs/vite-plugin-svelte';
import tailwindcss from '@tailwindcss/vite';
import { defineConfig, type Plugin, type Rollup } from 'vite';

/** Typefaces of other scripts than Latin are left out: a system has some, and the file is to be small. */
const FONTS = /-latin-wght-normal/;

/** The faces of a style sheet that the page has, each with its file inside. */
function withFonts(style: string, bundle: Rollup.OutputBundle): string {
  return style.replaceAll(/@font-face\s*\{[^}]*\}/g, (face) => {
    const [name = ''] = /[^/"')]*\.woff2/.exec(face) ?? [];
    const file = Object.values(bundle).find((one) => one.fileName.endsWith(name));
    if (!FONTS.test(name) || file?.type !== 'asset') return '';
    const data = Buffer.from(file.source).toString('base64');
    return face.replace(/url\([^)]*\)/, `url(data:font/woff2;base64,${data})`);
  });
}

/** How a policy names what stands in an element. */
const hash = (text: string) => `'sha256-${createHash('sha256').update(text).digest('base64')}'`;

/** Moves the script and the style sheet into the page, and puts the policy first. */
function oneFile(): Plugin {
  return {
    name: 'one-file',
    enforce: 'post',
    generateBundle(_, bundle) {
      const page = Object.values(bundle).find((one) => one.fileName.endsWith('.html'));
      if (page?.type !== 'asset') throw new Error('there is no page');
      let [script, style] = ['', ''];
      for (const one of Object.values(bundle)) {
        if (one.type === 'chunk') script += one.code;
        else if (one.fileName.endsWith('.css')) style += String(one.source);
      }
      style = withFonts(style, bundle);
      for (const name of Object.keys(bundle)) if (name !== page.fileName) delete bundle[name];
      // An element ends where its text says so.
      script = `\n${script.replaceAll('</script', String.raw`<\/script`).replaceAll('<!--', String.raw`<\!--`)}`;
      const policy = [
        "default-src 'none'",
        `script-src ${hash(script)}`,
        `style-src ${hash(style)}`,
        'font-src data:',
        'img-src data:',
        "base-uri 'none'",
        "form-action 'none'",
      ].join('; ');
      const html = String(page.source)
        .replaceAll(/<script type="module"[^>]*><\/script>\s*/g, '')
        .replaceAll(/<link rel="(?:stylesheet|modulepreload)"[^>]*>\s*/g, '')
        .replace(
          '<meta charset="utf-8" />',
          () => `<meta charset="utf-8" />\n    <meta http-equiv="Content-Security-Policy" content="${policy}" />`,
        )
        .replace('</head>', () => `  <style>${style}</style>\n  </head>`)
        // After the data, which it reads at once.
        .replace('</body>', () => `  <script type="module">${script}</script>\n  </body>`);
      page.source = html;
    },
  };
}

export default defineConfig({
  base: './',
  plugins: [svelte(), tailwindcss(), oneFile()],
  build: {
    outDir: 'page/dist',
    // Typefaces are put into the style sheet at the end: not all of them.
    assetsInlineLimit: 0,
    cssCodeSplit: false,
    target: 'safari16.4',
    modulePreload: { polyfill: false },
    chunkSizeWarningLimit: 1_200,
    rolldownOptions: { input: 'page.html', output: { codeSplitting: false } },
  },
});
