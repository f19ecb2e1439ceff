/** Days that an operator has accepted as empty: what the platform no longer has of them is believed at the first look. */
import Type from 'typebox';
import { type RecordOf, recordForm } from '../../lib/record.js';
import { turn } from '../../lib/time.js';
import type { HistoryStore } from '../../store/history-port.js';
import type { Registry } from '../../store/registry/replica.js';
import type { Purges } from '../cache/purges.js';
import { dayNumber, isoDay } from '../query/days.js';
import { daysOfMonth, monthsOf } from './erase.js';
import { headsIn } from './revision.js';

const RECORD = 'accepted-empty';
/** Beyond it the oldest are forgotten: what they were about is empty in the history by then. */
const MAX_RECORDS = 1000;

const Accepted = recordForm(
  Type.Array(
    Type.Object({
      advertiserId: Type.String(),
      endpoint: Type.Optional(Type.String()),
      /** ISO; exclusive. */
      before: Type.String(),
      /** Epoch milliseconds: rows that were seen later are not meant. */
      at: Type.Integer(),
    }),
  ),
);

/** What is accepted: days of the reports that name an advertiser, before a day. */
export type AcceptedScope = Pick<RecordOf<typeof Accepted>[number], 'advertiserId' | 'endpoint' | 'before'>;

export interface AcceptedEmpty {
  /** @param asked accounts that the report names: each has to be accepted. @param seenMs when its rows were last seen */
  isAccepted(asked: readonly string[], endpoint: string, date: string, seenMs: number): boolean;
  /** Cached days of that scope are asked for again. @param audit a line stored with it. @throws StoreUnavailable */
  append(scope: AcceptedScope, nowMs: number, audit: string): Promise<void>;
}

export function createAcceptedEmpty(registry: Registry, purges: Pick<Purges, 'append'>): AcceptedEmpty {
  const read = () => {
    const text = registry.get(RECORD)?.value;
    return text === undefined ? [] : Accepted.read(text, RECORD);
  };
  let known = read();
  registry.onChange(RECORD, () => {
    known = read();
  });
  return {
    isAccepted: (asked, endpoint, date, seenMs) =>
      asked.length > 0 &&
      asked.every((account) =>
        known.some(
          (one) => one.at >= seenMs && one.advertiserId === account && isWithin(one, endpoint, date),
        ),
      ),
    append(scope, at, audit) {
      const to = isoDay((dayNumber(scope.before) as number) - 1);
      const { before: _, ...purged } = scope;
      return purges.append({ ...purged, to }, audit, () => {
        const { revision = 0 } = registry.get(RECORD) ?? {};
        const all = [...read(), { ...scope, at }].slice(-MAX_RECORDS);
        return [[RECORD, JSON.stringify(all), revision]];
      });
    },
  };
}

/** Whether a day of a report is in the scope, as far as endpoint and date tell. */
function isWithin(scope: Omit<AcceptedScope, 'advertiserId'>, endpoint: string, date: string): boolean {
  return date < scope.before && (scope.endpoint === undefined || scope.endpoint === endpoint);
}

/** @returns days of that scope that the platform answers without their rows, and that are given from history. @throws StoreUnavailable */
export async function countLost(
  store: Pick<HistoryStore, 'heads' | 'months'>,
  scope: AcceptedScope,
): Promise<number> {
  let days = 0;
  for await (const { series, month } of monthsOf(store)) {
    const dates = daysOfMonth(month).filter((date) => date < scope.before);
    if (dates.length === 0) continue;
    const heads = (await store.heads(series, dates)).map(headsIn);
    days += heads.filter(({ asked, revisions }, at) => {
      const lost = revisions.findLast(({ unconfirmed }) => unconfirmed !== true)?.lost;
      const isMeant = asked.length === 1 && asked[0] === scope.advertiserId;
      return isMeant && lost !== undefined && isWithin(scope, lost.endpoint, dates[at] as string);
    }).length;
    // Requests for reports go first.
    await turn();
  }
  return days;
}
