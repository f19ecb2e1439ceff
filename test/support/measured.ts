/** A gateway that is well, as its conditions and gauges read it. */
import { NO_FAILURES } from '../../src/telemetry/failures.js';
import type { Measured } from '../../src/telemetry/measured.js';

export function measured(changes: Partial<Measured> = {}): Measured {
  return {
    clock: { now: () => Date.parse('2026-11-21T16:00:00.000Z'), apartMs: 0 },
    store: { kind: 'redis', health: () => ({ ok: true }) },
    registry: { loss: null },
    keysUntilMs: () => Date.parse('2026-11-21T16:15:00.000Z'),
    outlook: () => ({
      state: 'ok',
      expiresAt: '2027-11-01T00:00:00.000Z',
      refusedAt: null,
      expiryKnown: true,
      renewsAt: null,
      warningDays: null,
    }),
    canMint: false,
    awaitedProof: () => 'nothing',
    l1: { bytes: 0, entries: 0 },
    budget: { running: 0, queued: 0 },
    maxConcurrent: () => 8,
    pause: { leftMs: () => 0 },
    pace: { status: () => null, waitMs: () => 0 },
    recentCalls: { lastMinutes: () => ({ calls: 0, failed: 0 }) },
    failures: () => NO_FAILURES,
    recentReports: () => ({ all: 0, failed: 0 }),
    limitRefusals: () => [],
    refusedKeys: { list: () => [] },
    withoutSlot: () => 0,
    circuit: { isOpen: false, failures: 0, leftMs: () => 0 },
    isPaged: () => false,
    waitingReaders: () => 0,
    replicas: { count: 1 },
    settingsApart: () => [],
    secretFaults: () => [],
    provider: null,
    brake: { stops: () => ({ all: null, teams: [] }) },
    unknownWrites: { count: () => 0 },
    log: { health: () => ({ ok: true, droppedLines: 0 }) },
    ...changes,
  };
}
