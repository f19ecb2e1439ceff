/** The team that is signed in at the explorer. */
import { type SessionBase, type Signed, useSigned } from '../ui/session.js';

export interface TeamSession extends SessionBase {
  readonly team: { readonly id: string; readonly name: string };
  readonly scopes: readonly string[];
  readonly advertisers: readonly number[] | '*';
}

export const useTeam = (): Signed<TeamSession> => useSigned<TeamSession>();
