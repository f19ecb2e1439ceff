/** Answers that stay: `/gateway/v1/pins`. */
import type { Readable } from 'node:stream';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import Type from 'typebox';
import { type AskCall, readAskCall } from '../http/ask-call.js';
import { type BodyLimits, parseJsonBody, requireJson } from '../http/json-body.js';
import type { ReportReply } from '../http/report-call.js';
import { readRequestBody } from '../http/request-body.js';
import { type Answer, json, type Operation, shownToTeams } from '../openapi/operation.js';
import { ANSWER } from '../report/describe.js';
import type { JsonObject } from '../report/json.js';
import { ABOUT_A_REPORT, THE_REPORT } from './history.js';
import { OWN_HEAD } from './reports.js';

type Pinning = AskCall & { readonly readBody: () => Promise<JsonObject> };

export interface PinRoutes {
  readonly pinReport: (call: Pinning) => Promise<ReportReply>;
  readonly showPins: {
    list(call: AskCall): Promise<ReportReply>;
    show(call: AskCall, id: string): Promise<ReportReply>;
    remove(call: AskCall, id: string): Promise<ReportReply>;
  };
}

const PINS_PATH = '/gateway/v1/pins';
const BODY_LIMITS: BodyLimits = { maxMembers: 16, maxItems: 0 };
const MAX_BODY_BYTES = 65_536;

export function registerPins(app: FastifyInstance, { pinReport, showPins }: PinRoutes): void {
  app.get(PINS_PATH, shown('The pins of your team', LIST), async (request, reply) =>
    send(reply, await showPins.list(call(request, reply))),
  );
  const one = `${PINS_PATH}/:id`;
  const show = async (request: FastifyRequest, reply: FastifyReply) =>
    send(reply, await showPins.show(call(request, reply), idIn(request)));
  app.head(one, OWN_HEAD, show);
  app.get(one, shown('An answer that stayed', SHOW), show);
  app.delete(one, shown('Forget a pin', REMOVE), async (request, reply) =>
    send(reply, await showPins.remove(call(request, reply), idIn(request))),
  );
  // In a scope of its own: a body is read when the caller is known, and not before.
  void app.register(async (scope) => {
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser('*', (_request, stream, done) => done(null, stream));
    scope.post(PINS_PATH, shown('Keep an answer as it is', CREATE), async (request, reply) => {
      const readBody = async () => {
        const { headers } = request;
        requireJson(headers['content-type'], headers['content-encoding']);
        const stream = request.body as Readable | undefined;
        if (stream === undefined) return parseJsonBody(Buffer.alloc(0));
        return parseJsonBody(await readRequestBody(stream, headers, MAX_BODY_BYTES), BODY_LIMITS);
      };
      return send(reply, await pinReport({ ...call(request, reply), readBody }));
    });
  });
}

/** Logged and counted without the id. */
function call(request: FastifyRequest, reply: FastifyReply): AskCall {
  const read = readAskCall(request, reply);
  request.trace.subject = request.routeOptions.url ?? PINS_PATH;
  return read;
}

const idIn = (request: FastifyRequest) => (request.params as { readonly id: string }).id;

function send(reply: FastifyReply, { status, headers, body }: ReportReply): FastifyReply {
  reply.code(status).headers(headers);
  if (body === null) return reply.send(undefined);
  const whole = Buffer.concat(body);
  const isHead = reply.request.method === 'HEAD';
  return reply.header('content-length', whole.length).send(isHead ? undefined : whole);
}

const shown = (summary: string, operation: Operation) => shownToTeams('history', summary, operation);

const textOrNull = (description: string) => Type.Union([Type.String(), Type.Null()], { description });

