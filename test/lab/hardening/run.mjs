/** The hardening run; see docs/hardening.md. `node test/lab/hardening/run.mjs --help` */
import { fileURLToPath } from 'node:url';
import { createServer } from 'vite';

// It stays open while stages run, for what they load late; Node 20 reads no TypeScript.
const vite = await createServer({
  root: fileURLToPath(new URL('../../..', import.meta.url)),
  configFile: false,
  logLevel: 'warn',
  appType: 'custom',
  server: { middlewareMode: true, hmr: false, ws: false, watch: null },
  optimizeDeps: { noDiscovery: true },
});
const { main, endEverything } = await vite.ssrLoadModule('/test/lab/hardening/main.ts');
// Children have process groups of their own, and would outlive a run that is interrupted.
for (const signal of ['SIGINT', 'SIGTERM'])
  process.once(signal, () => void endEverything().finally(() => process.exit(130)));
const code = await main(process.argv.slice(2));
await vite.close();
process.exit(code);
