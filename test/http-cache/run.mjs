/**
 * Plays the public suite of HTTP cache tests (https://cache-tests.fyi, BSD-3-Clause) against an endpoint set to
 * `freshness: origin`, and prints a table; with --write it goes into docs/standards.md. The suite is fetched from npm's
 * registry into a folder that is removed afterwards: one of its dependencies is an npm of 2021, so it is none of ours.
 * Exit code 1 where a case fails that `departures.ts` does not explain.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const VERSION = '0.4.5';
const SHA512 = 'DjuwN9nUZXLTW+wav1LRESCZNVxl8SshwOy4z1pxuWbWt5/ay6sM9QQ1lebBaDO6P1IMBoK6mdf+PuVP/QNL8A==';
const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const PAGE = join(ROOT, 'docs', 'standards.md');

const folder = mkdtempSync(join(tmpdir(), 'http-cache-tests-'));
try {
  execFileSync('npm', ['pack', '--silent', `http-cache-tests@${VERSION}`], {
    cwd: folder,
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const [archive] = readdirSync(folder);
  const bytes = readFileSync(join(folder, archive));
  if (createHash('sha512').update(bytes).digest('base64') !== SHA512)
    throw new Error(`${archive} is not the one that is known here`);
  execFileSync('tar', ['xzf', archive], { cwd: folder });
  const results = join(folder, 'results.json');
  const { status } = spawnSync('npx', ['vitest', 'run', 'test/http-cache/http-cache.test.ts'], {
    cwd: ROOT,
    stdio: ['ignore', 'inherit', 'inherit'],
    env: {
      ...process.env,
      HTTP_CACHE_TESTS: join(folder, 'package', 'tests', 'index.mjs'),
      HTTP_CACHE_RESULTS: results,
    },
  });
  const table = tableOf(JSON.parse(readFileSync(results, 'utf8')));
  process.stdout.write(`${table}\n`);
  if (process.argv.includes('--write')) write(table);
  process.exitCode = status ?? 1;
} finally {
  rmSync(folder, { recursive: true, force: true });
}

/** Groups with what passed of each kind, then the departures with how many cases each explains. */
function tableOf({ played, departures }) {
  const groups = [...new Set(played.map(({ group }) => group))];
  const share = (group, kind) => {
    const cases = played.filter((one) => (group === null || one.group === group) && one.kind === kind);
    const passed = cases.filter(({ result }) => result === 'passed').length;
    return cases.length === 0 ? '–' : `${passed} of ${cases.length}`;
  };
  const row = (name, group) =>
    `| ${name} | ${['required', 'optimal', 'check'].map((kind) => share(group, kind)).join(' | ')} |`;
  const why = departures.map((text, at) => {
    const ids = played.filter(({ departure }) => departure === at).map(({ id, kind }) => ({ id, kind }));
    const required = ids.filter(({ kind }) => kind === 'required').length;
    return `| ${ids.length} (${required}) | ${ids[0]?.id === undefined ? '' : `\`${ids[0].id}\``} | ${text} |`;
  });
  return [
    `http-cache-tests ${VERSION}, ${played.length} cases, Node ${process.versions.node.split('.')[0]}:`,
    '',
    '| Group | Required | Optimal | Either is right |',
    '|---|--:|--:|--:|',
    ...groups.map((group) => row(group, group)),
    row('**all**', null),
    '',
    '| Not passed (of them required) | One of them | Why |',
    '|--:|---|---|',
    ...why,
  ].join('\n');
}

function write(table) {
  const page = readFileSync(PAGE, 'utf8');
  const pattern = /(<!-- cache-tests:begin -->\n)[\s\S]*?(<!-- cache-tests:end -->)/;
  if (!pattern.test(page)) throw new Error(`${PAGE} has no place for the table`);
  writeFileSync(
    PAGE,
    page.replace(pattern, (_, begin, end) => `${begin}\n${table}\n\n${end}`),
  );
}
