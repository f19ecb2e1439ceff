/**
 * The admin API's answers, as far as the commands read them. Another release may be at the other end: what it says
 * besides is printed by `--json`. Loaded with the first answer, for a schema takes longer to load than help does.
 */
import Type from 'typebox';
import { StoredTeam } from '../auth/team.js';
import { type RecordForm, type RecordOf, recordForm } from '../lib/record.js';
import { AuditRecord } from '../telemetry/audit.js';

const textOrNull = Type.Union([Type.String(), Type.Null()]);
const numberOrNull = Type.Union([Type.Number(), Type.Null()]);
const team = StoredTeam.schema;

const shownKey = Type.Object({
  id: Type.String(),
  teamId: Type.String(),
  label: Type.String(),
  prefix: Type.String(),
  createdAt: Type.String(),
  expiresAt: textOrNull,
  revokedAt: textOrNull,
  lastUsedAt: Type.Optional(textOrNull),
  previous: Type.Union([Type.Object({ prefix: Type.String(), validUntil: Type.String() }), Type.Null()]),
});

const shownToken = Type.Union([
  Type.Object({
    id: Type.String(),
    fingerprint: Type.String(),
    source: Type.String(),
    createdAt: Type.String(),
    verifiedAt: textOrNull,
    expiresAt: Type.String(),
    expiryKnown: Type.Optional(Type.Boolean()),
  }),
  Type.Null(),
]);

const usageDay = Type.Object({
  day: Type.String(),
  team: Type.String(),
  requests: Type.Number(),
  hits: Type.Number(),
  stale: Type.Number(),
  misses: Type.Number(),
  upstreamCalls: Type.Number(),
  upstreamCallsSaved: Type.Number(),
  rows: Type.Number(),
  bytesOut: Type.Number(),
  errors: Type.Number(),
  rateLimited: Type.Number(),
  viaMcp: Type.Optional(Type.Number()),
});

const explainedPiece = {
  state: Type.String(),
  asOf: textOrNull,
  ageSeconds: numberOrNull,
  ttlSeconds: numberOrNull,
  rows: numberOrNull,
};
const range = Type.Object({ from: textOrNull, to: textOrNull });
const explanation = Type.Object({
  canonical: Type.Object({ method: Type.String(), target: Type.String() }),
  key: Type.String(),
  policy: Type.Object({
    mode: Type.String(),
    because: Type.String(),
    divisibility: Type.Union([
      Type.Object({
        state: Type.String(),
        agreements: Type.Array(Type.Unknown()),
        trials: Type.Optional(Type.Array(Type.Unknown())),
        restatements: Type.Number(),
      }),
      Type.Null(),
    ]),
  }),
  days: Type.Union([Type.Array(Type.Object({ date: Type.String(), ...explainedPiece })), Type.Null()]),
  whole: Type.Union([Type.Object(explainedPiece), Type.Null()]),
  refusal: Type.Union([Type.Object({ status: Type.Number(), ttlSeconds: Type.Number() }), Type.Null()]),
  calls: Type.Array(range),
  behind: Type.Array(range),
  storeAway: Type.Boolean(),
  // A gateway of an earlier release sends none.
  warnings: Type.Optional(Type.Array(Type.Object({ code: Type.String(), message: Type.String() }))),
});

const teamChange = Type.Object({
  id: Type.String(),
  action: Type.Enum(['create', 'update', 'none', 'keep', 'release', 'delete']),
  before: Type.Union([team, Type.Null()]),
  after: Type.Union([team, Type.Null()]),
});

