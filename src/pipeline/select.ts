/**
 * Some campaigns of a report, answered from the rows of all of them: where days that are final, complete and fresh hold
 * every campaign that is asked for, and it was observed that the platform's own answer is the same. Nothing is summed.
 */
import type { Logger } from 'pino';
import type { Selectable } from '../divisibility/selectable.js';
import type { FetchedDays } from '../history/record.js';
import type { CanonicalReport } from '../report/canonicalize.js';
import type { Entry, RowsHeader } from '../report/entry.js';
import { type FreshnessRules, isFinal } from '../report/freshness.js';
import { seriesId } from '../report/platform-call.js';
import { type SelectedDay, type Selection, selectionOf, selectRows } from '../report/select-rows.js';
import { daysFound } from './look-up.js';
import { dayRef, ownContext, type ReportQuestion, type RequestContext } from './question.js';
import { beginRun, decideFor, type RunDeps } from './run.js';

/** agreed: what the platform said is what would have been selected · refuted: it is not · answered: without a call */
export type SelectionEvent = 'agreed' | 'refuted' | 'answered';

export interface Selected {
  readonly days: readonly Entry<RowsHeader>[];
  readonly degraded: boolean;
}

export interface Selections {
  /** @returns null where the report has to be asked for */
  answer(question: ReportQuestion, context: RequestContext): Promise<Selected | null>;
  /** Whether it would be answered so now. */
  peek(question: ReportQuestion): Promise<boolean>;
  /** Holds what was fetched of some campaigns against the rows of all of them. Never rejects. */
  observe(report: CanonicalReport, fetched: FetchedDays): Promise<void>;
}

export interface SelectionsOptions extends Omit<RunDeps, 'crossChecks'> {
  readonly selectable: Selectable;
  readonly onEvent: (event: SelectionEvent) => void;
  readonly logger: Logger;
}

export function createSelections(options: SelectionsOptions): Selections {
  const { selectable, policy, learner, logger, onEvent } = options;
  const { account, baseUrl } = policy.identity;
  // Nothing is asked for here, so nothing can be compared.
  const deps: RunDeps = { ...options, crossChecks: { isDue: () => false } };
  const baseOf = ({ of }: Selection): ReportQuestion => ({
    ...{ report: of, series: seriesId(of, account, baseUrl), form: 'rows' },
  });

  async function observe(report: CanonicalReport, { series, days }: FetchedDays): Promise<void> {
    const selection = selectionOf(report);
    if (selection === null || learner.status(report).state !== 'proven') return;
    const state = selectable.stateOf(report);
    if (state === 'refuted' || state === 'proven') return;
    const final = days.filter(({ header }) => isFinal(header, policy.rulesFor(report)));
    const compared = compareDays(final, await daysOfAll(baseOf(selection), final), selection);
    if (compared === 'nothing') return;
    if (compared === 'agree') await selectable.agreed(report, questionOf(series, final));
    else await selectable.refuted(report);
    onEvent(compared === 'agree' ? 'agreed' : 'refuted');
  }

  async function daysOfAll({ report, series }: ReportQuestion, final: readonly Entry<RowsHeader>[]) {
    const refs = final.map(({ header }) => dayRef(series, header.lastDay as string));
    const { generation } = learner.status(report);
    const known = daysFound(refs, (await options.lookUp.read(report, refs)).found);
    const kept = [...known].filter(
      ([, { header }]) =>
        header.splitFrom?.generation === generation && isFinal(header, policy.rulesFor(report)),
    );
    return new Map(kept);
  }

  async function select(question: ReportQuestion, context: RequestContext): Promise<Selected | null> {
    const { report, form } = question;
    const selection = selectionOf(report);
    if (selection === null || form !== 'rows' || selectable.stateOf(report) !== 'proven') return null;
    const run = await beginRun(deps, baseOf(selection), context, 'usual');
    const { mode, missing, behind, refusal, parts } = decideFor(deps, run);
    if (mode !== 'days' || missing.length > 0 || behind.length > 0 || refusal !== null) return null;
    const days = selectAll(parts as readonly Entry<RowsHeader>[], selection, policy.rulesFor(report));
    return days === null ? null : { days, degraded: run.degraded };
  }

  return {
    async answer(question, context) {
      const selected = await select(question, context);
      if (selected !== null) onEvent('answered');
      return selected;
    },
    peek: async (question) => (await select(question, ownContext('explain', options.now()))) !== null,
    async observe(report, fetched) {
      try {
        await observe(report, fetched);
      } catch (error) {
        logger.warn(
          { err: error, endpoint: report.endpoint },
          'reports of some campaigns could not be held against those of all of them; the next one is',
        );
      }
    },
  };
}

const questionOf = (series: string, days: readonly Entry<RowsHeader>[]) =>
  `${series}|${days[0]?.header.lastDay}|${days.at(-1)?.header.lastDay}`;

/** @returns null where a day is not final, or cannot be selected from, or a campaign is in none of them */
function selectAll(
  days: readonly Entry<RowsHeader>[],
  { ids }: Selection,
  rules: FreshnessRules,
): readonly Entry<RowsHeader>[] | null {
  const selected = days.map((day) => (isFinal(day.header, rules) ? selectRows(day, ids) : null));
  if (selected.includes(null)) return null;
  const all = selected as SelectedDay[];
  const found = new Set(all.flatMap((one) => [...one.found]));
  // What was never seen may be new to the platform, or nobody's: only the platform can tell.
  return [...ids].every((id) => found.has(id)) ? all.map(({ day }) => day) : null;
}

function compareDays(
  fresh: readonly Entry<RowsHeader>[],
  known: ReadonlyMap<string, Entry<RowsHeader>>,
  { ids }: Selection,
): 'agree' | 'disagree' | 'nothing' {
  let tells = false;
  for (const { header } of fresh) {
    const all = known.get(header.lastDay as string);
    const selected = all === undefined ? null : selectRows(all, ids);
    if (selected === null) continue;
    if (selected.day.header.splitFrom?.sortedHash !== header.splitFrom?.sortedHash) return 'disagree';
    tells ||= selected.isPart && header.rowCount > 0;
  }
  return tells ? 'agree' : 'nothing';
}
