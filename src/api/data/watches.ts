/** Reports that the gateway reads by itself: `/gateway/v1/watches`. */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { GatewayError, invalidQuery } from '../../errors.js';
import { mustBe } from '../../lib/field-faults.js';
import { ownerOf } from '../../reports/history/pins.js';
import type { Reports } from '../../reports/reports.js';
import { JsonNumber, type JsonObject } from '../../reports/rows/json.js';
import { priceOf } from '../../reports/watches/plan.js';
import { MAX_WATCHES } from '../../reports/watches/watch-book.js';
import type { Judged, ShownWatch } from '../../reports/watches/watches.js';
import { whenAway } from '../../store/port.js';
import type { Caller } from '../../teams/auth/authenticate.js';
import { checkScope } from '../../teams/policy/authorize.js';
import { type BodyLimits, parseJsonBody } from '../http/json-body.js';
import { readJsonBytes, withUnreadBodies } from '../http/request-body.js';
import {
  DEFAULT_AGE_DAYS,
  deleteWatch,
  getWatch,
  listWatches,
  MAX_AGE_DAYS,
  putWatch,
} from '../operations/watches.js';
import { type AskCall, daysAskedAbout, type NamedReport, questionAbout, readParameters } from './ask.js';
import { serveTeam } from './serve.js';

const BODY_LIMITS: BodyLimits = { maxMembers: 3, maxItems: 0 };
const MAX_BODY_BYTES = 65_536;
/** Watches are kept in the memory of each process. */
const MAX_QUERY_CHARS = 4096;
const ID = /^[a-z0-9][a-z0-9-]{0,39}$/;

export function registerWatches(app: FastifyInstance, g: Reports): void {
  serveTeam(app, listWatches, (call) => list(g, call));
  serveTeam(app, getWatch, (call, request) => show(g, call, idIn(request)));
  serveTeam(app, deleteWatch, async (call, request, reply) => {
    await remove(g, call, idIn(request));
    return reply.code(204).send();
  });
  // The body is read only after authentication.
  withUnreadBodies(app, (scope) => {
    serveTeam(scope, putWatch, async (call, request, reply) => {
      const readBody = async () => parseJsonBody(await readJsonBytes(request, MAX_BODY_BYTES), BODY_LIMITS);
      const { status, body } = await put(g, call, idIn(request), readBody);
      reply.code(status);
      return body;
    });
  });
}

const idIn = (request: FastifyRequest) => (request.params as { readonly id: string }).id;

async function list({ admit, watches, lives }: Reports, call: AskCall): Promise<object> {
  const caller = await admit(call);
  readParameters(call.query, []);
  const owner = ownerOf(caller, lives);
  const shown = await watches.show(caller.team, owner, watches.book.of(owner));
  return { data: shown.map(describe), meta: { count: shown.length, maxCount: MAX_WATCHES } };
}

async function show({ admit, watches, lives }: Reports, call: AskCall, id: string): Promise<object> {
  const caller = await admit(call);
  readParameters(call.query, []);
  const owner = ownerOf(caller, lives);
  const watch = watches.book.get(owner, id);
  if (watch === null) throw noWatch(id);
  const [shown] = await watches.show(caller.team, owner, [watch]);
  return describe(shown as ShownWatch);
}

async function remove({ admit, watches, lives }: Reports, call: AskCall, id: string): Promise<void> {
  const caller = await admit(call, 'report:watch');
  readParameters(call.query, []);
  const owner = ownerOf(caller, lives);
  if (!(await kept(watches.book.remove(owner, id)))) throw noWatch(id);
  await watches.lastReads.note({ owner, id }, null);
}

