/** The platform, in the place of undici's connections: it knows what it said, of which days, and when. */
import type { Dispatcher } from 'undici';
import { DAY } from '../support/test-clock.js';
import type { Chance } from './chance-of-seed.js';
import { type Asked, Connections, type UnderWay } from './connections.js';
import type { Faults } from './faults.js';
import type { Scheduler } from './scheduler.js';

/** What was said of a day, or of a whole period; null: no row. */
export interface Said {
  /** By the scheduler's time. */
  readonly atMs: number;
  /** The same, by the wall's. */
  readonly wallMs: number;
  /** When all of it had arrived; Infinity until then, and where it never did. */
  endMs: number;
  /** The same, by the wall's; a night may have passed since it was said. */
  endWallMs: number;
  readonly value: number | null;
  /** No day of its answer from this one on had a row. */
  readonly isEmptyEnd: boolean;
}

/** A write that was carried out. */
export interface Done {
  /** Who paid for it, by its body. */
  readonly of: string;
  /** By a clock that is right. */
  readonly wallMs: number;
  readonly answer: string;
}

export interface SimPlatform {
  /** A replica's connections; what is under way on them is broken off with them. */
  connect(): Connections;
  /** Gives a day another number, or its first. */
  restate(advertiser: number, day: string): void;
  /** Takes the numbers of a day and of those after it away, as in an outage. */
  unsay(advertiser: number, fromDay: string): void;
  /** @returns what was said of these days, as days (`from` is `to`) or as a whole */
  said(advertiser: number, from: string, to: string, byDate: boolean): readonly Said[];
  issueToken(): string;
  /** A token of before, again. */
  accept(token: string): void;
  /** All tokens but this one are refused from now on. */
  refuseOthers(token: string): void;
  readonly today: string;
  readonly underWay: number;
  /** What was done for each write, by the name in its body. */
  readonly writes: ReadonlyMap<string, readonly Done[]>;
}

export const ADVERTISERS = [1, 2, 3];
export const DAYS_BACK = 10;
/** What is streamed, in pieces. */
export const LINES = '/api/v1/lines/get';
const PIECE_BYTES = 64;

/** An answer that tells whose it is, and whether it is whole. */
export function linesOf(name: string, count: number): string {
  const lines = Array.from({ length: count }, (_, at) => `${name} has line ${at}\n`);
  return `${lines.join('')}the end of ${name}\n`;
}

const PLATFORM = 'platform';

export function dayAgo(nowMs: number, days: number): string {
  return new Date(nowMs - days * DAY).toISOString().slice(0, 10);
}

export interface SimPlatformOptions {
  readonly scheduler: Scheduler;
  readonly chance: Chance;
  readonly faults: Faults;
}

export function createSimPlatform(options: SimPlatformOptions): SimPlatform {
  return new Platform(options);
}

interface Answer {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: string;
  /** How much comes at once; all when absent. */
  readonly pieceBytes?: number;
}

class Platform implements SimPlatform {
  underWay = 0;
  readonly writes = new Map<string, Done[]>();
  readonly #options: SimPlatformOptions;
  readonly #values = new Map<string, number | null>();
  readonly #said = new Map<string, Said[]>();
  readonly #tokens = new Set<string>();
  #last = 0;
  #issued = 0;

  constructor(options: SimPlatformOptions) {
    this.#options = options;
  }

