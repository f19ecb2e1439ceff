/** Whether a store holds all that had been acknowledged when the power was lost. Pure. */
import type { PlatformCall } from '../../../support/ask.js';
import type { Diary } from '../works.js';
import { CREATE, EACH } from '../world.js';

/** What a store was found to hold, as `look.mjs` prints it. */
export interface Found {
  /** Texts of the registry, by their ids. */
  readonly records: Readonly<Record<string, string>>;
  /** Of idempotency keys. */
  readonly documents: Readonly<Record<string, string | null>>;
  /** To the purse of guarded writes. */
  readonly charged: number;
  /** What was logged as a warning or an error. */
  readonly told: readonly string[];
}

export interface Expected {
  readonly diary: Diary;
  /** What had reached the platform. */
  readonly calls: readonly PlatformCall[];
}

interface StoredKey {
  readonly revokedAt: string | null;
  readonly secrets: readonly { readonly prefix: string }[];
}

interface StoredOutcome {
  readonly fate: { readonly state: string; readonly answer?: { readonly body: string } };
}

/** @returns what does not hold, a line each */
export function faultsOfFound({ records, documents, charged, told }: Found, expected: Expected): string[] {
  const { diary, calls } = expected;
  const faults: string[] = [];
  const { name } = JSON.parse(records['team/free'] ?? '{}') as { name?: string };
  const number = Number(name?.slice(1));
  const { acknowledged, sent: nameSent } = diary.name;
  if (acknowledged > 0 && !(number >= acknowledged && number <= nameSent))
    faults.push(`the name is ${name}, n${acknowledged} was acknowledged, n${nameSent} sent`);
  faults.push(...faultsOfKeys(records, diary), ...faultsOfToken(records, diary));
  const sent = new Set(calls.filter(({ path }) => path === CREATE).map(({ body }) => nameIn(body)));
  for (const [key, answer] of diary.once) {
    const { fate } = JSON.parse(documents[key] ?? '{}') as Partial<StoredOutcome>;
    const body = Buffer.from(fate?.answer?.body ?? '', 'base64').toString();
    if (answer !== null && !(fate?.state === 'answered' && body === answer))
      faults.push(`${key} was answered, and its record is ${fate?.state ?? 'not there'}`);
    if (sent.has(key) && fate === undefined) faults.push(`${key} had been sent, and has no record`);
  }
  const guarded = [...sent].filter((one) => one.startsWith('guarded-')).length;
  if (charged < guarded * EACH) faults.push(`${guarded} guarded writes were sent, and ${charged} charged`);
  for (const line of told) if (/history.*damaged/.test(line)) faults.push(line);
  return faults;
}

const nameIn = (body: string) => (JSON.parse(body) as { name: string }).name;

function faultsOfKeys(records: Found['records'], { keys }: Diary): string[] {
  const stored = Object.entries(records)
    .filter(([id]) => id.startsWith('key/'))
    .map(([, text]) => JSON.parse(text) as StoredKey);
  const faults: string[] = [];
  for (const [key, state] of keys) {
    const found = stored.find(({ secrets }) => secrets.some(({ prefix }) => key.startsWith(prefix)));
    const isValid = found !== undefined && found.revokedAt === null;
    if (state !== 'in doubt' && isValid !== (state === 'valid'))
      faults.push(`a ${state} key is ${isValid ? 'valid' : 'not'}`);
  }
  return faults;
}

function faultsOfToken({ vault }: Found['records'], { token }: Diary): string[] {
  if (token.acknowledged === null) return [];
  const { active } = JSON.parse(vault ?? '{}') as { active?: { id: string } | null };
  if (token.isInDoubt) return active ? [] : ['no token is active'];
  return active?.id === token.acknowledged ? [] : [`the token ${token.acknowledged} is not active`];
}
