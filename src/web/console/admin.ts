/** The signed-in operator and their permissions. */
import type { AnswerTo } from '../../api/operations/table.js';
import { type Signed, useSigned } from '../ui/session.js';

type AdminSession = AnswerTo<'GET /admin/v1/session'>;

export interface Admin extends Signed<AdminSession> {
  /** Forbidden actions are not shown. @param call `PATCH /admin/v1/teams/:id` */
  readonly may: (call: string) => boolean;
}

export function useAdmin(): Admin {
  const signed = useSigned<AdminSession>();
  return { ...signed, may: (call) => signed.session.may.includes(call) };
}
