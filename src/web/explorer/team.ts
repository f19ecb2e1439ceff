/** The signed-in team. */
import type { AnswerTo } from '../../api/operations/table.js';
import { type Signed, useSigned } from '../ui/session.js';

type TeamSession = AnswerTo<'GET /gateway/v1/session'>;

export type Advertisers = AnswerTo<'GET /gateway/v1/advertisers'>;
export type Advertiser = Advertisers['advertisers'][number];

export const useTeam = (): Signed<TeamSession> => useSigned<TeamSession>();

/** Advertisers that the team may see, most recently seen first. */
export const SEEN = '/gateway/v1/advertisers?limit=1000';
