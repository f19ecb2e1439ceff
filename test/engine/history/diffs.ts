/** What differs between two answers, told again from their rows, with exact decimals. */
import { expect } from 'vitest';
import { outcomeOf, type ReportBody } from '../../support/start-gateway.js';
import type { Row } from './platform.js';
import { type Asked, isForbidden, queryOf, type World } from './world.js';

interface Cell {
  readonly old: unknown;
  readonly new: unknown;
  readonly diff?: number;
  readonly percent?: number | null;
}

interface RowDiff extends Readonly<Record<string, unknown>> {
  readonly changed: Readonly<Record<string, Cell>>;
  readonly kind: string;
}

interface DiffBody {
  readonly data: readonly RowDiff[];
  readonly meta: {
    readonly revisionFrom?: string;
    readonly revisionTo?: string;
    readonly methodDays?: string[];
  };
}

type Data = Pick<ReportBody, 'data'>;

const DIMENSIONS = ['date', 'campaignId', 'advertiserId'];
const idOf = (row: Readonly<Record<string, unknown>>) => `${row.date}|${row.campaignId ?? ''}`;

function cellOf(before: unknown, after: unknown): Cell | null {
  if (before === after) return null;
  if (typeof before !== 'number' || typeof after !== 'number') return { old: before, new: after };
  const units = (value: number) => BigInt(Math.round(value * 10_000));
  const [old, diff] = [units(before), units(after) - units(before)];
  const size = diff < 0n ? -diff : diff;
  const rounded = old === 0n ? null : (size * 1_000_000n * 2n + old) / (old * 2n);
  const percent = rounded === null ? null : (Number(rounded) / 10_000) * (diff < 0n ? -1 : 1);
  return { old: before, new: after, diff: Number(diff) / 10_000, percent };
}

function rightDiff(old: Data, now: Data, method: ReadonlySet<string>): RowDiff[] {
  const [before, after] = [old, now].map(({ data }) => new Map(data.map((row) => [idOf(row), row])));
  const ids = [...new Set([...(before?.keys() ?? []), ...(after?.keys() ?? [])])];
  return ids.flatMap((id): RowDiff[] => {
    const [one, other] = [before?.get(id), after?.get(id)];
    const row = (other ?? one) as Row;
    const columns = Object.keys(row).filter((column) => !DIMENSIONS.includes(column));
    const cells = columns.flatMap((column): [string, Cell][] => {
      if (one === undefined || other === undefined)
        return [[column, { old: one?.[column] ?? null, new: other?.[column] ?? null }]];
      const cell = column in one ? cellOf(one[column], other[column]) : null;
      return cell === null ? [] : [[column, cell]];
    });
    if (cells.length === 0) return [];
    const kind = one === undefined ? 'added' : other === undefined ? 'removed' : 'changed';
    const dimensions = Object.entries(row).filter(([column]) => DIMENSIONS.includes(column));
    return [
      {
        ...Object.fromEntries(dimensions),
        changed: Object.fromEntries(cells),
        kind: method.has(String(row.date)) ? 'method' : kind,
      },
    ];
  });
}

/** Days whose rows have other columns than before. */
function methodDays(old: Data, now: Data): Set<string> {
  const columns = ({ data }: Data) =>
    new Map(data.map((row) => [String(row.date), Object.keys(row).toSorted().join()]));
  const [before, after] = [columns(old), columns(now)];
  return new Set(
    [...after].flatMap(([date, names]) => (names === (before.get(date) ?? names) ? [] : [date])),
  );
}

const inOrder = (rows: readonly RowDiff[]) => rows.toSorted((a, b) => (idOf(a) < idOf(b) ? -1 : 1));

function apply(old: Data, diffs: readonly RowDiff[]): Map<string, Record<string, unknown>> {
  const rows = new Map(old.data.map((row) => [idOf(row), { ...row } as Record<string, unknown>]));
  for (const { changed, kind, ...dimensions } of diffs) {
    const cells = Object.entries(changed).map(([column, cell]) => [column, cell.new]);
    const row = { ...(rows.get(idOf(dimensions)) ?? dimensions), ...Object.fromEntries(cells) };
    if (kind === 'removed') rows.delete(idOf(dimensions));
    else rows.set(idOf(dimensions), row);
  }
  return rows;
}

/**
 * @param sides what both sides are known to be; null where one is not known
 * @param from as it is given to the gateway
 */
export async function checkDiff(
  asked: Asked,
  { from, to }: { readonly from: string; readonly to: string },
  sides: readonly [Data | null, Data | null],
  world: World,
): Promise<void> {
  const query = new URLSearchParams({ endpoint: 'campaigns/get', query: queryOf(asked), from, to });
  const key = world.keys[asked.limited ? 'one' : 'all'];
  const reply = await world.gateways.at(asked.replica).call(`/gateway/v1/diff?${query}`, { key });
  const outcome = outcomeOf(reply);
  if (isForbidden(asked)) return expect(outcome).toBe('403 advertiser_forbidden');
  if (world.gateways.outage.away) return expect(outcome).toBe('503 not_ready');
  const [old, now] = sides;
  if (old === null || now === null) return expect(outcome, reply.text).toBe('404 not_known_then');
  expect(outcome, reply.text).toBe('200');
  const { data, meta } = reply.json<DiffBody>();
  const method = methodDays(old, now);
  expect(inOrder(data), `from ${from} to ${to}`).toEqual(inOrder(rightDiff(old, now, method)));
  expect(meta.methodDays ?? []).toEqual([...method].toSorted());
  if (method.size > 0) return;
  expect(meta.revisionFrom === meta.revisionTo, 'equal revisions differ in nothing').toBe(data.length === 0);
  const right = new Map(now.data.map((row) => [idOf(row), row]));
  expect(Object.fromEntries(apply(old, data)), 'the older side with the diff laid on it').toEqual(
    Object.fromEntries(right),
  );
}
