/**
 * Results in several pages: all pages are stored with the first, so that a cursor has no gap and no repeat even if the report
 * changes. Pages are in the store's cache, shared by all replicas; each process bounds number and bytes of its results.
 */
import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import { GatewayError } from '../../errors.js';
import type { Clock } from '../../lib/clock.js';
import { digest } from '../../reports/query/platform-call.js';
import { cursorOf, type Packed, RESULT_LIMITS } from '../../reports/tables/pack.js';
import { writePage } from '../../reports/tables/pages.js';
import { type CacheStore, StoreUnavailable, whenAway } from '../../store/port.js';
import type { Caller } from '../../teams/auth/authenticate.js';
import type { Team } from '../../teams/auth/team.js';
import { nameInLife } from '../../teams/team-life.js';

const WALK_MS = 15 * 60_000;

export const KEPT_LIMITS = {
  ofTeam: { count: 20, bytes: RESULT_LIMITS.bytes },
  ofAll: { count: 200, bytes: 67_108_864 },
} as const;

interface KeptWalk {
  readonly id: string;
  readonly team: string;
  readonly bytes: number;
  /** After the first. */
  readonly pages: number;
  readonly untilMs: number;
}

/** The paged results of this process. Dropping one removes its pages from the store. */
export class KeptWalks {
  private walks: readonly KeptWalk[] = [];

  constructor(
    private readonly now: () => number,
    private readonly remove: (walk: KeptWalk) => Promise<void>,
  ) {}

  /** @returns false if there is no room */
  async add(walk: KeptWalk): Promise<boolean> {
    const before = [...this.walks.filter(({ untilMs }) => this.now() < untilMs), walk];
    const after = withRoom(before);
    this.walks = after;
    // Pages that cannot be removed expire.
    await Promise.allSettled(before.filter((one) => !after.includes(one)).map(this.remove));
    return after.includes(walk);
  }
}

/** Beyond the limits the oldest are dropped: first of the newest one's team, then of the team with the most bytes. */
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

/** State when the tool started. */
interface Baseline {
  readonly atMs: number;
  /** The newest purge. */
  readonly seq: number;
}

/** Owner of a cursor: a team in one of its lives. */
interface Holder {
  readonly team: Team;
  readonly key: Pick<Caller['key'], 'life'>;
}

const CURSOR = /^([A-Za-z0-9_-]{22})\.([0-9]{1,6})$/;
/** Pages per write, so that others need not wait long for the store. */
const WRITTEN_AT_ONCE = 64;

const unpack = promisify<Buffer, Buffer>(gunzip);

export interface SnapshotsOptions {
  readonly store: { readonly cache: Pick<CacheStore, 'read' | 'write' | 'remove'> };
  readonly clock: Pick<Clock, 'now'>;
  readonly purges: { readonly seq: number };
  readonly isErasedSince: (baseline: Baseline) => boolean;
}

export function createSnapshots({ store, clock, purges, isErasedSince }: SnapshotsOptions) {
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
    begin: (): Baseline => ({ atMs: Math.floor(clock.now()), seq: purges.seq }),
    /**
     * @param walk the id in its cursors
     * @returns the first page, with a cursor for the next; truncated and without cursor if there is no room
     */
    async keep(
      holder: Holder,
      tool: string,
      walk: string,
      packed: Packed,
      baseline: Baseline,
    ): Promise<string> {
      const { first, totalRows, further } = packed;
      const { atMs, seq } = baseline;
      if (further?.length === 0) return writePage(first, totalRows, null, false);
      // Marked as truncated, but without a cursor.
      const withoutNext = writePage(first, totalRows, null, true);
      if (further === null) return withoutNext;
      const untilMs = clock.now() + WALK_MS;
      const header = Buffer.from(JSON.stringify([untilMs, boundTo(holder, tool), atMs, seq]));
      const bytes = further.reduce((sum, { length }) => sum + length + header.length, 0);
      const kept = { id: walk, team: holder.team.id, bytes, pages: further.length, untilMs };
      const isKept = await write(holder.team, walk, header, further)
        .then(() => walks.add(kept))
        .catch(whenAway(() => false));
      return isKept ? writePage(first, totalRows, cursorOf(walk, 1), true) : withoutNext;
    },
    /** @throws GatewayError `cursor_expired`; `not_ready` while the store is away */
    async read(holder: Holder, tool: string, cursor: string): Promise<string> {
      const [, id, page] = CURSOR.exec(cursor) ?? [];
      if (id === undefined || page === undefined) throw expired();
      try {
        const [entry] = await store.cache.read([placeOf(holder.team.id, id, Number(page))]);
        if (entry === null || entry === undefined) throw expired();
        const known = JSON.parse(entry.header.toString()) as [number, string, number, number];
        const [untilMs, bound, atMs, seq] = known;
        const isOver = !(clock.now() < untilMs) || isErasedSince({ atMs, seq });
        if (isOver || bound !== boundTo(holder, tool)) throw expired();
        return (await unpack(entry.body)).toString();
      } catch (error) {
        if (!(error instanceof StoreUnavailable)) throw error;
        throw new GatewayError('not_ready', {
          detail: 'The store with the rest of this result does not respond.',
          help: 'Repeat the call with the same cursor in a few seconds.',
          retryAfterS: 5,
          cause: error,
        });
      }
    },
  };
}

const NO_FACTS = Buffer.alloc(0);

/** Binds a cursor to the team's life, advertisers and scopes: it expires when one of them changes. */
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
