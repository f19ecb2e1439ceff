/** The team that is signed in at the explorer. */
import { type SessionBase, type Signed, useSigned } from '../ui/session.js';

export interface TeamSession extends SessionBase {
  readonly team: { readonly id: string; readonly name: string };
  readonly scopes: readonly string[];
  readonly advertisers: readonly number[] | '*';
}

/** As `GET /gateway/v1/advertisers` has them. */
export interface Advertiser {
  readonly id: number;
  /** As an answer told it last; null: none did. */
  readonly name: string | null;
  readonly lastSeenAt: string | null;
}

export const useTeam = (): Signed<TeamSession> => useSigned<TeamSession>();

/** Where the advertisers stand that the team may see, those seen last first. */
export const SEEN = '/gateway/v1/advertisers?limit=1000';
