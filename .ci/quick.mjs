/**
 * Checks the types, and runs the quick tests of the rooms that changed: `npm run test:quick`, or `npm run test:quick -- --since main`.
 * A file of `src/` stands for the folder of `test/` that mirrors its own, and for the tests elsewhere that import it; a
 * test stands for itself.
 */
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { parseArgs } from 'node:util';

/** What is tested where nothing that has tests changed: the pure rules of the product. */
const CORE = ['test/reports/query', 'test/reports/rows', 'test/teams/policy'];

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { since: { type: 'string' }, help: { type: 'boolean', short: 'h' } },
});
if (values.help) {
  process.stdout.write(`usage: npm run test:quick -- [--since <commit>] [folder or file …]

Without arguments: the rooms of what is not committed yet, else of the last commit. Types are checked beside the tests: of
the program and its tests, and of the pages where these changed.
  --since <commit>  the rooms of all that changed since the fork from that commit
  folder or file    these tests, whatever changed
`);
  process.exit(0);
}

const git = (...args) => execFileSync('git', args, { encoding: 'utf8' }).split('\n').filter(Boolean);

function changed() {
  if (values.since !== undefined) return git('diff', '--name-only', `${values.since}...HEAD`);
  const open = [...git('diff', '--name-only', 'HEAD'), ...git('ls-files', '--others', '--exclude-standard')];
  return open.length > 0 ? open : git('diff', '--name-only', 'HEAD~1');
}

/** @returns the tests of a changed file */
function testsOf(file) {
  if (/^test\/.*\.test\.tsx?$/.test(file)) return existsSync(file) ? [file] : [];
  if (!/^(src|test)\/.*\.tsx?$/.test(file)) return [];
  let folder = join('test', dirname(file).split('/').slice(1).join('/'));
  while (folder !== 'test' && !existsSync(folder)) folder = dirname(folder);
  return [...(['test', 'test/support'].includes(folder) ? [] : [folder]), ...importersOf(file)];
}

/** A helper of tests stands for its folder alone: too many import it. */
function importersOf(file) {
  if (!file.startsWith('src/')) return [];
  const { status, stdout } = spawnSync(
    'git',
    ['grep', '--untracked', '-lF', `${file.replace(/\.tsx?$/, '.js')}'`, '--', 'test/*.test.ts'],
    { encoding: 'utf8' },
  );
  return status === 0 ? stdout.split('\n').filter(Boolean) : [];
}

/** Vitest does not check types. What did not change since the last run is not checked again. */
function typeChecks(files) {
  const web = files.some((file) => file.startsWith('src/web/')) ? ['src/web'] : [];
  return ['tsconfig.json', ...web].map((project) => {
    const info = `node_modules/.cache/dsp-gateway/${project.replaceAll('/', '-')}.tsbuildinfo`;
    return ['tsc', '-p', project, '--noEmit', '--incremental', '--tsBuildInfoFile', info];
  });
}

/** @param stdio `inherit`, or `pipe` to show the output once it has ended. @returns its exit code */
async function run(args, stdio) {
  const child = spawn('npx', args, { stdio: ['ignore', stdio, stdio] });
  const output = [];
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', (piece) => output.push(piece));
  const [code] = await once(child, 'close');
  process.stdout.write(Buffer.concat(output));
  return code ?? 1;
}

const files = changed();
const found = positionals.length > 0 ? positionals : [...new Set(files.flatMap(testsOf))].sort();
const tests = found.length > 0 ? found : CORE;
process.stdout.write(`types, and quick tests of ${tests.join(', ')}\n`);
const vitest = ['vitest', 'run', '--project', 'quick', '--project', 'alone', '--passWithNoTests', ...tests];
const types = typeChecks([...files, ...positionals]).map((args) => run(args, 'pipe'));
const codes = await Promise.all([run(vitest, 'inherit'), ...types]);
process.exit(codes.find((code) => code !== 0) ?? 0);
