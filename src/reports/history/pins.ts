/**
 * Pins: answers that are kept. The pins of a team are stored together: an index with optimistic locking, and the rows. So the
 * limits hold for concurrent requests on all replicas.
 */
import Type, { type Static } from 'typebox';
import Value from 'typebox/value';
import { GatewayError } from '../../errors.js';
import { parseOrNull } from '../../lib/json.js';
import type { HistoryContent, HistoryStore } from '../../store/history-port.js';
import { whenAway } from '../../store/port.js';
import { createTurns } from '../../store/turns.js';
import type { Caller } from '../../teams/auth/authenticate.js';
import type { Directory } from '../../teams/auth/directory.js';
import type { EncodedEntry, RawWrite } from '../cache/entry.js';
import type { Entry, RowsHeader } from '../rows/entry.js';
import { monthsOf } from './erase.js';
import type { Erasures } from './erasures.js';
import { decodeContents } from './read.js';

const textOrNull = Type.Union([Type.String(), Type.Null()]);

const PinForm = Type.Object({
  id: Type.String(),
  /** Epoch milliseconds. */
  createdAt: Type.Number(),
  note: textOrNull,
  endpoint: Type.String(),
  /** With resolved dates, without output options. */
  query: Type.String(),
  /** Of the report without its period. */
  series: Type.String(),
  /** ISO; null if the platform chose it. */
  from: textOrNull,
  to: textOrNull,
  account: textOrNull,
  split: Type.Array(Type.String()),
  /** Null for reports that are not stored by day. */
  revision: textOrNull,
  /** Since when the rows were known, epoch milliseconds. */
  knownAt: Type.Number(),
  final: Type.Boolean(),
  rowCount: Type.Number(),
  /** Accounts in the question and in the rows; they decide who may see the pin. */
  named: Type.Array(Type.String()),
  held: Type.Array(Type.String()),
  /** Of its oldest part: the newest purge known before the fetch, and the start of the fetch, epoch milliseconds. */
  seq: Type.Number(),
  fetchedFrom: Type.Number(),
  parts: Type.Number(),
  /** Stored size. */
  bytes: Type.Number(),
  /** Version of the JSON, CSV and NDJSON output of its rows; later releases keep supporting it. */
  format: Type.Literal(1),
});

export type Pin = Readonly<Static<typeof PinForm>>;

const IndexForm = Type.Object({ form: Type.Literal(1), pins: Type.Array(PinForm) });

export function encodePins(pins: readonly Pin[]): Buffer {
  return Buffer.from(JSON.stringify({ form: 1, pins }));
}

/** @returns null for data of a newer release, which is left unchanged */
function decodePins(bytes: Buffer): readonly Pin[] | null {
  const index = parseOrNull(bytes.toString());
  return Value.Check(IndexForm, index) ? index.pins : null;
}

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
  readonly parts: readonly Entry<RowsHeader>[];
}

interface PinsOptions {
  readonly store: HistoryStore;
  /** Entries as bytes, in the same order. */
  readonly encode: (entries: readonly RawWrite[]) => Promise<readonly EncodedEntry[]>;
  readonly isErased: Erasures['isErased'];
}

export const PIN_LIMITS = { pins: 1_000, bytes: 104_857_600 } as const;

/** Fixed day under which the index is stored; the series is the owner. */
const PLACE = '2000-01-01';
/** Attempts under concurrent writes; each round at least one writer succeeds. */
const TRIES = 50;

