/**
 * Report questions as plain values, and every way of spelling them in a query: what the canonical form is held
 * against. Nothing of the gateway's own code is used here.
 */
import fc from 'fast-check';

/** The today of these questions. */
export const TODAY = '2026-11-21';

export interface Question {
  readonly advertiserId: string | null;
  readonly userId: string | null;
  readonly byDate: boolean;
  readonly byCampaign: boolean;
  readonly from: string | null;
  readonly to: string | null;
  readonly spentBased: string | null;
  /** Ascending, each once; empty: none asked for. */
  readonly campaignIds: readonly number[];
  /** Parameters the gateway does not know, in no order; the values of a list are in one. */
  readonly others: Readonly<Record<string, { readonly list: boolean; readonly values: readonly string[] }>>;
  readonly format: string | null;
  readonly totals: boolean;
  readonly days: boolean;
}

/** A pair before it is encoded. */
export type Pair = readonly [name: string, value: string];

const DAYS = [
  '2026-11-01',
  '2026-11-10',
  '2026-11-19',
  '2026-11-20',
  '2026-11-21',
  '2024-02-29',
  '2027-11-22',
];
const IDS = ['1', '2', '12', '9007199254740993', '9999999999999999'];
/** Values that a careless reader would cut, join or decode once too often. */
const TEXTS = [
  'usd',
  'USD',
  'a b',
  'a+b',
  'a&b=c',
  '%61',
  '100%',
  '1,2',
  'ü',
  '東',
  '😀',
  ';',
  '[]',
  '#',
  '"',
];
const OTHER_NAMES = ['page', 'perPage', 'byCreative', 'byHour', 'country', 'Country', 'x', 'x_1', 'per_page'];

const maybe = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: null });

const other = fc.oneof(
  fc.record({ list: fc.constant(false), values: fc.tuple(fc.constantFrom('', '0', '1', ...TEXTS)) }),
  fc.record({
    list: fc.constant(true),
    values: fc.array(fc.constantFrom('1', '2', ...TEXTS), { minLength: 1, maxLength: 3 }),
  }),
);

const period = fc
  .tuple(maybe(fc.constantFrom(...DAYS)), maybe(fc.constantFrom(...DAYS)))
  .map(([a, b]) => (a !== null && b !== null && a > b ? { from: b, to: a } : { from: a, to: b }));

export const question: fc.Arbitrary<Question> = fc
  .record({
    advertiserId: maybe(fc.constantFrom(...IDS)),
    userId: fc.option(fc.constantFrom(...IDS), { nil: null, freq: 1 }),
    byDate: fc.boolean(),
    byCampaign: fc.boolean(),
    period,
    spentBased: maybe(fc.constantFrom(...TEXTS)),
    campaignIds: fc.uniqueArray(fc.constantFrom(1, 2, 3, 10, 12, 20), { maxLength: 3 }),
    others: fc.dictionary(fc.constantFrom(...OTHER_NAMES), other, { maxKeys: 2, noNullPrototype: true }),
    format: maybe(fc.constantFrom('json', 'csv', 'ndjson', 'raw')),
    totals: fc.boolean(),
    days: fc.boolean(),
  })
  .map(({ period: { from, to }, campaignIds, ...rest }) => ({
    ...rest,
    from,
    to,
    campaignIds: campaignIds.toSorted((a, b) => a - b),
  }));

const MEMBERS = [
  ...(['advertiserId', 'userId', 'byDate', 'byCampaign', 'from', 'to', 'spentBased', 'campaignIds'] as const),
  ...(['others', 'format', 'totals', 'days'] as const),
];

/** Two questions that are equal, or differ in one member or so: what a poor key would mix up. */
export const neighbours: fc.Arbitrary<readonly [Question, Question]> = fc
  .tuple(question, question, fc.constantFrom(...MEMBERS))
  .map(([one, other, member]): readonly [Question, Question] => {
    const two = { ...one, [member]: other[member] };
    const upsideDown = two.from !== null && two.to !== null && two.from > two.to;
    return [one, upsideDown ? { ...two, from: two.to, to: two.from } : two];
  });

/** A text that two questions share exactly when they mean the same. */
export function meaningOf({ others, ...rest }: Question): string {
  return JSON.stringify([rest, Object.entries(others).sort(([a], [b]) => (a < b ? -1 : 1))]);
}

/** One of the ways to write the question down. */
export function spellings(asked: Question): fc.Arbitrary<string> {
  return fc
    .tuple(...groups(asked))
    .chain((chosen) => interleave(chosen))
    .chain((pairs) => fc.tuple(...pairs.map(encoded)))
    .chain((entries) =>
      fc.tuple(...entries.map((entry) => fc.constantFrom(entry, entry, entry, `&${entry}`))),
    )
    .map((entries) => entries.join('&'));
}

