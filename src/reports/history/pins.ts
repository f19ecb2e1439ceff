/**
 * Pins: answers that are kept. The pins of a team are stored together: an index with optimistic locking, and the rows. So the
 * limits hold for concurrent requests on all replicas.
 */
import { GatewayError } from '../../errors.js';
import { allPages } from '../../lib/all-pages.js';
import type { PinStore, PinsRead, PinsWrite } from '../../store/pins-port.js';
import { StoreUnavailable, whenAway } from '../../store/port.js';
import { createTurns } from '../../store/turns.js';
import type { Caller } from '../../teams/auth/authenticate.js';
import type { Directory } from '../../teams/auth/directory.js';
import type { Erasures } from './erasures.js';
import type { OldPins } from './old-pins.js';
import { encodeIndex, type Pin, readIndex } from './pin-index.js';
import { decodePinned, encodePinned, type PinnedPart } from './pinned-rows.js';

/** A deleted and recreated team is another team with its own pins. */
export type TeamLives = Pick<Directory, 'life'>;

export function ownerOf({ team }: Pick<Caller, 'team'>, { life }: TeamLives): string {
  return `${team.id}:${life(team.id)}`;
}

/** Whether the team was deleted. False for unknown teams: the registry may have been lost. */
export function isGone(owner: string, { life }: TeamLives): boolean {
  const cut = owner.lastIndexOf(':');
  return life(owner.slice(0, cut)) > Number(owner.slice(cut + 1));
}

/** Whether the team may see every account in the question and in the rows. */
export function mayBeSeen({ named, held }: Pin, { team }: Pick<Caller, 'team'>): boolean {
  if (team.advertisers === '*') return true;
  const allowed = new Set(team.advertisers.map(String));
  return named.length > 0 && [...named, ...held].every((account) => allowed.has(account));
}

export interface PinnedRows {
  readonly pin: Pin;
  readonly parts: readonly PinnedPart[];
}

interface PinsOptions {
  readonly store: PinStore;
  /** Adopts the pins of an earlier release before each access. */
  readonly old: OldPins;
  readonly isErased: Erasures['isErased'];
}

export const PIN_LIMITS = { pins: 1_000, bytes: 104_857_600 } as const;

/** Attempts under concurrent writes; each round at least one writer succeeds. */
const TRIES = 50;

