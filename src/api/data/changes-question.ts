/** The parameters of a request for the feed of changes, and who reads it. */
import { type FieldFault, invalidQuery } from '../../errors.js';
import { isRepeated, isUnknown, mustBe } from '../../lib/field-faults.js';
import type { FeedFilter, FeedReader } from '../../reports/feed/feed.js';
import { type Offset, readOffset } from '../../reports/feed/offset.js';
import { ENDPOINT_FAULT, isEndpointPath } from '../../reports/query/endpoint-path.js';
import { parseQueryText } from '../../reports/query/given-parameters.js';
import { digest } from '../../reports/query/platform-call.js';
import type { Caller, Identify } from '../../teams/auth/authenticate.js';
import { checkAdvertiser, checkCaller, mayBeShown } from '../../teams/policy/authorize.js';
import type { AskCall } from './ask.js';

export interface ChangesQuestion {
  readonly from: '-1' | 'now' | Offset;
  readonly live: 'long-poll' | 'sse' | null;
  /** As the last answer of a live request had it. */
  readonly cursor: number | null;
  readonly filter: FeedFilter;
  readonly withRows: boolean;
}

/** A caller with its rights of now. */
export interface FollowedReader extends FeedReader {
  readonly caller: Caller;
}

type Open = (call: Pick<AskCall, 'keys' | 'trace' | 'address'>) => Caller;

/** @throws GatewayError 401; 403 */
export function openCaller(identify: Identify): Open {
  return ({ keys, trace, address }) => {
    const caller = identify(keys, trace);
    checkCaller(caller, address, 'report:read');
    return caller;
  };
}

const NAMES = ['offset', 'live', 'cursor', 'endpoint', 'advertiserId', 'split', 'series', 'rows'] as const;
type Name = (typeof NAMES)[number];

const OFFSET = '-1, now, or stream-next-offset of an earlier answer, unchanged';
const SHAPES: Readonly<
  Record<Exclude<Name, 'offset' | 'endpoint' | 'advertiserId'>, readonly [RegExp, string]>
> = {
  live: [/^(?:long-poll|sse)$/, 'long-poll or sse'],
  cursor: [/^\d{1,15}$/, 'stream-cursor of the last answer'],
  split: [/^[A-Za-z]+(?:,[A-Za-z]+)*$/, 'the split of a report, such as date,campaign'],
  series: [/^[A-Za-z0-9_-]{22}$/, 'the 22 characters of value.series'],
  rows: [/^[01]$/, '1 or 0'],
};
const ACCOUNT_ID = /^[A-Za-z0-9._-]{1,64}$/;
const MOST_ACCOUNTS = 200;

/** @throws GatewayError 400 `invalid_query` */
export function readQuestion(query: string): ChangesQuestion {
  const faults: FieldFault[] = [];
  const given = readGiven(query, faults);
  const one = (name: Name) => given.get(name)?.[0] ?? null;
  for (const [name, [shape, form]] of Object.entries(SHAPES)) {
    const value = one(name as Name);
    if (value !== null && !shape.test(value)) faults.push(mustBe(name, form));
  }
  const [offset, live, endpoint] = [one('offset'), one('live'), one('endpoint')];
  if (endpoint !== null && !isEndpointPath(endpoint)) faults.push(ENDPOINT_FAULT);
  const from = fromOf(offset ?? '-1');
  if (from === null) faults.push(mustBe('offset', OFFSET));
  if (live !== null && offset === null)
    faults.push({ ...mustBe('offset', OFFSET), message: `is required with live: ${OFFSET}` });
  const advertisers = [...new Set(given.get('advertiserId')?.flatMap((value) => value.split(',')))];
  if (
    given.has('advertiserId') &&
    !(advertisers.every((id) => ACCOUNT_ID.test(id)) && advertisers.length <= MOST_ACCOUNTS)
  )
    faults.push(mustBe('advertiserId', `advertiser ids, at most ${MOST_ACCOUNTS}, repeated or with commas`));
  if (from === null || faults.length > 0) throw invalidQuery(...faults);
  return {
    from,
    live: live as ChangesQuestion['live'],
    cursor: one('cursor') === null ? null : Number(one('cursor')),
    withRows: one('rows') === '1',
    filter: {
      endpoint,
      advertisers: given.has('advertiserId') ? advertisers : null,
      split: one('split'),
      series: one('series'),
    },
  };
}

function readGiven(query: string, faults: FieldFault[]): ReadonlyMap<Name, readonly string[]> {
  const given = new Map<Name, string[]>();
  for (const { name, value } of parseQueryText(query)) {
    const known = NAMES.find((one) => one === name);
    if (known === undefined) faults.push(isUnknown(name, NAMES));
    else if (given.has(known) && known !== 'advertiserId') faults.push(isRepeated(name));
    else given.set(known, [...(given.get(known) ?? []), value]);
  }
  return given;
}

/** @returns null for a text that is no offset */
function fromOf(text: string): ChangesQuestion['from'] | null {
  return text === '-1' || text === 'now' ? text : readOffset(text);
}

/**
 * A reader with the rights that its caller has now.
 * @param nameOf of a team with its life: what was told to a deleted team of that id is not for this one
 * @throws GatewayError 403 `advertiser_forbidden` for a filter that names an advertiser of others
 */
export function readerOf(
  caller: Caller,
  { filter, withRows }: ChangesQuestion,
  nameOf: (team: string) => string,
): FollowedReader {
  const { team } = caller;
  if (filter.advertisers !== null)
    checkAdvertiser(caller, {
      namesAccount: true,
      accounts: [{ param: 'advertiserId', values: filter.advertisers }],
      lookalikes: () => [],
      accountFields: ['advertiserId'],
    });
  const list = team.advertisers === '*' ? '*' : team.advertisers.join();
  return {
    caller,
    team: nameOf(team.id),
    filter,
    withRows,
    maySee: (accounts) => team.advertisers === '*' || (accounts !== null && mayBeShown(caller, accounts)),
    view: digest([JSON.stringify(filter), String(withRows), nameOf(team.id), list]),
  };
}
