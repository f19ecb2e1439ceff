/** The team that is signed in at the explorer. */
import type { AnswerTo } from '../../api/operations/table.js';
import { type Signed, useSigned } from '../ui/session.js';

type TeamSession = AnswerTo<'GET /gateway/v1/session'>;

export type Advertisers = AnswerTo<'GET /gateway/v1/advertisers'>;
export type Advertiser = Advertisers['advertisers'][number];

export const useTeam = (): Signed<TeamSession> => useSigned<TeamSession>();

/** Where the advertisers stand that the team may see, those seen last first. */
export const SEEN = '/gateway/v1/advertisers?limit=1000';
