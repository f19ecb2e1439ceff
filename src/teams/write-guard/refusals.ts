/** The last refused writes of all replicas, in one shared document. */
import type { Logger } from 'pino';
import Type from 'typebox';
import { type RecordOf, recordForm } from '../../lib/record.js';
import { type Documents, whenAway } from '../../store/port.js';
import { createSharedTallies } from '../../store/shared-tallies.js';

/** Without values of the request: every role of the console may see it. */
export const Refusal = Type.Object(
  {
    requestId: Type.String(),
    at: Type.String({ format: 'date-time' }),
    team: Type.String(),
    key: Type.String({ description: 'Id of the key.' }),
    route: Type.String({ description: 'E.g. POST /api/v1/campaign/create.' }),
    code: Type.String({ description: 'Code of the problem.' }),
    rule: Type.Union([Type.String(), Type.Null()], {
      description: 'First rule of the guard that refused it, e.g. budget.maxPerDay; null: none did.',
    }),
  },
  { title: 'RefusedWrite' },
);
const Form = recordForm(Type.Array(Refusal));
type Refused = RecordOf<typeof Form>;

const KEY = 'refused-writes';
const MAX_KEPT = 50;
const KEPT_MS = 40 * 86_400_000;
/** A script that loops must not make a call of the store each time. */
const WRITTEN_EVERY_MS = 1000;

export function createRefusals(documents: Documents, logger: Logger) {
  const tallies = createSharedTallies<typeof KEY, Refused>({
    documents,
    everyMs: WRITTEN_EVERY_MS,
    ttlMs: KEPT_MS,
    none: [],
    merge: newest,
    documentOf: (key) => key,
    decode: Form.parse,
    encode: (refusals) => JSON.stringify(refusals),
    onAway: (error) => logger.debug({ err: error }, 'failed to share refused writes'),
  });
  return {
    note: (refusal: Refused[number]): void => void tallies.add(KEY, [refusal]),
    /** Newest first. While the store is away: the refusals that this process knows. */
    list: (): Promise<Refused> => tallies.read(KEY).catch(whenAway(() => tallies.atHand(KEY))),
    close: tallies.close,
  };
}

/** The same in any order and if repeated. */
function newest(some: Refused, others: Refused): Refused {
  const all = [...new Map([...some, ...others].map((one) => [one.requestId, one])).values()];
  const place = ({ at, requestId }: Refused[number]) => at + requestId;
  return all.sort((one, other) => (place(one) < place(other) ? 1 : -1)).slice(0, MAX_KEPT);
}
