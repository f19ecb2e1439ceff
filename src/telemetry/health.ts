/**
 * How well the gateway is, in a few words for each of its parts: as this process sees it, and the worst of what all
 * processes say.
 */
import { hostname } from 'node:os';
import Type from 'typebox';
import { VERSION } from '../lib/package-root.js';
import { type RecordOf, recordForm } from '../lib/record.js';
import { CONDITIONS, type HealthPart, type Measured } from './conditions.js';

/** `ok`, or what is wrong, in a word or a sentence; never a secret, nor an address. */
export type Conditions = Readonly<Record<HealthPart, string>>;

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

export interface Health {
  /** Of this process, as {@link ProcessHealth.id}. */
  readonly id: string;
  /** Adds a way by which other processes are heard of. The later one added is believed when two tell of one process. */
  hear(others: () => readonly ProcessHealth[]): void;
  /** This process. */
  own(): ProcessHealth;
  /** This process first, then every other that is heard of. */
  processes(): readonly ProcessHealth[];
  /** Each part as the worst of all processes has it. */
  worst(): Conditions;
}

/**
 * @param id of this process among all
 * @param measured asked only later, for what is measured may be made after the health that tells of it
 * @param held which platform token this process holds
 */
export function createHealth(id: string, measured: () => Measured, held: () => HeldToken): Health {
  const ways: (() => readonly ProcessHealth[])[] = [];
  const host = hostname();

  function own(): ProcessHealth {
    const gateway = measured();
    const { l1, budget } = gateway;
    return {
      ...{ id, host, pid: process.pid, version: VERSION },
      ...eachPart((part) => readPart(part, gateway)),
      l1Bytes: l1.bytes,
      l1Entries: l1.entries,
      callsRunning: budget.running,
      callsQueued: budget.queued,
      ...held(),
    };
  }

  function processes(): readonly ProcessHealth[] {
    const byId = new Map<string, ProcessHealth>();
    for (const way of ways) for (const one of way()) byId.set(one.id, one);
    byId.delete(id);
    return [own(), ...byId.values()];
  }

  return {
    id,
    hear: (others) => void ways.push(others),
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

const rowsOf = (part: HealthPart) => CONDITIONS.filter((row) => row.part === part);

/** The worst of what this process has. A row that cannot be read must not keep the rest from being told. */
function readPart(part: HealthPart, gateway: Measured): string {
  const texts = rowsOf(part).map(({ text, read }) => {
    try {
      const found = read(gateway);
      return found === true ? text : found || 'ok';
    } catch {
      return 'unknown';
    }
  });
  return worstOf(part, texts);
}

function eachPart(read: (part: HealthPart) => string): Conditions {
  return { store: read('store'), credential: read('credential'), platform: read('platform') };
}

/** The worst of these texts; `ok` when there are none. */
export function worstOf(part: HealthPart, texts: readonly string[]): string {
  return texts.reduce((worst, text) => (severity(part, text) > severity(part, worst) ? text : worst), 'ok');
}

/** A text that is not in the table counts as the worst: it comes from a newer version, which knows of something more. */
function severity(part: HealthPart, text: string): number {
  if (text === 'ok') return 0;
  const at = rowsOf(part).findIndex((row) => text.startsWith(row.text));
  return at < 0 ? CONDITIONS.length : at + 1;
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
