import { describe, expect, it } from 'vitest';
import type { Measured } from '../../src/telemetry/measured.js';
import { createMetrics } from '../../src/telemetry/metrics.js';
import { measured } from '../support/measured.js';

function open(changes: Partial<Measured> = {}) {
  return createMetrics(
    measured({
      outlook: () => ({
        ...measured().outlook(),
        expiresAt: '2027-11-21T12:00:00.000Z',
        expiryKnown: false,
        warningDays: 14,
      }),
      l1: { bytes: 12, entries: 3 },
      budget: { running: 2, queued: 5 },
      pace: { status: () => ({ limit: 60, remaining: 41 }), waitMs: () => 250 },
      pause: { leftMs: () => 1500 },
      ...changes,
    }),
  );
}

/** The samples of the exposition text, by name with labels. */
async function samples(metrics: ReturnType<typeof createMetrics>): Promise<Map<string, number>> {
  const text = await metrics.registry.metrics();
  const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  return new Map(
    lines.map((line) => [
      line.slice(0, line.lastIndexOf(' ')),
      Number(line.slice(line.lastIndexOf(' ') + 1)),
    ]),
  );
}

describe('createMetrics', () => {
  it('measures the process once, however many gateways are made in it', async () => {
    const [one, two] = [open(), open()];
    const shared = (await samples(one)).keys();
    const names = [...shared].map((sample) => sample.replace(/\{.*/, ''));
    for (const name of ['dsp_gateway_nodejs_eventloop_lag_p99_seconds', 'dsp_gateway_process_open_fds']) {
      expect(names).toContain(name);
      expect(two.registry.getSingleMetric(name)).toBe(one.registry.getSingleMetric(name));
    }
    const garbage = 'dsp_gateway_nodejs_gc_duration_seconds';
    expect(two.registry.getSingleMetric(garbage)).toBe(one.registry.getSingleMetric(garbage));
    expect(two.registry.getSingleMetric('dsp_gateway_requests_total')).not.toBe(
      one.registry.getSingleMetric('dsp_gateway_requests_total'),
    );
  });

  it('counts requests by plane, status, outcome and team, and times them', async () => {
    const metrics = open();
    metrics.request('data', 200, 'hit', 'growth', 2);
    metrics.request('data', 200, 'hit', 'growth', 30);
    metrics.request('admin', 404, 'error', null, 1);
    const read = await samples(metrics);
    expect(
      read.get('dsp_gateway_requests_total{plane="data",status="200",outcome="hit",team="growth"}'),
    ).toBe(2);
    expect(read.get('dsp_gateway_requests_total{plane="admin",status="404",outcome="error",team=""}')).toBe(
      1,
    );
    const seconds = 'dsp_gateway_request_duration_seconds';
    expect(read.get(`${seconds}_count{plane="data",outcome="hit"}`)).toBe(2);
    expect(read.get(`${seconds}_sum{plane="data",outcome="hit"}`)).toBeCloseTo(0.032);
    expect(read.get(`${seconds}_bucket{le="0.0025",plane="data",outcome="hit"}`)).toBe(1);
  });

  it('counts hits by where they were found, calls saved by team, and problems by code', async () => {
    const metrics = open();
    metrics.count('report_hits', { tier: 'store' });
    metrics.count('platform_calls_saved', { team: 'growth' }, 2);
    metrics.count('platform_calls_saved', { team: 'growth' }, 1);
    // An answer that cost as much as it would have without the gateway, or more.
    metrics.count('platform_calls_saved', { team: 'idle' }, 0);
    metrics.count('platform_calls_saved', { team: 'idle' }, -1);
    metrics.count('problems', { plane: 'data', code: 'invalid_query' });
    const read = await samples(metrics);
    expect(
      Object.fromEntries([...read].filter(([name]) => /_(hits|saved|problems)_total/.test(name))),
    ).toEqual({
      'dsp_gateway_report_hits_total{tier="l1"}': 0,
      'dsp_gateway_report_hits_total{tier="store"}': 1,
      'dsp_gateway_platform_calls_saved_total{team="growth"}': 3,
      'dsp_gateway_problems_total{plane="data",code="invalid_query"}': 1,
    });
  });

  it('shows from the start, as 0, what an alert looks for the first of', async () => {
    const read = await samples(open());
    for (const name of [
      'store_faults_total{kind="damaged"}',
      'truth_days_total{verdict="wrong"}',
      'history_days_total{event="missed"}',
      'report_columns_changed_total{change="removed"}',
      'registry_losses_total{outcome="left"}',
    ])
      expect([name, read.get(`dsp_gateway_${name}`)]).toEqual([name, 0]);
  });

  it('shows the slots of this process, and the rate of the platform while it shows one', async () => {
    const shown = (read: Map<string, number>) =>
      Object.fromEntries([...read].filter(([name]) => /platform_(slots|rate)/.test(name)));
    expect(shown(await samples(open()))).toEqual({
      dsp_gateway_platform_slots: 8,
      dsp_gateway_platform_rate_limit_calls: 60,
      dsp_gateway_platform_rate_remaining_calls: 41,
    });
    expect(shown(await samples(open({ pace: { status: () => null, waitMs: () => 0 } })))).toEqual({
      dsp_gateway_platform_slots: 8,
    });
  });

  it('counts every try of a platform call, by outcome and by who pays', async () => {
    const metrics = open();
    const call = { team: 'growth', method: 'GET', status: 200, durationMs: 100, attempt: 1 };
    metrics.platformCall({ ...call, outcome: 'answer' });
    metrics.platformCall({ ...call, outcome: 'failed', status: 500 });
    metrics.platformCall({ ...call, outcome: 'failed', status: 502 });
    const read = await samples(metrics);
    expect(read.get('dsp_gateway_platform_calls_total{outcome="answer",team="growth"}')).toBe(1);
    expect(read.get('dsp_gateway_platform_calls_total{outcome="failed",team="growth"}')).toBe(2);
    expect(read.get('dsp_gateway_platform_call_duration_seconds_sum{outcome="failed"}')).toBeCloseTo(0.2);
  });

  it('counts faults of the store by kind', async () => {
    const metrics = open();
    metrics.count('store_faults', { kind: 'damaged' });
    expect((await samples(metrics)).get('dsp_gateway_store_faults_total{kind="damaged"}')).toBe(1);
  });

  it('shows the present state when it is asked', async () => {
    const read = await samples(open());
    expect(
      Object.fromEntries(
        [...read].filter(([name]) =>
          /_(token|store_up|l1|platform_(calls_(running|queued)|pause))/.test(name),
        ),
      ),
    ).toEqual({
      dsp_gateway_token_expiry_timestamp_seconds: Date.parse('2027-11-21T12:00:00Z') / 1000,
      dsp_gateway_token_expiry_known: 0,
      dsp_gateway_token_expiry_warning_days: 14,
      dsp_gateway_store_up: 1,
      dsp_gateway_l1_bytes: 12,
      dsp_gateway_l1_entries: 3,
      dsp_gateway_platform_calls_running: 2,
      dsp_gateway_platform_calls_queued: 5,
      dsp_gateway_platform_pause_seconds: 1.5,
    });
  });

  it('follows the state, and shows no expiry where there is no token', async () => {
    let expiresAt: string | null = '1970-01-01T00:00:05Z';
    let up = true;
    const metrics = open({
      outlook: () => ({ ...measured().outlook(), expiresAt, expiryKnown: null }),
      store: { kind: 'redis', health: () => ({ ok: up }) },
      log: { health: () => ({ ok: up, droppedLines: up ? 0 : 7 }) },
    });
    expect((await samples(metrics)).get('dsp_gateway_token_expiry_timestamp_seconds')).toBe(5);
    expiresAt = null;
    up = false;
    const read = await samples(metrics);
    expect(read.has('dsp_gateway_token_expiry_timestamp_seconds')).toBe(false);
    expect(read.get('dsp_gateway_store_up')).toBe(0);
    expect(read.get('dsp_gateway_log_dropped_lines_total')).toBe(7);
  });

  it('has the metrics of the process, under its own name', async () => {
    const names = [...(await samples(open())).keys()];
    expect(names.some((name) => name.startsWith('dsp_gateway_process_resident_memory_bytes'))).toBe(true);
    expect(names.every((name) => name.startsWith('dsp_gateway_'))).toBe(true);
  });
});
