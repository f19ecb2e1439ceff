/** Who is signed in at the console, and which calls they may make. */
import { type SessionBase, type Signed, useSigned } from '../ui/session.js';

export interface AdminSession extends SessionBase {
  readonly name: string;
  readonly role: 'viewer' | 'operator' | 'owner';
  /** Calls as the role table names them, `POST /admin/v1/teams`. */
  readonly may: readonly string[];
}

export interface Admin extends Signed<AdminSession> {
  /** What one may not do is not shown. @param call `PATCH /admin/v1/teams/:id` */
  readonly may: (call: string) => boolean;
}

export function useAdmin(): Admin {
  const signed = useSigned<AdminSession>();
  return { ...signed, may: (call) => signed.session.may.includes(call) };
}
