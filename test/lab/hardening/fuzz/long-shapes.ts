/** Texts that are long in one way. Pure. */

interface Shape {
  readonly name: string;
  /** @returns about so many bytes */
  make(bytes: number): string;
}

const START = '"date":"2026-11-20","advertiserId":1';

/** So many of one, with a number in each, as have the length. */
function many(bytes: number, one: (at: number) => string): string {
  const count = Math.ceil(bytes / (one(10_000).length + 1));
  return Array.from({ length: count }, (_, at) => one(at)).join(',');
}

/** Reports, long in rows, columns, names and values; and what is no report, so that a parser finds out late. */
export const SHAPES: readonly Shape[] = [
  {
    name: 'rows',
    make: (bytes) => `[${many(bytes, (at) => `{${START},"campaignId":${at},"clicks":${at}}`)}]`,
  },
  { name: 'rows that are one another', make: (bytes) => `[${many(bytes, () => `{${START},"clicks":1}`)}]` },
  {
    name: 'rows of other columns each',
    make: (bytes) => `[${many(bytes, (at) => `{${START},"${at % 200}":${at}}`)}]`,
  },
  { name: 'columns', make: (bytes) => `[{${START},${many(bytes, (at) => `"c${at}":${at}`)}}]` },
  { name: 'one column again and again', make: (bytes) => `[{${START},${many(bytes, () => '"clicks":1')}}]` },
  {
    name: 'columns by name, rows as lists',
    make: (bytes) =>
      `{"columns":["date","campaignId","clicks"],"rows":[${many(bytes, (at) => `["2026-11-20",${at},1]`)}]}`,
  },
  { name: 'a number of many digits', make: (bytes) => `[{${START},"clicks":${'9'.repeat(bytes)}}]` },
  { name: 'a text that is a long number', make: (bytes) => `[{${START},"spent":"${'0'.repeat(bytes)}.5"}]` },
  { name: 'a long text', make: (bytes) => `[{${START},"name":"${'\\u0020\\\\'.repeat(bytes / 8)}"}]` },
  { name: 'spaces', make: (bytes) => `[{${START}${' '.repeat(bytes)},"clicks":1}]` },
  { name: 'lists in lists', make: (bytes) => `${'['.repeat(bytes / 2)}${']'.repeat(bytes / 2)}` },
  {
    name: 'objects in objects',
    make: (bytes) => `${'{"data":'.repeat(bytes / 9)}[]${'}'.repeat(bytes / 9)}`,
  },
  {
    name: 'lists in a row',
    make: (bytes) => `[{${START},"x":${'['.repeat(bytes / 2)}${']'.repeat(bytes / 2)}}]`,
  },
  {
    name: 'days that were not asked for',
    make: (bytes) => `[${many(bytes, (at) => `{"date":"${dayOf(at)}","clicks":1}`)}]`,
  },
  {
    name: 'a beginning without an end',
    make: (bytes) => `[${many(bytes, (at) => `{${START},"clicks":${at}}`)}`,
  },
];

const dayOf = (at: number) => new Date((at % 40_000) * 86_400_000).toISOString().slice(0, 10);