export function createPins({ store, old, isErased }: PinsOptions) {
  const turns = createTurns();
  const isOver = (pin: Pin) => isErased({ ...pin, asked: pin.named });

  /** @param change returns null if nothing changes */
  async function update(owner: string, change: (pins: readonly Pin[]) => Change | null): Promise<boolean> {
    return turns(owner, async () => {
      if ((await old.adopt(owner)).length > 0)
        throw new StoreUnavailable('no room for pins of an earlier release', 'no-room');
      for (let tries = 0; tries < TRIES; tries += 1) {
        const { stamp, pins } = readIndex(await store.read(owner));
        const wanted = change(pins);
        if (wanted === null) return false;
        const { added = new Map(), removed = [] } = wanted;
        const index = encodeIndex({ pins: wanted.pins, adopted: [] });
        if (await store.write(owner, { stamp, index, added, removed })) return true;
      }
      throw new GatewayError('not_ready', {
        detail: 'Too many concurrent changes to the pins of this team.',
      });
    });
  }

  function removeWhere(owner: string, goes: (pin: Pin) => boolean): Promise<number> {
    let count = 0;
    return update(owner, (pins) => {
      const gone = pins.filter(goes);
      count = gone.length;
      if (count === 0) return null;
      return { pins: pins.filter((pin) => !goes(pin)), removed: gone.map(({ id }) => id) };
    }).then(() => count);
  }

  return {
    /** Oldest first. @throws GatewayError `not_ready` */
    list: (owner: string): Promise<readonly Pin[]> =>
      kept(async () => {
        const left = await old.adopt(owner);
        const { pins } = readIndex(await store.read(owner));
        const more = left.filter(({ id }) => !pins.some((pin) => pin.id === id));
        return [...pins, ...more].filter((pin) => !isOver(pin));
      }),
    /** @returns null if there is no such pin. @throws GatewayError */
    read: (owner: string, id: string): Promise<PinnedRows | null> =>
      kept(async () => {
        const left = (await old.adopt(owner)).find((one) => one.id === id);
        const found = await store.read(owner, [id]);
        const pin = readIndex(found).pins.find((one) => one.id === id) ?? left;
        if (pin === undefined || isOver(pin)) return null;
        const parts = (await partsIn(found)) ?? (left === undefined ? null : await old.parts(owner, left));
        if (parts !== null) return { pin, parts };
        throw new GatewayError('internal_error', {
          internal: `rows of pin ${pin.id} are missing or damaged`,
        });
      }),
    /** @throws GatewayError `conflict` beyond the limits */
    add: (owner: string, pin: Omit<Pin, 'bytes'>, parts: readonly PinnedPart[]): Promise<Pin> =>
      kept(async () => {
        const body = await encodePinned(parts);
        const whole = { ...pin, bytes: body.length + JSON.stringify(pin).length };
        await update(owner, (pins) => {
          refuseTooMany(pins, whole);
          return { pins: [...pins, whole], added: new Map([[pin.id, body]]) };
        });
        return whole;
      }),
    /** @returns whether there was one */
    remove: (owner: string, id: string): Promise<boolean> =>
      kept(async () => (await removeWhere(owner, (pin) => pin.id === id)) > 0),
    /** Removes erased pins, which are hidden already. @returns their number. @throws StoreUnavailable */
    async removeErased(): Promise<number> {
      let count = 0;
      for await (const owner of ownersOf(store, old)) count += await removeWhere(owner, isOver);
      return count;
    },
    /** Removes the pins of deleted teams. @returns the number of owners */
    async sweep(isGone: (owner: string) => boolean): Promise<number> {
      const gone = new Set<string>();
      for await (const owner of ownersOf(store, old)) if (isGone(owner)) gone.add(owner);
      for (const owner of gone) {
        await old.remove(owner);
        await store.remove(owner);
      }
      return gone.size;
    },
    /** Adopts all pins of an earlier release. */
    adopt: old.adoptAll,
  };
}

/** An owner with old and new pins comes twice. */
async function* ownersOf(store: PinStore, old: OldPins): AsyncGenerator<string> {
  yield* old.owners();
  yield* allPages<string>((after, limit) => store.list(after, limit));
}

interface Change extends Partial<Pick<PinsWrite, 'added' | 'removed'>> {
  readonly pins: readonly Pin[];
}

async function partsIn({ bodies: [body = null] }: PinsRead): Promise<readonly PinnedPart[] | null> {
  return body instanceof Buffer ? decodePinned(body) : null;
}

function refuseTooMany(pins: readonly Pin[], more: Pin): void {
  const bytes = pins.reduce((sum, one) => sum + one.bytes, 0);
  const help = 'Delete unused pins (DELETE /gateway/v1/pins/{id}), then repeat the call.';
  if (pins.length >= PIN_LIMITS.pins)
    throw new GatewayError('conflict', {
      detail: `The team has ${pins.length} pins; the limit is ${PIN_LIMITS.pins}.`,
      help,
    });
  if (bytes + more.bytes > PIN_LIMITS.bytes)
    throw new GatewayError('conflict', {
      detail: `The pins of the team take ${bytes} bytes and this one ${more.bytes}; the limit is ${PIN_LIMITS.bytes}.`,
      help,
    });
}

/** @throws GatewayError `conflict` if the store is full; `not_ready` if it is unavailable */
function kept<T>(work: () => Promise<T>): Promise<T> {
  return work().catch(
    whenAway((cause): never => {
      if (cause.why === 'away')
        throw new GatewayError('not_ready', { detail: 'The pin store does not respond.', cause });
      const help = 'Delete unused pins, or ask your operator for more space.';
      throw new GatewayError('conflict', { detail: 'The store has no space left for pins.', help, cause });
    }),
  );
}
