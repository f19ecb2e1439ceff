/** The signed-in operator and their permissions. */
import type { AnswerTo } from '../../api/operations/table.js';
import { useSigned } from '../ui/session.js';

export function useAdmin() {
  const signed = useSigned<AnswerTo<'GET /admin/v1/session'>>();
  /** Forbidden actions are not shown. @param call `PATCH /admin/v1/teams/:id` */
  const may = (call: string) => signed.session.may.includes(call);
  return { ...signed, may };
}
