/**
 * Which walks there are, of all teams: one small document, that bounds their number and bytes. What goes out of it goes out
 * of the store.
 */
import Type from 'typebox';
import { type RecordOf, recordForm } from '../record.js';
import {
  type CachePlace,
  type CacheStore,
  type Documents,
  StoreUnavailable,
  VERSION_LEAD_MAX_MS,
} from '../store/port.js';
import { WALK_LIMITS } from '../tables/pack.js';

/** A walk lasts so long. */
export const WALK_MS = 15 * 60_000;

export const KEPT_LIMITS = {
  ofTeam: { count: 20, bytes: WALK_LIMITS.bytes },
  ofAll: { count: 200, bytes: 67_108_864 },
} as const;

const Index = recordForm(
  Type.Array(
    Type.Object({
      id: Type.String(),
      team: Type.String(),
      bytes: Type.Number(),
      /** Behind the first; a release before this one did not note it. */
      pages: Type.Optional(Type.Number()),
      untilMs: Type.Number(),
    }),
  ),
);
export type KeptWalk = RecordOf<typeof Index>[number];

const INDEX = 'mcp:snapshots';
/** Other processes change the index at times; each time one of them gets through. */
const TRIES = 50;

export interface KeptWalks {
  /** @returns false where other walks of the moment have taken its place. @throws StoreUnavailable */
  add(walk: KeptWalk): Promise<boolean>;
  /** @throws StoreUnavailable */
  has(id: string, team: string): Promise<boolean>;
}

export interface KeptWalksOptions {
  readonly cache: Pick<CacheStore, 'remove'>;
  readonly documents: Documents;
  readonly now: () => number;
  readonly placeOf: (team: string, walk: string, page: number) => CachePlace;
}

/** Walks that are added with one change. */
interface Batch {
  readonly walks: KeptWalk[];
  readonly kept: Promise<readonly KeptWalk[]>;
}

export function createKeptWalks({ cache, documents, now, placeOf }: KeptWalksOptions): KeptWalks {
  let open: Batch | null = null;
  let last: Promise<unknown> = Promise.resolve();

  /** @returns those that are kept with them */
  async function change(added: readonly KeptWalk[]): Promise<readonly KeptWalk[]> {
    for (let tries = 0; tries < TRIES; tries += 1) {
      const text = await documents.get(INDEX);
      const before = [...(text === null ? [] : (Index.parse(text) ?? [])), ...added];
      const after = withRoom(before, now());
      const written = JSON.stringify(after);
      const isDone =
        text === null
          ? (await documents.create(INDEX, written, WALK_MS)) === null
          : await documents.replace(INDEX, text, written, WALK_MS);
      if (!isDone) continue;
      await remove(before.filter((one) => !after.includes(one)));
      return after;
    }
    throw new StoreUnavailable('others change the list of walks all the time');
  }

  /** Pages that cannot be removed lapse by themselves. */
  async function remove(walks: readonly KeptWalk[]): Promise<void> {
    await Promise.allSettled(
      walks.map(({ id, team, pages = 0 }) =>
        cache.remove(Array.from({ length: pages }, (_, at) => placeOf(team, id, at + 1))),
      ),
    );
  }

  /** Those that come while a change is under way go with the next, all at once. */
  function batchOf(walk: KeptWalk): Batch {
    if (open !== null) {
      open.walks.push(walk);
      return open;
    }
    const walks = [walk];
    const kept = last.then(() => {
      open = null;
      return change(walks);
    });
    last = kept.catch(() => undefined);
    open = { walks, kept };
    return open;
  }

  return {
    async add(walk) {
      try {
        return (await batchOf(walk).kept).includes(walk);
      } catch (error) {
        await remove([walk]);
        throw error;
      }
    },
    async has(id, team) {
      const kept = Index.parse((await documents.get(INDEX)) ?? '[]') ?? [];
      return kept.some((one) => one.id === id && one.team === team);
    },
  };
}

/** Those that are not over; beyond the limits the oldest go, of each team first, then of whoever holds most. */
export function withRoom(kept: readonly KeptWalk[], nowMs: number): readonly KeptWalk[] {
  const { ofTeam, ofAll } = KEPT_LIMITS;
  // Clocks of replicas differ a little; one that is wrong must not keep a place for as long as it says.
  const latestMs = nowMs + WALK_MS + VERSION_LEAD_MAX_MS;
  let left = kept.filter(({ untilMs }) => nowMs < untilMs && untilMs <= latestMs);
  const drop = (team: string) => {
    const at = left.findIndex((one) => one.team === team);
    left = left.filter((_, index) => index !== at);
  };
  for (const team of new Set(left.map((one) => one.team)))
    while (
      isOver(
        left.filter((one) => one.team === team),
        ofTeam,
      )
    )
      drop(team);
  while (isOver(left, ofAll)) drop(largestOf(left));
  return left;
}

function isOver(
  all: readonly KeptWalk[],
  limit: { readonly count: number; readonly bytes: number },
): boolean {
  return all.length > limit.count || sumOf(all) > limit.bytes;
}

function largestOf(kept: readonly KeptWalk[]): string {
  const bytes = new Map<string, number>();
  for (const { team, bytes: more } of kept) bytes.set(team, (bytes.get(team) ?? 0) + more);
  return [...bytes].reduce((most, one) => (one[1] > most[1] ? one : most))[0];
}

function sumOf(kept: readonly KeptWalk[]): number {
  return kept.reduce((sum, { bytes }) => sum + bytes, 0);
}
