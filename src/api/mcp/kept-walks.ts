/** The walks that this process keeps, bounded in number and bytes. A dropped walk loses its pages in the store. */
import { WALK_LIMITS } from '../../reports/tables/pack.js';

/** The life of a walk. */
export const WALK_MS = 15 * 60_000;

export const KEPT_LIMITS = {
  ofTeam: { count: 20, bytes: WALK_LIMITS.bytes },
  ofAll: { count: 200, bytes: 67_108_864 },
} as const;

export interface KeptWalk {
  readonly id: string;
  readonly team: string;
  readonly bytes: number;
  /** Behind the first. */
  readonly pages: number;
  readonly untilMs: number;
}

export class KeptWalks {
  private walks: readonly KeptWalk[] = [];

  /** @param remove takes the pages of a walk out of the store */
  constructor(
    private readonly now: () => number,
    private readonly remove: (walk: KeptWalk) => Promise<void>,
  ) {}

  /** @returns false where there is no room for the walk */
  async add(walk: KeptWalk): Promise<boolean> {
    const before = [...this.walks.filter(({ untilMs }) => this.now() < untilMs), walk];
    const after = withRoom(before);
    this.walks = after;
    // Pages that cannot be removed lapse by themselves.
    await Promise.allSettled(before.filter((one) => !after.includes(one)).map(this.remove));
    return after.includes(walk);
  }
}

/** Beyond the limits the oldest walks are dropped: of the team of the newest walk first, then of the team with the most bytes. */
export function withRoom(walks: readonly KeptWalk[]): readonly KeptWalk[] {
  const { ofTeam, ofAll } = KEPT_LIMITS;
  const newest = walks.at(-1)?.team;
  let left = walks;
  const drop = (team: string | undefined) => {
    const at = left.findIndex((one) => one.team === team);
    left = left.filter((_, index) => index !== at);
  };
  const isOver = (all: readonly KeptWalk[], { count, bytes }: { count: number; bytes: number }) =>
    all.length > count || bytesOf(all) > bytes;
  const byTeam = (team: string | undefined) => left.filter((one) => one.team === team);
  while (isOver(byTeam(newest), ofTeam)) drop(newest);
  while (isOver(left, ofAll)) {
    const teams = [...new Set(left.map((one) => one.team))];
    drop(teams.reduce((most, team) => (bytesOf(byTeam(team)) > bytesOf(byTeam(most)) ? team : most)));
  }
  return left;
}

function bytesOf(walks: readonly KeptWalk[]): number {
  return walks.reduce((sum, { bytes }) => sum + bytes, 0);
}
