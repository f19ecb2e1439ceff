/** An answer that stays: what is known of it without its rows. */
import Type, { type Static } from 'typebox';
import Value from 'typebox/value';
import type { Caller } from '../../auth/authenticate.js';
import type { Directory } from '../../auth/directory.js';

const textOrNull = Type.Union([Type.String(), Type.Null()]);

const PinForm = Type.Object({
  id: Type.String(),
  /** Epoch milliseconds. */
  createdAt: Type.Number(),
  note: textOrNull,
  endpoint: Type.String(),
  /** With the days that a relative period meant, and without what shapes an answer. */
  query: Type.String(),
  /** Of the report without its period. */
  series: Type.String(),
  /** ISO; null where the platform chose it. */
  from: textOrNull,
  to: textOrNull,
  account: textOrNull,
  split: Type.Array(Type.String()),
  /** Null for what is not kept by days. */
  revision: textOrNull,
  /** Since when the rows were known, epoch milliseconds. */
  knownAt: Type.Number(),
  final: Type.Boolean(),
  rowCount: Type.Number(),
  /** Accounts that the question names, and those in the rows: who may see the pin. */
  named: Type.Array(Type.String()),
  held: Type.Array(Type.String()),
  /** Of its oldest part: the newest purge known before it was asked for, and when that was, epoch milliseconds. */
  seq: Type.Number(),
  fetchedFrom: Type.Number(),
  /** How many parts its rows lie in. */
  parts: Type.Number(),
  /** What it takes in the store. */
  bytes: Type.Number(),
  /** How its rows are written as JSON, CSV and NDJSON: another release that writes them otherwise keeps this way too. */
  format: Type.Literal(1),
});

export type Pin = Readonly<Static<typeof PinForm>>;

const IndexForm = Type.Object({ form: Type.Literal(1), pins: Type.Array(PinForm) });

export function encodePins(pins: readonly Pin[]): Buffer {
  return Buffer.from(JSON.stringify({ form: 1, pins }));
}

/** @returns null for what a later release has written: it is then left as it is */
export function decodePins(bytes: Buffer): readonly Pin[] | null {
  try {
    const index: unknown = JSON.parse(bytes.toString());
    return Value.Check(IndexForm, index) ? index.pins : null;
  } catch {
    return null;
  }
}

/** A team that was deleted and made again is another one, and has other pins. */
export type Lives = Pick<Directory, 'life'>;

export function ownerOf({ team }: Pick<Caller, 'team'>, { life }: Lives): string {
  return `${team.id}:${life(team.id)}`;
}

/** Whether the team was deleted since. Of an unknown team nothing is said: the registry may have been lost. */
export function isGone(owner: string, { life }: Lives): boolean {
  const cut = owner.lastIndexOf(':');
  return life(owner.slice(0, cut)) > Number(owner.slice(cut + 1));
}

/** Whether the team may see every account that the question names, or that is in the rows. */
export function mayBeSeen({ named, held }: Pin, { team }: Pick<Caller, 'team'>): boolean {
  if (team.advertisers === '*') return true;
  const allowed = new Set(team.advertisers.map(String));
  return named.length > 0 && [...named, ...held].every((account) => allowed.has(account));
}
