/**
 * Pins of an earlier release, in their form of then, see old-pin-bytes.ts. This release rewrites them, by owner: at the
 * first access, and all others in the background. A later one removes both files, with `oldPins` of the stores.
 *
 * Each step takes some of an owner's old pins. Unless all of them are stored in the new form and show the same bytes, it writes
 * them, else it removes them from the old index; so the work can be stopped and repeated anywhere, by several replicas at once.
 */
import type { Logger } from 'pino';
import Type, { type Static } from 'typebox';
import Value from 'typebox/value';
import { GatewayError } from '../../errors.js';
import { allPages } from '../../lib/all-pages.js';
import { parseOrNull } from '../../lib/json.js';
import { turn } from '../../lib/time.js';
import type { OldPinStore, PinBytes, PinStore } from '../../store/pins-port.js';
import { StoreUnavailable } from '../../store/port.js';
import { createTurns } from '../../store/turns.js';
import type { FormatTask } from '../rows/answer.js';
import { decodeOldRows } from './old-pin-bytes.js';
import { encodeIndex, PinForm, type PinIndex, readIndex, unreadable } from './pin-index.js';
import { decodePinned, encodePinned, formatPinned, headerOf, type PinnedPart } from './pinned-rows.js';

const OldPinForm = Type.Object({ ...PinForm.properties, parts: Type.Number() });
const OldIndexForm = Type.Object({ form: Type.Literal(1), pins: Type.Array(OldPinForm) });

export type OldPin = Readonly<Static<typeof OldPinForm>>;

const namesOf = ({ id, parts }: OldPin) => Array.from({ length: parts }, (_, at) => `${id}.${at}`);
/** Sealed name of a part. */
const partName = (owner: string, id: string, at: number) => `p1:{${owner}}:${id}:${at}`;

/** Of one step: pins, and their bytes if there are several. */
const [STEP_PINS, STEP_BYTES] = [50, 2_097_152];
/** Attempts while others rewrite the same pins: more than the steps of an owner. */
const TRIES = 500;
/** Owners between two lines of the log. */
const TELL_EVERY = 100;

interface OldPinsOptions {
  readonly store: OldPinStore;
  readonly pins: PinStore;
  readonly format: (task: FormatTask) => Promise<Buffer>;
  readonly logger: Logger;
}

export type OldPins = ReturnType<typeof createOldPins>;

export function createOldPins(options: OldPinsOptions) {
  const { store, logger } = options;
  const old = createReader(store);
  const counts = { pins: 0, damaged: 0 };
  const step = createStep(options, old, (owner, count, damaged) => {
    counts.pins += count;
    counts.damaged += damaged.length;
    for (const { id } of damaged) logger.error({ owner, pin: id }, DAMAGED);
  });
  const turns = createTurns();

  /**
   * Rewrites the old pins of an owner.
   * @returns pins for which the store has no room; they stay as they are
   * @throws GatewayError, StoreUnavailable
   */
  async function adopt(owner: string, isStopped = () => false): Promise<readonly OldPin[]> {
    if ((await old.index(owner)) === null) return [];
    return await turns(owner, async () => {
      const written = new Set<string>();
      try {
        for (let tries = 0; tries < TRIES && !isStopped(); ) {
          const made = await step(owner, written);
          if (made === null) return [];
          tries = made ? 0 : tries + 1;
        }
      } catch (error) {
        if (!(error instanceof StoreUnavailable && error.why === 'no-room')) throw error;
        return (await old.index(owner))?.pins ?? [];
      }
      throw new GatewayError('not_ready', { detail: 'The pins of this team are being rewritten.' });
    });
  }

  /** Of every owner, in turn; what fails is tried again by the next call. */
  async function adoptAll(isStopped: () => boolean): Promise<void> {
    const all: string[] = [];
    for await (const owner of old.owners()) all.push(owner);
    if (all.length === 0) return;
    logger.info({ owners: all.length }, 'rewriting pins of an earlier release');
    const faults: unknown[] = [];
    let withoutRoom = 0;
    for (const [at, owner] of all.entries()) {
      if (isStopped()) return;
      try {
        if ((await adopt(owner, isStopped)).length > 0) withoutRoom += 1;
        // Also what a removal that broke off has left, whose index is gone.
        else await old.remove(owner);
      } catch (error) {
        faults.push(error);
      }
      if (at % TELL_EVERY === TELL_EVERY - 1) logger.info({ done: at + 1, owners: all.length }, REWROTE);
    }
    const failed = faults.length;
    if (failed + withoutRoom > 0) logger.warn({ err: faults[0], failed, withoutRoom }, NOT_ALL);
    logger.info({ done: all.length - failed - withoutRoom, owners: all.length, ...counts }, REWROTE);
  }

  return {
    adopt: (owner: string) => adopt(owner),
    adoptAll,
    parts: old.parts,
    owners: old.owners,
    remove: old.remove,
  };
}

interface OldIndex {
  readonly stamp: number;
  readonly pins: readonly OldPin[];
}

