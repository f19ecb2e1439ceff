/**
 * The rows of a pin. Stored, deflated as a whole: length of the header (4 bytes, big endian), header as JSON, rows of all parts.
 * The store ties the bytes to owner and id.
 */
import { promisify } from 'node:util';
import { deflateRaw, deflateRawSync, inflateRaw, inflateRawSync } from 'node:zlib';
import Type from 'typebox';
import Value from 'typebox/value';
import { parseOrNull } from '../../lib/json.js';
import type { FormatTask } from '../rows/answer.js';
import type { RowsHeader, SplitFrom } from '../rows/entry.js';
import { joinRows } from '../rows/join-entries.js';

type Kept = 'lastDay' | 'columns' | 'sources' | 'types' | 'accounts' | 'rowCount';

/** A part of the pinned answer, mostly a day. */
export interface PinnedPart {
  readonly header: Pick<RowsHeader, Kept> & { readonly splitFrom: Pick<SplitFrom, 'sortedHash'> | null };
  readonly body: Buffer;
}

const texts = Type.Array(Type.String());
const HeaderForm = Type.Object({
  form: Type.Literal(1),
  parts: Type.Array(
    Type.Object({
      lastDay: Type.Union([Type.String(), Type.Null()]),
      columns: texts,
      sources: Type.Optional(texts),
      types: Type.Optional(texts),
      accounts: texts,
      rowCount: Type.Number(),
      splitFrom: Type.Union([Type.Object({ sortedHash: Type.String() }), Type.Null()]),
      /** Of its rows, bytes. */
      length: Type.Number(),
    }),
  ),
});
const LENGTH_BYTES = 4;

/** Larger plain and deflated bytes are deflated and inflated on another thread. */
const [AT_ONCE_BYTES, DEFLATED_AT_ONCE_BYTES] = [262_144, 32_768];

const deflateAside = promisify<Buffer, Buffer>(deflateRaw);
const inflateAside = promisify<Buffer, Buffer>(inflateRaw);
const deflate = async (plain: Buffer) =>
  plain.length > AT_ONCE_BYTES ? deflateAside(plain) : deflateRawSync(plain);
const inflate = async (bytes: Buffer) =>
  bytes.length > DEFLATED_AT_ONCE_BYTES ? inflateAside(bytes) : inflateRawSync(bytes);

export function headerOf(parts: readonly PinnedPart[]): string {
  const all = parts.map(({ header, body }) => {
    const { lastDay, columns, sources, types, accounts, rowCount, splitFrom } = header;
    const day = splitFrom && { sortedHash: splitFrom.sortedHash };
    return { lastDay, columns, sources, types, accounts, rowCount, splitFrom: day, length: body.length };
  });
  return JSON.stringify({ form: 1, parts: all });
}

export async function encodePinned(parts: readonly PinnedPart[]): Promise<Buffer> {
  const header = Buffer.from(headerOf(parts));
  const length = Buffer.alloc(LENGTH_BYTES);
  length.writeUInt32BE(header.length);
  return await deflate(Buffer.concat([length, header, ...parts.map(({ body }) => body)]));
}

/** @returns null for bytes of another form */
export async function decodePinned(bytes: Buffer): Promise<readonly PinnedPart[] | null> {
  const plain = await inflate(bytes).catch(() => NOTHING);
  if (plain.length < LENGTH_BYTES) return null;
  let at = LENGTH_BYTES + plain.readUInt32BE();
  const header = parseOrNull(plain.toString('utf8', LENGTH_BYTES, at));
  if (!Value.Check(HeaderForm, header)) return null;
  const parts = header.parts.map(({ length, ...one }) => {
    at += length;
    return { header: one, body: plain.subarray(at - length, at) };
  });
  return at === plain.length ? parts : null;
}

const NOTHING = Buffer.alloc(0);

/** The rows as they are shown: always the same bytes. */
export function formatPinned(
  format: (task: FormatTask) => Promise<Buffer>,
  parts: readonly PinnedPart[],
  shape: Pick<FormatTask, 'format' | 'rowCount' | 'bom'>,
): Promise<Buffer> {
  const columns = [...new Set(parts.flatMap(({ header }) => header.columns))];
  return format({ ...shape, chunks: [joinRows(parts).body], rewrites: [null], columns });
}
