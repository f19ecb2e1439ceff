/** A client that is made of the documents: its types compile, hold what is sent, and the example of the docs runs. */
import { execFile } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { describedGateway } from '../api/openapi/described-gateway.js';
import { compile, generateTypes, neverIn, newApp } from '../api/openapi/generated-types.js';
import { failingFirst } from '../support/failing-first.js';
import { ROOT } from '../support/processes.js';

const run = promisify(execFile);

/** The TypeScript of docs/clients.md. */
async function example(): Promise<string> {
  const page = await readFile(join(ROOT, 'docs/clients.md'), 'utf8');
  return /```ts\n([\s\S]*?)```/.exec(page)?.[1] ?? '';
}

/** What the types must know: that codes are told apart, and which members there are. */
const OPERATOR = `
import createClient from 'openapi-fetch';
import type { components, paths } from './admin.js';

const client = createClient<paths>({ baseUrl: 'http://127.0.0.1:8081', headers: { authorization: 'Bearer x' } });

export async function issue(id: string): Promise<string> {
  const created = await client.POST('/admin/v1/teams', { body: { id, scopes: ['report:read'], advertisers: '*' } });
  if (created.error !== undefined && created.error.code !== 'conflict') throw new Error(created.error.detail);
  const issued = await client.POST('/admin/v1/teams/{id}/keys', { params: { path: { id } }, body: { label: 'x' } });
  if (issued.data === undefined) throw new Error(issued.error.errors?.[0]?.param ?? issued.error.code);
  return issued.data.key;
}

export async function verify(): Promise<components['schemas']['Token'] | null> {
  const { data } = await client.POST('/admin/v1/token/verify');
  return data?.pending ?? null;
}

export async function explain(query: string): Promise<string[]> {
  const { data } = await client.GET('/admin/v1/cache/explain', { params: { query: { endpoint: 'campaigns/get', query } } });
  return (data?.days ?? []).map(({ date, state }) => \`\${date} \${state}\`);
}
`;

/** Compiling takes its time on a busy machine. */
const PATIENCE_MS = 240_000;

/** What is generated from an answer whose members nobody described. */
const UNDESCRIBED = `export interface operations {
  getThing: { responses: { 200: { content: { 'application/json': Record<string, never> } } } };
}`;

it('the example of the docs compiles strictly against what it is generated from, runs and repeats; others do not', {
  timeout: PATIENCE_MS,
}, async () => {
  const { gateway, data, admin } = await describedGateway();
  const folder = await newApp();
  await writeFile(join(folder, 'thing.d.ts'), UNDESCRIBED);
  await Promise.all([
    generateTypes(folder, `${data.url}/openapi.json`, 'gateway.d.ts'),
    generateTypes(folder, `${admin.url}/openapi.json`, 'admin.d.ts'),
  ]);
  const program = await example();
  const programs = {
    'client.ts': program,
    'operator.ts': OPERATOR,
    'text.ts': program.replace('byDate: 1', "byDate: '1'"),
    'several.ts': `import type { paths } from './gateway.js';
      type Query = NonNullable<paths['/gateway/v1/changes']['get']['parameters']['query']>;
      export const all: Query[] = [{ advertiserId: 1, rows: 1 }, { advertiserId: [1, 2] }, { advertiserId: '1,2', rows: '1' }];`,
    'wrong-question.ts': program.replace('byDate: 1', "byDate: 'yes'"),
    'wrong-names.ts': program.replace('byDate: 1, _period:', "byDat: '1', _period: 'today', _perid:"),
    'added-name.ts': program
      .replace('byDate: 1', "byCreative: '1'")
      .replace('satisfies Query', "satisfies Query & { byCreative?: '1' }"),
    'columns.ts': program.replace(
      'Number(first?.spent)',
      'first?.spent satisfies number | string | null | undefined, first?.other',
    ),
    'wrong-column.ts': program.replace(
      'Number(first?.spent)',
      'first?.spend satisfies number | string | null | undefined',
    ),
    'wrong-answer.ts': program.replace('data.meta.rowCount', 'data.meta.rows'),
  };
  for (const [name, text] of Object.entries(programs)) await writeFile(join(folder, name), text);
  const compiled = compile(folder, [...Object.keys(programs), 'thing.d.ts']);
  expect(compiled.faults).toEqual({
    'wrong-question.ts': [expect.stringContaining('"yes"'), expect.stringContaining('"yes"')],
    'wrong-names.ts': [expect.stringContaining("'byDat' does not exist in type")],
    'wrong-column.ts': [expect.stringContaining("'unknown' does not satisfy")],
    'wrong-answer.ts': [expect.stringContaining("'rows' does not exist")],
  });
  expect([...neverIn(compiled, 'gateway.d.ts'), ...neverIn(compiled, 'admin.d.ts')]).toEqual([]);
  expect(neverIn(compiled, 'thing.d.ts')).toEqual([
    'thing.d.ts.getThing.responses.200.content.application/json[]',
  ]);

  const env = { PATH: process.env.PATH, GATEWAY_URL: data.url, DSP_GATEWAY_KEY: await gateway.addTeam() };
  const { stdout } = await run(process.execPath, ['client.js'], { cwd: folder, env });
  expect(stdout).toMatch(/^7 rows, as of 2026-11-21T12:00:\d\d\.\d{3}Z \{/);
  const failing = await failingFirst([502, 503]);
  const repeated = run(process.execPath, ['client.js'], {
    cwd: folder,
    env: { ...env, GATEWAY_URL: failing.url },
  });
  expect([(await repeated).stdout.slice(0, 6), failing.statuses]).toEqual(['1 rows', []]);
  const refused = run(process.execPath, ['client.js'], {
    cwd: folder,
    env: { ...env, DSP_GATEWAY_KEY: 'nonsense' },
  });
  await expect(refused).rejects.toThrow('invalid_api_key: ');
});
