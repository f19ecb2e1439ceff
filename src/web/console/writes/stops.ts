/** Whose writes are stopped, as the admin API says it. */
import type { AnswerTo } from '../../../api/operations/table.js';

type WriteStop = NonNullable<WriteStops['all']>;

export type WriteStops = AnswerTo<'GET /admin/v1/writes'>;

export interface ShownStop extends WriteStop {
  /** Null: of all teams. */
  readonly team: string | null;
}

/** That of all teams first. */
export function listOf({ all, teams }: WriteStops): readonly ShownStop[] {
  return [...(all === null ? [] : [{ ...all, team: null }]), ...teams];
}