async function put(
  g: Reports,
  call: AskCall,
  id: string,
  readBody: () => Promise<JsonObject>,
): Promise<{ readonly status: 200 | 201; readonly body: object }> {
  const { admit, watches, lives, learner, prover, background, now } = g;
  const caller = await admit(call, 'report:watch');
  checkScope(caller, 'report:read');
  const isDryRun = readDryRun(call.query);
  const { maxAgeDays, ...named } = readWatch(await readBody());
  if (!ID.test(id))
    throw invalidQuery(
      mustBe('id', '1 to 40 lower-case letters, digits and hyphens, and begin with a letter or digit'),
    );
  const judged = judgeNew(g, caller, named, maxAgeDays);
  if (isDryRun) return { status: 200, body: priceOf(judged.watched) };
  const owner = ownerOf(caller, lives);
  const before = watches.book.get(owner, id);
  const watch = { ...named, maxAgeDays, owner, id, createdAt: before?.createdAt ?? now() };
  const isNew = await kept(watches.book.put(watch));
  if (before?.query !== watch.query || before.endpoint !== watch.endpoint)
    await watches.lastReads.note({ owner, id }, null);
  const { question } = judged;
  if (judged.state === 'proving' && learner.mayProve(question.report, true))
    background(prover.asked(question));
  const [shown] = await watches.show(caller.team, owner, [watch]);
  return { status: isNew ? 201 : 200, body: describe(shown as ShownWatch) };
}

/** @throws GatewayError as for the report itself; 400 unless it is by date, with a period; 409 `not_divisible` */
function judgeNew(
  { parse, learner, watches }: Reports,
  caller: Caller,
  named: NamedReport,
  maxAgeDays: number,
): Judged {
  const asked = questionAbout({ parse }, caller, named);
  daysAskedAbout(asked);
  const judged = watches.judge(asked, maxAgeDays);
  const { pinned, state } = learner.status(judged.question.report);
  if (judged.state === 'done' || judged.reason === null || (!pinned && state !== 'refuted')) return judged;
  throw new GatewayError('not_divisible', {
    detail: `Reports like this one are not read by day. ${judged.reason}`,
  });
}

/** @throws GatewayError `invalid_body` */
function readWatch({ names, values }: JsonObject): NamedReport & { readonly maxAgeDays: number } {
  const given = Object.fromEntries(names.map((name, at) => [name, values[at]]));
  const { endpoint, query, maxAgeDays, ...others } = given;
  if (typeof endpoint !== 'string' || typeof query !== 'string' || Object.keys(others).length > 0)
    throw new GatewayError('invalid_body', {
      detail:
        'The body must be an object with endpoint and query, both texts, maybe maxAgeDays, and nothing else.',
    });
  if (query.length > MAX_QUERY_CHARS)
    throw new GatewayError('invalid_body', {
      detail: `The query may have at most ${MAX_QUERY_CHARS} characters.`,
    });
  const age =
    maxAgeDays instanceof JsonNumber
      ? Number(maxAgeDays.text)
      : maxAgeDays === undefined
        ? DEFAULT_AGE_DAYS
        : Number.NaN;
  if (!Number.isInteger(age) || age < 1 || age > MAX_AGE_DAYS)
    throw new GatewayError('invalid_body', {
      detail: `maxAgeDays must be a whole number from 1 to ${MAX_AGE_DAYS}.`,
    });
  return { endpoint, query, maxAgeDays: age };
}

function readDryRun(query: string): boolean {
  const text = readParameters(query, ['dryRun']).get('dryRun') ?? '0';
  if (text !== '0' && text !== '1') throw invalidQuery(mustBe('dryRun', '1 or 0'));
  return text === '1';
}

function describe({ watch, readAt, nextReadAt, failed, period, ...judged }: ShownWatch): object {
  const { id, endpoint, query, maxAgeDays, createdAt } = watch;
  return {
    id,
    endpoint,
    query,
    maxAgeDays,
    createdAt: iso(createdAt),
    ...judged,
    period,
    readAt: iso(readAt),
    nextReadAt: iso(nextReadAt),
    failed: failed === null ? null : { at: iso(failed.at), message: failed.message },
  };
}

function iso(ms: number | null): string | null {
  return ms === null ? null : new Date(ms).toISOString();
}

function noWatch(id: string): GatewayError {
  return new GatewayError('not_found', {
    detail: `The team has no watch ${id.slice(0, 40)}.`,
    help: 'GET /gateway/v1/watches lists the watches of the team.',
  });
}

/** @throws GatewayError `not_ready` if the store is away; `conflict` if it is full */
function kept<T>(work: Promise<T>): Promise<T> {
  return work.catch(
    whenAway((cause): never => {
      if (cause.why === 'away')
        throw new GatewayError('not_ready', { detail: 'The store does not respond.', cause });
      const help = 'Ask your operator for more space.';
      throw new GatewayError('conflict', { detail: 'The store has no space left for watches.', help, cause });
    }),
  );
}
