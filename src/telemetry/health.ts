/**
 * How well the gateway is, in a few words for each of its parts: as this process sees it, and the worst of what all
 * processes say. A part is as ill as the worst of its sources; whoever knows of another fault adds a source.
 */
import { hostname } from 'node:os';
import Type from 'typebox';
import { VERSION } from '../lib/package-root.js';
import { type RecordOf, recordForm } from '../lib/record.js';

export const HEALTH_PARTS = ['store', 'credential', 'platform'] as const;
export type HealthPart = (typeof HEALTH_PARTS)[number];

/** `ok`, or what is wrong, in a word or a sentence; never a secret, nor an address. */
export type Conditions = Readonly<Record<HealthPart, string>>;

/**
 * From well to ill, by how a text begins: what follows may hold numbers. A text that is not listed counts as the worst,
 * for it comes from a newer version that knows of something this one does not.
 */
const BY_SEVERITY: Readonly<Record<HealthPart, readonly string[]>> = {
  store: ['ok', 'out of memory', 'slow', 'away', 'registry lost'],
  credential: ['ok', 'unproven', 'expiring', 'expired', 'refused', 'missing'],
  platform: ['ok', 'answers in pages', 'paused', 'failing'],
};

/** What a process has under way and in memory. */
export interface Load {
  readonly l1Bytes: number;
  readonly l1Entries: number;
  readonly callsRunning: number;
  readonly callsQueued: number;
}

/** The platform token that a process asks with, by its id alone. */
export interface HeldToken {
  /** Null: none, or it does not tell. */
  readonly tokenId: string | null;
  /** Since when this process has it, ISO. */
  readonly tokenSince: string | null;
}

/** What a process says of itself. */
export interface ProcessHealth extends Conditions, Load, HeldToken {
  /** Tells processes apart, wherever they run. */
  readonly id: string;
  readonly host: string;
  readonly pid: number;
  /** Of the program it runs; empty: it does not tell. */
  readonly version: string;
}

/** @returns what is wrong now; null when nothing is */
export type HealthSource = () => string | null;

export interface Health {
  /** Of this process, as {@link ProcessHealth.id}. */
  readonly id: string;
  /** Adds something that a part may suffer from. List its text in the order of severity above. */
  watch(part: HealthPart, source: HealthSource): void;
  /** Adds a way by which other processes are heard of. The later one added is believed when two tell of one process. */
  hear(others: () => readonly ProcessHealth[]): void;
  /** From now on it is told which token this process holds. */
  holds(held: () => HeldToken): void;
  /** This process. */
  own(): ProcessHealth;
  /** This process first, then every other that is heard of. */
  processes(): readonly ProcessHealth[];
  /** Each part as the worst of all processes has it. */
  worst(): Conditions;
}

/** @param id of this process among all */
export function createHealth(id: string, load: () => Load): Health {
  const sources: Record<HealthPart, HealthSource[]> = { store: [], credential: [], platform: [] };
  const ways: (() => readonly ProcessHealth[])[] = [];
  const host = hostname();
  let held = (): HeldToken => NO_TOKEN;

  const own = (): ProcessHealth => ({
    id,
    host,
    pid: process.pid,
    version: VERSION,
    ...eachPart((part) => worstOf(part, sources[part].map(readSource))),
    ...load(),
    ...held(),
  });

  function processes(): readonly ProcessHealth[] {
    const byId = new Map<string, ProcessHealth>();
    for (const way of ways) for (const one of way()) byId.set(one.id, one);
    byId.delete(id);
    return [own(), ...byId.values()];
  }

  return {
    id,
    watch: (part, source) => void sources[part].push(source),
    hear: (others) => void ways.push(others),
    holds(source) {
      held = source;
    },
    own,
    processes,
    worst() {
      const all = processes();
      return eachPart((part) =>
        worstOf(
          part,
          all.map((one) => one[part]),
        ),
      );
    },
  };
}

const NO_TOKEN: HeldToken = { tokenId: null, tokenSince: null };

/** A source that fails must not keep the rest from being told. */
function readSource(source: HealthSource): string {
  try {
    return source() ?? 'ok';
  } catch {
    return 'unknown';
  }
}

function eachPart(read: (part: HealthPart) => string): Conditions {
  return { store: read('store'), credential: read('credential'), platform: read('platform') };
}

/** The worst of these texts; `ok` when there are none. */
export function worstOf(part: HealthPart, texts: readonly string[]): string {
  return texts.reduce((worst, text) => (severity(part, text) > severity(part, worst) ? text : worst), 'ok');
}

function severity(part: HealthPart, text: string): number {
  const at = BY_SEVERITY[part].findIndex((known) => text.startsWith(known));
  return at < 0 ? BY_SEVERITY[part].length : at;
}

/** The sum of what processes have under way and in memory. */
export function addLoads(all: readonly Load[]): Load {
  const sum = (name: keyof Load) => all.reduce((total, one) => total + one[name], 0);
  return {
    l1Bytes: sum('l1Bytes'),
    l1Entries: sum('l1Entries'),
    callsRunning: sum('callsRunning'),
    callsQueued: sum('callsQueued'),
  };
}

/**
 * What another process said of itself. It may be of another version: what it does not tell counts as well or as
 * nothing, what it tells besides is left out.
 */
const Told = recordForm(
  Type.Object({
    id: Type.String(),
    host: Type.Optional(Type.String()),
    pid: Type.Optional(Type.Number()),
    version: Type.Optional(Type.String()),
    store: Type.Optional(Type.String()),
    credential: Type.Optional(Type.String()),
    platform: Type.Optional(Type.String()),
    l1Bytes: Type.Optional(Type.Number()),
    l1Entries: Type.Optional(Type.Number()),
    callsRunning: Type.Optional(Type.Number()),
    callsQueued: Type.Optional(Type.Number()),
    tokenId: Type.Optional(Type.Union([Type.String(), Type.Null()])),
    tokenSince: Type.Optional(Type.Union([Type.String(), Type.Null()])),
  }),
);

/** @returns null when it told nothing of the kind */
export function readProcessHealth(text: string): ProcessHealth | null {
  const told = Told.parse(text);
  return told === null ? null : completeHealth(told);
}

/** The same, of a message that is a value already. */
export function asProcessHealth(told: unknown): ProcessHealth | null {
  return Told.is(told) ? completeHealth(told) : null;
}

function completeHealth(told: RecordOf<typeof Told>): ProcessHealth {
  return {
    id: told.id,
    host: told.host ?? '',
    pid: told.pid ?? 0,
    version: told.version ?? '',
    ...eachPart((part) => told[part] ?? 'ok'),
    l1Bytes: told.l1Bytes ?? 0,
    l1Entries: told.l1Entries ?? 0,
    callsRunning: told.callsRunning ?? 0,
    callsQueued: told.callsQueued ?? 0,
    tokenId: told.tokenId ?? null,
    tokenSince: told.tokenSince ?? null,
  };
}
