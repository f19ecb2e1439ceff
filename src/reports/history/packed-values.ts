/**
 * A list of JSON values in few bytes. The first byte of a value is a whole number below 128, or its kind (3 bits) and its
 * length (5 bits; 31: the length is in the next 4 bytes). The value follows: JSON (no bytes: null), the bytes of a
 * hexadecimal or base64url text, or a whole number.
 */
const SMALL = 0x80;
const [JSON_TEXT, HEX, BASE64URL, WHOLE] = [0, 1, 2, 3];
const LONG = 31;
const LONG_BYTES = 4;

/** The added letter keeps the last bits of a base64url text whose length is no multiple of four. */
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
  if (!Number.isSafeInteger(value) || (value as number) < 0 || Object.is(value, -0)) {
    const json = Buffer.from(JSON.stringify(value));
    return [headOf(JSON_TEXT, json.length), json];
  }
  if ((value as number) < SMALL) return [Buffer.of(SMALL + (value as number))];
  const digits = (value as number).toString(16);
  const bytes = Buffer.from(digits.padStart(digits.length + (digits.length % 2), '0'), 'hex');
  return [headOf(WHOLE, bytes.length), bytes];
}

function headOf(kind: number, length: number): Buffer {
  if (length < LONG) return Buffer.of((kind << 5) + length);
  const head = Buffer.alloc(1 + LONG_BYTES, (kind << 5) + LONG);
  head.writeUInt32BE(length, 1);
  return head;
}

/** @returns null for invalid bytes */
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

/** @throws SyntaxError for invalid JSON */
function readValue(kind: number, bytes: Buffer): unknown {
  if (kind === HEX) return bytes.toString('hex');
  if (kind === BASE64URL) return bytes.toString('base64url').slice(0, Math.floor((bytes.length * 4) / 3));
  if (kind === WHOLE) return Number.parseInt(bytes.toString('hex'), 16);
  return bytes.length === 0 ? null : JSON.parse(bytes.toString());
}
