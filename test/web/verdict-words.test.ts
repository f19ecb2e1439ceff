/** What the Overview says first. */
import { describe, expect, it } from 'vitest';
import { costOf } from '../../src/lib/words.js';
import { headlineOf, lastsOf, pageOf, type Status, wholeOf } from '../../src/web/console/verdict-words.js';

type Finding = Status['verdict']['findings'][number];

const finding = (rest: Partial<Finding> = {}): Finding => ({
  level: 'not well',
  part: 'platform',
  says: 'platform calls fail',
  do: 'look at the log',
  ...rest,
});
const headline = (reports: [recent: number, recentFailed: number], ...findings: Finding[]) =>
  headlineOf({
    verdict: { level: findings[0]?.level ?? 'well', findings },
    reports: { recent: reports[0], recentFailed: reports[1] },
    ...{ replicas: 1, uptimeSeconds: 3600 },
  });

describe('the headline', () => {
  it('is that all is well only while no report failed', () => {
    expect(headline([300, 0])).toEqual({ words: 'All is well', tone: 'good' });
    expect(headline([0, 0]).words).toBe('All is well');
    expect(headline([300, 1]).words).toBe('Well; 1 of 300 reports failed in the last 5 minutes');
  });

  it('tells failed reports beside that it works, of any share: the level is the server’s', () => {
    expect(headline([10, 2])).toEqual({
      words: 'Well; 2 of 10 reports failed in the last 5 minutes',
      tone: 'info',
    });
    expect(headline([5, 3])).toEqual({
      words: 'Well; 3 of 5 reports failed in the last 5 minutes',
      tone: 'info',
    });
  });

  it('says that it is well again though reports failed', () => {
    const recovered = { part: 'platform', at: '2026-11-29T14:01:07.500Z', says: 'Calls failed.' } as const;
    const reports = { recent: 10, recentFailed: 3 };
    const verdict = { level: 'well', recovered, findings: [] } as const;
    expect(headlineOf({ verdict, reports, replicas: 1, uptimeSeconds: 3600 })).toEqual({
      words: 'Well again',
      tone: 'good',
    });
  });

  it('names the parts that are as bad as the whole', () => {
    const warning = finding({ level: 'warning', part: 'writes' });
    expect(headline([10, 3], finding(), finding({ part: 'store' }), warning)).toEqual({
      words: 'Not well: the platform, the store',
      tone: 'bad',
    });
    expect(headline([10, 0], warning, warning)).toEqual({
      words: 'Warning: writes',
      tone: 'warn',
    });
  });
});

it('says what it costs, also if it costs nothing yet', () => {
  const cost = (reports: { recent: number; recentFailed: number; noneFailedSince?: string }, rest = {}) =>
    costOf({ reports, replicas: 1, uptimeSeconds: 3600, verdict: { level: 'well' }, ...rest });
  expect(cost({ recent: 10, recentFailed: 3 })).toBe('3 of 10 reports failed in the last 5 minutes');
  const noneFailedSince = '2026-11-29T14:01:00.000Z';
  expect(cost({ recent: 150, recentFailed: 12, noneFailedSince })).toBe(
    '12 of 150 reports failed in the last 5 minutes, none since 14:01 UTC',
  );
  // It sounds as if it were over.
  expect(cost({ recent: 78, recentFailed: 15, noneFailedSince }, { verdict: { level: 'not well' } })).toBe(
    '15 of 78 reports failed in the last 5 minutes',
  );
  expect(cost({ recent: 1, recentFailed: 1 })).toBe('1 of 1 report failed in the last 5 minutes');
  expect(cost({ recent: 42, recentFailed: 0 })).toBe('no report failed in the last 5 minutes, of 42');
  expect(cost({ recent: 0, recentFailed: 0 })).toBe('no report was requested in the last 5 minutes');
  const young = { uptimeSeconds: 80 };
  expect(cost({ recent: 0, recentFailed: 0 }, young)).toBe(
    'no report was requested since the start 1 min 20 s ago',
  );
  expect(cost({ recent: 9, recentFailed: 0 }, { ...young, replicas: 2 })).toBe(
    'no report failed in the last 5 minutes, of 9',
  );
});

it('says for how long, if it is known and the finding does not say it', () => {
  const now = Date.parse('2026-11-29T01:32:00.000Z');
  const since = '2026-11-29T01:20:00.000Z';
  expect(lastsOf(finding({ since }), now)).toBe('for 12 min, since 2026-11-29 01:20 UTC');
  expect(lastsOf(finding(), now)).toBe('');
  expect(lastsOf(finding({ since, says: 'the platform refuses the token since 01:20' }), now)).toBe('');
});

it('says for how long the whole is so bad, unless its only finding says it', () => {
  const now = Date.parse('2026-11-29T01:32:00.000Z');
  const since = '2026-11-29T01:20:00.000Z';
  const of = (...findings: ReturnType<typeof finding>[]) =>
    wholeOf({ level: 'not well', since, findings }, now);
  const said = 'Not well for 12 min, since 2026-11-29 01:20 UTC.';
  expect(of(finding(), finding({ since }))).toBe(said);
  expect(of(finding())).toBe(said);
  expect(of(finding({ since }))).toBe('');
  expect(wholeOf({ level: 'not well', findings: [] }, now)).toBe('');
});

it('finds the page that does what is advised', () => {
  expect(pageOf('dsp-gateway token rotate --expires <date>')?.section).toBe('credential');
  expect(pageOf('when resolved: dsp-gateway writes resume --reason <why>')?.section).toBe('writes');
  expect(pageOf('check the network')).toBeNull();
});