  connect(): Connections {
    return new Connections((asked, handler, open) => this.#receive(asked, handler, open));
  }

  get today(): string {
    return dayAgo(this.#options.scheduler.trueMs(), 0);
  }
  issueToken(): string {
    const token = `token-${this.#issued}-of-the-simulated-platform`;
    this.#issued += 1;
    this.#tokens.add(token);
    return token;
  }
  accept(token: string): void {
    this.#tokens.add(token);
  }
  refuseOthers(token: string): void {
    for (const one of this.#tokens) if (one !== token) this.#tokens.delete(one);
  }
  restate(advertiser: number, day: string): void {
    this.#last += 1;
    // Never the same number twice: a row tells which of all states of its day it is.
    this.#values.set(`${advertiser} ${day}`, this.#last);
  }
  unsay(advertiser: number, fromDay: string): void {
    for (const name of this.#values.keys()) {
      const [of, day] = name.split(' ') as [string, string];
      if (of === String(advertiser) && day >= fromDay) this.#values.set(name, null);
    }
  }
  said(advertiser: number, from: string, to: string, byDate: boolean): readonly Said[] {
    return this.#said.get(`${advertiser} ${from} ${to} ${byDate}`) ?? [];
  }

  #receive(asked: Asked, handler: Dispatcher.DispatchHandler, open: Set<UnderWay>): void {
    const { scheduler, chance, faults } = this.#options;
    const caller = scheduler.owner;
    let state: 'open' | 'over' = 'open';
    const end = () => {
      if (state === 'over') return false;
      state = 'over';
      open.delete(underWay);
      this.underWay -= 1;
      return true;
    };
    const fail = (error: Error) => {
      if (end()) handler.onError?.(error);
    };
    const underWay: UnderWay = { fail, end };
    this.underWay += 1;
    open.add(underWay);
    handler.onConnect?.((error) => fail(error ?? new Error('aborted')));
    const kind = faults.platformFault(scheduler.nowMs);
    const meets = kind !== null && chance.is(0.6) ? kind : null;
    const there = chance.between(1, 30) + (meets === 'slow' ? chance.between(300, 3_500) : 0);
    scheduler.after(there, PLATFORM, () => {
      if (meets === 'silent') return;
      const told: Said[] = [];
      const answer = this.#answer(asked, meets, told);
      scheduler.after(chance.between(1, 60), caller, () => {
        if (state === 'over') return;
        if (meets === 'reset') return fail(Object.assign(new Error('reset'), { code: 'ECONNRESET' }));
        const head = { 'content-type': 'application/json', ...answer.headers };
        handler.onHeaders?.(
          answer.status,
          Object.entries(head)
            .flat()
            .map((text) => Buffer.from(text)),
          () => {},
          '',
        );
        const body = Buffer.from(answer.body);
        const give = (left: Buffer) => {
          if (state === 'over') return;
          const piece = left.subarray(0, answer.pieceBytes ?? left.length);
          handler.onData?.(piece);
          scheduler.after(chance.between(0, 5), caller, () => {
            if (piece.length < left.length) return give(left.subarray(piece.length));
            if (meets === 'truncated')
              return fail(Object.assign(new Error('broken off'), { code: 'UND_ERR_SOCKET' }));
            for (const one of told) [one.endMs, one.endWallMs] = [scheduler.nowMs, scheduler.trueMs()];
            if (end()) handler.onComplete?.([]);
          });
        };
        give(meets === 'truncated' ? body.subarray(0, body.length >> 1) : body);
      });
    });
  }

  #answer(asked: Asked, meets: string | null, told: Said[]): Answer {
    const headers = asked.headers as Record<string, string>;
    if (meets === 'error-500') return { status: 500, body: '{"error":"ill"}' };
    if (meets === 'too-many')
      return { status: 429, headers: { 'retry-after': '1' }, body: '{"error":"too many"}' };
    if (!this.#tokens.has(String(headers.authorization).replace('Bearer ', '')))
      return { status: 401, body: '{"error":"token"}' };
    const { pathname, searchParams } = new URL(String(asked.path), 'http://platform.test');
    if (pathname === LINES) {
      const body = linesOf(String(searchParams.get('of')), Number(searchParams.get('count')));
      return { status: 200, headers: { 'content-type': 'text/plain' }, body, pieceBytes: PIECE_BYTES };
    }
    if (!pathname.startsWith('/api/v1/report/')) return this.#write(String(asked.body));
    return { status: 200, body: JSON.stringify({ data: this.#rows(searchParams, told) }) };
  }

  #write(text: string): Answer {
    const { name, of } = JSON.parse(text) as { readonly name: string; readonly of: string };
    this.#last += 1;
    const answer = JSON.stringify({ id: this.#last, name });
    const done = { of, answer, wallMs: this.#options.scheduler.trueMs() };
    this.writes.set(name, [...(this.writes.get(name) ?? []), done]);
    return { status: 201, body: answer };
  }

  #rows(query: URLSearchParams, told: Said[]): object[] {
    const { scheduler } = this.#options;
    const [advertiser, byDate] = [Number(query.get('advertiserId')), query.get('byDate') === '1'];
    const [from, to] = [String(query.get('dateFrom')), String(query.get('dateTo'))];
    const days: string[] = [];
    for (let day = from; day <= to; day = dayAgo(Date.parse(day), -1)) days.push(day);
    const numberOf = (day: string) => this.#values.get(`${advertiser} ${day}`) ?? null;
    const atMs = scheduler.nowMs;
    const say = (first: string, last: string, value: number | null, isEmptyEnd: boolean) => {
      const name = `${advertiser} ${first} ${last} ${byDate}`;
      const one: Said = {
        atMs,
        wallMs: scheduler.trueMs(),
        value,
        isEmptyEnd,
        endMs: Number.POSITIVE_INFINITY,
        endWallMs: Number.POSITIVE_INFINITY,
      };
      told.push(one);
      this.#said.set(name, [...(this.#said.get(name) ?? []), one]);
    };
    scheduler.note(`said ${advertiser} ${from} ${to} ${byDate}`);
    if (byDate) {
      const lastFull = days.findLast((day) => numberOf(day) !== null) ?? '';
      for (const day of days) say(day, day, numberOf(day), day > lastFull);
      return days.flatMap((date) => {
        const impressions = numberOf(date);
        return impressions === null ? [] : [{ date, advertiserId: advertiser, impressions }];
      });
    }
    const impressions = days.reduce((sum, day) => sum + (numberOf(day) ?? 0), 0);
    say(from, to, impressions, false);
    return [{ advertiserId: advertiser, impressions }];
  }
}
