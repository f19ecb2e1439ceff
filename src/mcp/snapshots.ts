/**
 * Results that are given in several pieces: all of their pages as they were when the first was given, so that a walk has no
 * gap and no repeat, whatever becomes of the report meanwhile. Pages lie in the store's cache, where every replica finds
 * them; which there are is one small document, so that number and bytes are bounded however many agents walk.
 */
import { promisify } from 'node:util';
import { gunzip, gzip } from 'node:zlib';
import Type from 'typebox';
import type { Team } from '../auth/team.js';
import { randomBuffer } from '../chance.js';
import type { Clock } from '../clock.js';
import { GatewayError } from '../errors.js';
import { type RecordOf, recordForm } from '../record.js';
import { digest } from '../report/platform-call.js';
import { type CacheStore, type Documents, StoreUnavailable } from '../store/port.js';
import { CURSOR_CHARS, type Page, writePage } from './fit.js';

export interface Snapshots {
  /**
   * @param tool whose cursor it is
   * @returns the first page, with a cursor for the next; without one, and truncated, where no more can be kept
   */
  keep(team: Team, tool: string, pages: readonly Page[], totalRows: number): Promise<string>;
  /** @throws GatewayError `cursor_expired`; `not_ready` while the store is away */
  read(team: Team, tool: string, cursor: string): Promise<string>;
}

export const SNAPSHOT_LIMITS = {
  lifetimeMs: 15 * 60_000,
  ofTeam: { count: 20, bytes: 16_777_216 },
  ofAll: { count: 200, bytes: 67_108_864 },
} as const;

const Index = recordForm(
  Type.Array(
    Type.Object({ id: Type.String(), team: Type.String(), bytes: Type.Number(), untilMs: Type.Number() }),
  ),
);
type Kept = RecordOf<typeof Index>[number];

const INDEX = 'mcp:snapshots';
/** Others change the index at times; each time one of them gets through. */
const TRIES = 50;
const CURSOR = /^([A-Za-z0-9_-]{22})\.([0-9]{1,6})$/;
const PACKED_AT_ONCE = 16;
/** Fast and small enough: rows of numbers shrink to a fifth. */
const LEVEL = { level: 1 };

const pack = promisify<string, { level: number }, Buffer>(gzip);
const unpack = promisify<Buffer, Buffer>(gunzip);

export interface SnapshotsOptions {
  readonly store: { readonly cache: Pick<CacheStore, 'read' | 'write'>; readonly documents: Documents };
  readonly clock: Pick<Clock, 'now'>;
}

