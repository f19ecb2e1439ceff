import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { CONDITIONS } from '../../src/telemetry/conditions.js';
import { createHealth } from '../../src/telemetry/health.js';
import type { Measured } from '../../src/telemetry/measured.js';
import { createMetrics } from '../../src/telemetry/metrics.js';
import { verdictOf } from '../../src/telemetry/verdict.js';
import { measured } from '../support/measured.js';
import { ROOT } from '../support/processes.js';

const token = (state: string): Partial<Measured> => ({
  outlook: () => ({ ...measured().outlook(), state, warningDays: 3 }),
});
const store = (health: object, full = false): Partial<Measured> => ({
  store: { kind: 'embedded', health: () => ({ ok: true, ...health }), memory: () => ({ full }) },
});
const STOP = { by: 'ada', at: '2026-11-21T14:02:33.000Z', reason: 'budgets look wrong' };

/** How a gateway has each of them. */
const HAVING: Readonly<Record<string, Partial<Measured>>> = {
  'credential: unproven': token('unproven'),
  'credential: expiring': token('expiring'),
  'credential: expired': token('expired'),
  'credential: refused': token('refused'),
  'credential: missing': token('missing'),
  'store: history full': {
    store: { ...measured().store, days: { room: () => ({ excessBytes: 1 }) } },
  },
  'store: out of memory': store({}, true),
  'store: slow': store({ ok: false, slow: true }),
  'store: away': store({ ok: false }),
  'store: registry lost': { registry: { loss: {} } },
  'platform: answers in pages': { isPaged: () => true },
  'platform: some calls fail': { recentCalls: { lastMinutes: () => ({ calls: 10, failed: 3 }) } },
  'platform: paused': { pause: { leftMs: () => 90_000 } },
  'platform: most calls fail': { recentCalls: { lastMinutes: () => ({ calls: 20, failed: 11 }) } },
  'platform: failing': { circuit: { isOpen: true, leftMs: () => 0 } },
  'writes: stopped': { brake: { stops: () => ({ all: STOP, teams: [] }) } },
  'secrets: faulty': { secretFaults: () => [{ name: 'ADMIN_TOKEN_FILE', message: 'is empty' }] },
  'log: failing': { log: { health: () => ({ ok: false, droppedLines: 3 }) } },
};

const { groups } = parse(await readFile(join(ROOT, 'helm', 'files', 'rules.yaml'), 'utf8')) as {
  groups: { rules: { alert: string; expr: string }[] }[];
};
const rules = groups.flatMap((group) => group.rules);

it('a store that is late is up: it is a warning to all readers, and wakes nobody', async () => {
  const { registry } = createMetrics(measured(HAVING['store: slow']));
  expect(await registry.getSingleMetricAsString('dsp_gateway_store_up')).toMatch(/^dsp_gateway_store_up 1$/m);
});

describe('every condition', () => {
  it('is looked at below', () => {
    expect(Object.keys(HAVING)).toEqual(CONDITIONS.map(({ part, text }) => `${part}: ${text}`));
  });

  it.each(CONDITIONS)('$part: $text is told by process, verdict, gauge and alert', async (condition) => {
    const { part, text, level, gauge, alert } = condition;
    const ill = measured(HAVING[`${part}: ${text}`]);
    const held = { tokenId: null, tokenSince: null };
    const worst = createHealth(
      'me',
      () => ill,
      () => held,
      () => 0,
    ).worst();
    if (part in worst) expect(worst[part as keyof typeof worst]).toMatch(new RegExp(`^${text}`));
    expect(verdictOf(ill, true, worst)).toMatchObject({ level, findings: [{ part, level }] });
    if (alert !== null) expect(rules.map((rule) => rule.alert)).toContain(alert);
    if (gauge === undefined) return;
    const shown = (gateway: Measured) => createMetrics(gateway).registry.getSingleMetricAsString(gauge.name);
    if (part !== 'credential') expect(await shown(ill)).not.toBe(await shown(measured()));
    expect(rules.find((rule) => rule.alert === alert)?.expr).toContain(gauge.name);
  });
});
