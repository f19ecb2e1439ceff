import type { Clock } from '../lib/clock.js';
import type { Calls } from './calls.js';
import { formatDay, momentAt, parseDay } from './days.js';
import type { Restatement } from './delivery.js';
import type { Faults } from './faults.js';
import { calendarDay, checkMembers, InvalidInput, whole } from './invalid-input.js';
import { type Platform, sourceOf } from './platform.js';
import { readReportQuery } from './read-report-query.js';
import { patchSwitches, type Switches } from './switches.js';
import { reportRows, type TruthRow } from './truth.js';

export interface SimulatorOptions {
  /** Address to listen on; `127.0.0.1`. */
  readonly host?: string;
  /** 0 = any free port, which is the default. */
  readonly port?: number;
  /** A whole number that determines data and secrets; default 1. */
  readonly seed?: number;
  /** Default: the machine's clock. */
  readonly clock?: Clock;
  readonly switches?: Partial<Switches>;
  /** Prefix of all paths, such as `/dsp`; default none. */
  readonly basePath?: string;
}

/** A campaign report, by the platform's parameter names. Default dates: the last seven days. */
export interface TruthQuery {
  /** Absent: all advertisers. */
  readonly advertiserId?: number | readonly number[];
  /** `YYYY-MM-DD`, both included. */
  readonly dateFrom?: string;
  readonly dateTo?: string;
  readonly byDate?: boolean;
  readonly byCampaign?: boolean;
  readonly spentBased?: 'usd' | 'local';
  readonly campaignIds?: readonly number[];
}

/** The scope of `restate`: everything, or an advertiser and days (both ends included). */
export interface RestateRequest {
  readonly advertiserId?: number;
  readonly from?: string;
  readonly to?: string;
}

/** The platform's HTTP server. */
type Server = { readonly url: string; close(): Promise<void> };

/** A running platform. Everything but `url` and `close` is also available over HTTP, below `/_sim`. */
export type Simulator = ReturnType<typeof assemble>;

export function assemble(platform: Platform, calls: Calls, faults: Faults, edge: Server) {
  const issueToken = () => platform.tokens.issue(platform.now(), platform.switches.tokenTtlSeconds);
  return {
    /** Such as `http://127.0.0.1:41234`, with the base path. */
    get url() {
      return edge.url;
    },
    /** The parent account's credentials for the token request. */
    account: platform.account,
    /** A valid token as copied from the dashboard. */
    token: issueToken(),
    get switches() {
      return platform.switches;
    },
    /** @throws InvalidInput for unknown switches or values, without changes */
    set(patch: Partial<Switches>): void {
      platform.switches = patchSwitches(platform.switches, patch);
    },
    /** Calls to the platform, oldest first, at least the newest 20,000; without calls below `/_sim`. */
    calls: calls.list,
    /** Number of platform calls, also those no longer in `calls`. */
    get callCount() {
      return calls.total;
    },
    clearCalls: calls.clear,
    /** Queues a fault. @throws InvalidInput */
    fault: faults.add,
    get faults() {
      return faults.list();
    },
    clearFaults: faults.clear,
    /** Revokes a token, or all. @throws RangeError if it was never issued */
    revoke: platform.tokens.revoke,
    /** @returns another valid token, like a rotation in the dashboard; older ones stay valid */
    issueToken,
    /** Late data: raises the numbers of these days now. @throws InvalidInput */
    restate(what: RestateRequest): void {
      platform.restatements = [...platform.restatements, readRestatement(what, platform)];
    },
    setOffset(offsetMs: number): void {
      platform.offsetMs = offsetMs;
    },
    get offsetMs() {
      return platform.offsetMs;
    },
    /** Epoch milliseconds, with the offset. */
    now: platform.now,
    /** `YYYY-MM-DD`, in the platform's time zone. */
    get today() {
      return formatDay(momentAt(platform.now(), platform.switches.timezone).today);
    },
    /**
     * The correct rows, without effects of switches.
     * @param at epoch milliseconds; default now
     * @throws InvalidInput if the platform would refuse the query
     */
    truth: (query: TruthQuery, at = platform.now()) => truthAt(platform, query, at),
    /** Ends all connections and pauses. */
    close: edge.close,
  };
}

function readRestatement(what: RestateRequest, platform: Platform): Restatement {
  const advertiser = whole(1, Number.MAX_SAFE_INTEGER);
  checkMembers(what, { advertiserId: advertiser, from: calendarDay, to: calendarDay });
  const { advertiserId, from, to }: RestateRequest = what;
  const days = { from: parseDay(from ?? ''), to: parseDay(to ?? '') };
  return { at: platform.now(), sequence: platform.restatements.length + 1, advertiserId, ...days };
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
