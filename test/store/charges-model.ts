import fc from 'fast-check';
import { expect } from 'vitest';
import type { Charge } from '../../src/store/charges-port.js';
import type { Store } from '../../src/store/port.js';
import { DAY } from '../support/test-clock.js';

const IDS = ['a', 'b', 'c', 'd'];
const PURSES = ['p', 'q'];

export const stepOfCharges = fc.record({
  handle: fc.nat({ max: 1 }),
  does: fc.constantFrom('charge', 'charge', 'charge', 'note', 'kept', 'back'),
  id: fc.constantFrom(...IDS),
  purse: fc.constantFrom(...PURSES),
  amount: fc.nat({ max: 6 }),
  max: fc.integer({ min: 4, max: 12 }),
  note: fc.string({ unit: 'binary', maxLength: 20 }),
});

type Step = typeof stepOfCharges extends fc.Arbitrary<infer T> ? T : never;

/** Charges as the port describes them, in the plainest way. */
interface Model {
  readonly charged: Map<string, number>;
  readonly open: Map<string, Charge>;
  readonly ended: Set<string>;
}

/** Makes the calls, one after the other, and compares each answer and what the other handle sees with the model. */
export async function playCharges(
  stores: readonly Store[],
  prefix: string,
  steps: readonly Step[],
): Promise<void> {
  const model: Model = { charged: new Map(), open: new Map(), ended: new Set() };
  for (const one of steps) {
    const step = { ...one, id: prefix + one.id, purse: prefix + one.purse };
    expect(await call(stores[step.handle] as Store, step)).toEqual(apply(model, step));
    const { charges } = stores[1 - step.handle] as Store;
    for (const purse of PURSES)
      expect(await charges.charged(prefix + purse)).toBe(model.charged.get(prefix + purse) ?? 0);
    const open = (await charges.open()).filter(({ id }) => id.startsWith(prefix));
    expect(new Map(open.map((charge) => [charge.id, charge]))).toEqual(model.open);
  }
}

async function call({ charges }: Store, { does, id, purse, amount, max, note }: Step): Promise<unknown> {
  if (does === 'charge') return charges.charge({ id, purse, amount, max, note, ttlMs: DAY });
  if (does === 'note') return charges.note(id, note);
  return charges.end(id, does);
}

function apply({ charged, open, ended }: Model, { does, id, purse, amount, max, note }: Step): unknown {
  const found = open.get(id);
  if (does === 'charge') {
    const before = charged.get(purse) ?? 0;
    if (ended.has(id)) return { kind: 'ended', charged: before };
    if (found !== undefined) return { kind: 'made', charged: before };
    if (before + amount > max) return { kind: 'over', charged: before };
    charged.set(purse, before + amount);
    open.set(id, { id, purse, amount, note });
    return { kind: 'made', charged: before + amount };
  }
  if (does === 'note') {
    if (found !== undefined) open.set(id, { ...found, note });
    return found !== undefined;
  }
  ended.add(id);
  open.delete(id);
  if (does === 'back' && found !== undefined)
    charged.set(found.purse, (charged.get(found.purse) ?? 0) - found.amount);
  return found !== undefined;
}
