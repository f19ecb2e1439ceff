import { createClock } from '../lib/clock.js';
import { type Calls, createCalls } from './calls.js';
import { answerControl } from './control.js';
import { createEdge, type Edge } from './create-edge.js';
import { formatDay, momentAt, parseDay } from './days.js';
import type { Restatement } from './delivery.js';
import { createFaults, type Faults } from './faults.js';
import { calendarDay, checkMembers, InvalidInput, whole } from './invalid-input.js';
import { createPlatform, type Platform, sourceOf } from './platform.js';
import { readReportQuery } from './read-report-query.js';
import type { RestateRequest, Simulator, SimulatorOptions, TruthQuery } from './simulator-api.js';
import { patchSwitches } from './switches.js';
import { reportRows, type TruthRow } from './truth.js';

export type { Fault } from './faults.js';
export type { Simulator, SimulatorOptions, TruthQuery } from './simulator-api.js';

/**
 * Starts a DSP platform that implements the platform's document; unspecified behavior is a switch.
 * @throws InvalidInput for unknown switches, RangeError for an invalid seed or base path, and the system's error if it
 *   cannot listen
 */
export async function startSimulator(options: SimulatorOptions = {}): Promise<Simulator> {
  const { host = '127.0.0.1', port = 0, seed = 1, clock = createClock(), basePath = '' } = options;
  if (!Number.isSafeInteger(seed)) throw new RangeError(`seed: is ${seed}; allowed: a whole number`);
  if (!/^(\/[A-Za-z0-9._~-]+)*$/.test(basePath)) {
    throw new RangeError(`basePath: is ${JSON.stringify(basePath)}; allowed: '' or a path such as /dsp`);
  }
  const platform = createPlatform(seed, clock, options.switches ?? {});
  const calls = createCalls();
  const faults = createFaults();
  const edge = createEdge({
    platform,
    calls,
    faults,
    basePath,
    answerControl: (call) => answerControl(simulator, call),
  });
  const simulator = assemble(platform, calls, faults, edge);
  await edge.listen(host, port);
  return simulator;
}

function assemble(platform: Platform, calls: Calls, faults: Faults, edge: Edge): Simulator {
  const issueToken = () => platform.tokens.issue(platform.now(), platform.switches.tokenTtlSeconds);
  return {
    get url() {
      return edge.url;
    },
    account: platform.account,
    token: issueToken(),
    get switches() {
      return platform.switches;
    },
    set(patch) {
      platform.switches = patchSwitches(platform.switches, patch);
    },
    calls: calls.list,
    get callCount() {
      return calls.total;
    },
    clearCalls: calls.clear,
    fault: faults.add,
    get faults() {
      return faults.list();
    },
    clearFaults: faults.clear,
    revoke: platform.tokens.revoke,
    issueToken,
    restate(what) {
      platform.restatements = [...platform.restatements, readRestatement(what, platform)];
    },
    setOffset(offsetMs) {
      platform.offsetMs = offsetMs;
    },
    get offsetMs() {
      return platform.offsetMs;
    },
    now: platform.now,
    get today() {
      return formatDay(momentAt(platform.now(), platform.switches.timezone).today);
    },
    truth: (query, at = platform.now()) => truthAt(platform, query, at),
    close: edge.close,
  };
}

function readRestatement(what: RestateRequest, platform: Platform): Restatement {
  const advertiser = whole(1, Number.MAX_SAFE_INTEGER);
  checkMembers(what, { advertiserId: advertiser, from: calendarDay, to: calendarDay });
  const { advertiserId, from, to }: RestateRequest = what;
  const first = parseDay(from ?? '');
  const last = parseDay(to ?? '');
  return {
    at: platform.now(),
    sequence: platform.restatements.length + 1,
    ...(advertiserId === undefined ? {} : { advertiserId }),
    ...(first === undefined ? {} : { from: first }),
    ...(last === undefined ? {} : { to: last }),
  };
}

function truthAt(platform: Platform, asked: TruthQuery, at: number): TruthRow[] {
  const { today } = momentAt(at, platform.switches.timezone);
  const read = readReportQuery(new Map(Object.entries(asked)), today, false);
  if ('errors' in read) {
    const errors = Object.entries(read.errors);
    throw new InvalidInput(
      errors.map(([field, messages]) => ({ field, message: 'is refused', allowed: messages.join(' ') })),
    );
  }
  return reportRows(sourceOf(platform, read.query, at, new Set()), read.query);
}