const finding = Type.Object({ level: Type.String(), says: Type.String(), do: Type.String() });
const status = Type.Object({
  version: Type.String(),
  uptimeSeconds: Type.Number(),
  ready: Type.Boolean(),
  verdict: Type.Object({ level: Type.String(), findings: Type.Array(finding) }),
  replicas: Type.Number(),
  worst: Type.Object({ store: Type.String(), credential: Type.String(), platform: Type.String() }),
  store: Type.Object({ kind: Type.String() }),
  credential: Type.Object({
    expiresAt: textOrNull,
    expiryKnown: Type.Union([Type.Boolean(), Type.Null()]),
  }),
  cache: Type.Object({ l1Bytes: Type.Number(), l1Entries: Type.Number() }),
  platform: Type.Object({ callsRunning: Type.Number(), callsQueued: Type.Number() }),
  // A gateway of an earlier release sends none.
  retention: Type.Optional(
    Type.Array(Type.Object({ endpoint: Type.String(), days: Type.Number(), source: Type.String() })),
  ),
});

const writeStop = Type.Object({ by: Type.String(), at: Type.String(), reason: Type.String() });
const unknownWrite = Type.Object({
  id: Type.String(),
  team: Type.String(),
  route: Type.String(),
  day: Type.String(),
  amount: Type.Union([Type.Number(), Type.Null()]),
  currency: Type.Optional(textOrNull),
  at: Type.String(),
  why: Type.String(),
});

const check = Type.Object({ name: Type.String(), level: Type.String(), says: Type.String(), do: textOrNull });

const forms = {
  status: recordForm(status),
  checkup: recordForm(Type.Object({ version: Type.String(), checks: Type.Array(check) })),
  teams: recordForm(Type.Object({ teams: Type.Array(team) })),
  team: StoredTeam,
  applied: recordForm(Type.Object({ dryRun: Type.Boolean(), changes: Type.Array(teamChange) })),
  keys: recordForm(Type.Object({ keys: Type.Array(shownKey) })),
  issuedKey: recordForm(
    Type.Object({ id: Type.String(), key: Type.String(), teamId: Type.String(), expiresAt: textOrNull }),
  ),
  tokens: recordForm(Type.Object({ active: shownToken, pending: shownToken, previous: shownToken })),
  resealed: recordForm(Type.Object({ masterKey: Type.String(), records: Type.Array(Type.String()) })),
  explanation: recordForm(explanation),
  purged: recordForm(Type.Object({ purged: Type.String() })),
  accepted: recordForm(Type.Object({ accepted: Type.String(), days: Type.Number() })),
  erased: recordForm(Type.Object({ erased: Type.String(), days: Type.Number(), complete: Type.Boolean() })),
  writeStops: recordForm(
    Type.Object({
      all: Type.Union([writeStop, Type.Null()]),
      teams: Type.Array(Type.Intersect([Type.Object({ team: Type.String() }), writeStop])),
    }),
  ),
  unknownWrites: recordForm(Type.Object({ writes: Type.Array(unknownWrite) })),
  settledWrite: recordForm(Type.Object({ settled: unknownWrite, outcome: Type.String() })),
  usage: recordForm(Type.Object({ from: Type.String(), to: Type.String(), usage: Type.Array(usageDay) })),
  audit: recordForm(
    Type.Object({
      entries: Type.Array(Type.Intersect([AuditRecord.schema, Type.Object({ id: Type.String() })])),
    }),
  ),
  /** Goes to a file as it is. */
  backup: recordForm(Type.Object({})),
  restored: recordForm(
    Type.Object({
      imported: Type.Object({
        teams: Type.Number(),
        keys: Type.Number(),
        replaced: Type.Boolean(),
        stillRevoked: Type.Optional(Type.Number()),
      }),
    }),
  ),
  copied: recordForm(Type.Object({ folder: Type.String(), history: Type.Boolean() })),
  /** In the place of any of them. */
  problem: recordForm(
    Type.Object({
      title: Type.String(),
      detail: Type.String(),
      // A gateway of an earlier release sends none.
      help: Type.Optional(Type.String()),
      errors: Type.Optional(Type.Array(Type.Object({ param: Type.String(), message: Type.String() }))),
    }),
  ),
};

export type Answers = { readonly [Name in keyof typeof forms]: RecordOf<(typeof forms)[Name]> };

export const ANSWERS: { readonly [Name in keyof Answers]: RecordForm<Answers[Name]> } = forms;