export function createSnapshots({ store, clock }: SnapshotsOptions): Snapshots {
  async function changeIndex(change: (kept: readonly Kept[]) => readonly Kept[]): Promise<void> {
    for (let tries = 0; tries < TRIES; tries += 1) {
      const before = await store.documents.get(INDEX);
      const known = before === null ? [] : (Index.parse(before) ?? []);
      const after = JSON.stringify(change(known));
      const { lifetimeMs } = SNAPSHOT_LIMITS;
      if (before === null) {
        if ((await store.documents.create(INDEX, after, lifetimeMs)) === null) return;
      } else if (await store.documents.replace(INDEX, before, after, lifetimeMs)) return;
    }
    throw new StoreUnavailable('others change the list of snapshots all the time');
  }

  async function write(team: Team, tool: string, pages: readonly Page[], totalRows: number): Promise<string> {
    const id = randomBuffer(16).toString('base64url');
    const nowMs = clock.now();
    const untilMs = nowMs + SNAPSHOT_LIMITS.lifetimeMs;
    const header = Buffer.from(JSON.stringify([untilMs, boundTo(team, tool)]));
    const bodies = await packed(pages, (page, at) =>
      writePage(page, totalRows, at + 1 < pages.length ? cursorOf(id, at + 1) : null, at + 1 < pages.length),
    );
    const bytes = bodies.reduce((sum, { length }) => sum + length + header.length, 0);
    if (bytes > SNAPSHOT_LIMITS.ofTeam.bytes) return withoutNext(pages, totalRows);
    await changeIndex((kept) => withRoom([...kept, { id, team: team.id, bytes, untilMs }], nowMs));
    await store.cache.write(
      bodies.slice(1).map((body, at) => ({
        ...placeOf(team.id, id, at + 1),
        ...{ version: Math.floor(nowMs), header, body, facts: NO_FACTS },
        ttlMs: SNAPSHOT_LIMITS.lifetimeMs,
      })),
    );
    return writePage(pages[0] as Page, totalRows, cursorOf(id, 1), true);
  }

  return {
    async keep(team, tool, pages, totalRows) {
      if (pages.length === 1) return writePage(pages[0] as Page, totalRows, null, false);
      try {
        return await write(team, tool, pages, totalRows);
      } catch (error) {
        if (error instanceof StoreUnavailable) return withoutNext(pages, totalRows);
        throw error;
      }
    },
    async read(team, tool, cursor) {
      const [, id, page] = CURSOR.exec(cursor) ?? [];
      if (id === undefined || page === undefined) throw expired();
      try {
        const kept = Index.parse((await store.documents.get(INDEX)) ?? '[]') ?? [];
        if (!kept.some((one) => one.id === id && one.team === team.id)) throw expired();
        const [entry] = await store.cache.read([placeOf(team.id, id, Number(page))]);
        if (entry === null || entry === undefined) throw expired();
        const [untilMs, bound] = JSON.parse(entry.header.toString()) as [number, string];
        if (!(clock.now() < untilMs) || bound !== boundTo(team, tool)) throw expired();
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

const NO_FACTS = Buffer.alloc(0);

/** Whose it is: a cursor ends where its team's advertisers or scopes are no longer those that it was given under. */
function boundTo({ advertisers, scopes }: Team, tool: string): string {
  const granted = advertisers === '*' ? '*' : [...advertisers].sort((a, b) => a - b).join(',');
  return digest([tool, granted, [...scopes].sort().join(',')]).slice(0, 22);
}

function cursorOf(id: string, page: number): string {
  return `${id}.${page}`.slice(0, CURSOR_CHARS);
}

function placeOf(team: string, id: string, page: number) {
  return { series: `mcp:${team}:${id}`, group: 'pages', field: String(page) };
}

/** Rows that follow are told of, and cannot be had by a cursor. */
function withoutNext(pages: readonly Page[], totalRows: number): string {
  return writePage(pages[0] as Page, totalRows, null, true);
}

async function packed(
  pages: readonly Page[],
  textOf: (page: Page, at: number) => string,
): Promise<readonly Buffer[]> {
  const bodies: Buffer[] = [];
  for (let at = 0; at < pages.length; at += PACKED_AT_ONCE)
    bodies.push(
      ...(await Promise.all(
        pages.slice(at, at + PACKED_AT_ONCE).map((page, in_) => pack(textOf(page, at + in_), LEVEL)),
      )),
    );
  return bodies;
}

/** Those that are not over; beyond the limits the oldest go, of the team first, then of whoever holds most. */
export function withRoom(kept: readonly Kept[], nowMs: number): readonly Kept[] {
  const { ofTeam, ofAll } = SNAPSHOT_LIMITS;
  let left = kept.filter(({ untilMs }) => nowMs < untilMs && untilMs <= nowMs + SNAPSHOT_LIMITS.lifetimeMs);
  const newest = left.at(-1);
  const over = (all: readonly Kept[], limit: { readonly count: number; readonly bytes: number }) =>
    all.length > limit.count || sumOf(all) > limit.bytes;
  const drop = (team: string) => {
    const at = left.findIndex((one) => one.team === team);
    left = left.filter((_, index) => index !== at);
  };
  if (newest !== undefined)
    while (
      over(
        left.filter(({ team }) => team === newest.team),
        ofTeam,
      )
    )
      drop(newest.team);
  while (over(left, ofAll)) drop(largestOf(left));
  return left;
}

function largestOf(kept: readonly Kept[]): string {
  const bytes = new Map<string, number>();
  for (const { team, bytes: more } of kept) bytes.set(team, (bytes.get(team) ?? 0) + more);
  return [...bytes].reduce((most, one) => (one[1] > most[1] ? one : most))[0];
}

function sumOf(kept: readonly Kept[]): number {
  return kept.reduce((sum, { bytes }) => sum + bytes, 0);
}

function expired(): GatewayError {
  return new GatewayError('cursor_expired');
}
