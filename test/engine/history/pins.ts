/** Pins: what one had at first, it has for ever. */
import { expect } from 'vitest';
import { outcomeOf, type Reply } from '../../support/start-gateway.js';
import { checkDiff } from './diffs.js';
import type { Row } from './platform.js';
import { type Asked, askThen, isForbidden, type PinSeen, queryOf, type World } from './world.js';

const PINS = '/gateway/v1/pins';
const FORMATS = ['json', 'csv', 'ndjson'];

function call(
  asked: Pick<Asked, 'replica' | 'limited'>,
  { gateways, keys }: World,
  path = '',
  more = {},
): Promise<Reply> {
  const key = keys[asked.limited ? 'one' : 'all'];
  return gateways.at(asked.replica).call(`${PINS}${path}`, { key, ...more });
}

/** `meta` may say something else later. */
const dataOf = ({ text }: Reply) => text.split('],"meta":')[0] as string;

async function bytesOf(asked: Asked, id: string, world: World): Promise<Record<string, string>> {
  const bytes: Record<string, string> = {};
  for (const format of FORMATS) {
    const reply = await call(asked, world, `/${id}?_format=${format}`);
    expect(outcomeOf(reply), `pin ${id} of ${queryOf(asked)}: ${reply.text}`).toBe('200');
    bytes[format] = dataOf(reply);
  }
  return bytes;
}

/** @param atMs pins what was known then; null: what is now */
export async function makePin(asked: Asked, atMs: number | null, world: World): Promise<void> {
  const then = atMs === null ? null : await askThen(asked, world, atMs);
  const moment = atMs === null ? '' : `&_asOf=${new Date(atMs).toISOString()}`;
  const json = { endpoint: 'campaigns/get', query: `${queryOf(asked)}${moment}` };
  const reply = await call(asked, world, '', { method: 'POST', json });
  if (isForbidden(asked)) return expect(outcomeOf(reply)).toBe('403 advertiser_forbidden');
  if (world.gateways.outage.away && atMs !== null) return expect(outcomeOf(reply)).toBe('503 not_ready');
  if (atMs !== null && then === null) return expect(outcomeOf(reply), reply.text).toBe('404 not_known_then');
  expect(outcomeOf(reply), reply.text).toBe('201');
  const { id, knownAt } = reply.json<{ id: string; knownAt: string }>();
  const bytes = await bytesOf(asked, id, world);
  const rows = JSON.parse(`${bytes.json}]}`).data as readonly Row[];
  if (then !== null) expect(rows, 'what is pinned is what was known').toEqual(then.data);
  world.pins.push({ id, asked, knownAt: Date.parse(knownAt), rows, bytes });
}

export async function checkPins(replica: number, world: World): Promise<void> {
  for (const { id, asked, bytes } of world.pins)
    expect(await bytesOf({ ...asked, replica }, id, world), `pin ${id}`).toEqual(bytes);
}

function takeOut({ pins }: World, isOut: (pin: PinSeen) => boolean): PinSeen[] {
  const out = pins.filter(isOut);
  const stay = pins.filter((pin) => !out.includes(pin));
  pins.splice(0, pins.length, ...stay);
  return out;
}

async function expectGone({ id, asked }: PinSeen, world: World): Promise<void> {
  for (let replica = 0; replica < world.gateways.count; replica += 1)
    expect(outcomeOf(await call({ ...asked, replica }, world, `/${id}`)), `pin ${id}`).toBe('404 not_found');
}

export async function removePin(which: number, replica: number, world: World): Promise<void> {
  const pin = world.pins[which % Math.max(1, world.pins.length)];
  if (pin === undefined) return;
  takeOut(world, (one) => one === pin);
  const reply = await call({ ...pin.asked, replica }, world, `/${pin.id}`, { method: 'DELETE' });
  expect(outcomeOf(reply)).toBe('204');
  await expectGone(pin, world);
}

export async function expectErased(advertiserId: number, world: World): Promise<void> {
  for (const pin of takeOut(world, ({ asked }) => asked.advertiserId === advertiserId))
    await expectGone(pin, world);
}

/** What became of a pin's report since. */
export async function diffPin(which: number, world: World): Promise<void> {
  const pin = world.pins[which % Math.max(1, world.pins.length)];
  if (pin === undefined) return;
  const now = await askThen(pin.asked, world, world.clock.now());
  await checkDiff(pin.asked, { from: pin.id, to: 'latest' }, [{ data: pin.rows }, now], world);
}
