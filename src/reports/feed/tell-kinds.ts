/**
 * Job of the leader: after a change of a kind of reports or of its row caps, months are told anew. Those of a refuted kind are taken
 * back, those of a proven one are told, and revisions from answers that were cut are void.
 */
import { sleep, turn, uptimeMs } from '../../lib/time.js';
import type { MonthPlace } from '../../store/days-port.js';
import type { Job } from '../../store/jobs.js';
import { type Documents, whenAway } from '../../store/port.js';
import { createTurns } from '../../store/turns.js';
import { type Days, withMarkedDay } from '../days/days.js';
import { decodeMonth, type Month } from '../days/month.js';
import type { OpenMonth } from '../days/note-fetch.js';
import { monthsOf, openWhole, rewrite } from '../days/whole-month.js';
import type { createCaps } from '../fetch/caps.js';
import { voidCut } from '../history/revision.js';
import type { Learner } from '../learn/learn.js';
import { isCut } from '../rows/freshness.js';
import { toldOf } from './tell.js';

export interface TellKindsOptions {
  readonly days: Days;
  readonly learner: Pick<Learner, 'provenGeneration' | 'stampOfAll'>;
  readonly caps: Pick<ReturnType<typeof createCaps>, 'ofKind' | 'stampOfAll'>;
  readonly documents: Documents;
}

/** A process that was not asked for so long did not lead: another one may have ended in the middle of a walk. */
const LED_MS = 5000;
/**
 * Other replicas learn of a change a little later, and what they fetch until then is told as before it: so all months are looked at
 * once more.
 */
const AGAIN_MS = 60_000;
/** Months that another process keeps writing are left to the next walk. */
const TRIES = 3;
/** Limits what readers of the feed get at once: 1,000 days a second. */
const MS_A_DAY = 1;
/** Indexes that are read together. */
const AT_ONCE = 50;

/** Nearly free while nothing changed. @returns the job. While the store is away it goes on with the next call */
export function createTellKinds(options: TellKindsOptions): Job {
  const { learner, caps, documents } = options;
  const notice = createVoidingNotice(documents);
  let askedMs = Number.NEGATIVE_INFINITY;
  let stamp: string | null = null;
  /** When walks are due. */
  let due: readonly number[] = [];
  async function look(isStopped: () => boolean): Promise<void> {
    const nowMs = uptimeMs();
    if (nowMs - askedMs > LED_MS) due = [nowMs, nowMs + AGAIN_MS];
    askedMs = nowMs;
    const present = `${learner.stampOfAll()} ${caps.stampOfAll()}`;
    if (stamp !== null && present !== stamp) due = [nowMs, nowMs + AGAIN_MS];
    stamp = present;
    if (!due.some((atMs) => atMs <= nowMs)) return;
    try {
      const isWhole = await walk(options, notice, isStopped);
      if (isStopped()) return;
      due = due.filter((atMs) => atMs > nowMs);
      if (!isWhole) due = [...due, uptimeMs() + AGAIN_MS];
    } finally {
      askedMs = uptimeMs();
    }
  }

  const turns = createTurns();
  return (isStopped) => turns('', () => look(isStopped)).catch(whenAway(() => {}));
}

/** @returns whether all months were written that are to be told anew. @throws StoreUnavailable */
async function walk(options: TellKindsOptions, notice: Notice, isStopped: () => boolean): Promise<boolean> {
  let isWhole = true;
  try {
    for await (const page of pagesOf(options)) {
      for (const { place, month } of page) {
        if (isStopped()) return false;
        await notice.renew();
        if (month === null || !isDue(options, month)) continue;
        const told = await tellAnew(options, place, notice);
        if (told === null) isWhole = false;
        else await sleep(told * MS_A_DAY);
      }
      // Requests go first.
      await turn();
    }
    return isWhole;
  } finally {
    await notice.end();
  }
}

