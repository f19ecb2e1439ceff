/** The index of the pins of a team, as stored. */
import Type, { type Static } from 'typebox';
import Value from 'typebox/value';
import { GatewayError } from '../../errors.js';
import { parseOrNull } from '../../lib/json.js';
import type { PinsRead } from '../../store/pins-port.js';

const textOrNull = Type.Union([Type.String(), Type.Null()]);

export const PinForm = Type.Object({
  id: Type.String(),
  /** Epoch milliseconds. */
  createdAt: Type.Number(),
  note: textOrNull,
  /** Label of the key that pinned it, or its id; absent: not recorded. */
  by: Type.Optional(Type.String()),
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
  /** Stored size. */
  bytes: Type.Number(),
  /** Version of the JSON, CSV and NDJSON output of its rows; later releases keep supporting it. */
  format: Type.Literal(1),
});

export type Pin = Readonly<Static<typeof PinForm>>;

const IndexForm = Type.Object({
  form: Type.Literal(2),
  pins: Type.Array(PinForm),
  /** Pins that were adopted while their old form may still be stored: one that is deleted does not come back from it. */
  adopted: Type.Optional(Type.Array(Type.String())),
});

export interface PinIndex extends Pick<PinsRead, 'stamp'> {
  /** Oldest first. */
  readonly pins: readonly Pin[];
  readonly adopted: readonly string[];
}

export function encodeIndex({ pins, adopted }: Omit<PinIndex, 'stamp'>): Buffer {
  return Buffer.from(JSON.stringify({ form: 2, pins, ...(adopted.length === 0 ? {} : { adopted }) }));
}

/** @throws GatewayError `not_ready` */
export function readIndex({ stamp, index: bytes }: PinsRead): PinIndex {
  if (bytes === null) return { stamp, pins: [], adopted: [] };
  const index = bytes === 'damaged' ? null : parseOrNull(bytes.toString());
  // Data of a newer release is left unchanged.
  if (!Value.Check(IndexForm, index)) throw unreadable();
  return { stamp, pins: index.pins, adopted: index.adopted ?? [] };
}

export function unreadable(): GatewayError {
  return new GatewayError('not_ready', {
    detail: 'The pins of this team cannot be read: a newer release has written them, or they are damaged.',
    help: 'Ask your operator to run the newest release on all replicas; repeating does not help.',
  });
}
