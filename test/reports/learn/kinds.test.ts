import { expect, it } from 'vitest';
import { createKinds } from '../../../src/reports/learn/learn.js';
import { agree, noteRestatement, refute, startLearning } from '../../../src/reports/learn/state.js';
import { openEmbedded, openReplica } from '../../support/shared-registry.js';

const NEWER = { of: 'a newer release' };

it('a kind that a newer release wrote keeps what is not known of it through every change', async () => {
  const { registry } = await openReplica(await openEmbedded());
  const kinds = createKinds(registry);
  const theirs = {
    ...startLearning('first'),
    agreements: [{ date: '2026-11-01', pair: 'a', newer: NEWER }],
    newer: NEWER,
  };
  await registry.commit({ writes: new Map([['divisible/k', JSON.stringify(theirs)]]) });

  await kinds.change('k', (kind) => agree(kind, [{ date: '2026-11-02', pair: 'b' }], 0));
  expect(kinds.get('k')).toMatchObject({ newer: NEWER, agreements: [{ newer: NEWER }, { pair: 'b' }] });
  await kinds.change('k', (kind) => noteRestatement(kind, 3));
  await kinds.change('k', (kind) => refute(kind, 'second', 0));
  expect(JSON.parse(registry.get('divisible/k')?.value ?? '')).toMatchObject({
    state: 'refuted',
    restatements: 1,
    newer: NEWER,
  });
});

it('a state that only a newer release knows proves nothing here', async () => {
  const { registry } = await openReplica(await openEmbedded());
  const kinds = createKinds(registry);
  const theirs = { ...startLearning('first'), state: 'trusted' };
  await registry.commit({ writes: new Map([['divisible/k', JSON.stringify(theirs)]]) });
  expect(kinds.get('k')?.state).not.toBe('proven');
  expect(kinds.generationOf('k')).toBe('first');
});

it('a damaged kind is named, and its text is not quoted', async () => {
  const { registry } = await openReplica(await openEmbedded());
  await registry.commit({ writes: new Map([['divisible/k', '{"state":"proven","generation":"c4n4ry"}']]) });
  expect(() => createKinds(registry).get('k')).toThrow('the record divisible/k is damaged');
});
