/** The dashboard, asked of a real Prometheus that has scraped running gateways: each query parses and shows something. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { ask, newTeam, REPORT } from '../support/ask.js';
import { type Gateway, ROOT, startGateway, startPlatform } from '../support/processes.js';
import { type Prometheus, startPrometheus } from '../support/prometheus.js';

interface Target {
  readonly refId: string;
  readonly expr: string;
  readonly datasource: object;
}

interface Panel {
  readonly id: number;
  readonly type: string;
  readonly title: string;
  readonly description?: string;
  readonly targets?: readonly Target[];
}

interface Dashboard {
  readonly panels: readonly Panel[];
  readonly templating: { readonly list: readonly { readonly name: string; readonly definition?: string }[] };
}

const HELM = join(ROOT, 'helm', 'files');
const text = await readFile(join(HELM, 'dashboard.json'), 'utf8');
const dashboard = JSON.parse(text) as Dashboard;
const shown = dashboard.panels.filter(({ type }) => type !== 'row');
const queries = shown.flatMap(({ title, targets = [] }) =>
  targets.map(({ refId, expr }) => ({ name: `${title} ${refId}`, expr })),
);
const INSTALL_MS = 300_000;

/** What does not happen in a few seconds of traffic: old answers, lessons of finality, selections. */
const MAY_BE_EMPTY =
  /outcome="stale"|dsp_gateway_finality_events_total|dsp_gateway_selections_total|dsp_gateway_divisibility_events_total/;

/** An expression as Grafana sends it. */
const filled = (expr: string, job: string): string =>
  expr
    .replaceAll('$__rate_interval', '1m')
    .replaceAll('$__range', '1h')
    .replaceAll('$namespace', '.*')
    .replaceAll('$job', job);

it('every panel says what it shows, and asks the chosen Prometheus', () => {
  expect(new Set(dashboard.panels.map(({ id }) => id)).size).toBe(dashboard.panels.length);
  for (const { title, description = '', targets = [] } of shown) {
    expect([title, description.length > 5, targets.length > 0]).toEqual([title, true, true]);
    for (const { datasource, expr } of targets) {
      expect(datasource).toEqual({ type: 'prometheus', uid: expect.stringMatching(/^\$\{datasource\}$/) });
      expect(expr).toContain('namespace=~"$namespace",job=~"$job"');
    }
  }
});

describe('what Prometheus says', () => {
  let prometheus: Prometheus;
  let well: Gateway;
  let key: string;
  beforeAll(async () => {
    const platform = await startPlatform({ switches: { rateLimitPerMinute: 6000 } });
    const soon = new Date(Date.now() + 2 * 86_400_000).toISOString();
    const ill = await startGateway({ ...platform.env, PLATFORM_TOKEN_EXPIRES_AT: soon });
    well = await startGateway(platform.env);
    key = (await newTeam(well, { id: 'growth', advertisers: '*', scopes: ['report:read', 'platform:read'] }))
      .key;
    prometheus = await startPrometheus({
      global: { scrape_interval: '250ms', scrape_timeout: '250ms', evaluation_interval: '250ms' },
      rule_files: [join(HELM, 'rules.yaml')],
      scrape_configs: [job('dsp-gateway', well), job('dsp-gateway-ill', ill)],
    });
  }, INSTALL_MS);

  it('is something for every query that has something to say', async () => {
    let empty = queries.filter(({ expr }) => !MAY_BE_EMPTY.test(expr));
    const asked = empty.length;
    let round = 0;
    await expect
      .poll(
        async () => {
          round += 1;
          await traffic(well, key, round);
          const answers = await Promise.all(
            empty.map(async (one) => ({ one, samples: await prometheus.query(filled(one.expr, '.*')) })),
          );
          empty = answers
            .filter(({ samples }) => !samples.some(({ value }) => Number.isFinite(Number(value[1]))))
            .map(({ one }) => one);
          return empty.map(({ name }) => name);
        },
        { interval: 300 },
      )
      .toEqual([]);
    expect(asked).toBeGreaterThan(50);
  });

  it('is no error for any other, and names of metrics that are there', async () => {
    for (const { expr } of queries) await prometheus.query(filled(expr, '.*'));
    const metrics = await ask(`${well.admin}/metrics`);
    const names = new Set([...metrics.text.matchAll(/^# TYPE (\S+)/gm)].map(([, name]) => name));
    const rules = await readFile(join(HELM, 'rules.yaml'), 'utf8');
    const used = [...(text + rules).matchAll(/\bdsp_gateway_[a-z0-9_]+/g)].map(([name]) => name);
    // Absent while nobody has to act, as docs/metrics.md says.
    const known = (name: string) =>
      names.has(name.replace(/_bucket$/, '')) || name === 'dsp_gateway_token_expiry_warning_days';
    expect(used.length).toBeGreaterThan(100);
    expect(used.filter((name) => !known(name))).toEqual([]);
  });

  it('is a verdict: well, or to be acted on', async () => {
    const [verdict] = queries;
    const of = async (name: string) =>
      Number((await prometheus.query(filled(verdict?.expr ?? '', name)))[0]?.value[1]);
    expect(await of('dsp-gateway')).toBe(0);
    expect(await of('dsp-gateway-ill')).toBe(2);
  });

  it('fills the choices', async () => {
    const choices = dashboard.templating.list.flatMap(({ definition }) =>
      definition === undefined ? [] : [definition],
    );
    expect(choices).toHaveLength(2);
    for (const choice of choices) {
      const [, metric = '', label = ''] = /^label_values\((.*), (\w+)\)$/.exec(choice) ?? [];
      const samples = await prometheus.query(filled(metric, '.*'));
      expect(samples.map(({ metric: labels }) => typeof labels[label])).toEqual(['string', 'string']);
    }
  });
});

function job(name: string, { admin }: Gateway): object {
  return {
    job_name: name,
    static_configs: [{ targets: [new URL(admin).host], labels: { namespace: 'dsp' } }],
  };
}

/** Of every kind: a day that nobody has asked for, by two at once; the same again; in another form; nonsense. */
async function traffic({ data }: Gateway, key: string, round: number): Promise<void> {
  const day = new Date(Date.now() - (round + 10) * 86_400_000).toISOString().slice(0, 10);
  const query = `advertiserId=1&byDate=1&dateFrom=${day}&dateTo=${day}`;
  const get = (path: string) => ask(data + path, { key });
  await Promise.all([1, 2, 3].map(() => get(`${REPORT}?${query}`)));
  for (const more of ['', '&_format=csv', '&byDate=nonsense']) await get(`${REPORT}?${query}${more}`);
  await get('/api/v1/campaign/list?advertiserId=1');
}
