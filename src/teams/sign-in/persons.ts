/**
 * The last sign-in of each person, sealed in the registry, and what it gives by today's list. A person is issuer and `sub`, never
 * an e-mail address.
 */
import { hash } from 'node:crypto';
import Type from 'typebox';
import type { Config } from '../../config/load.js';
import { GatewayError } from '../../errors.js';
import type { Clock } from '../../lib/clock.js';
import { type RecordOf, recordForm } from '../../lib/record.js';
import { SealError, type Sealer } from '../../platform/credential/seal.js';
import { createRecordBook } from '../../store/registry/record-book.js';
import type { Registry } from '../../store/registry/replica.js';
import type { Actor, Who } from '../../telemetry/audit.js';
import { type Claims, type Grant, givesNothing, grantFor, isOfTeam, keptClaims } from './people.js';

export const PERSON_PREFIX = 'person/';
/** Of the sealed part, before it is encrypted. */
const MAX_BYTES = 4096;
/** Those who have not signed in for the longest time are forgotten beyond it. */
const MAX_PERSONS = 10_000;
const DAY_MS = 86_400_000;
const NAME_CHARS = 200;
/** By the standard. */
const SUBJECT_CHARS = 255;

const Stored = recordForm(
  Type.Object({
    signedInAtMs: Type.Number(),
    /** A {@link Sealed}. */
    sealed: Type.String(),
  }),
);
type Stored = RecordOf<typeof Stored>;

const Value = Type.Union([Type.String(), Type.Number(), Type.Boolean()]);
const Sealed = recordForm(
  Type.Object({
    issuer: Type.String(),
    sub: Type.String(),
    name: Type.String(),
    claims: Type.Record(Type.String(), Type.Union([Value, Type.Array(Value)])),
  }),
);
type Sealed = RecordOf<typeof Sealed>;

export interface Person extends Omit<Sealed, 'claims'> {
  readonly id: string;
  /** Of the last sign-in, epoch milliseconds. */
  readonly signedInAtMs: number;
  /** By today's list. */
  readonly grant: Grant;
}

/** What the provider says of a person. */
export interface SignedIn {
  readonly issuer: string;
  readonly sub: string;
  readonly claims: Readonly<Record<string, unknown>>;
}

/** @returns the id of a person, the same in every release */
export function personId(issuer: string, sub: string): string {
  return `person_${hash('sha256', JSON.stringify([issuer, sub]), 'hex').slice(0, 24)}`;
}

/** By today's list. */
export const mayHaveKeys = ({ grant }: Person, team: string): boolean => grant.keys && isOfTeam(grant, team);

/** For audit and log. */
export const whoOf = ({ issuer, sub, name }: Person): Who => ({ issuer, sub, name });

/** As whom a person acts, for the audit. */
export function actorOf(person: Person, address: string): Actor {
  return { name: person.name, address, person: whoOf(person) };
}

const contextOf = (id: string) => `sign-in of ${id}`;

export type Persons = ReturnType<typeof createPersons>;

