import { describe, expect, it } from 'vitest';
import type { Simulator } from '../../src/simulator/simulator-api.js';
import { call, type Row, start } from './support.js';

const NEW = {
  userId: 7,
  name: 'Launch',
  adDomain: 'shop.example',
  clickUrl: 'https://shop.example/',
  dates: { from: '2026-12-01', to: '2026-12-24' },
  country: 'DE',
  bid: 1.25,
  budget: { daily: 50, total: 1200 },
  creativeSetIds: [3, 4],
};

const create = (simulator: Simulator, json: unknown) =>
  call(simulator, '/api/v1/campaign/create', { method: 'POST', json });

interface Page {
  readonly data: Row[];
  readonly meta: Row;
}

async function list(simulator: Simulator, query: string, json: unknown): Promise<Page> {
  return (await call(simulator, `/api/v1/campaign/get${query}`, { method: 'POST', json })).json<Page>();
}

describe('campaigns', () => {
  it('are created anew by each call', async () => {
    const simulator = await start();
    const first = await create(simulator, NEW);
    const second = await create(simulator, NEW);
    expect([first.status, second.status]).toEqual([201, 201]);
    const [{ id: firstId }, { id: secondId }] = [first.json(), second.json()];
    expect(firstId).toEqual(expect.any(Number));
    expect(secondId).not.toBe(firstId);
    expect((await call(simulator, `/api/v1/campaign/${firstId}`)).json()).toEqual({ ...NEW, id: firstId });
    const { data } = await list(simulator, '?per_page=200', { userId: 7 });
    expect(data.filter(({ name }) => name === 'Launch').map(({ id }) => id)).toEqual([firstId, secondId]);
  });

  it.each(['userId', 'name', 'adDomain', 'clickUrl', 'country', 'bid', 'creativeSetIds'])(
    'need %s',
    async (field) => {
      const simulator = await start();
      const missing = await create(simulator, { ...NEW, [field]: undefined });
      expect(missing.status).toBe(422);
      expect(missing.json()).toHaveProperty('errors', { [field]: [`The ${field} field is required.`] });
      const misshapen = await create(simulator, { ...NEW, [field]: { wrong: true } });
      expect(misshapen.status).toBe(422);
      expect(Object.keys(misshapen.json<{ errors: Row }>().errors)).toEqual([field]);
    },
  );

  it.each([
    ['dates', ['dates.from', 'dates.to']],
    ['budget', ['budget.daily', 'budget.total']],
  ])('need both members of %s', async (field, errors) => {
    const simulator = await start();
    const reply = await create(simulator, { ...NEW, [field]: {} });
    expect(reply.status).toBe(422);
    expect(Object.keys(reply.json<{ errors: Row }>().errors)).toEqual(errors);
  });

  it('belong to an advertiser of the account, named by userId or advertiserId', async () => {
    const simulator = await start();
    expect((await create(simulator, { ...NEW, userId: 41 })).status).toBe(403);
    const { userId: _, ...rest } = NEW;
    expect((await create(simulator, { ...rest, advertiserId: 8 })).status).toBe(201);
    expect((await list(simulator, '?per_page=200', { userId: 8 })).data.at(-1)).toMatchObject({
      name: 'Launch',
      userId: 8,
    });
  });

  it('are listed by advertiser, in pages', async () => {
    const simulator = await start();
    const own = await list(simulator, '?per_page=200', { userId: 7 });
    expect(own.data.length).toBeGreaterThanOrEqual(3);
    expect(own.data.every(({ userId }) => userId === 7)).toBe(true);
    expect(own.data[0]).toMatchObject({
      id: 701,
      name: expect.any(String),
      dates: { from: '2024-01-01', to: '2035-12-31' },
    });
    const paged = await list(simulator, '?per_page=2&page=2', { userId: 7 });
    expect(paged.data).toEqual(own.data.slice(2, 4));
    expect(paged.meta).toMatchObject({ current_page: 2, per_page: 2, total: own.data.length });
    const all = await list(simulator, '', {});
    expect(all.data).toHaveLength(50);
    expect(all.meta.total).toBeGreaterThan(120);
    const foreign = await call(simulator, '/api/v1/campaign/get', { method: 'POST', json: { userId: 41 } });
    expect(foreign.status).toBe(403);
  });

  it('are deleted once', async () => {
    const simulator = await start();
    const { id } = (await create(simulator, NEW)).json();
    const path = `/api/v1/campaign/${id}`;
    expect((await call(simulator, path, { method: 'DELETE' })).status).toBe(200);
    expect((await call(simulator, path, { method: 'DELETE' })).status).toBe(404);
    expect((await call(simulator, path)).status).toBe(404);
    expect((await list(simulator, '?per_page=200', { userId: 7 })).data.some((row) => row.id === id)).toBe(
      false,
    );
  });

  it('need a token', async () => {
    const simulator = await start();
    const headers = { authorization: 'Bearer wrong', 'content-type': 'application/json' };
    const reply = await call(simulator, '/api/v1/campaign/create', { method: 'POST', json: NEW, headers });
    expect(reply.status).toBe(401);
  });
});
