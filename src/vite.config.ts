/**
 * Builds the program: what a start would open and read in some 1,700 files, in a few. The same modules one by one, for
 * benchmarks and tests, are made by `npm run build:modules`.
 */
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vite';
import { writePages } from '../docs/build/write-pages.js';

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));

/** What stays where npm puts it. */
const APART = [
  // Native code, threads, or files that are found by where the code lies.
  ...['lmdb', 'pino', 'piscina', 'ioredis', '@fastify/swagger', '@fastify/swagger-ui'],
  // Loaded where a collector is set, and nowhere else.
  ...['api', 'core', 'exporter-trace-otlp-http', 'resources', 'sdk-trace'].map(
    (name) => `@opentelemetry/${name}`,
  ),
];

/** Of the sources: as the builder says, else as git says, with a mark if files were changed since; empty: neither does. */
function commitOfSources(): string {
  const { GIT_COMMIT } = process.env;
  if (GIT_COMMIT) return GIT_COMMIT;
  try {
    const args = ['describe', '--always', '--dirty', '--exclude=*', '--abbrev=12'];
    return execFileSync('git', args, {
      cwd: here('.'),
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    });
  } catch {
    // Sources without a repository, e.g. in an image.
    return '';
  }
}

const escaped = (char: string) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`;

export default defineConfig({
  root: here('.'),
  publicDir: false,
  build: {
    ssr: true,
    outDir: here('../dist'),
    emptyOutDir: true,
    target: 'node20',
    minify: false,
    rolldownOptions: {
      // A file that is started by its name keeps it.
      input: {
        cli: here('cli.ts'),
        'workers/worker': here('reports/cache/threads/worker.ts'),
        'store/embedded/check-state': here('store/embedded/check-state.ts'),
      },
      output: { chunkFileNames: 'program/[name]-[hash].js', entryFileNames: '[name].js', keepNames: true },
    },
  },
  ssr: { target: 'node', noExternal: true, external: APART },
  plugins: [
    { name: 'commit', closeBundle: () => writeFileSync(here('../dist/commit'), commitOfSources().trim()) },
    { name: 'pages of the documentation', closeBundle: writePages },
    // V8 keeps the source of a module, and needs two bytes for each character if one of them is not Latin-1.
    {
      name: 'Latin-1',
      generateBundle(_options, bundle) {
        for (const one of Object.values(bundle))
          if (one.type === 'chunk') one.code = one.code.replace(/[^\0-\xff]/g, escaped);
      },
    },
  ],
  logLevel: 'warn',
});
