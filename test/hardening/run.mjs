/** The hardening run; see docs/hardening.md. `node test/hardening/run.mjs --help` */
import { fileURLToPath } from 'node:url';
import { createServer } from 'vite';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

// It stays open while stages run, for what they load late; Node 20 reads no TypeScript.
const vite = await createServer({
  root: ROOT,
  configFile: false,
  logLevel: 'warn',
  appType: 'custom',
  server: { middlewareMode: true, hmr: false, ws: false, watch: null },
  optimizeDeps: { noDiscovery: true },
});
const { main, endEverything } = await vite.ssrLoadModule('/test/hardening/main.ts');
// Children have process groups of their own, and would outlive a run that is interrupted.
for (const signal of ['SIGINT', 'SIGTERM'])
  process.once(signal, () => void endEverything().finally(() => process.exit(130)));
const code = await main(process.argv.slice(2));
await vite.close();
process.exit(code);
