import { isObject } from '../lib/json.js';
import { type Answer, jsonAnswer } from './answer.js';
import { FAULT_KINDS, FAULT_RULES, type Fault } from './faults.js';
import { checkMembers, InvalidInput, type Rule, text, whole } from './invalid-input.js';
import { parseForm } from './php-input.js';
import type { Simulator, TruthQuery } from './simulator-api.js';
import { SWITCHES } from './switches.js';

export interface ControlCall {
  readonly method: string;
  /** Below the base path: `/_sim…`. */
  readonly path: string;
  readonly query: string;
  readonly body: string;
}

interface Control {
  readonly about: string;
  /** Arguments of curl before the URL. */
  readonly example?: string;
  handle(simulator: Simulator, call: ControlCall): Answer;
}

const instant: Rule = {
  allowed: 'a time such as 2026-11-21T10:00:00Z, or milliseconds since 1970',
  accepts: (value) => !Number.isNaN(readInstant(String(value))),
};

/** By "METHOD path"; shown by `GET /_sim`. */
const CONTROLS: ReadonlyMap<string, Control> = new Map(
  Object.entries<Control>({
    'GET /_sim': { about: 'this page', handle: (simulator) => jsonAnswer(200, overview(simulator)) },
    'PATCH /_sim/switches': {
      about: 'changes switches; returns all',
      example: `-X PATCH -d '{"shape":"paged","rateLimitPerMinute":0}'`,
      handle(simulator, { body }) {
        simulator.set(readJson(body));
        return jsonAnswer(200, simulator.switches);
      },
    },
    'GET /_sim/calls': {
      about: 'recorded platform calls, oldest first',
      handle: (simulator) => jsonAnswer(200, { calls: simulator.calls }),
    },
    'DELETE /_sim/calls': {
      about: 'deletes the recorded calls',
      example: '-X DELETE',
      handle(simulator) {
        simulator.clearCalls();
        return jsonAnswer(200, { calls: [] });
      },
    },
    'POST /_sim/faults': {
      about: 'queues a fault, played once for the first matching call',
      example: `-d '{"kind":"status","status":429,"retryAfterS":2,"path":"/report/","times":3}'`,
      handle(simulator, { body }) {
        simulator.fault(readJson(body) as Fault);
        return jsonAnswer(201, { faults: simulator.faults });
      },
    },
    'DELETE /_sim/faults': {
      about: 'clears the queue',
      example: '-X DELETE',
      handle(simulator) {
        simulator.clearFaults();
        return jsonAnswer(200, { faults: [] });
      },
    },
    'POST /_sim/restate': {
      about: 'late data: raises numbers of these days now; all members are optional',
      example: `-d '{"advertiserId":1,"from":"2026-11-01","to":"2026-11-07"}'`,
      handle(simulator, { body }) {
        simulator.restate(readJson(body));
        return jsonAnswer(200, { restatedAt: new Date(simulator.now()).toISOString() });
      },
    },
    'POST /_sim/revoke': {
      about: 'revokes all tokens, or the one given as "token"',
      example: '-X POST',
      handle(simulator, { body }) {
        const input = readJson(body);
        checkMembers(input, { token: text(/./, 'a token that was issued') });
        revoke(simulator, input.token as string | undefined);
        return jsonAnswer(200, { revoked: true });
      },
    },
    'POST /_sim/tokens': {
      about: 'issues another token, like the dashboard',
      example: '-X POST',
      handle: (simulator) => jsonAnswer(201, { token: simulator.issueToken() }),
    },
    'PUT /_sim/clock': {
      about: "offsets the simulator's clock, milliseconds",
      example: `-X PUT -d '{"offsetMs":86400000}'`,
      handle(simulator, { body }) {
        const input = readJson(body);
        const most = 20 * 366 * 86_400_000;
        checkMembers(input, { offsetMs: whole(-most, most) }, ['offsetMs']);
        simulator.setOffset(Number(input.offsetMs));
        return jsonAnswer(200, clockOf(simulator));
      },
    },
    'GET /_sim/truth': {
      about: 'rows of a correct report; parameters of the report, and "at"',
      example: `-G -d advertiserId=1 -d byDate=1 -d dateFrom=2026-11-01 -d dateTo=2026-11-07`,
      handle: answerTruth,
    },
  }),
);

