/**
 * The days of a series in one month, and their stored form: JSON, deflated, after a byte that names the form. Cache and history
 * of a day are one line of it; docs/architecture.md, "Days".
 */
import { inflateRawSync } from 'node:zlib';
import Type, { type Static } from 'typebox';
import { deflateSmall } from '../../lib/deflate.js';
import { recordForm } from '../../lib/record.js';
import { MonthReport, type Revision, RevisionForm, type Revisions } from '../history/revision.js';
import { type Counted, CountedForm } from '../learn/evidence.js';
import type { Flaw } from '../rows/flaws.js';
import type { Facts } from '../rows/freshness.js';

const CheckForm = Type.Object({
  /** Of fetches, by the store: a later one is larger. */
  order: Type.Integer(),
  /** Epoch milliseconds. */
  startedAt: Type.Integer(),
  endedAt: Type.Integer(),
  /** The platform's today when the call began, as a day number. */
  fetchedOn: Type.Integer(),
  /** Period of the call, ISO. */
  from: Type.String(),
  to: Type.String(),
  /** Rows of the whole answer. */
  answerRows: Type.Integer(),
  /** The answer is whole, although its count may be a cap. */
  complete: Type.Optional(Type.Literal(true)),
  /** The newest purge known before the call. */
  seq: Type.Integer(),
  /** Of the kind. */
  generation: Type.String(),
  /** Fingerprint of its token; null without one. */
  credential: Type.Optional(Type.Union([Type.String(), Type.Null()])),
});

/** One platform call, as far as stored days rest on it. */
export type Check = Readonly<Static<typeof CheckForm>>;

const ForgottenForm = Type.Object({
  code: Type.Union([Type.Literal('beyond_retention'), Type.Literal('all_days_empty')]),
  days: Type.Array(Type.String()),
  missing: Type.Optional(Type.Array(Type.String())),
  sinceMs: Type.Integer(),
  seenMs: Type.Integer(),
  final: Type.Boolean(),
  againMs: Type.Integer(),
});

const PassingForm = Type.Object({
  /** Name of its part; null: no rows. */
  part: Type.Union([Type.String(), Type.Null()]),
  digest: Type.String(),
  hash: Type.String(),
  rowCount: Type.Integer(),
  flaws: Type.Optional(Type.Array(Type.Unsafe<Flaw>(Type.Object({ code: Type.String() })))),
  forgotten: Type.Optional(ForgottenForm),
  /** Index of its check. */
  check: Type.Integer(),
});

const EmptyForm = Type.Object({
  tail: Type.Union([Type.Literal('unconfirmed'), Type.Literal('confirmed')]),
  /** Since when each fetch has said so, epoch milliseconds. */
  sinceMs: Type.Optional(Type.Integer()),
});

const DayForm = Type.Object({
  latest: Type.Union([RevisionForm, Type.Null()]),
  check: Type.Union([Type.Integer(), Type.Null()]),
  empty: Type.Optional(EmptyForm),
  passing: Type.Optional(PassingForm),
  earlier: Type.Optional(Type.Integer()),
  counted: Type.Optional(CountedForm),
  final: Type.Optional(Type.Literal(true)),
});

const MonthForm = recordForm(
  Type.Object({
    asked: Type.Array(Type.String()),
    kind: Type.Union([Type.Literal('bounded'), Type.Literal('open'), Type.Literal('undeclared')]),
    parts: Type.Record(Type.String(), Type.Integer()),
    checks: Type.Array(CheckForm),
    days: Type.Record(Type.String(), DayForm),
    report: Type.Optional(MonthReport),
    told: Type.Optional(Type.String()),
  }),
);
const EarlierForm = recordForm(Type.Array(RevisionForm));

/** Rows that are shown in place of the latest revision while their check is newer; never in history. */
export interface Passing extends Readonly<Omit<Static<typeof PassingForm>, 'check'>> {
  readonly check: Check;
}

