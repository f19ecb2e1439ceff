/** Reports of several advertisers as one. Nothing is added that does not add up. Pure. */
import { togetherOf } from './answered.js';
import { type Meta, type Report, type Row, rowWith } from './parse.js';
import type { Period } from './question.js';

/** The report of one advertiser. */
export interface Part {
  readonly id: string;
  /** Null: not known. */
  readonly name: string | null;
  readonly report: Report;
}

/** @param parts at least one. @returns their rows, the advertiser first; the totals stay with the parts, as people do not add up */
export function combine(parts: readonly Part[]): Report {
  const metas = parts.map(({ report }) => report.meta);
  const { totals: _, revision: _of, ...first } = metas[0] as Meta;
  const split = [...new Set(['advertiser', ...metas.flatMap((meta) => meta.split)])];
  return {
    rows: parts.flatMap(rowsOf),
    ...answeredIn(parts.map(({ report }) => report)),
    meta: {
      ...first,
      ...joined(metas),
      split,
      warnings: parts.flatMap(warningsOf),
    },
  };
}

/** Reports of other days, with the same question, as one. @param reports at least one, in order */
export function combineDays(reports: readonly Report[], period: Period): Report {
  const metas = reports.map(({ meta }) => meta);
  const { totals: _, revision: _of, ...first } = metas[0] as Meta;
  const warnings = metas.flatMap(({ warnings = [] }) => warnings);
  const isNew = ({ message }: (typeof warnings)[number], at: number) =>
    warnings.findIndex((other) => other.message === message) === at;
  return {
    rows: reports.flatMap(({ rows }) => rows),
    meta: {
      ...first,
      ...joined(metas),
      period,
      warnings: warnings.filter(isNew),
    },
  };
}

function answeredIn(reports: readonly Report[]): Pick<Report, 'answered'> {
  const answers = reports.flatMap(({ answered }) => answered ?? []);
  return answers.length === 0 ? {} : { answered: togetherOf(answers) };
}

/** What all say together. */
function joined(metas: readonly Meta[]) {
  const [provisional] = metas.flatMap(({ firstProvisionalDate: day }) => day ?? []).sort();
  const [oldest = ''] = metas.map(({ asOf }) => asOf).sort();
  return {
    asOf: oldest,
    period: periodOf(metas),
    days: metas.flatMap(({ days = [] }) => days),
    rowCount: metas.reduce((sum, { rowCount }) => sum + rowCount, 0),
    final: metas.every(({ final }) => final),
    stale: metas.some(({ stale }) => stale),
    ...(provisional === undefined ? {} : { firstProvisionalDate: provisional }),
  };
}

const rowsOf = ({ id, name, report }: Part): Row[] =>
  report.rows.map((row) => rowWith({ advertiserName: name, advertiserId: Number(id) }, Object.entries(row)));

const warningsOf = (part: Part) =>
  (part.report.meta.warnings ?? []).map((one) => ({ ...one, message: `${titleOf(part)}: ${one.message}` }));

const titleOf = ({ id, name }: Part): string => (name === null ? `Advertiser ${id}` : `${name} (${id})`);

/** Equal for all, but for a question that was asked over midnight. */
function periodOf(metas: readonly Meta[]): Meta['period'] {
  const periods = metas.flatMap(({ period }) => period ?? []);
  const [from] = periods.flatMap((one) => one.from ?? []).sort();
  const to = periods
    .flatMap((one) => one.to ?? [])
    .sort()
    .at(-1);
  return periods.length === 0 ? null : { from: from ?? null, to: to ?? null };
}

/** The advertiser's name, if the rows have it. */
export const nameIn = ({ rows: [row] }: Report): string | null =>
  typeof row?.advertiserName === 'string' ? row.advertiserName : null;

/** The currencies of the rows, sorted; none if rows do not say. */
export const currenciesIn = (rows: readonly Row[]): string[] =>
  [
    ...new Set(
      rows.flatMap(({ currency }) => (typeof currency === 'string' && currency !== '' ? currency : [])),
    ),
  ].sort();
