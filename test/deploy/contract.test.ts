/** The page of what may be relied on says what the gateway does: its codes, calls, headers, parameters and scopes. */
import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { CATALOGUE } from '../../src/errors.js';
import { GATEWAY_PARAMETERS } from '../../src/reports/query/parameters.js';
import { SCOPES } from '../../src/teams/auth/team.js';
import { withGateway } from '../support/start-gateway.js';

const PAGE = readFileSync(new URL('../../docs/contract.md', import.meta.url), 'utf8');

/** @returns the cells of the rows of the tables below a heading, up to the next one; markup aside */
function rowsBelow(heading: string): string[][] {
  const [, part = ''] = PAGE.split(`\n${heading}\n`);
  return (part.split('\n#')[0] ?? '')
    .split('\n')
    .filter((line) => line.startsWith('| ') && !line.startsWith('|--'))
    .map((line) => line.split(' | ').map((cell) => cell.replaceAll(/^\| | \|$/g, '').trim()))
    .slice(1);
}

const quoted = (text = '') => [...text.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name);

it('names every error with its status', () => {
  const told = rowsBelow('## Errors').flatMap(([status, codes]) =>
    quoted(codes).map((code) => `${status} ${code}`),
  );
  const are = Object.entries(CATALOGUE).map(
    ([code, { status }]) => `${code === 'upstream_rejected' ? '4xx' : status} ${code}`,
  );
  expect(told.toSorted()).toEqual(are.toSorted());
});

it('names every call that the planes describe of themselves', async () => {
  const gateway = await withGateway();
  const described = async (plane: typeof gateway.data) => {
    const { paths } = (await plane.inject({ url: '/openapi.json' })).json<{
      paths: Record<string, object>;
    }>();
    return Object.entries(paths).flatMap(([path, methods]) =>
      Object.keys(methods)
        .filter((method) => method !== 'head')
        .map((method) => `${method.toUpperCase()} ${path}`),
    );
  };
  const admin = rowsBelow('## Admin plane').flatMap(([calls]) => quoted(calls));
  expect(admin.filter((call) => call.includes('/admin/v1')).toSorted()).toEqual(
    (await described(gateway.admin)).filter((call) => call.includes('/admin/v1')).toSorted(),
  );
  const data = rowsBelow('## Data plane').flatMap(([calls]) => quoted(calls));
  const own = (await described(gateway.data)).filter((call) => !call.includes('/api/v1/'));
  expect(own.length).toBeGreaterThan(2);
  expect(data).toEqual(expect.arrayContaining(own));
  for (const call of data.filter((name) => name.startsWith('GET ') && !/[{*]/.test(name))) {
    expect([call, (await gateway.call(call.slice(4))).status]).not.toEqual([call, 404]);
  }
});

it('names the headers of an answer, and what they hold', async () => {
  const gateway = await withGateway();
  const { headers } = await gateway.report(
    await gateway.addTeam(),
    'advertiserId=1&byDate=1&_period=yesterday',
  );
  const told = rowsBelow('### Answer').flatMap(([names]) => quoted(names));
  const common = ['content-type', 'content-length', 'content-encoding', 'date', 'connection', 'keep-alive'];
  const sent = Object.keys(headers).filter((name) => !common.includes(name));
  expect(sent.length).toBeGreaterThan(5);
  expect(told).toEqual(expect.arrayContaining(sent));
  expect(PAGE).toContain(`\`${headers.vary}\``);
  const [, shown = '{}'] = /```json\n([\s\S]*?)```/.exec(PAGE) ?? [];
  const { meta } = JSON.parse(shown) as { meta: object };
  expect(Object.keys(meta).toSorted()).toEqual(
    Object.keys(
      (await gateway.report(await gateway.addTeam(), 'advertiserId=1&byDate=1&_period=yesterday')).json()
        .meta as object,
    ).toSorted(),
  );
});

it('names every parameter of the gateway and every scope', () => {
  const parameters = rowsBelow('### Parameters of a report').flatMap(([name]) => quoted(name));
  expect(parameters.toSorted()).toEqual([...GATEWAY_PARAMETERS].toSorted());
  expect(rowsBelow('### Scopes').flatMap(([name]) => quoted(name))).toEqual([...SCOPES]);
});