function createReader(store: OldPinStore) {
  return {
    /** @throws GatewayError `not_ready` */
    async index(owner: string): Promise<OldIndex | null> {
      const found = await store.index(owner);
      if (found === null) return null;
      const index = parseOrNull(found.bytes.toString());
      if (!Value.Check(OldIndexForm, index)) throw unreadable();
      return { stamp: found.stamp, pins: index.pins };
    },
    /** @returns null if rows are missing or damaged */
    async parts(owner: string, pin: OldPin): Promise<readonly PinnedPart[] | null> {
      const found = await store.rows(owner, namesOf(pin));
      const parts = await Promise.all(
        found.map((rows, at) => rows && decodeOldRows(partName(owner, pin.id, at), rows)),
      );
      return parts.every((part) => part !== null) ? parts : null;
    },
    owners: () => allPages<string>((after, limit) => store.owners(after, limit)),
    remove: store.remove,
  };
}

type Reader = ReturnType<typeof createReader>;

/** @param onRemoved called with what was removed from the old index: the number of pins, and those that are damaged */
function createStep(
  { store, pins: target, format }: OldPinsOptions,
  old: Reader,
  onRemoved: (owner: string, count: number, damaged: readonly OldPin[]) => void,
) {
  async function removeOld(owner: string, { stamp, pins }: OldIndex, some: Sorted): Promise<boolean> {
    if (pins.length === 0) {
      await old.remove(owner);
      return true;
    }
    const bytes = Buffer.from(JSON.stringify({ form: 1, pins: pins.slice(some.all.length) }));
    const made = await store.write(owner, { stamp, bytes }, some.all.flatMap(namesOf));
    if (made) onRemoved(owner, some.all.length, some.damaged);
    return made;
  }

  /**
   * @param written ids of this adoption, which must be right by now
   * @returns null: nothing is left; else whether something was written or removed
   */
  return async (owner: string, written: Set<string>): Promise<boolean | null> => {
    // The new index is read first, and must be the same after the old one was read: a pin that another replica has adopted and
    // deleted in between does not come back.
    const { stamp } = await target.read(owner);
    const index = await old.index(owner);
    if (index === null) return null;
    const all = index.pins.slice(0, stepLength(index.pins));
    const ids = all.map(({ id }) => id);
    const found = await target.read(owner, ids);
    if (found.stamp !== stamp) return false;
    const known = readIndex(found);
    const some = await sortOut(owner, all, found.bodies, known, old, format);
    if (some.added.size + some.unlisted.length === 0) return await removeOld(owner, index, some);
    for (const id of some.added.keys()) if (written.has(id)) throw different(id);
    const pins = [...known.pins, ...some.unlisted.map(({ parts: _, ...pin }) => pin)];
    const earlier = known.adopted.filter((id) => index.pins.some((pin) => pin.id === id));
    const made = await target.write(owner, {
      stamp,
      added: some.added,
      removed: [],
      index: encodeIndex({ pins, adopted: [...new Set([...earlier, ...ids])] }),
    });
    if (made) for (const id of some.added.keys()) written.add(id);
    return made;
  };
}

/** Old pins of one step. */
interface Sorted {
  readonly all: readonly OldPin[];
  /** Bodies to write, by id. */
  readonly added: ReadonlyMap<string, Buffer>;
  /** Not in the new index, and never were. */
  readonly unlisted: readonly OldPin[];
  readonly damaged: readonly OldPin[];
}

async function sortOut(
  owner: string,
  all: readonly OldPin[],
  bodies: readonly PinBytes[],
  { pins, adopted }: PinIndex,
  old: Reader,
  format: OldPinsOptions['format'],
): Promise<Sorted> {
  const added = new Map<string, Buffer>();
  const [unlisted, damaged]: [OldPin[], OldPin[]] = [[], []];
  for (const [at, pin] of all.entries()) {
    const isListed = pins.some(({ id }) => id === pin.id);
    // Deleted since.
    if (!isListed && adopted.includes(pin.id)) continue;
    if (!isListed) unlisted.push(pin);
    const parts = await old.parts(owner, pin);
    if (parts === null) damaged.push(pin);
    else if (!isListed || !(await showsTheSame(format, pin, parts, bodies[at] ?? null)))
      added.set(pin.id, await encodePinned(parts));
    // Requests go first.
    await turn();
  }
  return { all, added, unlisted, damaged };
}

/** Whether the new form shows the same bytes. */
async function showsTheSame(
  format: OldPinsOptions['format'],
  { rowCount }: OldPin,
  parts: readonly PinnedPart[],
  body: PinBytes,
): Promise<boolean> {
  const now = body instanceof Buffer ? await decodePinned(body) : null;
  if (now === null || headerOf(now) !== headerOf(parts)) return false;
  for (const shape of ['json', 'csv', 'ndjson'] as const) {
    const show = (some: readonly PinnedPart[]) =>
      formatPinned(format, some, { format: shape, rowCount, bom: false });
    if (!(await show(now)).equals(await show(parts))) return false;
  }
  return true;
}

function stepLength(pins: readonly OldPin[]): number {
  let bytes = 0;
  const at = pins.findIndex((pin, nth) => {
    bytes += pin.bytes;
    return nth > 0 && (nth === STEP_PINS || bytes > STEP_BYTES);
  });
  return at === -1 ? pins.length : at;
}

function different(id: string): GatewayError {
  return new GatewayError('internal_error', {
    internal: `pin ${id}, rewritten, does not show the same bytes`,
  });
}

const DAMAGED =
  'the rows of a pin of an earlier release are damaged: the pin stays listed, but cannot be read; restore it from a backup, or delete it';
const REWROTE = 'rewrote pins of an earlier release';
const NOT_ALL =
  'pins of an earlier release are not all rewritten; retrying in an hour. Without room they are read as they are, and none can be added or deleted';
