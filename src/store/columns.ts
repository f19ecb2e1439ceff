/**
 * Lines of text with their numbers in columns, which deflate makes a third smaller. A line without its numbers is a
 * shape; a report has few shapes. The form: lengths of the shapes and of the order (4 bytes each, big endian) · shapes,
 * a line each, with `0` for each number · order: the shape of each line (1 byte) · columns, a line each: the first
 * number of all lines, the second, and so on, each followed by a comma.
 */
const [LINE, COMMA, ZERO, NINE] = [0x0a, 0x2c, 0x30, 0x39];
const ORDER_AT = 8;
const MAX_SHAPES = 256;
/** Of a text. A greater length is damaged, and no memory is allocated for it. */
const MAX_BYTES = 1_048_576;

const isDigit = (byte: number | undefined) => byte !== undefined && byte >= ZERO && byte <= NINE;

/**
 * By bytes, as regular expressions take twice as long.
 * @returns null for a text that is too long, or has too many shapes
 */
export function packColumns(text: Buffer): Buffer | null {
  if (text.length > MAX_BYTES) return null;
  const shapes = new Map<string, number>();
  const order: number[] = [];
  /** Where numbers begin. */
  const columns: number[][] = [];
  const shape = Buffer.allocUnsafe(text.length);
  let [length, column, numbers] = [0, 0, 0];
  for (let at = 0; at <= text.length; at += 1) {
    const byte = at < text.length ? (text[at] as number) : LINE;
    if (byte === LINE) {
      const name = shape.toString('latin1', 0, length);
      const place = shapes.get(name) ?? shapes.size;
      if (place === MAX_SHAPES) return null;
      shapes.set(name, place);
      order.push(place);
      length = 0;
      column = 0;
    } else if (isDigit(byte)) {
      shape[length++] = ZERO;
      if (column === columns.length) columns.push([]);
      columns[column++]?.push(at);
      numbers += 1;
      while (isDigit(text[at + 1])) at += 1;
    } else shape[length++] = byte;
  }
  const names = Buffer.from([...shapes.keys(), ''].join('\n'), 'latin1');
  const lengths = Buffer.alloc(ORDER_AT);
  lengths.writeUInt32BE(names.length, 0);
  lengths.writeUInt32BE(order.length, 4);
  const values = Buffer.allocUnsafe(text.length + numbers + columns.length);
  let end = 0;
  for (const starts of columns) {
    for (const start of starts) {
      for (let at = start; isDigit(text[at]); at += 1) values[end++] = text[at] as number;
      values[end++] = COMMA;
    }
    values[end++] = LINE;
  }
  return Buffer.concat([lengths, names, Buffer.from(order), values.subarray(0, end)]);
}

/** @param length of the text. @throws RangeError for invalid bytes */
export function unpackColumns(bytes: Buffer, length: number): Buffer {
  if (length > MAX_BYTES) throw new RangeError(`a text of ${length} bytes`);
  const orderAt = ORDER_AT + bytes.readUInt32BE(0);
  const columnsAt = orderAt + bytes.readUInt32BE(4);
  const shapes = linesIn(bytes, ORDER_AT, orderAt);
  const columns = linesIn(bytes, columnsAt, bytes.length);
  // A byte more, for the end of the last line. Writes beyond it are ignored.
  const text = Buffer.allocUnsafe(length + 1);
  let end = 0;
  for (let line = orderAt; line < columnsAt; line += 1) {
    let at = shapes[bytes[line] as number];
    if (at === undefined) throw new RangeError('a line of no shape');
    let column = 0;
    for (; ; at += 1) {
      const byte = bytes[at] as number;
      if (byte === ZERO) {
        let from = columns[column] as number;
        for (; isDigit(bytes[from]); from += 1) text[end++] = bytes[from] as number;
        columns[column++] = from + 1;
      } else {
        text[end++] = byte;
        if (byte === LINE) break;
      }
    }
  }
  if (end !== text.length) throw new RangeError(`a text of ${end - 1} bytes`);
  return text.subarray(0, length);
}

/** @returns where lines begin. @throws RangeError unless all of them end */
function linesIn(bytes: Buffer, from: number, to: number): number[] {
  const lines: number[] = [];
  for (let at = from; at !== to; ) {
    lines.push(at);
    at = bytes.indexOf(LINE, at) + 1;
    if (at === 0 || at > to) throw new RangeError('a line without an end');
  }
  return lines;
}
