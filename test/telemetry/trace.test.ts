/** Traces of requests, and the spans that are sent of them. */

import type { ExportResult } from '@opentelemetry/core';
import type { SpanExporter } from '@opentelemetry/sdk-trace';
import { describe, expect, it } from 'vitest';
import { collectorUrl } from '../../src/telemetry/open-tracing.js';
import { samplerOf, telling } from '../../src/telemetry/otel/start-tracing.js';
import { Trace, whyFailed } from '../../src/telemetry/trace.js';
import { createRecordedLog } from '../support/recorded-log.js';

describe('why a call timed out', () => {
  const late = { team: 'a', method: 'GET', outcome: 'timeout', status: null } as const;

  it.each([
    [
      'the wait, where a slot became free at the end',
      { durationMs: 20, waitedMs: 29_980, attempt: 1 },
      'waited 30 s for a free slot',
    ],
    [
      'the call, where it took most of the time',
      { durationMs: 25_000, waitedMs: 5000, attempt: 1 },
      'timed out after 25 s',
    ],
    [
      'the call, where an earlier attempt took the time',
      { durationMs: 1000, waitedMs: 29_000, attempt: 2 },
      'timed out after 1 s',
    ],
  ])('names %s', (_what, times, why) => {
    expect(whyFailed({ ...late, ...times })).toBe(why);
  });
});

describe('a trace', () => {
  it('adds up the platform calls of its request, and no other’s', () => {
    const [one, other] = [new Trace(), new Trace()];
    const call = { team: 'a', method: 'GET', outcome: 'answer', status: 200, attempt: 1 } as const;
    one.called({ ...call, durationMs: 20 });
    one.called({ ...call, durationMs: 22.5 });
    expect([one.platformCalls, one.platformMs, other.platformCalls, other.platformMs]).toEqual([
      2, 42.5, 0, 0,
    ]);
  });

  it('keeps the stages of its request in order, with the time since its beginning at which each ended', () => {
    let nowMs = 1000;
    const trace = new Trace(() => nowMs);
    for (const stage of ['admit', 'acquire', 'acquire', 'fetch'] as const) {
      nowMs += 5;
      trace.mark(stage);
    }
    expect(trace.stages).toEqual([
      { stage: 'admit', endedMs: 5 },
      { stage: 'acquire', endedMs: 10 },
      { stage: 'acquire', endedMs: 15 },
      { stage: 'fetch', endedMs: 20 },
    ]);
  });

  it('keeps a hundred of them, and no more', () => {
    const trace = new Trace();
    for (let n = 0; n < 150; n++) trace.mark('fetch');
    expect(trace.stages).toHaveLength(100);
  });
});

const OTHER = { serviceName: 's', sampler: 'always_on', samplerArg: '1', disabled: false };

describe('the address of the collector', () => {
  it.each([
    ['http://c:4318', 'http://c:4318/v1/traces'],
    ['http://c:4318/', 'http://c:4318/v1/traces'],
    ['https://c/otlp', 'https://c/otlp/v1/traces'],
  ])('%s is a base: %s', (endpoint, url) => {
    expect(collectorUrl({ ...OTHER, endpoint })).toBe(url);
  });

  it('for spans alone stands as it is, and wins', () => {
    const both = { ...OTHER, endpoint: 'http://c', tracesEndpoint: 'http://d/x' };
    expect(collectorUrl(both)).toBe('http://d/x');
    expect(collectorUrl({ ...both, disabled: true })).toBeNull();
    expect(collectorUrl(OTHER)).toBeNull();
  });
});

it('samplers go by the names of the specification', () => {
  expect(
    [
      'always_on',
      'always_off',
      'traceidratio',
      'parentbased_always_on',
      'parentbased_always_off',
      'parentbased_traceidratio',
    ].map((name) => samplerOf(name, 0.25).toString().split(', remote')[0]),
  ).toEqual([
    'AlwaysOnSampler',
    'AlwaysOffSampler',
    'TraceIdRatioBased{0.25}',
    'ParentBased{root=AlwaysOnSampler',
    'ParentBased{root=AlwaysOffSampler',
    'ParentBased{root=TraceIdRatioBased{0.25}',
  ]);
});

it('what the collector does not take is told once a minute, with how much it was, and that it is over', () => {
  let nowMs = 0;
  let result: ExportResult = { code: 1, error: new Error('refused') };
  const log = createRecordedLog();
  const inner = { export: (_spans, done) => done(result), shutdown: async () => {} } satisfies SpanExporter;
  const exporter = telling(inner, log.logger, () => nowMs);
  const results: number[] = [];
  const send = () => exporter.export([{}, {}] as never, ({ code }) => void results.push(code));
  for (nowMs of [0, 30_000, 59_999, 60_000]) send();
  result = { code: 0 };
  send();
  send();
  // Whoever hands them over is told of no failure: nobody could do anything about it.
  expect(results).toEqual([0, 0, 0, 0, 0, 0]);
  expect(log.lines.map((line) => JSON.stringify(line).match(/"spans":\d+/)?.[0])).toEqual([
    '"spans":2',
    '"spans":8',
    '"spans":8',
  ]);
});
