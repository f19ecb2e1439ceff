import type { Clock } from '../lib/clock.js';
import type { RecordedCall } from './calls.js';
import type { Fault } from './faults.js';
import type { Switches } from './switches.js';
import type { Account } from './tokens.js';
import type { TruthRow } from './truth.js';

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

/** A running platform. Everything but `url` and `close` is also available over HTTP, below `/_sim`. */
export interface Simulator {
  /** Such as `http://127.0.0.1:41234`, with the base path. */
  readonly url: string;
  /** The parent account's credentials for the token request. */
  readonly account: Account;
  /** A valid token as copied from the dashboard. */
  readonly token: string;
  readonly switches: Readonly<Switches>;
  /** @throws InvalidInput for unknown switches or values, without changes */
  set(patch: Partial<Switches>): void;
  /** Calls to the platform, oldest first, at least the newest 20,000; without calls below `/_sim`. */
  readonly calls: readonly RecordedCall[];
  /** Number of platform calls, also those no longer in `calls`. */
  readonly callCount: number;
  clearCalls(): void;
  /** Queues a fault. @throws InvalidInput */
  fault(fault: Fault): void;
  readonly faults: readonly Fault[];
  clearFaults(): void;
  /** Revokes a token, or all. @throws RangeError if it was never issued */
  revoke(token?: string): void;
  /** @returns another valid token, like a rotation in the dashboard; older ones stay valid */
  issueToken(): string;
  /** Late data: raises the numbers of these days now. @throws InvalidInput */
  restate(what: RestateRequest): void;
  setOffset(offsetMs: number): void;
  readonly offsetMs: number;
  /** Epoch milliseconds, with the offset. */
  now(): number;
  /** `YYYY-MM-DD`, in the platform's time zone. */
  readonly today: string;
  /**
   * The correct rows, without effects of switches.
   * @param at epoch milliseconds; default now
   * @throws InvalidInput if the platform would refuse the query
   */
  truth(query: TruthQuery, at?: number): TruthRow[];
  /** Ends all connections and pauses. */
  close(): Promise<void>;
}