export interface Day {
  /** The newest revision; null: none yet. */
  readonly latest: Revision | null;
  /** The fetch that last saw it. */
  readonly check: Check | null;
  /** Without rows, and whether that is accepted. */
  readonly empty?: Readonly<Static<typeof EmptyForm>> | undefined;
  readonly passing?: Passing | undefined;
  /** Number of revisions before the latest; they are stored apart. */
  readonly earlier: number;
  /** What finality and truth have counted of it. */
  readonly counted?: Counted | undefined;
  /** The last fetch saw it final. */
  readonly final?: true;
}

export interface Month {
  /** Accounts that the report names. */
  readonly asked: readonly string[];
  readonly kind: Facts['kind'];
  /** Stored sizes of the parts that days show, by name. */
  readonly sizes: ReadonlyMap<string, number>;
  /** By day of the month. */
  readonly days: ReadonlyMap<number, Day>;
  /** Null: no fetch has recorded it. */
  readonly report: MonthReport | null;
  /** Generation of the kind whose revisions the feed of changes has told; null: it has told none. */
  readonly told: string | null;
}

export const NO_DAY: Day = { latest: null, check: null, earlier: 0 };

/** A release that knows only an earlier one neither reads nor writes the month: it would lose what the feed has told. */
const FORM = 2;

export function encodeMonth({ asked, kind, sizes, days, report, told }: Month): Buffer {
  const checks: Check[] = [];
  const places = new Map<string, number>();
  // Days of one answer mostly share the object.
  const known = new Map<Check, number>();
  const placeOf = (check: Check): number => {
    const found = known.get(check);
    if (found !== undefined) return found;
    const text = JSON.stringify(check);
    const place = places.get(text) ?? checks.push(check) - 1;
    places.set(text, place);
    known.set(check, place);
    return place;
  };
  const lines = [...days].map(([day, { latest, check, empty, passing, earlier, counted, final }]) => [
    day,
    {
      latest,
      check: check && placeOf(check),
      empty,
      counted,
      passing: passing && { ...passing, check: placeOf(passing.check) },
      earlier: earlier === 0 ? undefined : earlier,
      final,
    },
  ]);
  const parts = Object.fromEntries(sizes);
  return sealed({
    asked,
    kind,
    report: report ?? undefined,
    told: told ?? undefined,
    parts,
    checks,
    days: Object.fromEntries(lines),
  });
}

/** Such bytes are left as they are; others that cannot be read are damaged. */
export const isOfNewerRelease = (bytes: Buffer): boolean => (bytes[0] ?? 0) > FORM;

/** @returns null for bytes that this release cannot read */
export function decodeMonth(bytes: Buffer): Month | null {
  const stored = opened(bytes, MonthForm);
  if (stored === null) return null;
  const { asked, kind, parts, checks, report = null, told = null } = stored;
  const days = new Map<number, Day>();
  for (const [day, { check, passing, earlier = 0, latest, empty, counted, final }] of Object.entries(
    stored.days,
  )) {
    const own = check === null ? null : checks[check];
    const passed = passing && checks[passing.check];
    if (own === undefined || (passing !== undefined && passed === undefined)) return null;
    days.set(Number(day), {
      latest,
      check: own,
      earlier,
      ...(empty && { empty }),
      ...(counted && { counted }),
      ...(final && { final }),
      ...(passing && passed && { passing: { ...passing, check: passed } as Passing }),
    });
  }
  return { asked, kind, sizes: new Map(Object.entries(parts)), days, report, told };
}

export const encodeEarlier = (revisions: Revisions): Buffer => sealed(revisions);

/** @returns null for bytes that this release cannot read */
export const decodeEarlier = (bytes: Buffer): Revisions | null => opened(bytes, EarlierForm);

function sealed(value: unknown): Buffer {
  return Buffer.concat([Buffer.of(FORM), deflateSmall(Buffer.from(JSON.stringify(value)))]);
}

function opened<T>(bytes: Buffer, form: { parse(text: string): T | null }): T | null {
  if (bytes[0] !== FORM && bytes[0] !== 1) return null;
  try {
    return form.parse(inflateRawSync(bytes.subarray(1)).toString());
  } catch {
    return null;
  }
}

/** The largest order that is noted of a day. */
export function orderOf({ check, passing }: Day): number {
  return Math.max(check?.order ?? 0, passing?.check.order ?? 0);
}
