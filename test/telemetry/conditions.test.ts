import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { CONDITIONS } from '../../src/telemetry/conditions.js';
import { type Failures, NO_FAILURES } from '../../src/telemetry/failures.js';
import { createHealth } from '../../src/telemetry/health.js';
import type { Measured } from '../../src/telemetry/measured.js';
import { createMetrics } from '../../src/telemetry/metrics.js';
import { verdictOf } from '../../src/telemetry/verdict.js';
import { measured } from '../support/measured.js';
import { OWN_WORDS } from '../support/own-words.js';
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
  'platform: calls fail': { recentCalls: { lastMinutes: () => ({ calls: 10, failed: 3 }) } },
  'platform: paused': { pause: { leftMs: () => 90_000 } },
  'platform: most calls fail': { recentCalls: { lastMinutes: () => ({ calls: 20, failed: 11 }) } },
  'platform: failing': { circuit: { isOpen: true, failures: 10, leftMs: () => 9000 } },
  'slots: none free': { withoutSlot: () => 3 },
  'writes: stopped': { brake: { stops: () => ({ all: STOP, teams: [] }) } },
  'sign-in: provider away': { provider: { fault: () => 'OAUTH_TIMEOUT' } },
  'secrets: faulty': { secretFaults: () => [{ name: 'ADMIN_TOKEN_FILE', message: 'is empty' }] },
  'log: failing': { log: { health: () => ({ ok: false, droppedLines: 3 }) } },
  'clock: apart': { clock: { ...measured().clock, apartMs: -86_400_000 } },
  'settings: apart': { settingsApart: () => ['platform.timezone'] },
};

const { groups } = parse(await readFile(join(ROOT, 'helm', 'files', 'rules.yaml'), 'utf8')) as {
  groups: { rules: { alert: string; expr: string }[] }[];
};
const rules = groups.flatMap((group) => group.rules);

it('a store that is late is up: it is a warning to all readers, and wakes nobody', async () => {
  const { registry } = createMetrics(measured(HAVING['store: slow']));
  expect(await registry.getSingleMetricAsString('dsp_gateway_store_up')).toMatch(/^dsp_gateway_store_up 1$/m);
});

const healthOf = (gateway: Measured) =>
  createHealth(
    'me',
    () => gateway,
    () => ({ tokenId: null, tokenSince: null }),
    () => 0,
  );

describe('every condition', () => {
  it('is looked at below', () => {
    expect(Object.keys(HAVING)).toEqual(CONDITIONS.map(({ part, text }) => `${part}: ${text}`));
  });

  it.each(CONDITIONS)('$part: $text is told by process, verdict, gauge and alert', async (condition) => {
    const { part, text, level, gauge, alert } = condition;
    const ill = measured(HAVING[`${part}: ${text}`]);
    const worst = healthOf(ill).worst();
    if (part in worst) expect(worst[part as keyof typeof worst]).toMatch(new RegExp(`^${text}`));
    expect(verdictOf(ill, true, worst)).toMatchObject({ level, findings: [{ part, level }] });
    if (alert !== null) expect(rules.map((rule) => rule.alert)).toContain(alert);
    if (gauge === undefined) return;
    const shown = (gateway: Measured) => createMetrics(gateway).registry.getSingleMetricAsString(gauge.name);
    if (part !== 'credential') expect(await shown(ill)).not.toBe(await shown(measured()));
    expect(rules.find((rule) => rule.alert === alert)?.expr).toContain(gauge.name);
  });
});

const TOKEN = measured().outlook();
const OF_TOKEN = (state: string, changes: Partial<typeof TOKEN>): Partial<Measured> => ({
  outlook: () => ({ ...TOKEN, state, ...changes }),
});
const AWAY = { health: () => ({ ok: false, reason: 'connection refused' }) };
const NOON = Date.parse('2026-11-21T12:00:00.000Z');
const IN_A_ROW: Failures = {
  ...NO_FAILURES,
  ...{ failedAtMs: NOON, why: 'status 500', row: { calls: 3, sinceMs: NOON - 60_000, afterMs: null } },
};

/** What else a condition may be: its sentences differ. */
const VARIANTS: readonly Partial<Measured>[] = [
  ...Object.values(HAVING),
  { store: { kind: 'redis', ...AWAY } },
  { store: { kind: 'embedded', ...AWAY }, keysUntilMs: () => Date.parse('2026-11-21T15:00:00.000Z') },
  { store: { kind: 'redis', health: () => ({ ok: false, slow: true }) } },
  { store: { kind: 'redis', health: () => ({ ok: true }), memory: () => ({ full: true }) } },
  OF_TOKEN('expiring', { expiryKnown: false, renewsAt: '2027-10-01T00:00:00.000Z' }),
  OF_TOKEN('expired', { expiryKnown: false }),
  OF_TOKEN('refused', { refusedAt: STOP.at }),
  { ...OF_TOKEN('unproven', {}), awaitedProof: () => 'call' },
  { ...OF_TOKEN('unproven', {}), awaitedProof: () => 'report' },
  { circuit: { isOpen: true, failures: 1, leftMs: () => 0 } },
  { failures: () => IN_A_ROW },
  { brake: { stops: () => ({ all: null, teams: [{ team: 'growth', ...STOP }] }) } },
];
const ONE_SENTENCE = /^[A-Z](?:(?![.?!] ).)*[^.]\.$/;
const SETTING = /\b(?:auth|cache|platform|redis|report|server|store)\.[a-z]\w*/;

function findingsOf(changes: Partial<Measured>) {
  const ill = measured(changes);
  return verdictOf(ill, true, healthOf(ill).worst()).findings;
}

it('says of each condition in one sentence what is so, and in one what to do, in words of an operator', () => {
  const findings = VARIANTS.flatMap(findingsOf);
  expect(findings).toHaveLength(VARIANTS.length);
  for (const { says, do: what } of findings) {
    expect(says).toMatch(ONE_SENTENCE);
    expect(what).toMatch(ONE_SENTENCE);
    expect(`${says} ${what}`).not.toMatch(OWN_WORDS);
    expect(says).not.toMatch(SETTING);
  }
});

it.each<[Partial<Measured>, string]>([
  [
    { circuit: { isOpen: true, failures: 10, leftMs: () => 8500 } },
    'The platform is failing: 10 calls in a row failed, so only cached reports are served; no call is made for 9 s more.',
  ],
  [
    { failures: () => IN_A_ROW },
    'The last 3 calls of the platform failed, since 11:59 UTC: some reports that are not cached are answered with an error.',
  ],
  [
    { store: { kind: 'redis', ...AWAY } },
    'Redis is unavailable (connection refused): known keys are accepted until 16:15 UTC (15 minutes), and changes are refused.',
  ],
  [
    OF_TOKEN('expiring', { expiresAt: '2026-11-30T00:00:00.000Z' }),
    'The token expires on 2026-11-30 (in 8 days).',
  ],
])('tells numbers and times in words', (changes, says) => {
  expect(findingsOf(changes)[0]?.says).toBe(says);
});
