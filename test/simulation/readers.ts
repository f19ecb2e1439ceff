/** Callers who read what is streamed through, and who pin reports: an answer is whole and its caller's own, a pin stays. */
import inject, { type InjectOptions } from 'light-my-request';
import { Killed } from './scheduler.js';
import { ADVERTISERS, dayAgo, LINES, linesOf } from './sim-platform.js';
import { anyReplica, lapse, type WorldOfSeed } from './world.js';
import { FORGOTTEN, LONGEST_MS, mayForget, REFUSALS } from './writes.js';

interface Answered {
  /** 0: it broke off. */
  readonly status: number;
  readonly text: string;
  readonly code: string | null;
  readonly headers: Readonly<Record<string, unknown>>;
}

const PINS = '/gateway/v1/pins';
/** Judged by who asks. */
const MAY_BE_GONE: ReadonlySet<string> = new Set(['not_found', 'cursor_too_old']);
const BROKEN_OFF: Answered = { status: 0, text: '', code: null, headers: {} };

/** @returns null where there is nobody to ask, or no answer, because the gateway was killed */
export async function ask(
  world: WorldOfSeed,
  what: string,
  team: string,
  asked: InjectOptions,
): Promise<Answered | null> {
  const { scheduler, oracle, keys, readChance } = world;
  const { data, owner } = await anyReplica(world, readChance);
  const key = keys.find((one) => one.team === team);
  if (key === undefined || data === null) return null;
  const json = asked.payload === undefined ? {} : { 'content-type': 'application/json' };
  const headers = { 'x-api-key': key.text, ...json };
  const startMs = scheduler.nowMs;
  const answered = await scheduler
    .begin(owner, async (): Promise<Answered> => {
      const given = await inject((request, response) => void data.server.emit('request', request, response), {
        headers,
        ...asked,
      }).catch(() => null);
      if (given === null) return BROKEN_OFF;
      const { statusCode: status, payload: text } = given;
      return { status, text, headers: given.headers, code: status < 400 ? null : JSON.parse(text).code };
    })
    .catch((error: unknown) => {
      if (error instanceof Killed) return null;
      throw error;
    });
  if (answered === null) return null;
  const { status, code, text } = answered;
  const outcome = `${what} ${code ?? status}`;
  oracle.counts.set(outcome, (oracle.counts.get(outcome) ?? 0) + 1);
  scheduler.note(`${outcome} by ${owner}`);
  const isKnown = REFUSALS.has(code ?? '') || (mayForget(world) && FORGOTTEN.has(code ?? ''));
  if (code !== null && !MAY_BE_GONE.has(code) && !isKnown) throw new Error(`${outcome}: ${text}`);
  if (scheduler.nowMs - startMs > LONGEST_MS)
    throw new Error(`${outcome} after ${scheduler.nowMs - startMs} ms`);
  return answered;
}

/** Reads what is streamed through until then. @param of no other reader's answers are named so */
export async function streamReader(world: WorldOfSeed, untilMs: number, of: string): Promise<void> {
  const { scheduler, readChance: chance, faults, shape } = world;
  const mayBreak = faults.platform.length > 0 || shape.end !== 'none';
  for (let made = 0; scheduler.nowMs < untilMs; made += 1) {
    await lapse(world, chance.between(5, 300));
    const [name, count] = [`${of}${made}`, chance.between(1, 40)];
    const url = `${LINES}?of=${name}&count=${count}`;
    const given = await ask(world, 'stream', chance.pick(['all', 'spends']), { url });
    if (given?.status === 0 && !mayBreak) throw new Error(`${name} was broken off, and nothing went wrong`);
    if (given?.status === 200 && given.text !== linesOf(name, count))
      throw new Error(`${name} of ${count} lines was answered otherwise: ${given.text}`);
    if (given?.code === 'not_found') throw new Error(`${name} was not found`);
  }
}

interface PinMade {
  readonly id: string;
  /** As its rows were read first; null: nobody has read them yet. */
  rows: string | null;
  isRemoved: boolean;
}

/** Pins reports, and reads and removes pins, until then. */
export async function pinner(world: WorldOfSeed, untilMs: number): Promise<void> {
  const { scheduler, readChance: chance } = world;
  const pins: PinMade[] = [];
  while (scheduler.nowMs < untilMs) {
    await lapse(world, chance.between(50, 600));
    const pin = pins.length > 0 && chance.is(0.7) ? chance.pick(pins) : null;
    if (pin === null) await makePin(world, pins);
    else if (chance.is(0.1)) await removePin(world, pins, pin);
    else await readPin(world, pin);
  }
}

async function makePin(world: WorldOfSeed, pins: PinMade[]): Promise<void> {
  const { scheduler, readChance: chance } = world;
  const [from, advertiser] = [chance.between(1, 8), chance.pick(ADVERTISERS)];
  const [first, last] = [from, Math.max(1, from - 3)].map((ago) => dayAgo(scheduler.trueMs(), ago));
  const query = `advertiserId=${advertiser}&dateFrom=${first}&dateTo=${last}&byDate=1`;
  const payload = JSON.stringify({ endpoint: 'campaigns/get', query });
  const given = await ask(world, 'pin', 'all', { method: 'POST', url: PINS, payload });
  if (given?.status === 201) pins.push({ id: JSON.parse(given.text).id, rows: null, isRemoved: false });
}

async function readPin(world: WorldOfSeed, pin: PinMade): Promise<void> {
  const isForeign = world.readChance.is(0.2);
  const what = isForeign ? 'pin of others' : 'pin read';
  const given = await ask(world, what, isForeign ? 'two' : 'all', { url: `${PINS}/${pin.id}` });
  const wrong = (how: string) => {
    throw new Error(`${pin.id} ${how}: ${given?.text}, and before ${pin.rows}`);
  };
  const mayLack = isForeign || pin.isRemoved || mayForget(world);
  if (given?.code === 'not_found' && !mayLack) wrong('is gone');
  if (given?.status !== 200) return;
  if (isForeign) wrong('was shown to another team');
  if (pin.isRemoved && !mayForget(world)) wrong('was shown after it was removed');
  const rows = given.text.split('],"meta":')[0] as string;
  if (pin.rows === null) judgeRows(world, rows);
  if (rows !== (pin.rows ?? rows)) wrong('has changed');
  pin.rows = rows;
}

/** Each was said by the platform. */
function judgeRows({ platform }: WorldOfSeed, rows: string): void {
  type Row = { readonly advertiserId: number; readonly date: string; readonly impressions: number };
  for (const { advertiserId, date, impressions } of JSON.parse(`${rows}]}`).data as readonly Row[])
    if (!platform.said(advertiserId, date, date, true).some(({ value }) => value === impressions))
      throw new Error(
        `pinned was ${impressions} of ${advertiserId} on ${date}, which the platform never said`,
      );
}

async function removePin(world: WorldOfSeed, pins: PinMade[], pin: PinMade): Promise<void> {
  const given = await ask(world, 'pin removed', 'all', { method: 'DELETE', url: `${PINS}/${pin.id}` });
  if (given?.code === 'not_found' && !pin.isRemoved && !mayForget(world))
    throw new Error(`${pin.id} is gone`);
  pin.isRemoved = given?.status === 204;
  // Whether it is there is not known any more.
  if (!pin.isRemoved) pins.splice(pins.indexOf(pin), 1);
}
