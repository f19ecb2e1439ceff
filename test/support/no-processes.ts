/** In quick tests nothing starts a process: what does so belongs to the others, by what it imports (`kinds.ts`). */
import childProcess from 'node:child_process';
import { syncBuiltinESMExports } from 'node:module';

const refused = new Proxy(childProcess.spawn, {
  apply() {
    throw new Error(
      'a process in a quick test: a test that starts one imports what starts it, and is not quick',
    );
  },
});
for (const name of ['spawn', 'spawnSync', 'exec', 'execSync', 'execFile', 'execFileSync', 'fork']) {
  Object.assign(childProcess, { [name]: refused });
}
syncBuiltinESMExports();
