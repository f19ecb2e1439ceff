/** Keys that people with a company account make for themselves: `/gateway/v1/keys`. */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { GatewayError } from '../../errors.js';
import { JsonNumber } from '../../reports/rows/json.js';
import type { Services } from '../../server/services.js';
import type { Caller } from '../../teams/auth/authenticate.js';
import type { KeyRecord } from '../../teams/auth/key-record.js';
import { mayHaveKeys, PERSON_PREFIX, type Person, whoOf } from '../../teams/sign-in/persons.js';
import type { Actor } from '../../telemetry/audit.js';
import { type IssueLimit, issue, revoke, roll, showIssued, showKeys } from '../admin/keys.js';
import { type BodyLimits, parseJsonBody } from '../http/json-body.js';
import { readJsonBytes, withUnreadBodies } from '../http/request-body.js';
import { KEY_LIMITS } from '../operations/keys.js';
import { listOwnKeys, makeOwnKey, revokeOwnKey, rollOwnKey } from '../operations/own.js';
import { enter, serveTeam } from './serve.js';

const MAX_BODY_BYTES = 4096;
const BODY_LIMITS: BodyLimits = { maxMembers: 4, maxItems: 0 };
const DAY_MS = 86_400_000;

export function registerOwnKeys(app: FastifyInstance, services: Services): void {
  const { identify, directory, clock } = services;
  const { keyScopes, maxKeyDays } = services.config.auth.oidc;
  const enterPerson = (request: FastifyRequest) => personIn(enter(identify, request), request);

  serveTeam(app, listOwnKeys, (_call, request) => {
    const { person } = enterPerson(request);
    return showKeys(
      directory.keys().filter(({ maker }) => maker === person.id),
      services,
    );
  });
  serveTeam(app, revokeOwnKey, async (_call, request, reply) => {
    const { person, actor } = enterPerson(request);
    await revoke(ownKey(request, person, services).id, actor, services);
    return reply.code(204).send();
  });
  withUnreadBodies(app, (scope) => {
    serveTeam(scope, makeOwnKey, async (_call, request, reply) => {
      const { person, team, actor } = enterPerson(request);
      checkMayHaveKeys(person, team.id);
      const { label, expiresInDays } = readMake(await readBody(request), maxKeyDays);
      const expiresAt = new Date(clock.now() + expiresInDays * DAY_MS).toISOString();
      const scopes = team.scopes.filter((name) => keyScopes.includes(name));
      const draft = { teamId: team.id, label, maker: person.id, scopes, expiresAt };
      const { key, text } = await issue(draft, actor, services, limitOf(person, services));
      return reply.code(201).send(showIssued(key, text));
    });
    serveTeam(scope, rollOwnKey, async (_call, request, reply) => {
      const { person, actor } = enterPerson(request);
      const key = ownKey(request, person, services);
      checkMayHaveKeys(person, key.teamId);
      const body = await readBody(request);
      checkNames(body, ['overlapSeconds']);
      const overlap = wholeIn(body, 'overlapSeconds', [0, KEY_LIMITS.overlapSeconds], 0);
      return reply.code(201).send(await roll(key, overlap, actor, services));
    });
  });
}

interface Entered extends Pick<Caller, 'team'> {
  readonly person: Person;
  readonly actor: Actor;
}

/** @throws GatewayError `session_forbidden` for a key, and for the session of one */
function personIn({ team, person }: Caller, request: FastifyRequest): Entered {
  if (person === undefined)
    throw new GatewayError('session_forbidden', {
      detail: 'Only a person who has signed in with a company account has keys of his own.',
      help: 'Open the explorer and sign in with your company account.',
    });
  return { team, person, actor: { name: person.name, address: request.ip, person: whoOf(person) } };
}

function checkMayHaveKeys(person: Person, team: string): void {
  if (mayHaveKeys(person, team)) return;
  throw new GatewayError('no_access', {
    detail: `No rule of auth.oidc.people gives this company account keys of the team ${team}.`,
    help: 'Ask your operator for a key, or for a rule with keys: true.',
  });
}

/** Over all replicas, by the record of the last sign-in. */
function limitOf({ id }: Person, { directory, clock, config }: Services): IssueLimit {
  const { keysPerPerson } = config.auth.oidc;
  const isValid = (key: KeyRecord) =>
    !directory.isRevoked(key) && (key.expiresAt === null || Date.parse(key.expiresAt) > clock.now());
  return {
    record: PERSON_PREFIX + id,
    check() {
      const count = directory.keys().filter((key) => key.maker === id && isValid(key)).length;
      if (count < keysPerPerson) return;
      throw new GatewayError('conflict', {
        detail: `You have ${count} valid keys; a person may have ${keysPerPerson}.`,
        help: 'Revoke one that you no longer need, then make the new one.',
      });
    },
  };
}

/** @throws GatewayError `not_found`, for keys of others too */
function ownKey(request: FastifyRequest, { id: maker }: Person, { directory }: Services): KeyRecord {
  const key = directory.key((request.params as { readonly id: string }).id);
  if (key !== undefined && key.maker === maker) return key;
  throw new GatewayError('not_found', {
    detail: 'You have made no key with this id.',
    help: 'GET /gateway/v1/keys lists your keys.',
  });
}

type Body = ReturnType<typeof parseJsonBody>;

async function readBody(request: FastifyRequest): Promise<Body> {
  return parseJsonBody(await readJsonBytes(request, MAX_BODY_BYTES), BODY_LIMITS);
}

function readMake(body: Body, maxDays: number): { readonly label: string; readonly expiresInDays: number } {
  checkNames(body, ['label', 'expiresInDays']);
  const label = body.get('label') ?? '';
  if (typeof label !== 'string' || label.length > KEY_LIMITS.labelChars)
    throw invalid('label', `must be a text of at most ${KEY_LIMITS.labelChars} characters`);
  return { label, expiresInDays: wholeIn(body, 'expiresInDays', [1, maxDays], maxDays) };
}

function checkNames({ names }: Body, known: readonly string[]): void {
  const other = names.find((name) => !known.includes(name));
  if (other !== undefined) throw invalid(other.slice(0, 40), `is unknown; known are ${known.join(', ')}`);
}

function wholeIn(body: Body, param: string, [least, most]: readonly [number, number], none: number): number {
  const given = body.get(param);
  if (given === undefined) return none;
  const value = given instanceof JsonNumber ? Number(given.text) : Number.NaN;
  if (Number.isInteger(value) && value >= least && value <= most) return value;
  throw invalid(param, `must be a whole number from ${least} to ${most}`);
}

function invalid(param: string, message: string): GatewayError {
  return new GatewayError('invalid_body', { errors: [{ param, message }] });
}