/** Answers a call to the control path; invalid input is a problem+json with fields and allowed values. */
export function answerControl(simulator: Simulator, call: ControlCall): Answer {
  const control = CONTROLS.get(`${call.method} ${call.path}`);
  if (!control) return problem(404, 'Not a control', `The controls are: ${[...CONTROLS.keys()].join(', ')}.`);
  try {
    return control.handle(simulator, call);
  } catch (error) {
    if (error instanceof InvalidInput) return problem(422, 'Invalid input', error.message, error.objections);
    if (error instanceof SyntaxError) return problem(400, 'Invalid JSON', error.message);
    throw error;
  }
}

/** RFC 9457. */
function problem(status: number, title: string, detail: string, errors?: InvalidInput['objections']): Answer {
  const body = JSON.stringify({ type: 'about:blank', title, status, detail, errors });
  return { status, type: 'application/problem+json', headers: {}, body };
}

/** A JSON object or empty text; members are not checked. @throws SyntaxError, InvalidInput */
function readJson(body: string): object {
  const value: unknown = body.trim() === '' ? {} : JSON.parse(body);
  if (isObject(value)) return value;
  throw new InvalidInput([{ field: '(body)', message: 'is not an object', allowed: 'a JSON object' }]);
}

function revoke(simulator: Simulator, token: string | undefined): void {
  try {
    simulator.revoke(token);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw new InvalidInput([{ field: 'token', message: error.message, allowed: 'a token that was issued' }]);
  }
}

function answerTruth(simulator: Simulator, { query }: ControlCall): Answer {
  const { at: asked, ...parameters } = Object.fromEntries(parseForm(query));
  if (asked !== undefined) checkMembers({ at: asked }, { at: instant });
  const at = asked === undefined ? simulator.now() : readInstant(String(asked));
  // The parameters are texts; `truth` parses them like a report call.
  const rows = simulator.truth(parameters as TruthQuery, at);
  return jsonAnswer(200, { at: new Date(at).toISOString(), rows });
}

function readInstant(value: string): number {
  return /^\d{1,15}$/.test(value) ? Number(value) : Date.parse(value);
}

function clockOf(simulator: Simulator) {
  const { today, offsetMs } = simulator;
  return { now: new Date(simulator.now()).toISOString(), today, offsetMs };
}

function overview(simulator: Simulator) {
  const { url, account, token, switches, faults, callCount } = simulator;
  return {
    about: 'A simulated DSP platform. Change its behaviour below /_sim; see `help`.',
    ...clockOf(simulator),
    counts: { calls: callCount, faultsQueued: faults.length },
    account,
    token,
    switches,
    faults,
    help: {
      report: `curl -H 'authorization: Bearer ${token}' -H 'accept: application/json' '${url}/api/v1/report/campaigns/get?advertiserId=1&byDate=1'`,
      controls: Object.fromEntries(
        [...CONTROLS].map(([name, { about, example = '' }]) => {
          const path = name.slice(name.indexOf(' ') + 1);
          return [name, { about, curl: `curl ${example} ${url}${path}`.replaceAll('  ', ' ') }];
        }),
      ),
      switches: Object.fromEntries(
        Object.entries(SWITCHES).map(([name, { about, allowed, default: initial }]) => [
          name,
          { about, allowed, default: initial },
        ]),
      ),
      faults: {
        kinds: FAULT_KINDS,
        members: Object.fromEntries(
          Object.entries(FAULT_RULES).map(([name, { allowed }]) => [name, allowed]),
        ),
      },
    },
  };
}