export function createPersons(
  registry: Registry,
  sealer: Sealer,
  {
    issuer,
    people,
    keysNeedSignInDays,
  }: Pick<Config['auth']['oidc'], 'issuer' | 'people' | 'keysNeedSignInDays'>,
  clock: Pick<Clock, 'now'>,
) {
  /** By the stored value, which is another object after a new sign-in. */
  const opened = new WeakMap<Stored, Person | null>();
  const book = createRecordBook<Stored>(registry, {
    prefix: PERSON_PREFIX,
    max: MAX_PERSONS,
    read: (text, id) => Stored.read(text, id),
    forget: (others) => {
      // Nothing depends on an older sign-in: sessions end before, and keys need a later one.
      const neededMs = clock.now() - keysNeedSignInDays * DAY_MS;
      return others
        .map(([id, { value }]) => [id, Stored.read(value, id).signedInAtMs] as const)
        .sort(([, a], [, b]) => b - a)
        .filter(([, atMs], nth) => nth >= MAX_PERSONS - 1 || atMs < neededMs)
        .map(([id]) => [id, null] as const);
    },
  });

  /** @returns null if the master key does not open it: the person signs in again */
  function open(id: string, { signedInAtMs, sealed }: Stored): Person | null {
    try {
      const { claims, ...who } = Sealed.read(sealer.open(sealed, contextOf(id)).toString(), id);
      // The rules are about the claims of one provider.
      const isOurs = issuer !== undefined && new URL(issuer).href === new URL(who.issuer).href;
      return { id, ...who, signedInAtMs, grant: grantFor(claims, isOurs ? people : []) };
    } catch (error) {
      if (error instanceof SealError) return null;
      throw error;
    }
  }

  /** @returns null: never signed in, or forgotten */
  function find(id: string): Person | null {
    const stored = book.get(id);
    if (stored === null) return null;
    const known = opened.get(stored);
    if (known !== undefined) return known;
    const person = open(id, stored);
    opened.set(stored, person);
    return person;
  }

  return {
    find,
    /** Whether a person's key for a team works: by today's list, and while the last sign-in is not too old. */
    keyFault(id: string, team: string, nowMs: number): 'not-allowed' | 'long-ago' | null {
      const person = find(id);
      if (person === null || nowMs - person.signedInAtMs > keysNeedSignInDays * DAY_MS) return 'long-ago';
      return mayHaveKeys(person, team) ? null : 'not-allowed';
    },
    list: (): readonly Person[] => book.list().flatMap(([id]) => find(id) ?? []),
    /**
     * Keeps a sign-in instead of the one before, whatever it gives; of a stranger only one that gives something.
     * @throws GatewayError `no_access` if its claims are too large; StoreUnavailable
     */
    async signIn(from: SignedIn): Promise<Person> {
      const id = personId(from.issuer, from.sub);
      const text = textOf(from, people);
      // Without claims it gives nothing, so that the rights of the sign-in before end.
      const sealed = sealer.seal(Buffer.from(text ?? textWith(from, {})), contextOf(id));
      const stored = { signedInAtMs: clock.now(), sealed };
      const person = open(id, stored) as Person;
      if (book.get(id) !== null || !givesNothing(person.grant)) await book.change(id, () => stored);
      if (text === null) throw tooLarge();
      return person;
    },
  };
}

/** @returns null if the claims that the list names are too large. @throws GatewayError `no_access` of a `sub` against the standard */
function textOf(from: SignedIn, people: Config['auth']['oidc']['people']): string | null {
  if (from.sub.length > SUBJECT_CHARS) throw tooLarge();
  const texts = [false, true].map((onlyNamed) => textWith(from, keptClaims(from.claims, people, onlyNamed)));
  return texts.find((text) => Buffer.byteLength(text) <= MAX_BYTES) ?? null;
}

function textWith({ issuer, sub, claims: all }: SignedIn, claims: Claims): string {
  return JSON.stringify({ issuer, sub, name: nameIn({ ...all, sub }) ?? sub, claims } satisfies Sealed);
}

function tooLarge(): GatewayError {
  return new GatewayError('no_access', {
    detail: `The claims of this sign-in that auth.oidc.people names take more than ${MAX_BYTES} bytes.`,
    help: 'Ask your operator to let the provider send fewer or shorter ones.',
  });
}

/** A name for people, without control characters and what nobody sees; null: none has a letter or digit. */
function nameIn({ name, preferred_username: user, email, sub }: SignedIn['claims']): string | null {
  for (const said of [name, user, email, sub]) {
    const text = typeof said === 'string' ? said.replace(/[\p{Cc}\p{Cf}\p{DI}]/gu, '').trim() : '';
    // Through bytes: a cut may have halved a letter of two code units.
    if (/[\p{L}\p{N}]/u.test(text)) return Buffer.from(text.slice(0, NAME_CHARS)).toString();
  }
  return null;
}

/** @returns a person's record under the first master key; null if no key opens it */
export function resealPerson(record: string, text: string, sealer: Sealer): string | null {
  const context = contextOf(record.slice(PERSON_PREFIX.length));
  try {
    const stored = Stored.read(text, record);
    return JSON.stringify({ ...stored, sealed: sealer.seal(sealer.open(stored.sealed, context), context) });
  } catch (error) {
    if (error instanceof SealError) return null;
    throw error;
  }
}

/** Whether a person signed in later than another record says. @param id of the record */
export function isLaterSignIn(id: string, one: string, other: string): boolean {
  return Stored.read(one, id).signedInAtMs > Stored.read(other, id).signedInAtMs;
}
