/**
 * A list of JSON values in few bytes. One byte is a whole number below 128, or the kind of a value (3 bits) and its length
 * (5 bits; 31: in the 4 bytes that follow), with the value behind it: JSON (of no bytes: null), a text in hexadecimal or
 * base64url as the bytes that it stands for, a whole number.
 */
const SMALL = 0x80;
const [JSON_TEXT, HEX, BASE64URL, WHOLE] = [0, 1, 2, 3];
const LONG = 31;
const LONG_BYTES = 4;

/** With a letter more the last bits of a text whose length is no multiple of four are not lost. */
const ENCODINGS = [
  { kind: HEX, bytesOf: (text: string) => Buffer.from(text, 'hex') },
  { kind: BASE64URL, bytesOf: (text: string) => Buffer.from(`${text}A`, 'base64url') },
];

export function packValues(values: readonly unknown[]): Buffer {
  return Buffer.concat(values.flatMap(piecesOf));
}

function piecesOf(value: unknown): Buffer[] {
  if (value === null) return [Buffer.of(0)];
  if (typeof value === 'string')
    for (const { kind, bytesOf } of ENCODINGS) {
      const bytes = bytesOf(value);
      if (bytes.length > 0 && readValue(kind, bytes) === value) return [headOf(kind, bytes.length), bytes];
    }
  if (!Number.isSafeInteger(value) || (value as number) < 0 || Object.is(value, -0)) return textPieces(value);
  if ((value as number) < SMALL) return [Buffer.of(SMALL + (value as number))];
  const digits = (value as number).toString(16);
  const bytes = Buffer.from(digits.padStart(digits.length + (digits.length % 2), '0'), 'hex');
  return [headOf(WHOLE, bytes.length), bytes];
}

function textPieces(value: unknown): Buffer[] {
  const bytes = Buffer.from(JSON.stringify(value));
  return [headOf(JSON_TEXT, bytes.length), bytes];
}

function headOf(kind: number, length: number): Buffer {
  if (length < LONG) return Buffer.of((kind << 5) + length);
  const head = Buffer.alloc(1 + LONG_BYTES, (kind << 5) + LONG);
  head.writeUInt32BE(length, 1);
  return head;
}

/** @returns null for other bytes */
export function unpackValues(bytes: Buffer): unknown[] | null {
  const values: unknown[] = [];
  try {
    for (let at = 0; at < bytes.length; ) {
      const head = bytes.readUInt8(at++);
      if (head >= SMALL) {
        values.push(head - SMALL);
        continue;
      }
      let length = head % (LONG + 1);
      if (length === LONG) {
        length = bytes.readUInt32BE(at);
        at += LONG_BYTES;
      }
      if (at + length > bytes.length) return null;
      values.push(readValue(head >> 5, bytes.subarray(at, at + length)));
      at += length;
    }
    return values;
  } catch {
    return null;
  }
}

/** @throws SyntaxError for what is no JSON */
function readValue(kind: number, bytes: Buffer): unknown {
  if (kind === HEX) return bytes.toString('hex');
  if (kind === BASE64URL) return bytes.toString('base64url').slice(0, Math.floor((bytes.length * 4) / 3));
  if (kind === WHOLE) return Number.parseInt(bytes.toString('hex'), 16);
  return bytes.length === 0 ? null : JSON.parse(bytes.toString());
}
