/** Who is signed in at the console, and which calls they may make. */
import type { AnswerTo } from '../../api/operations/table.js';
import { type Signed, useSigned } from '../ui/session.js';

export type AdminSession = AnswerTo<'GET /admin/v1/session'>;

export interface Admin extends Signed<AdminSession> {
  /** What one may not do is not shown. @param call `PATCH /admin/v1/teams/:id` */
  readonly may: (call: string) => boolean;
}

export function useAdmin(): Admin {
  const signed = useSigned<AdminSession>();
  return { ...signed, may: (call) => signed.session.may.includes(call) };
}
