/** The documentation says what is so: its links lead somewhere, its names exist, its tables are those of the code. */
import { existsSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { listSettings } from '../../src/config/settings.js';
import { type Outcome, writeCacheStatus } from '../../src/outcome.js';
import { createMetrics } from '../../src/telemetry/metrics.js';
import { ask } from '../support/ask.js';
import { measured } from '../support/measured.js';
import { launchCli, ROOT, startGateway } from '../support/processes.js';
import { errorsPage, replacePart, switchesTable } from './pages.js';

interface Page {
  /** From the repository's root. */
  readonly path: string;
  readonly text: string;
}

let pages: Page[];
const page = (path: string): string => pages.find((one) => one.path === path)?.text ?? '';

beforeAll(async () => {
  const below = await readdir(join(ROOT, 'docs'), { recursive: true });
  const paths = [
    'README.md',
    'CONTRIBUTING.md',
    'SECURITY.md',
    'CHANGELOG.md',
    ...below.map((name) => join('docs', name)),
  ];
  const markdown = paths.filter((path) => path.endsWith('.md'));
  pages = await Promise.all(
    markdown.map(async (path) => ({ path, text: await readFile(join(ROOT, path), 'utf8') })),
  );
});

/** Every match of a pattern's first group, with the page it is on. */
function mentions(pattern: RegExp): { readonly path: string; readonly found: string }[] {
  return pages.flatMap(({ path, text }) =>
    [...text.matchAll(pattern)].map((match) => ({ path, found: match[1] as string })),
  );
}

describe('links', () => {
  it('lead to files that are there, and to headings that are on them', () => {
    const dead = mentions(/\]\(([^)\s]+)\)/g).filter(({ path, found }) => {
      if (/^https:\/\//.test(found)) return false;
      const [file = '', anchor] = found.split('#', 2);
      const target = file === '' ? path : relative(ROOT, join(ROOT, dirname(path), file));
      if (!existsSync(join(ROOT, target))) return true;
      return anchor !== undefined && !anchorsOf(page(target)).includes(anchor);
    });
    expect(dead).toEqual([]);
  });

  it('reach every page from the README', () => {
    const seen = new Set<string>();
    const walk = (path: string): void => {
      if (seen.has(path)) return;
      seen.add(path);
      for (const [, target = ''] of page(path).matchAll(/\]\(([^)#\s]+\.md)[^)]*\)/g))
        walk(join(dirname(path), target));
    };
    walk('README.md');
    expect(pages.map(({ path }) => path).filter((path) => !seen.has(path))).toEqual([]);
  });
});

describe('names', () => {
  it('of settings are those the gateway reads', () => {
    const settings = listSettings().flatMap(({ env, secret }) =>
      env === undefined ? [] : secret ? [env, `${env}_FILE`] : [env],
    );
    const others = [
      'GATEWAY_CONFIG',
      'GATEWAY_ADMIN_URL',
      'DSP_GATEWAY_KEY',
      // Of the clients, and of DuckDB in one of them.
      'DSP_GATEWAY_URL',
      'EXTRA_HTTP_HEADERS',
      'HTTP_PROXY',
      'HTTPS_PROXY',
      'NO_PROXY',
      'NO_COLOR',
      'NODE_EXTRA_CA_CERTS',
      'ADMIN_TOKEN_OPS',
      'NAME_FILE',
      'NODE_ENV',
      'REDIS_SERVER',
      'HARDENING_MINUTES',
      'HELM',
      'SIGTERM',
      'CONTAINER',
      // Of an earlier release.
      'HITS_ON_SOCKET',
    ];
    const methods = ['GET', 'HEAD', 'POST', 'PATCH', 'PUT', 'DELETE', 'LICENSE'];
    const known = [...settings, ...others, ...methods];
    const unknown = mentions(/[`\s]([A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+)(?=[`=,\s])/g).filter(
      ({ found }) => !known.includes(found),
    );
    expect(unknown).toEqual([]);
    expect(mentions(/`(PLATFORM_[A-Z_]+)`/g).length).toBeGreaterThan(20);
  });

  it('of settings in the YAML are places in it', () => {
    const removed = ['server.hitsOnSocket', 'platform.answerBufferBytes', 'platform.weights'];
    const places = [...listSettings().map(({ path }) => path), ...removed];
    const groups = ['server', 'platform', 'report', 'cache', 'redis', 'store', 'history', 'finality', 'auth'];
    const unknown = mentions(
      /`((?:server|platform|report|cache|redis|store|history|finality|auth)\.[A-Za-z.]+)`/g,
    ).filter(({ found }) => !places.includes(found) && !groups.includes(found));
    expect(unknown).toEqual([]);
  });

  it('of files are files', () => {
    const files = mentions(/`((?:src|test|helm|config|docs|bench)\/[\w./-]*)`/g);
    expect(files.filter(({ found }) => !existsSync(join(ROOT, found)))).toEqual([]);
    const stages = [
      ...page('docs/architecture.md').matchAll(/^ +[a-z][a-z0-9, ]* {2,}((?:[\w-]+\/)+[\w-]+\.ts) /gim),
    ];
    expect(stages.length).toBeGreaterThan(10);
    expect(stages.filter(([, file = '']) => !existsSync(join(ROOT, 'src', file)))).toEqual([]);
  });

  it('of npm scripts and commands exist', async () => {
    const { scripts } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8')) as {
      scripts: Record<string, string>;
    };
    const run = mentions(/npm run\s+([a-z:]+)/g).filter(({ found }) => scripts[found] === undefined);
    expect(run).toEqual([]);
    const help = launchCli(['--help']);
    expect((await help.exited).code).toBe(0);
    const commands = mentions(/(?:dsp-gateway|dist\/cli\.js) ([a-z]+)\b(?=[ `\n])/g);
    const unknown = commands.filter(({ found }) => !new RegExp(`^ {2}${found}\\b`, 'm').test(help.stdout));
    expect(unknown).toEqual([]);
    expect(commands.length).toBeGreaterThan(3);
  });

  it('of calls are routes of a running gateway', async () => {
    const gateway = await startGateway({
      PLATFORM_BASE_URL: 'http://127.0.0.1:9',
      GATEWAY_TEST_CLOCK: '1',
    });
    const paths = await Promise.all(
      [gateway.admin, gateway.data].map(async (plane) => {
        const { paths } = (await ask(`${plane}/openapi.json`)).json<{ paths: Record<string, object> }>();
        return Object.entries(paths).flatMap(([path, methods]) =>
          Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
        );
      }),
    );
    const calls = [...mentions(/`((?:GET|POST|PATCH|PUT|DELETE) \/admin\/v1\/[\w/{}]+)`/g)];
    expect(calls.length).toBeGreaterThan(1);
    expect(calls.filter(({ found }) => !paths.flat().includes(found))).toEqual([]);
    const below = mentions(/\$ADMIN\/([\w/-]+)/g).map(({ found }) => found);
    const pattern = (path: string) => new RegExp(`^\\w+ ${path.replaceAll(/\{\w+\}/g, '[\\w-]+')}$`);
    const known = (call: string) =>
      paths.flat().some((path) => pattern(path.split(' ')[1] as string).test(`X /admin/v1/${call}`));
    expect(below.length).toBeGreaterThan(8);
    expect(below.filter((call) => !known(call))).toEqual([]);
  });
});

describe('tables', () => {
  it('of errors are the catalogue', async () => {
    await expect(errorsPage()).toMatchFileSnapshot(join(ROOT, 'docs', 'errors.md'));
  });

  it('of switches are those of the simulator', async () => {
    const text = replacePart(page('docs/simulator.md'), 'switches', switchesTable());
    await expect(text).toMatchFileSnapshot(join(ROOT, 'docs', 'simulator.md'));
  });

  it('of metrics name each one with its type and labels', async () => {
    const { registry } = createMetrics(measured());
    const metrics = registry
      .getMetricsAsArray()
      .map((metric) => metric as unknown as { name: string; type: string; labelNames: string[] })
      .filter(({ name }) => !/^dsp_gateway_(process|nodejs)_/.test(name));
    const rows = metrics.map(({ name, labelNames }) => {
      const labels = labelNames.map((label) => `\`${label}\``).join(', ');
      return { name, labels };
    });
    const shown = [...page('docs/metrics.md').matchAll(/^\| `(dsp_gateway_\w+)` \| (\w+) \|([^|]*)\|/gm)];
    expect(shown.map(([, name, , labels]) => ({ name, labels: labels?.trim() })).sort(byName)).toEqual(
      rows.sort(byName),
    );
    const text = await registry.metrics();
    for (const [, name, type] of shown) expect(text).toContain(`# TYPE ${name} ${type}`);
    const used = mentions(/(dsp_gateway_[a-z0-9_]+)/g).filter(
      ({ found }) =>
        !metrics.some(({ name }) => found.replace(/_bucket$/, '') === name) && found !== 'dsp_gateway_',
    );
    expect(used).toEqual([]);
  });

  it('of outcomes show the header as it is written', () => {
    const shown = new Map(
      [...page('docs/caching.md').matchAll(/^\| `([a-z-]+)` \| (?:`([^`]+)`|–) \|/gm)].map(
        ([, outcome, header]) => [outcome, header],
      ),
    );
    const TTL: Record<Outcome, number> = {
      hit: 512,
      stale: -40,
      'stale-if-error': -40,
      miss: 0,
      refresh: 0,
      forced: 0,
      collapsed: 0,
      pass: 0,
      replay: 0,
      error: 0,
    };
    expect([...shown.keys()]).toEqual(Object.keys(TTL));
    for (const [outcome, ttlS] of Object.entries(TTL) as [Outcome, number][]) {
      if (outcome === 'error') continue;
      const header = writeCacheStatus({
        outcome,
        ttlS,
        tier: 'l1',
        stored: true,
        degraded: false,
        days: null,
      });
      expect(`dsp-gateway; ${shown.get(outcome)}`).toBe(header);
    }
  });

  it('of rooms name every room', async () => {
    const entries = await readdir(join(ROOT, 'src'), { recursive: true });
    const files = entries.filter((name) => name.endsWith('.ts'));
    const names = new Set(files.map((name) => name.replace(/\/.*/, '/')));
    const shown = page('docs/architecture.md').split('## Rooms')[1] ?? '';
    expect([...names].filter((name) => !shown.includes(`\`${name}\``))).toEqual([]);
  });

  it('of decisions are in the index by number, which names the numbers that were never given', () => {
    const records = pages.flatMap(({ path }) => /^docs\/adr\/(\d{4}-.*)$/.exec(path)?.[1] ?? []);
    const index = page('docs/adr/index.md');
    const rows = [...index.matchAll(/^\| \[(\d+)\]\((.*?)\)/gm)].map(([, number, file]) => ({
      number,
      file,
    }));
    expect(rows.map(({ file }) => file)).toEqual([...records].sort());
    expect(rows.map(({ file }) => file?.slice(0, 4))).toEqual(
      rows.map(({ number }) => number?.padStart(4, '0')),
    );
    const given = new Set(rows.map(({ number }) => Number(number)));
    const missing = Array.from({ length: Math.max(...given) }, (_, at) => at + 1).filter(
      (n) => !given.has(n),
    );
    const [told = ''] = /[Nn]umbers? [\d, and]+ (?:was|were) never given/.exec(index) ?? [];
    expect([...told.matchAll(/\d+/g)].map(Number)).toEqual(missing);
  });

  it('of decisions name every library', async () => {
    const { dependencies, devDependencies } = JSON.parse(
      await readFile(join(ROOT, 'package.json'), 'utf8'),
    ) as {
      dependencies: object;
      devDependencies: object;
    };
    const records = pages.filter(({ path }) => path.startsWith('docs/adr/')).map(({ text }) => text);
    const silent = [...Object.keys(dependencies), ...Object.keys(devDependencies)].filter(
      (name) => !records.some((text) => text.includes(`\`${name}\``)),
    );
    expect(silent).toEqual([]);
  });
});

function byName(left: { name: string | undefined }, right: { name: string | undefined }): number {
  return (left.name ?? '') < (right.name ?? '') ? -1 : 1;
}

/** Headings as GitHub makes anchors of them. */
function anchorsOf(text: string): string[] {
  return [...text.matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  );
}
