import { expect, it } from 'vitest';
import { toProblem } from '../../../src/errors.js';
import { MILLIONTHS } from '../../../src/teams/write-guard/amount.js';
import { brakeByHand } from '../../support/brake-by-hand.js';
import { reservationsInMemory } from '../../support/reservations-in-memory.js';

const ask = {
  team: 'growth',
  route: 'POST /api/v1/campaign/create',
  amount: 3 * MILLIONTHS,
  max: 5 * MILLIONTHS,
};

it('reserves what a day has left, and gives back what was not spent', async () => {
  const reservations = reservationsInMemory();
  const first = await reservations.reserve(ask);
  if (first.kind === 'over') throw new Error('there was room');
  expect(await reservations.reserve(ask)).toMatchObject({ kind: 'over', left: 2 * MILLIONTHS });
  await reservations.giveBack(first.reservation);
  expect(await reservations.left(ask.team, ask.route, ask.max)).toMatchObject({ left: ask.max });
});

it('says that nothing was sent where nothing can be reserved', async () => {
  const reservations = reservationsInMemory();
  reservations.away = true;
  const error = await reservations.reserve(ask).catch((thrown) => thrown);
  expect(toProblem(error, 'r')).toMatchObject({ status: 503, code: 'write_guard_unavailable' });
});

it('stops writes of every team that it is asked for', () => {
  const brake = brakeByHand();
  brake.check('growth');
  brake.stopped = true;
  expect(() => brake.check('growth')).toThrow(
    expect.objectContaining({ code: 'writes_stopped', status: 503 }),
  );
});
