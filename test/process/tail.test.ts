/** `dsp-gateway tail` beside a real gateway of two workers: lines of both, a lost connection, Ctrl-C. */
import { expect, it } from 'vitest';
import { runCli } from '../cli/run-cli.js';
import { newTeam, REPORT } from '../support/ask.js';
import { openRedisScene } from '../support/on-redis.js';
import { launchCli, startGateway } from '../support/processes.js';
import { waitFor } from '../support/wait-for.js';

const QUERY = 'advertiserId=1&dateFrom=2026-11-01&dateTo=2026-11-07';

it('shows the requests of a team from all workers, says what is lost, and ends with Ctrl-C', async () => {
  const { env: settings } = await openRedisScene({ WORKERS: '2' });
  const gateway = await startGateway(settings);
  const { key } = await newTeam(gateway, { id: 'growth' });
  const other = await newTeam(gateway, { id: 'media' });
  const env = { GATEWAY_ADMIN_URL: gateway.admin, ADMIN_TOKEN: 'an-admin-token-for-tests' };
  const ask = async (as: string) => {
    const headers = { 'x-api-key': as, connection: 'close' };
    const answer = await fetch(`${gateway.data}${REPORT}?${QUERY}`, { headers });
    await answer.arrayBuffer();
    return answer.headers.get('x-request-id');
  };
  const tail = launchCli(['tail', '--team', 'growth'], env);
  const json = launchCli(['tail', '--outcome', 'hit', '--json'], env);
  const asked = new Set<string>();
  await waitFor('a line', async () => {
    await ask(other.key);
    asked.add((await ask(key)) ?? '');
    return tail.stdout.includes('hit') && json.stdout.includes('"media"');
  });
  const lines = tail.stdout.trim().split('\n');
  expect(lines.every((line) => line.includes(`  growth        GET  ${REPORT}  `))).toBe(true);
  expect(lines.every((line) => asked.has(line.split('  ').at(-1) ?? ''))).toBe(true);
  expect(tail.stdout).not.toContain('\u001b');
  expect(tail.stdout).not.toContain('advertiserId');
  const first = JSON.parse(json.stdout.split('\n', 1)[0] as string) as Record<string, unknown>;
  expect(Object.keys(first)).toEqual(
    'at,team,key,method,path,status,outcome,platformCalls,ms,rows,bytes,requestId'.split(','),
  );
  expect(await json.end('SIGINT')).toEqual({ code: 0, signal: null });
  expect(json.stderr).toBe('');
  // An open tail does not hold up the stop.
  expect(await gateway.end('SIGTERM')).toEqual({ code: 0, signal: null });
  await waitFor('the loss to be told', () => tail.stderr.includes('reconnecting'), tail);
  expect(await tail.end('SIGINT')).toEqual({ code: 0, signal: null });
  expect(tail.stderr).toBe('lost the connection to the gateway; reconnecting\n');
  expect(await runCli(['tail'], env)).toMatchObject({ code: 69 });
});