/** For each parameter the ways to give it, each way a list of pairs in an order that counts. */
function groups(asked: Question): fc.Arbitrary<readonly Pair[]>[] {
  const { campaignIds, others } = asked;
  return [
    single('advertiserId', asked.advertiserId),
    single('userId', asked.userId),
    flag('byDate', asked.byDate),
    flag('byCampaign', asked.byCampaign),
    periodPairs(asked),
    asked.spentBased === null ? absentOrEmpty('spentBased') : single('spentBased', asked.spentBased),
    campaignIds.length === 0 ? fc.constant([]) : setPairs(campaignIds),
    ...Object.entries(others).map(([name, { list, values }]) =>
      fc.constant(values.map((value): Pair => [list ? `${name}[]` : name, value])),
    ),
    single('_format', asked.format),
    flag('_totals', asked.totals),
    flag('_days', asked.days),
  ];
}

function single(name: string, value: string | null): fc.Arbitrary<readonly Pair[]> {
  return fc.constant(value === null ? [] : [[name, value]]);
}

function flag(name: string, on: boolean): fc.Arbitrary<readonly Pair[]> {
  if (on) return fc.constantFrom('1', 'true').map((value) => [[name, value]]);
  return fc.constantFrom(null, '0', 'false', '').map((value) => (value === null ? [] : [[name, value]]));
}

function absentOrEmpty(name: string): fc.Arbitrary<readonly Pair[]> {
  return fc.constantFrom([], [[name, '']] as const);
}

const WORDS: Readonly<Record<string, readonly [string, string]>> = {
  today: ['2026-11-21', '2026-11-21'],
  yesterday: ['2026-11-20', '2026-11-20'],
  last_1_days: ['2026-11-20', '2026-11-20'],
  last_2_days: ['2026-11-19', '2026-11-20'],
  last_20_days: ['2026-11-01', '2026-11-20'],
  month_to_date: ['2026-11-01', '2026-11-21'],
};

function periodPairs({ from, to }: Question): fc.Arbitrary<readonly Pair[]> {
  const dates: Pair[] = [
    ...(from === null ? [] : [['dateFrom', from] as const]),
    ...(to === null ? [] : [['dateTo', to] as const]),
  ];
  const words = Object.entries(WORDS).filter(([, [first, last]]) => first === from && last === to);
  return fc.constantFrom(dates, ...words.map(([word]): readonly Pair[] => [['_period', word]]));
}

/** Repeats, commas, brackets or none, in any order. */
function setPairs(ids: readonly number[]): fc.Arbitrary<readonly Pair[]> {
  return fc
    .tuple(
      fc
        .shuffledSubarray([...ids, ...ids], { minLength: ids.length })
        .filter((some) => new Set(some).size === ids.length),
      fc.array(fc.tuple(fc.boolean(), fc.boolean()), {
        minLength: 2 * ids.length,
        maxLength: 2 * ids.length,
      }),
    )
    .map(([some, how]) => {
      const pairs: [string, string][] = [];
      some.forEach((id, at) => {
        const [brackets, comma] = how[at] as [boolean, boolean];
        const last = pairs.at(-1);
        if (comma && last !== undefined) last[1] = `${last[1]},${id}`;
        else pairs.push([brackets ? 'campaignIds[]' : 'campaignIds', String(id)]);
      });
      return pairs;
    });
}

/** Any order that keeps the order inside of each group. */
function interleave(chosen: readonly (readonly Pair[])[]): fc.Arbitrary<Pair[]> {
  const turns = chosen.flatMap((pairs, group) => pairs.map(() => group));
  return fc.shuffledSubarray(turns, { minLength: turns.length }).map((order) => {
    const queues = chosen.map((pairs) => [...pairs]);
    return order.map((group) => queues[group]?.shift() as Pair);
  });
}

/** One of the ways to percent-encode a pair. */
function encoded([name, value]: Pair): fc.Arbitrary<string> {
  const left = encodedText(name);
  if (value === '') return left.chain((text) => fc.constantFrom(text, `${text}=`));
  return fc.tuple(left, encodedText(value)).map(([a, b]) => `${a}=${b}`);
}

function encodedText(text: string): fc.Arbitrary<string> {
  const characters = [...text];
  return fc.tuple(...characters.map(encodedCharacter)).map((parts) => parts.join(''));
}

function encodedCharacter(character: string): fc.Arbitrary<string> {
  const upper = [...Buffer.from(character)]
    .map((byte) => `%${byte.toString(16).toUpperCase().padStart(2, '0')}`)
    .join('');
  const hex = fc.constantFrom(upper, upper.toLowerCase());
  if (character === ' ') return fc.oneof(hex, fc.constant('+'));
  const mayStand = /^[A-Za-z0-9._~\-[\],;"]$/.test(character);
  return mayStand
    ? fc.oneof({ weight: 4, arbitrary: fc.constant(character) }, { weight: 1, arbitrary: hex })
    : hex;
}
