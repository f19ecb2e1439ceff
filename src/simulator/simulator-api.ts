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
  /** A whole number; data and secrets follow from it. Default 1. */
  readonly seed?: number;
  /** Default: the machine's clock. */
  readonly clock?: Clock;
  readonly switches?: Partial<Switches>;
  /** A path prefix under which the whole interface lives, such as `/dsp`; default none. */
  readonly basePath?: string;
}

/** A campaign report, with the platform's own parameter names. Dates absent = the last seven days. */
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

/** What `restate` changes: everything, unless narrowed to an advertiser or to days (both ends included). */
export interface RestateRequest {
  readonly advertiserId?: number;
  readonly from?: string;
  readonly to?: string;
}

/** A running platform. Everything here but `url` and `close` can also be done over HTTP, below `/_sim`. */
export interface Simulator {
  /** Such as `http://127.0.0.1:41234`, with the base path. */
  readonly url: string;
  /** The parent account's credentials for the token request. */
  readonly account: Account;
  /** A valid token as copied from the dashboard. */
  readonly token: string;
  readonly switches: Readonly<Switches>;
  /** @throws InvalidInput for unknown switches or values; nothing changes then */
  set(patch: Partial<Switches>): void;
  /** Every call to the platform, oldest first; the newest 20,000 at least. Calls below `/_sim` do not count. */
  readonly calls: readonly RecordedCall[];
  /** How many platform calls there were, also those no longer in `calls`. */
  readonly callCount: number;
  clearCalls(): void;
  /** Queues a fault. @throws InvalidInput */
  fault(fault: Fault): void;
  readonly faults: readonly Fault[];
  clearFaults(): void;
  /** Refuses a token, or all of them, from now on. @throws RangeError when it was never issued */
  revoke(token?: string): void;
  /** @returns another valid token, as a rotation in the dashboard makes one; older ones stay valid */
  issueToken(): string;
  /** Late data: the numbers of these days rise now, once, for good. @throws InvalidInput */
  restate(what: RestateRequest): void;
  /** Moves the simulator's "now" to this many milliseconds after its clock's. */
  setOffset(offsetMs: number): void;
  readonly offsetMs: number;
  /** Milliseconds since the Unix epoch, offset applied. */
  now(): number;
  /** `YYYY-MM-DD`, in the platform's time zone. */
  readonly today: string;
  /**
   * The rows a correct platform answers with, as plain values: no outage, no cap, no spelling.
   *
   * @param at milliseconds since the Unix epoch; default now
   * @throws InvalidInput when the platform would refuse the query
   */
  truth(query: TruthQuery, at?: number): TruthRow[];
  /** Ends every connection and every pause; afterwards nothing is left open. */
  close(): Promise<void>;
}
