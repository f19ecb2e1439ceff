/** What the metrics tell of requests is what their answers say, by whichever way they are given. */
import { expect, it } from 'vitest';
import { listenGateway } from '../support/listen-gateway.js';
import { REPORT, type TestGateway, withGateway } from '../support/start-gateway.js';

async function counts({ services }: TestGateway): Promise<Record<string, number>> {
  const text = await services.metrics.registry.metrics();
  const lines = text.split('\n').filter((line) => /_(hits|saved|problems)_total\{/.test(line));
  return Object.fromEntries(
    lines.map((line) => [
      line.slice('dsp_gateway_'.length, line.lastIndexOf(' ')),
      Number(line.split(' ').at(-1)),
    ]),
  );
}

it.each([true, false])('hits by tier, calls saved, problems; answered at once: %s', async (fastPath) => {
  const gateway = await withGateway({ logLevel: 'info', config: { server: { fastPath } } });
  const key = await gateway.addTeam();
  const url = await listenGateway(gateway);
  const ask = (query: string) => fetch(`${url}${REPORT}?${query}`, { headers: { 'x-api-key': key } });
  const query = 'advertiserId=1&byDate=1&_period=yesterday';
  const said: (string | null)[] = [];
  for (const one of [query, query, `${query}&_format=csv`, 'advertiserId=1&byDate=maybe']) {
    const answer = await ask(one);
    await answer.text();
    said.push(answer.headers.get('cache-status'));
  }
  expect(said.slice(0, 3)).toEqual([
    expect.stringContaining('fwd=miss'),
    expect.stringContaining('detail=l1'),
    expect.stringContaining('detail=store'),
  ]);
  await expect
    .poll(() => counts(gateway))
    .toEqual({
      'report_hits_total{tier="l1"}': 1,
      'report_hits_total{tier="store"}': 1,
      'platform_calls_saved_total{team="team-1"}': 2,
      'problems_total{plane="data",code="invalid_query"}': 1,
    });
});
