/**
 * Results that are given in several pieces: all of their pages as they were when the first was given, so that a walk has no
 * gap and no repeat, whatever becomes of the report meanwhile. Pages lie in the store's cache, where every replica finds
 * them; each process bounds the number and bytes of the walks that it began.
 */
import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import { GatewayError } from '../../errors.js';
import type { Clock } from '../../lib/clock.js';
import { digest } from '../../reports/query/platform-call.js';
import { cursorOf, type Packed, RESULT_LIMITS } from '../../reports/tables/pack.js';
import { writePage } from '../../reports/tables/pages.js';
import { type CacheStore, StoreUnavailable } from '../../store/port.js';
import type { Caller } from '../../teams/auth/authenticate.js';
import type { Team } from '../../teams/auth/team.js';
import { nameInLife } from '../../teams/team-life.js';

// The walks that this process keeps, bounded in number and bytes. A dropped walk loses its pages in the store.

/** The life of a walk. */
const WALK_MS = 15 * 60_000;

export const KEPT_LIMITS = {
  ofTeam: { count: 20, bytes: RESULT_LIMITS.bytes },
  ofAll: { count: 200, bytes: 67_108_864 },
} as const;

interface KeptWalk {
  readonly id: string;
  readonly team: string;
  readonly bytes: number;
  /** Behind the first. */
  readonly pages: number;
  readonly untilMs: number;
}

export class KeptWalks {
  private walks: readonly KeptWalk[] = [];

  /** @param remove takes the pages of a walk out of the store */
  constructor(
    private readonly now: () => number,
    private readonly remove: (walk: KeptWalk) => Promise<void>,
  ) {}

  /** @returns false where there is no room for the walk */
  async add(walk: KeptWalk): Promise<boolean> {
    const before = [...this.walks.filter(({ untilMs }) => this.now() < untilMs), walk];
    const after = withRoom(before);
    this.walks = after;
    // Pages that cannot be removed lapse by themselves.
    await Promise.allSettled(before.filter((one) => !after.includes(one)).map(this.remove));
    return after.includes(walk);
  }
}

/** Beyond the limits the oldest walks are dropped: of the team of the newest walk first, then of the team with the most bytes. */
export function withRoom(walks: readonly KeptWalk[]): readonly KeptWalk[] {
  const { ofTeam, ofAll } = KEPT_LIMITS;
  const newest = walks.at(-1)?.team;
  let left = walks;
  const drop = (team: string | undefined) => {
    const at = left.findIndex((one) => one.team === team);
    left = left.filter((_, index) => index !== at);
  };
  const isOver = (all: readonly KeptWalk[], { count, bytes }: { count: number; bytes: number }) =>
    all.length > count || bytesOf(all) > bytes;
  const byTeam = (team: string | undefined) => left.filter((one) => one.team === team);
  while (isOver(byTeam(newest), ofTeam)) drop(newest);
  while (isOver(left, ofAll)) {
    const teams = [...new Set(left.map((one) => one.team))];
    drop(teams.reduce((most, team) => (bytesOf(byTeam(team)) > bytesOf(byTeam(most)) ? team : most)));
  }
  return left;
}

function bytesOf(walks: readonly KeptWalk[]): number {
  return walks.reduce((sum, { bytes }) => sum + bytes, 0);
}

/** What was known when its tool began to ask. */
interface Begun {
  /** Epoch milliseconds. */
  readonly atMs: number;
  /** The newest purge. */
  readonly seq: number;
}

/** Whose cursor it is: a team in one of its lives. */
interface Holder {
  readonly team: Team;
  readonly key: Pick<Caller['key'], 'life'>;
}

export interface Snapshots {
  begin(): Begun;
  /**
   * @param tool whose cursor it is
   * @param walk the name that its cursors hold
   * @returns the first page, with a cursor for the next; without one, and truncated, where no more can be kept
   */
  keep(holder: Holder, tool: string, walk: string, packed: Packed, begun: Begun): Promise<string>;
  /** @throws GatewayError `cursor_expired`; `not_ready` while the store is away */
  read(holder: Holder, tool: string, cursor: string): Promise<string>;
}

const CURSOR = /^([A-Za-z0-9_-]{22})\.([0-9]{1,6})$/;
/** Written at once: others wait for the store meanwhile. */
const WRITTEN_AT_ONCE = 64;