const KNOWN = {
  revision: textOrNull('meta.revision of the report; null for one that is not kept by days.'),
  endpoint: Type.String(),
  query: Type.String({ description: 'With the days that a relative period meant.' }),
  note: textOrNull('As it was given.'),
  createdAt: Type.String({ format: 'date-time' }),
  advertiserId: Type.Union([Type.Integer(), Type.String(), Type.Null()]),
  period: Type.Union([
    Type.Object({ from: textOrNull('First day.'), to: textOrNull('Last day.') }),
    Type.Null(),
  ]),
  split: Type.Array(Type.String()),
  knownAt: Type.String({
    format: 'date-time',
    description: 'When its newest day was fetched, or the moment of _asOf.',
  }),
  final: Type.Boolean({ description: 'Whether every day was final when it was pinned.' }),
  rowCount: Type.Integer(),
  bytes: Type.Integer({ description: "What it takes of the team's room." }),
};
const PIN = Type.Object({ id: Type.String(), ...KNOWN }, { title: 'Pin' });

const LIST: Operation = {
  id: 'listPins',
  query: Type.Object({
    limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 1000, description: '100 when not given.' })),
    after: Type.Optional(Type.String({ description: 'meta.next of the page before.' })),
  }),
  answers: {
    200: json(
      Type.Object(
        {
          data: Type.Array(PIN),
          meta: Type.Object({
            count: Type.Integer({
              description: 'Pins of the team, those among them that it may no longer see.',
            }),
            bytes: Type.Integer(),
            maxCount: Type.Integer(),
            maxBytes: Type.Integer(),
            next: textOrNull('Null: there are no more.'),
          }),
        },
        { title: 'Pins' },
      ),
      'The oldest first.',
      ['cache-control'],
    ),
  },
  problems: ['invalid_query', 'scope_missing', 'rate_limited', 'conflict'],
};

const VALIDATORS = ['etag', 'cache-control', 'vary', 'report-revision'] as const;

const SHOWN: Answer = {
  description: 'The rows as they were pinned: data, CSV and NDJSON stay byte for byte.',
  headers: VALIDATORS,
  content: {
    'application/json': Type.Object(
      { data: ANSWER.properties.data, meta: Type.Object({ pin: Type.String(), ...KNOWN }) },
      { title: 'PinnedReport' },
    ),
    'text/csv': Type.String({ description: 'RFC 4180, with a header line.' }),
    'application/x-ndjson': Type.String({ description: 'A row a line.' }),
  },
};

const SHOW: Operation = {
  id: 'getPin',
  path: { id: 'Id of a pin.' },
  query: Type.Object({
    _format: Type.Optional(Type.Enum(['json', 'csv', 'ndjson'])),
    _bom: Type.Optional(Type.Enum(['0', '1'], { description: '1 begins a CSV with a byte order mark.' })),
  }),
  headers: ['if-none-match'],
  answers: {
    200: SHOWN,
    304: { description: 'The caller has it: if-none-match names its etag.', headers: VALIDATORS },
  },
  problems: [
    ...(['invalid_query', 'scope_missing', 'advertiser_forbidden', 'advertiser_required'] as const),
    ...(['not_found', 'not_acceptable', 'rate_limited', 'conflict'] as const),
  ],
};

const REMOVE: Operation = {
  id: 'deletePin',
  path: { id: 'Id of a pin.' },
  answers: { 204: { description: 'It is gone.', headers: ['cache-control'] } },
  problems: ['invalid_query', 'scope_missing', 'not_found', 'rate_limited', 'conflict'],
};

const CREATE: Operation = {
  id: 'createPin',
  body: {
    'application/json': Type.Object(
      {
        ...THE_REPORT,
        revision: Type.Optional(
          textOrNull('meta.revision of the answer that is meant; where the report has another one: 409.'),
        ),
        note: Type.Optional(textOrNull('For people; at most 1,000 characters.')),
      },
      { additionalProperties: false, title: 'NewPin' },
    ),
  },
  answers: { 201: json(PIN, 'The pin.', ['cache-control', 'location']) },
  problems: [
    ...ABOUT_A_REPORT,
    ...(['invalid_body', 'body_too_large', 'unsupported_media_type', 'conflict', 'not_final'] as const),
    ...(['upstream_budget_exhausted', 'upstream_rejected', 'upstream_error', 'upstream_too_large'] as const),
    ...(['credential_unavailable', 'upstream_rate_limited', 'upstream_circuit_open', 'overloaded'] as const),
    'upstream_timeout',
  ],
};
