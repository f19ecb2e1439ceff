/** Keys that people with a company account make for themselves: `/gateway/v1/keys`. */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { GatewayError } from '../../errors.js';
import type { Services } from '../../server/services.js';
import type { KeyRecord } from '../../teams/auth/key-record.js';
import type { Team } from '../../teams/auth/team.js';
import type { Sessions } from '../../teams/sessions/sessions.js';
import { actorOf, mayHaveKeys, PERSON_PREFIX, type Person } from '../../teams/sign-in/persons.js';
import { type IssueLimit, issue, revoke, roll, showIssued, showKeys } from '../admin/keys.js';
import { type BodyLimits, readBody } from '../http/json-body.js';
import { readJsonBytes, withUnreadBodies } from '../http/request-body.js';
import { listOwnKeys, makeOwnKey, makeOwnKeyBody, revokeOwnKey, rollOwnKey } from '../operations/own.js';
import { enter, serveTeam } from './serve.js';

const MAX_BODY_BYTES = 4096;
const BODY_LIMITS: BodyLimits = { maxMembers: 4, maxItems: 0 };
const DAY_MS = 86_400_000;

/** @param sessions of the explorer */
export function registerOwnKeys(
  app: FastifyInstance,
  services: Services,
  sessions: Pick<Sessions, 'find'>,
): void {
  const { directory, clock } = services;
  const { keyScopes, keysPerPerson, maxKeyDays, keysNeedSignInDays } = services.config.auth.oidc;
  const makeBody = makeOwnKeyBody(maxKeyDays);
  const limits = { keysPerPerson, maxKeyDays, keysNeedSignInDays };
  const scopesIn = ({ scopes }: Team) => scopes.filter((name) => keyScopes.includes(name));
  async function bytesOf(request: FastifyRequest): Promise<Buffer> {
    enterPerson(request, services);
    const bytes = await readJsonBytes(request, MAX_BODY_BYTES);
    // They may have come slowly: session, rights and key are judged as they are now.
    if (request.session !== null) await sessions.find(request.session.id);
    return bytes;
  }

  serveTeam(app, listOwnKeys, async (_call, request) => {
    const { person, team } = enterPerson(request, services);
    const own = directory.keys().filter(({ maker }) => maker === person.id);
    return { ...(await showKeys(own, services)), limits, scopes: scopesIn(team) };
  });
  serveTeam(app, revokeOwnKey, async (_call, request, reply) => {
    const { person, actor } = enterPerson(request, services);
    await revoke(ownKey(request, person, services).id, actor, services);
    return reply.code(204).send();
  });
  withUnreadBodies(app, (scope) => {
    serveTeam(scope, makeOwnKey, async (_call, request, reply) => {
      const bytes = await bytesOf(request);
      const { person, team, actor } = enterPerson(request, services);
      checkMayHaveKeys(person, team.id);
      const { label = '', expiresInDays = maxKeyDays } = readBody(makeBody, bytes, BODY_LIMITS);
      const expiresAt = new Date(clock.now() + expiresInDays * DAY_MS).toISOString();
      const draft = { teamId: team.id, label, maker: person.id, scopes: scopesIn(team), expiresAt };
      const { key, text } = await issue(draft, actor, services, limitOf(person, services));
      return reply.code(201).send(showIssued(key, text));
    });
    serveTeam(scope, rollOwnKey, async (_call, request, reply) => {
      const bytes = await bytesOf(request);
      const { person, actor } = enterPerson(request, services);
      const key = ownKey(request, person, services);
      checkMayHaveKeys(person, key.teamId);
      const { overlapSeconds = 0 } = readBody(rollOwnKey.body, bytes, BODY_LIMITS);
      return reply.code(201).send(await roll(key, overlapSeconds, actor, services));
    });
  });
}

/** @throws GatewayError `session_forbidden` for a key, and for the session of one */
function enterPerson(request: FastifyRequest, { identify }: Services) {
  const { team, person } = enter(identify, request);
  if (person === undefined)
    throw new GatewayError('session_forbidden', {
      detail: 'Only a person who has signed in with a company account has keys of his own.',
      help: 'Open the explorer and sign in with your company account.',
    });
  return { team, person, actor: actorOf(person, request.ip) };
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
