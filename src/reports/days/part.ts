/**
 * A part: the rows of one answer in one month, by day. Stored: a byte that names the form, the length of the head (4 bytes, big
 * endian), the head as JSON, the rows of each day. Small parts are deflated as a whole after the first byte; in a large one each
 * day is a segment, which is joined to an answer as it is.
 */
import { crc32, inflateRawSync } from 'node:zlib';
import Type from 'typebox';
import { deflateSmall } from '../../lib/deflate.js';
import { parseOrNull } from '../../lib/json.js';
import { type RecordOf, recordForm } from '../../lib/record.js';
import type { RowsHeader } from '../rows/entry.js';
import { deflateBody, type StoredBody } from '../rows/segments.js';

type Kept = 'columns' | 'sources' | 'types' | 'accounts' | 'rowCount';

/** A day of a part: what depends on its rows alone. */
export interface PartDay {
  /** Of the month. */
  readonly day: number;
  /** Of its rows in any order: a part may have two states of one day. */
  readonly digest: string;
  readonly header: Pick<RowsHeader, Kept>;
  readonly body: Buffer;
}

/** A day as it was found: with a body as it is stored, in a large part. */
export interface FoundDay extends Omit<PartDay, 'body'> {
  readonly body: Buffer | StoredBody;
}

/** By {@link nameOf}. */
export type Part = ReadonlyMap<string, FoundDay>;

export const nameOf = (day: number, digest: string): string => `${day} ${digest}`;

const texts = Type.Array(Type.String());
const valuesOf = (length: number) =>
  Array.from({ length }, (_, at) => (at === 1 ? Type.String() : Type.Integer()));
const HeadForm = recordForm(
  Type.Object({
    shapes: Type.Array(
      Type.Object({ columns: texts, sources: Type.Optional(texts), types: Type.Optional(texts) }),
    ),
    accounts: Type.Array(texts),
    /**
     * Day, digest, indexes of its shape and of its accounts, number of rows, bytes as they are stored; in a large part also bytes
     * and checksum of the plain rows; equal bytes: not deflated.
     */
    days: Type.Array(
      Type.Unsafe<FoundLine>(Type.Union([6, 8].map((length) => Type.Tuple(valuesOf(length))))),
    ),
  }),
);
type Head = RecordOf<typeof HeadForm>;
type HeadDay = [day: number, digest: string, ...numbers: number[]];
type FoundLine = [number, string, number, number, number, number, number?, number?];

const [SMALL, LARGE] = [1, 2] as const;
const LENGTH_BYTES = 4;
/** Plain rows of a small part at most. */
export const SMALL_PART_BYTES = 65_536;

export function encodePart(days: readonly PartDay[]): Buffer {
  const isSmall = days.reduce((sum, { body }) => sum + body.length, 0) <= SMALL_PART_BYTES;
  const bodies = days.map(({ body }) => (isSmall ? body : deflateBody(body)));
  const head = Buffer.from(JSON.stringify(headOf(days, bodies, isSmall)));
  const length = Buffer.alloc(LENGTH_BYTES);
  length.writeUInt32BE(head.length);
  const pieces = [length, head, ...bodies];
  return isSmall
    ? Buffer.concat([Buffer.of(SMALL), deflateSmall(Buffer.concat(pieces))])
    : Buffer.concat([Buffer.of(LARGE), ...pieces]);
}

function headOf(days: readonly PartDay[], bodies: readonly Buffer[], isSmall: boolean) {
  const [shapes, accounts] = [createShared(), createShared()];
  const lines = days.map(({ day, digest, header, body }, at): HeadDay => {
    const { columns, sources, types, rowCount } = header;
    const stored = bodies[at] as Buffer;
    const shape = shapes.placeOf(columns, { columns, sources, types });
    const held = accounts.placeOf(header.accounts, header.accounts);
    const line: HeadDay = [day, digest, shape, held, rowCount, stored.length];
    return isSmall ? line : [...line, body.length, crc32(body)];
  });
  return { shapes: shapes.all, accounts: accounts.all, days: lines };
}

/** Equal values once. Days of one answer mostly share their lists. */
function createShared() {
  const all: unknown[] = [];
  const places = new Map<string, number>();
  let latest: { readonly list: object; readonly text: string } | null = null;
  return {
    all,
    /** @param list of the value, which tells whether it is that of the day before */
    placeOf(list: object, value: unknown): number {
      const text = latest?.list === list && value === list ? latest.text : JSON.stringify(value);
      latest = { list, text };
      const place = places.get(text) ?? all.push(value) - 1;
      places.set(text, place);
      return place;
    },
  };
}

/** @returns null for bytes that this release cannot read */
export function decodePart(bytes: Buffer): Part | null {
  const isSmall = bytes[0] === SMALL;
  if (!isSmall && bytes[0] !== LARGE) return null;
  const plain = isSmall ? inflated(bytes.subarray(1)) : bytes.subarray(1);
  if (plain === null || plain.length < LENGTH_BYTES) return null;
  const end = LENGTH_BYTES + plain.readUInt32BE();
  const head: unknown = parseOrNull(plain.toString('utf8', LENGTH_BYTES, end));
  return HeadForm.is(head) ? daysIn(head, plain.subarray(end), isSmall) : null;
}

function inflated(bytes: Buffer): Buffer | null {
  try {
    return inflateRawSync(bytes);
  } catch {
    return null;
  }
}

function daysIn({ shapes, accounts, days }: Head, bodies: Buffer, isSmall: boolean): Part | null {
  const found = new Map<string, FoundDay>();
  let at = 0;
  for (const line of days) {
    const [day, digest, shape, held, rowCount, length, plainLength = 0, plainCrc = 0] = line;
    const [own, named] = [shapes[shape], accounts[held]];
    if (own === undefined || named === undefined) return null;
    const stored = bodies.subarray(at, at + length);
    at += length;
    const body = isSmall
      ? stored
      : { bytes: stored, plainLength, plainCrc, isDeflated: length !== plainLength };
    const header = {
      columns: own.columns,
      sources: own.sources,
      types: own.types,
      accounts: named,
      rowCount,
    };
    found.set(nameOf(day, digest), { day, digest, header: header as FoundDay['header'], body });
  }
  return at === bodies.length ? found : null;
}