/** Months as their indexes are. */
async function* pagesOf({ days: { store } }: TellKindsOptions) {
  let places: MonthPlace[] = [];
  const read = async () => {
    const page = await Promise.all(
      places.map(async (place) => {
        const [stored = null] = await store.read(place.series, [{ month: place.month, days: [] }]);
        return { place, month: stored?.index ? decodeMonth(stored.index) : null };
      }),
    );
    places = [];
    return page;
  };
  for await (const place of monthsOf(store)) {
    places.push(place);
    if (places.length === AT_ONCE) yield await read();
  }
  yield await read();
}

/** Generation of which days of the month are to be told; null: of none, its kind is not proven. */
function wantedOf({ learner }: TellKindsOptions, { report }: Month): string | null {
  return report && learner.provenGeneration(report.kind, report.endpoint);
}

/** By its index, so that most months are not read as a whole. */
function isDue(options: TellKindsOptions, month: Month): boolean {
  const { told, report, days } = month;
  if (told !== wantedOf(options, month)) return true;
  if (told === null || report === null) return false;
  const caps = options.caps.ofKind(report);
  if (caps.length === 0) return false;
  return [...days.values()].some(({ latest, earlier }) => {
    if (latest === null) return false;
    if (latest.void === undefined && isCut(latest, { caps })) return true;
    // An earlier one counts, which may be cut as well.
    return earlier > 0 && (latest.void !== undefined || latest.generation !== told);
  });
}

/** @returns the number of told days; null: other writers were always faster. @throws StoreUnavailable */
async function tellAnew(
  options: TellKindsOptions,
  place: MonthPlace,
  notice: Notice,
): Promise<number | null> {
  const { days } = options;
  for (let tries = 0; tries < TRIES; tries += 1) {
    const stored = await days.store.whole(place);
    const whole = stored && openWhole(days, place, stored);
    // It is gone, or of a newer release.
    if (whole === null || whole.stamp === 0) return 0;
    const before = whole.month;
    const after = asWanted(options, before);
    if (after === before) return 0;
    if (before.told !== null && before.told !== after.told) await notice.begin(before);
    const told = toldOf(place, before, after, { at: days.now(), order: 0 });
    if (await rewrite(days, whole, after, { dropped: [], told })) return told?.count ?? 0;
  }
  return null;
}

/** @returns the same month if it is so */
function asWanted(options: TellKindsOptions, before: OpenMonth): OpenMonth {
  const told = wantedOf(options, before);
  const caps = before.report === null ? [] : options.caps.ofKind(before.report);
  let after = before.told === told ? before : { ...before, told };
  for (const day of before.days.keys()) after = withMarkedDay(after, day, (all) => voidCut(all, { caps }));
  return after;
}

/** Document that names the kind whose days are being taken back; see the header `changes-voiding`. */
export const VOIDING_DOCUMENT = 'changes-voiding';
const NOTICE_MS = 60_000;
const RENEW_MS = 20_000;

type Notice = ReturnType<typeof createVoidingNotice>;

/** It ends by itself, should its process be killed. A store that is away ends the walk by its other calls. */
function createVoidingNotice(documents: Documents) {
  let [text, writtenMs]: [string | null, number] = [null, 0];
  async function write(next: string): Promise<void> {
    const before = await documents.create(VOIDING_DOCUMENT, next, NOTICE_MS);
    if (before !== null) await documents.replace(VOIDING_DOCUMENT, before, next, NOTICE_MS);
    [text, writtenMs] = [next, uptimeMs()];
  }
  return {
    async begin({ report }: Month): Promise<void> {
      const next = report === null ? '' : [report.endpoint, report.split.join()].join(' ').trimEnd();
      if (next !== text) await write(next);
    },
    async renew(): Promise<void> {
      if (text !== null && uptimeMs() - writtenMs >= RENEW_MS) await write(text);
    },
    async end(): Promise<void> {
      if (text === null) return;
      const last = text;
      text = null;
      await documents.replace(VOIDING_DOCUMENT, last, null, 1).catch(whenAway(() => false));
    },
  };
}
