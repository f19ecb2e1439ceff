/** Job of the leader: tells the feed of changes which advertisers a team may read since now, and which not any more. */
import { encodeEntry } from '../../reports/feed/entry.js';
import type { Changes } from '../../store/changes-port.js';
import type { Job } from '../../store/jobs.js';
import { type Documents, whenAway } from '../../store/port.js';
import type { Directory } from './directory.js';
import { nameInLife, type Team } from './team.js';

export interface TellGrantsOptions {
  readonly directory: Pick<Directory, 'teams' | 'life'>;
  readonly changes: Pick<Changes, 'append'>;
  readonly documents: Documents;
  readonly now: () => number;
}

/** A document for each team: lists of all teams are longer than one may be. A new life of a team begins without. */
const documentOf = (name: string) => `changes-lists/${name}`;
/** Renewed when a process first looks at the team. One that ended is noted anew, without telling. */
const KEPT_MS = 400 * 86_400_000;
/** Advertisers in an entry: offsets count its messages in two digits. */
const AT_ONCE = 50;

/**
 * Told at least once: a change is noted after it was told. Changes that are taken back within the same second are not told.
 * @returns the job, which looks at nothing while no list changed. While the store is away it goes on with the next call
 */
export function createTellGrants(options: TellGrantsOptions): Job {
  const { directory } = options;
  /** Lists that are noted, by team; another leader has noted what is missing here. */
  let noted = new Map<string, Team['advertisers']>();
  async function look(isStopped: () => boolean): Promise<void> {
    const present = new Map<string, Team['advertisers']>();
    for (const { id, advertisers } of directory.teams()) {
      if (isStopped()) return;
      const name = nameInLife(id, directory.life(id));
      const before = noted.get(name);
      if (before !== advertisers && (before === undefined || textOf(before) !== textOf(advertisers)))
        await tellTeam(options, name, advertisers);
      noted.set(name, advertisers);
      present.set(name, advertisers);
    }
    noted = present;
  }
  return (isStopped) => look(isStopped).catch(whenAway(() => {}));
}

/** Compares with what was noted, also by a former leader, and notes the list of now. @throws StoreUnavailable */
async function tellTeam(
  { changes, documents, now }: TellGrantsOptions,
  /** With its life. */
  team: string,
  advertisers: Team['advertisers'],
): Promise<void> {
  const document = documentOf(team);
  const after = textOf(advertisers);
  const before = await documents.create(document, after, KEPT_MS);
  if (before === null) return;
  const { given, taken } = difference(listIn(before), advertisers);
  const all = [
    ...given.map((one) => ({ given: [one], taken: [] })),
    ...taken.map((one) => ({ given: [], taken: [one] })),
  ];
  for (let from = 0; from < all.length; from += AT_ONCE) {
    const some = all.slice(from, from + AT_ONCE);
    await changes.append(
      encodeEntry({
        type: 'grants',
        team,
        at: now(),
        given: some.flatMap((one) => one.given),
        taken: some.flatMap((one) => one.taken),
      }),
    );
  }
  // Another leader beside this one has told it as well.
  await documents.replace(document, before, after, KEPT_MS);
}

/** In one order: the order of a list means nothing. */
function textOf(advertisers: Team['advertisers']): string {
  return advertisers === '*' ? advertisers : [...advertisers].sort((a, b) => a - b).join();
}

/** @returns null for what is no list: nothing is known of the former one */
function listIn(text: string): Team['advertisers'] | null {
  if (text === '*') return text;
  const list = text === '' ? [] : text.split(',').map(Number);
  return list.every((one) => Number.isSafeInteger(one)) ? list : null;
}

/**
 * A team that gets "*", or loses it, is told nothing: all advertisers cannot be listed. As with each change of a team, its readers
 * are ended; what they get next is judged by the list of now.
 */
function difference(before: Team['advertisers'] | null, after: Team['advertisers']) {
  if (before === null || before === '*' || after === '*') return { given: [], taken: [] };
  const [former, present] = [new Set(before), new Set(after)];
  return {
    given: after.filter((one) => !former.has(one)),
    taken: before.filter((one) => !present.has(one)),
  };
}
