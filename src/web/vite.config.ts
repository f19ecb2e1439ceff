/** Builds the two pages, `vite build --mode console` and `--mode explorer`, each into a folder of its own. */
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vite';

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));

export default defineConfig(({ mode: page }) => ({
  root: here(`./${page}`),
  base: `/${page}/`,
  publicDir: false,
  build: {
    outDir: here(`../../dist/web/${page}`),
    emptyOutDir: true,
    target: 'es2022',
    // The page's policy allows files of its own alone: nothing as a data URL, no script between the tags.
    assetsInlineLimit: 0,
    modulePreload: false,
    rolldownOptions: { transform: { inject: { h: ['preact', 'h'], Fragment: ['preact', 'Fragment'] } } },
    reportCompressedSize: false,
    // Their texts go where their code goes.
    license: { fileName: 'licences.md' },
  },
  // Smaller than the automatic runtime, whose calls name their children.
  oxc: { jsx: { runtime: 'classic', pragma: 'h', pragmaFrag: 'Fragment' } },
  // Replaces the helper that preloads imports and styles of a lazy chunk: the only one, the YAML parser, has neither.
  plugins: [
    {
      name: 'no-preload',
      enforce: 'pre',
      load: (id) =>
        id.includes('vite/preload-helper') ? 'export const __vitePreload = (load) => load()' : null,
    },
  ],
  logLevel: 'warn',
}));
