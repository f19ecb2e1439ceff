/** What a cursor holds, and whom it serves. */
import { expect, it } from 'vitest';
import { type Cursor, createCursors } from '../../../src/api/mcp/cursors.js';
import type { Caller } from '../../../src/teams/auth/authenticate.js';
import { completeTeam, type NewTeam } from '../../../src/teams/auth/team.js';
import { createTestClock } from '../../support/test-clock.js';

const callerOf = (team: Partial<NewTeam> = {}, life?: number) =>
  ({
    team: completeTeam({ id: 'walkers', scopes: ['mcp', 'report:read'], advertisers: [1, 2], ...team }),
    key: life === undefined ? {} : { life },
  }) as Caller;

const clock = createTestClock();
const cursorsUnder = (pepper: string) => createCursors({ pepper: () => Buffer.from(pepper), clock });
const cursors = cursorsUnder('pepper of the replicas');
const CURSOR: Cursor = {
  args: { advertiserId: 1, filters: [{ name: 'campaignIds[]', values: ['7', 'ü😀'] }] },
  fromRow: 100,
  state: 's'.repeat(22),
  atMs: clock.now(),
};
const given = cursors.write(callerOf(), 'query_report', CURSOR) as string;

const expired = expect.objectContaining({ code: 'cursor_expired' });

it.each([
  ['with a moment', CURSOR],
  ['without one', { ...CURSOR, atMs: null }],
  ['of a later page', { ...CURSOR, fromRow: 4_999_999 }],
])(
  'a cursor %s is read as it was written, by any replica, and has no more than its promised length',
  (_, cursor) => {
    const text = cursors.write(callerOf(), 'query_report', cursor) as string;
    expect(cursorsUnder('pepper of the replicas').read(callerOf(), 'query_report', text)).toEqual(cursor);
    expect(text.length).toBeLessThanOrEqual(cursors.charsFor(cursor.args));
  },
);

it.each([
  ['of another tool', callerOf(), 'compare_as_of', cursors],
  ['of another team', callerOf({ id: 'others' }), 'query_report', cursors],
  ['of another life of the team', callerOf({}, 1), 'query_report', cursors],
  ['under other advertisers', callerOf({ advertisers: [1] }), 'query_report', cursors],
  ['under other scopes', callerOf({ scopes: ['mcp'] }), 'query_report', cursors],
  ['signed with another pepper', callerOf(), 'query_report', cursorsUnder('another')],
] as const)('a cursor %s is expired', (_, caller, tool, reader) => {
  expect(cursors.read(callerOf(), 'query_report', given)).toEqual(CURSOR);
  expect(() => reader.read(caller, tool, given)).toThrow(expired);
});

it('a text that is no cursor is expired', () => {
  for (const text of ['', 'x', '.'.repeat(5), given.slice(1), given.slice(23), `${given}=`, `${given}\n`])
    expect(() => cursors.read(callerOf(), 'query_report', text)).toThrow(expired);
});

it('arguments that make a cursor too long get none', () => {
  const columns = Array.from({ length: 400 }, (_, at) => String((at * 7_654_321) % 99_999_989));
  const cursor = { ...CURSOR, args: { columns } };
  expect(cursors.write(callerOf(), 'query_report', cursor)).toBeNull();
  expect(cursors.charsFor(cursor.args)).toBe(0);
});
