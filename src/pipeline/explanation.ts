/** What `explain` tells operators of a report, as schema and as type. */
import Type, { type Static } from 'typebox';
import { Divisibility } from '../divisibility/state.js';
import type { Frozen } from '../record.js';
import { EXPLAINED, EXPLAINED_POLICY } from '../report/explained.js';

const Policy = Type.Object({
  ...EXPLAINED_POLICY,
  divisibility: Type.Union([
    Type.Object(Divisibility.schema.properties, { description: 'What was learned of reports of this kind.' }),
    Type.Null(),
  ]),
});

export const Explanation = Type.Object(
  { ...EXPLAINED, series: Type.String(), key: Type.String(), policy: Policy },
  { title: 'Explanation' },
);
export type Explanation = Frozen<Static<typeof Explanation>>;
