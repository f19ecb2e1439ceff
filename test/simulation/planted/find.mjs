/**
 * Plants each fault in a copy of the program, and says which seed finds it, and by what.
 * `node test/simulation/planted/find.mjs [seeds] [part of the name of a fault]`
 */
import { runnerImport } from 'vite';

const [seeds = '200', wanted = ''] = process.argv.slice(2);
const { module } = await runnerImport('test/simulation/planted/find.ts', {
  configFile: false,
  logLevel: 'error',
});
for (const fault of module.PLANTED.filter(({ name }) => name.includes(wanted))) {
  const { found } = await module.searchPlanted(fault, (played) => played < Number(seeds));
  process.stdout.write(`${fault.name}: ${found ?? `not found in ${seeds} seeds`}\n`);
  if (found === null) process.exitCode = 1;
}