export function createPins({ store, encode, isErased }: PinsOptions) {
  const turns = createTurns();
  const isOver = (pin: Pin) => isErased({ ...pin, asked: pin.named });

  async function readIndex(
    owner: string,
  ): Promise<{ readonly stamp: number; readonly pins: readonly Pin[] }> {
    const [found] = await store.heads(owner, [PLACE]);
    if (found === null || found === undefined) return { stamp: 0, pins: [] };
    const pins = decodePins(found.heads);
    if (pins !== null) return { stamp: found.stamp, pins };
    throw new GatewayError('not_ready', {
      detail: 'The pins of this team cannot be read: a newer release has written them, or they are damaged.',
      help: 'Ask your operator to run the newest release on all replicas; repeating does not help.',
    });
  }

  /** @param change returns null if nothing changes */
  async function update(owner: string, change: (pins: readonly Pin[]) => Change | null): Promise<boolean> {
    return turns(owner, async () => {
      for (let tries = 0; tries < TRIES; tries += 1) {
        const { stamp, pins } = await readIndex(owner);
        const wanted = change(pins);
        if (wanted === null) return false;
        const { added = new Map(), removed = [] } = wanted;
        const write = { day: PLACE, stamp, heads: encodePins(wanted.pins), added, removed };
        if ((await store.write(owner, [write]))[0] === true) return true;
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
      return { pins: pins.filter((pin) => !goes(pin)), removed: gone.flatMap(namesOf) };
    }).then(() => count);
  }

  return {
    /** Oldest first. @throws GatewayError `not_ready` */
    list: (owner: string): Promise<readonly Pin[]> =>
      kept(async () => (await readIndex(owner)).pins.filter((pin) => !isOver(pin))),
    /** @returns null if there is no such pin. @throws GatewayError */
    read: (owner: string, id: string): Promise<PinnedRows | null> =>
      kept(async () => {
        const pin = (await readIndex(owner)).pins.find((one) => one.id === id);
        return pin === undefined || isOver(pin) ? null : { pin, parts: await readParts(store, owner, pin) };
      }),
    /** @throws GatewayError `conflict` beyond the limits */
    add: (owner: string, pin: NewPin['pin'], parts: NewPin['parts']): Promise<Pin> =>
      kept(async () => {
        const { whole, added } = await packPin(encode, owner, { pin, parts });
        await update(owner, (pins) => {
          refuseTooMany(pins, whole);
          return { pins: [...pins, whole], added };
        });
        return whole;
      }),
    /** @returns whether there was one */
    remove: (owner: string, id: string): Promise<boolean> =>
      kept(async () => (await removeWhere(owner, (pin) => pin.id === id)) > 0),
    /** Removes erased pins, which are hidden already. @returns their number. @throws StoreUnavailable */
    async removeErased(): Promise<number> {
      let count = 0;
      for await (const { series } of monthsOf(store)) count += await removeWhere(series, isOver);
      return count;
    },
    /** Removes the pins of deleted teams. @returns the number of owners */
    async sweep(isGone: (owner: string) => boolean): Promise<number> {
      let count = 0;
      for await (const all of monthsOf(store)) {
        if (!isGone(all.series)) continue;
        await store.remove(all);
        count += 1;
      }
      return count;
    },
  };
}

interface NewPin {
  readonly pin: Omit<Pin, 'bytes' | 'parts'>;
  readonly parts: readonly Entry<RowsHeader>[];
}

async function packPin(encode: PinsOptions['encode'], owner: string, { pin, parts }: NewPin) {
  const encoded = await encode(
    parts.map(({ header, body }, at) => ({
      ...{ id: partName(owner, pin.id, at), version: header.fetchStartedAt, header, body },
    })),
  );
  const added = new Map(
    encoded.map((one, at): [string, HistoryContent] => [
      `${pin.id}.${at}`,
      { version: parts[at]?.header.fetchStartedAt ?? 0, ...one },
    ]),
  );
  const rows = encoded.reduce((sum, { header, body }) => sum + header.length + body.length, 0);
  const made: Pin = { ...pin, parts: parts.length, bytes: 0 };
  return { whole: { ...made, bytes: rows + JSON.stringify(made).length }, added };
}

interface Change {
  readonly pins: readonly Pin[];
  readonly added?: ReadonlyMap<string, HistoryContent>;
  readonly removed?: readonly string[];
}

/** @throws GatewayError `internal_error` if rows are missing or damaged */
async function readParts(
  store: Pick<HistoryStore, 'contents'>,
  owner: string,
  pin: Pin,
): Promise<readonly Entry<RowsHeader>[]> {
  const contents = await store.contents(
    owner,
    namesOf(pin).map((name) => ({ day: PLACE, name })),
  );
  const decoded = await decodeContents(contents, (at) => partName(owner, pin.id, at));
  const parts = decoded.filter((part) => part !== null);
  if (parts.length === pin.parts) return parts;
  throw new GatewayError('internal_error', { internal: `rows of pin ${pin.id} are missing or damaged` });
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

const namesOf = ({ id, parts }: Pin) => Array.from({ length: parts }, (_, at) => `${id}.${at}`);

/** Sealed name of a part, so that no pin can show rows of another. Must never change. */
const partName = (owner: string, id: string, at: number) => `p1:{${owner}}:${id}:${at}`;