const unpack = promisify<Buffer, Buffer>(gunzip);

export interface SnapshotsOptions {
  readonly store: { readonly cache: Pick<CacheStore, 'read' | 'write' | 'remove'> };
  readonly clock: Pick<Clock, 'now'>;
  readonly purges: { readonly seq: number };
  /** Whether anything of anybody was erased since. */
  readonly isErasedSince: (begun: Begun) => boolean;
}

export function createSnapshots({ store, clock, purges, isErasedSince }: SnapshotsOptions): Snapshots {
  const walks = new KeptWalks(clock.now, ({ id, team, pages }) =>
    store.cache.remove(Array.from({ length: pages }, (_, at) => placeOf(team, id, at + 1))),
  );

  async function write(team: Team, walk: string, header: Buffer, pages: readonly Uint8Array[]) {
    const version = Math.floor(clock.now());
    const entries = pages.map((body, at) => ({
      ...placeOf(team.id, walk, at + 1),
      ...{ version, header, body: Buffer.from(body.buffer, body.byteOffset, body.byteLength) },
      ...{ facts: NO_FACTS, ttlMs: WALK_MS },
    }));
    for (let at = 0; at < entries.length; at += WRITTEN_AT_ONCE)
      await store.cache.write(entries.slice(at, at + WRITTEN_AT_ONCE));
  }

  return {
    begin: () => ({ atMs: Math.floor(clock.now()), seq: purges.seq }),
    async keep(holder, tool, walk, { first, totalRows, further }, { atMs, seq }) {
      if (further?.length === 0) return writePage(first, totalRows, null, false);
      // Rows that follow are told of, and cannot be had by a cursor.
      const withoutNext = writePage(first, totalRows, null, true);
      if (further === null) return withoutNext;
      const untilMs = clock.now() + WALK_MS;
      const header = Buffer.from(JSON.stringify([untilMs, boundTo(holder, tool), atMs, seq]));
      const bytes = further.reduce((sum, { length }) => sum + length + header.length, 0);
      try {
        await write(holder.team, walk, header, further);
        const isKept = await walks.add({
          id: walk,
          team: holder.team.id,
          bytes,
          pages: further.length,
          untilMs,
        });
        return isKept ? writePage(first, totalRows, cursorOf(walk, 1), true) : withoutNext;
      } catch (error) {
        if (error instanceof StoreUnavailable) return withoutNext;
        throw error;
      }
    },
    async read(holder, tool, cursor) {
      const [, id, page] = CURSOR.exec(cursor) ?? [];
      if (id === undefined || page === undefined) throw expired();
      try {
        const [entry] = await store.cache.read([placeOf(holder.team.id, id, Number(page))]);
        if (entry === null || entry === undefined) throw expired();
        const [untilMs, bound, atMs, seq] = JSON.parse(entry.header.toString()) as Header;
        const isOver = !(clock.now() < untilMs) || isErasedSince({ atMs, seq });
        if (isOver || bound !== boundTo(holder, tool)) throw expired();
        return (await unpack(entry.body)).toString();
      } catch (error) {
        if (!(error instanceof StoreUnavailable)) throw error;
        throw new GatewayError('not_ready', {
          detail: 'The store in which the rest of this result is kept does not answer.',
          help: 'Repeat the call with the same cursor in a few seconds.',
          retryAfterS: 5,
          cause: error,
        });
      }
    },
  };
}

type Header = [untilMs: number, bound: string, atMs: number, seq: number];

const NO_FACTS = Buffer.alloc(0);

/** Whose it is: a cursor ends where its team's life, advertisers or scopes are no longer those that it was given under. */
function boundTo({ team: { id, advertisers, scopes }, key: { life } }: Holder, tool: string): string {
  const granted = advertisers === '*' ? '*' : [...advertisers].sort((a, b) => a - b).join(',');
  const later = life === undefined ? [] : [nameInLife(id, life)];
  return digest([tool, granted, [...scopes].sort().join(','), ...later]).slice(0, 22);
}

function placeOf(team: string, walk: string, page: number) {
  return { series: `mcp:${team}:${walk}`, group: 'pages', field: String(page) };
}

function expired(): GatewayError {
  return new GatewayError('cursor_expired');
}
