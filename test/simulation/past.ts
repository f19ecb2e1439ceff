/** What was known at a moment is given again, later: each day as the platform had said it by then. */
import { asks, give, question } from './asking.js';
import type { Known } from './oracle.js';
import type { Replica } from './replicas.js';
import { mostSkewMs } from './shape.js';
import type { Said } from './sim-platform.js';
import type { WorldOfSeed } from './world.js';

/** So many answers are looked at again. */
const LOOKS = 4;
/** What is written behind an answer may still have been under way: that much before the moment it was not. */
const WRITTEN_MS = 500;

/** To be called when nothing is under way any more. @throws what is wrong with what is given of the past */
export async function lookBack(world: WorldOfSeed): Promise<void> {
  const { oracle, chance, replicas, keys, scheduler } = world;
  const key = keys.find(({ team }) => team === 'all');
  // What was known just now is of the future for a replica whose clock is too early.
  const known = oracle.known.filter(({ knownAt }) => Date.parse(knownAt) < scheduler.trueMs() - 5_000);
  if (key === undefined || known.length === 0) return;
  for (let looks = 0; looks < LOOKS; looks += 1) {
    const then = chance.pick(known);
    const replica = chance.pick([...replicas.values()]) as Replica;
    const what = { ...question(world), ...then.asked, byDate: true, directive: null, days: true };
    const asked = asks(world, replica, what, key);
    const given = await scheduler.begin(replica.owner, () => give(asked, replica, `&_asOf=${then.knownAt}`));
    scheduler.note(`of the past ${then.knownAt} ${given.status} ${given.code}`);
    const outcome = `past ${given.code ?? given.status}`;
    oracle.counts.set(outcome, (oracle.counts.get(outcome) ?? 0) + 1);
    if (given.body === null) {
      if (given.code !== 'not_known_then')
        throw new Error(`the past was answered ${given.status} ${given.code}`);
      // What was not written is not known.
      if (isCalm(world) && world.shape.divisible === 'always' && isWritten(world, then))
        throw new Error(
          `every day was written by ${then.knownAt}, and is not known: ${JSON.stringify(then)}`,
        );
      continue;
    }
    const lacking = new Set(
      given.body.meta.days?.filter(({ exact }) => exact === false).map(({ date }) => date),
    );
    for (const [date] of then.rows) {
      const row = given.body.data.find((one) => one.date === date);
      const value = (row?.impressions ?? null) as number | null;
      if (!mayBe(world, then, date, value, !lacking.has(date)))
        throw new Error(`${date} was not ${value} as of ${then.knownAt}: ${JSON.stringify(then)}`);
    }
  }
}

/** Whether everything was written that was to be. */
function isCalm({ faults, shape, isLossy }: WorldOfSeed): boolean {
  return faults.store.length === 0 && !isLossy && ['none', 'stop'].includes(shape.end);
}

/** What was said of a day by then: what had begun, and what had been written down. */
function saidBy(world: WorldOfSeed, then: Known, date: string): readonly (readonly Said[])[] {
  const { platform, scheduler, shape } = world;
  const momentMs = scheduler.momentOf(Date.parse(then.knownAt));
  const all = platform
    .said(then.asked.advertiser, date, date, true)
    .filter(({ endMs }) => endMs < Number.POSITIVE_INFINITY);
  const skewMs = mostSkewMs(shape);
  const begun = all.filter(({ atMs }) => atMs <= momentMs + skewMs);
  return [begun, begun.filter(({ endMs }) => endMs <= momentMs - WRITTEN_MS - skewMs)];
}

const isWritten = (world: WorldOfSeed, then: Known): boolean =>
  [...then.rows.keys()].every((date) => (saidBy(world, then, date)[1] ?? []).length > 0);

function mayBe(
  world: WorldOfSeed,
  then: Known,
  date: string,
  value: number | null,
  isExact: boolean,
): boolean {
  const [begun = [], over = []] = saidBy(world, then, date);
  const isAsked = ({ atMs }: Said) =>
    !world.rotations.some(({ fromMs, untilMs }) => fromMs <= atMs && atMs <= untilMs);
  // An end without rows is not believed at first: the rows before it stay.
  const written = over.filter((one) => isAsked(one) && !one.isEmptyEnd);
  const sinceMs = isCalm(world) && isExact ? Math.max(0, ...written.map(({ atMs }) => atMs)) : 0;
  return begun.some((one: Said) => one.value === value && one.endMs >= sinceMs);
}
