/** A platform that reads whatever may be meant: for each field the amounts that any reader could find in a request. */

/** A value as it stands in a text, with members given twice and numbers of any spelling. */
export type Sent =
  | { readonly kind: 'raw'; readonly json: string }
  | { readonly kind: 'list'; readonly items: readonly Sent[] }
  | { readonly kind: 'object'; readonly members: readonly (readonly [string, Sent])[] };

export const raw = (json: string): Sent => ({ kind: 'raw', json });
export const list = (...items: readonly Sent[]): Sent => ({ kind: 'list', items });
export const object = (...members: readonly (readonly [string, Sent])[]): Sent => ({
  kind: 'object',
  members,
});

export function textOf(sent: Sent): string {
  if (sent.kind === 'raw') return sent.json;
  if (sent.kind === 'list') return `[${sent.items.map(textOf).join(',')}]`;
  return `{${sent.members.map(([name, value]) => `${JSON.stringify(name)}:${textOf(value)}`).join(',')}}`;
}

/** Letters of other scripts that are drawn as these. */
const DRAWN_ALIKE: Readonly<Record<string, string>> = {
  а: 'a',
  Ь: 'b',
  ԁ: 'd',
  е: 'e',
  ɡ: 'g',
  о: 'o',
  т: 't',
  υ: 'u',
  ⅼ: 'l',
};

function fold(name: string): string {
  return [...name.normalize('NFKC')]
    .map((char) => DRAWN_ALIKE[char] ?? char)
    .join('')
    .toLowerCase()
    .replace(/[^a-z0-9]/g, '');
}

/** `budget.total`, `budget[total]`, `budget/total`, `budget->total`: the steps of each, and all of them as one name. */
function stepsOf(name: string): string[] {
  return name.split(/\.|\[|\]|\/|->|:/).filter((step) => fold(step) !== '');
}

/** Every number that a reader may take for the field. */
export function amountsRead(sent: Sent, path: readonly string[]): number[] {
  if (sent.kind === 'list') return sent.items.flatMap((item) => amountsRead(item, path));
  if (path.length === 0) return sent.kind === 'raw' ? numbersIn(sent.json) : [];
  if (sent.kind === 'raw') return [];
  return sent.members.flatMap(([name, value]) => {
    const folded = stepsOf(name).map(fold).join('');
    // Any number of steps at once.
    return path.flatMap((_, index) =>
      path
        .slice(0, index + 1)
        .map(fold)
        .join('') === folded
        ? amountsRead(value, path.slice(index + 1))
        : [],
    );
  });
}

/** A number, or one at the beginning of a text. */
function numbersIn(json: string): number[] {
  const value: unknown = json.startsWith('"') ? JSON.parse(json) : json;
  const text = String(value).trim();
  return [Number(text), Number.parseFloat(text)].filter((number) => !Number.isNaN(number));
}

/** The same of a query that is merged over the body. */
export function amountsInQuery(
  pairs: readonly (readonly [string, string])[],
  path: readonly string[],
): number[] {
  return amountsRead(
    object(...pairs.map(([name, value]) => [name, raw(JSON.stringify(value))] as const)),
    path,
  );
}
