/**
 * Kinds of report (equal except for dates and accounts) of which the platform refuses parts but answers the whole, e.g. a day that
 * has only begun. They are fetched as a whole for a day. A registry record, shared by replicas.
 */
import Type from 'typebox';
import { type RecordOf, recordForm } from '../../lib/record.js';
import { updateRecord } from '../../store/registry/record-book.js';
import type { Registry } from '../../store/registry/replica.js';
import type { Gateway } from '../gateway.js';
import type { Report } from '../query/canonicalize.js';
import { dayNumber } from '../query/days.js';
import type { Period } from '../query/period.js';
import { divisibilityId } from './state.js';

const RECORD = 'part-refusals';
/** After it, parts are tried again. */
const LIFETIME_MS = 86_400_000;
/** Limit; those that expire first are dropped. */
const MAX_KINDS = 500;

/** Kind and epoch milliseconds; an entry of another form tells nothing. */
const Entry = recordForm(Type.Tuple([Type.String(), Type.Number()], { additionalItems: true }));
type Entry = RecordOf<typeof Entry>;
const Entries = recordForm(Type.Array(Type.Unknown()));

export function createPartRefusals(
  registry: Registry,
  { policy: { accountFields, plan }, now, logger }: Pick<Gateway, 'policy' | 'now' | 'logger'>,
) {
  /** Learned by this process, even if the store is unavailable. */
  const own = new Map<string, number>();
  let shared = new Map<string, number>();

  function read(): void {
    shared = new Map(parse(registry.get(RECORD)?.value ?? null));
  }
  read();
  registry.onChange(RECORD, read);

  /** A clock set back must not prolong the record. */
  function isInForce(untilMs: number | undefined): boolean {
    return untilMs !== undefined && untilMs > now() && untilMs <= now() + LIFETIME_MS;
  }

  const isKnown = (id: string) => isInForce(own.get(id)) || isInForce(shared.get(id));

  /** The period of a report if one call may fetch it; null if open or too long. */
  function wholeOf({ from, to }: Report): Period | null {
    if (from === null || to === null) return null;
    const days = (dayNumber(to) as number) - (dayNumber(from) as number) + 1;
    return days <= plan.maxDaysPerCall ? { from, to } : null;
  }

  return {
    wholeOf,
    /** {@link wholeOf} if the kind is known to refuse parts, else null. */
    wholeOnly: (report: Report): Period | null =>
      isKnown(divisibilityId(report, accountFields)) ? wholeOf(report) : null,
    /** Whether a range is a part of a whole that can be requested instead. */
    isPart(report: Report, range: Period): boolean {
      const whole = wholeOf(report);
      return whole !== null && (whole.from !== range.from || whole.to !== range.to);
    },
    /** The platform refused a part of this report, and answered the whole. Never rejects. */
    async learn(report: Report): Promise<void> {
      const id = divisibilityId(report, accountFields);
      if (isKnown(id)) return;
      const entry: Entry = [id, now() + LIFETIME_MS];
      if (own.size >= MAX_KINDS) own.clear();
      own.set(...entry);
      logger.warn(
        { kind: id, endpoint: report.endpoint },
        'the platform refused part of a report and answered the whole: fetching reports of this kind as a whole for a day',
      );
      try {
        await updateRecord(registry, RECORD, (text) => {
          const others = parse(text).filter(([other, untilMs]) => other !== id && isInForce(untilMs));
          return { text: JSON.stringify([...others, entry].slice(-MAX_KINDS)) };
        });
      } catch (error) {
        logger.warn(
          { err: error, kind: id },
          'failed to tell other replicas about a kind of report that refuses parts',
        );
      }
    },
  };
}

/** Records of another format are ignored; they are relearned. */
function parse(text: string | null): readonly Entry[] {
  return text === null ? [] : (Entries.parse(text) ?? []).filter(Entry.is);
}
