/** Of which reports anything was measured: one document, for documents cannot be listed. */
import Type from 'typebox';
import type { Scope } from '../finality/scope.js';
import { type RecordOf, recordForm } from '../record.js';
import { mergeDocument } from '../store/merge-document.js';
import type { Documents } from '../store/port.js';
import { KEPT_DAYS } from './tally.js';

const KEY = 'truth-scopes';
const DAY_MS = 86_400_000;
const MAX_SCOPES = 2000;
/** A scope that is in use is written anew when it was last written so many days ago. */
const ANEW_DAYS = 30;

const ScopesForm = recordForm(
  Type.Object({
    form: Type.Literal(1),
    /** Endpoint, split, account, and the day number when that was last written. */
    scopes: Type.Array(
      Type.Tuple([Type.String(), Type.String(), Type.Union([Type.String(), Type.Null()]), Type.Integer()]),
    ),
  }),
);
type Scopes = RecordOf<typeof ScopesForm>;

/** @returns false where there is no room for it. @throws StoreUnavailable */
export async function addScope(documents: Documents, scope: Scope, today: number): Promise<boolean> {
  const all = await mergeDocument<Scopes>(documents, {
    ...{ key: KEY, ttlMs: KEPT_DAYS * DAY_MS, decode: ScopesForm.parse, encode: JSON.stringify },
    add: (before) => withScope(before ?? { form: 1, scopes: [] }, scope, today),
  });
  return all === null || all.scopes.some((one) => isOf(one, scope));
}

function withScope(all: Scopes, scope: Scope, today: number): Scopes {
  const known = all.scopes.find((one) => isOf(one, scope));
  if (known !== undefined && today - known[3] < ANEW_DAYS) return all;
  const others = all.scopes.filter((one) => one !== known && one[3] >= today - KEPT_DAYS);
  if (others.length >= MAX_SCOPES) return all;
  return { ...all, scopes: [...others, [scope.endpoint, scope.split, scope.account, today]] };
}

const isOf = ([endpoint, split, account]: Scopes['scopes'][number], scope: Scope) =>
  endpoint === scope.endpoint && split === scope.split && account === scope.account;

/** @throws StoreUnavailable */
export async function allScopes(documents: Documents): Promise<readonly Scope[]> {
  const text = await documents.get(KEY);
  const all = text === null ? null : ScopesForm.parse(text);
  return (all?.scopes ?? []).map(([endpoint, split, account]) => ({ endpoint, split, account }));
}
