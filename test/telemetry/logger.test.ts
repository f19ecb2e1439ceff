/** Lines of the log and of the audit: what they hold, what they never hold, and how a terminal shows them. */

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { generateApiKey } from '../../src/teams/auth/directory.js';
import { auditLine, GATEWAY_ACTOR } from '../../src/telemetry/audit.js';
import { createLog, prettyLine } from '../../src/telemetry/logger.js';
import { runs } from '../support/runs.js';

function open(secrets: readonly string[] = [], level = 'debug') {
  const lines: string[] = [];
  const log = createLog({
    level,
    stream: { write: (line) => void lines.push(line) },
    secrets: () => secrets,
  });
  return { ...log, lines };
}

/** Every name and text in a line's JSON. */
function texts(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, member]) => [name, ...texts(member)]);
}

/** Printable ASCII without blanks, as secrets are; beginning so that no escape in a line runs into it. */
const secret = fc
  .string({ unit: fc.constantFrom(...'AZ09|"\\/+=%{}:,.-_$&'.split('')), minLength: 7, maxLength: 40 })
  .map((text) => `S${text}Z`);

/** Everywhere a secret has been seen to turn up. */
const PLACES: readonly ((secret: string) => [object, string])[] = [
  (s) => [{}, `the token ${s} was refused`],
  (s) => [{ err: new Error(`cannot use ${s}`) }, 'failed'],
  (s) => [{ err: new Error('outer', { cause: new Error(s) }) }, 'failed'],
  (s) => [{ deep: [{ deeper: { text: s } }] }, 'x'],
  (s) => [{ [s]: 1 }, 'x'],
  (s) => [{ body: JSON.stringify({ password: s }) }, 'a text that is JSON'],
  (s) => [{ url: `/x?token=${encodeURIComponent(s)}` }, 'x'],
  (s) => [{ token: s, password: s, authorization: s }, 'x'],
  (s) => [{ req: { headers: { authorization: `Bearer ${s}`, cookie: s, 'x-api-key': s } } }, 'x'],
  (s) => [{}, `${s}\n${s}\t"${s}"`],
];

describe('createLog', () => {
  it('writes one JSON line, with time, level, process and message', () => {
    const { logger, lines } = open();
    logger.info({ team: 'a' }, 'hello');
    expect(lines).toHaveLength(1);
    expect(lines[0]).toMatch(/\n$/);
    const line = JSON.parse(lines[0] as string);
    expect(line).toEqual({ level: 'info', time: line.time, pid: process.pid, team: 'a', msg: 'hello' });
    expect(new Date(line.time).toISOString()).toBe(line.time);
  });

  it('leaves out what is less severe than its level', () => {
    const { logger, lines } = open([], 'warn');
    logger.info('no');
    logger.warn('yes');
    expect(lines).toHaveLength(1);
  });

  it('never writes a secret it knows of, wherever it stands and however it is spelt', () => {
    fc.assert(
      fc.property(secret, fc.constantFrom(...PLACES), (known, place) => {
        const { logger, lines } = open([known]);
        logger.info(...place(known));
        expect(lines[0]).not.toContain(known);
        expect(lines[0]).not.toContain(encodeURIComponent(known));
        for (const text of texts(JSON.parse(lines[0] as string))) {
          expect(text).not.toContain(known);
          expect(text).not.toContain(JSON.stringify(known).slice(1, -1));
        }
      }),
      runs(100, 500),
    );
  });

  it('learns of secrets while it runs', () => {
    const secrets: string[] = [];
    const { logger, lines } = open(secrets);
    secrets.push('a-new-platform-token');
    logger.info('rotated to a-new-platform-token');
    expect(lines[0]).not.toContain('a-new-platform-token');
  });

  it('never writes a team key, though it knows none', () => {
    const { logger, lines } = open();
    for (const place of PLACES) {
      const key = generateApiKey();
      logger.info(...place(key));
      expect(lines.at(-1)).not.toContain(key);
      expect(lines.at(-1)).not.toContain(key.slice(10, 30));
      expect(() => JSON.parse(lines.at(-1) as string)).not.toThrow();
    }
  });

  it.each([
    'Bearer 12|abcdefGHIJ',
    'bearer $0me-$ecret',
    'BEARER  a.b-c_d~e+f/g=',
    'say "Bearer quoted-token" twice',
  ])('never writes the bearer of %s', (text) => {
    const { logger, lines } = open();
    logger.info({ text }, text);
    const bearer = /bearer +([^\s"]+)/i.exec(text)?.[1] as string;
    const line = JSON.parse(lines[0] as string);
    expect([line.text, line.msg].join(' ')).not.toContain(bearer);
    expect(line.msg).toBe(text.replace(/bearer +[^\s"]+/i, 'Bearer [redacted]'));
  });

  it('hides members named like secrets, though nobody knows their values', () => {
    const { logger, lines } = open();
    logger.info(
      {
        authorization: 'aaa',
        password: 'bbb',
        token: 'ccc',
        account: { secret: 'ddd', password: 'eee', authorization: 'fff' },
        req: { headers: { authorization: 'ggg', 'x-api-key': 'hhh', cookie: 'iii' } },
      },
      'x',
    );
    expect(lines[0]).not.toMatch(/([a-i])\1\1/);
  });

  it('leaves alone what is too short to be a secret', () => {
    const { logger, lines } = open(['a', '', '12345']);
    logger.info('a 12345');
    expect(JSON.parse(lines[0] as string).msg).toBe('a 12345');
  });
});

it('leaves out what libraries say of a port and of a failed call, for lines of our own say more', () => {
  const { logger, lines } = open();
  logger.info('Server listening at http://127.0.0.1:8080');
  logger.info({ urls: { data: 'http://127.0.0.1:8080' } }, 'listening');
  expect(lines.map((line) => JSON.parse(line).msg)).toEqual(['listening']);
});

describe('a line that is composed already', () => {
  it('is written as it is, and its parts are cleaned by what is hidden now, not by what was', () => {
    const lines: string[] = [];
    const log = createLog({ level: 'info', stream: { write: (line) => void lines.push(line) } });
    expect(log.clean('path/of-a-secret"')).toBe('path/of-a-secret\\"');
    log.hide(['of-a-secret']);
    expect(log.clean('path/of-a-secret"')).toBe('path/[redacted]\\"');
    log.hide([]);
    expect(log.clean('path/of-a-secret"')).toBe('path/of-a-secret\\"');
    log.write('{"msg":"request"}');
    expect(lines).toEqual(['{"msg":"request"}\n']);
  });
});

const NOW = Date.parse('2026-11-21T12:00:00Z');

describe('auditLine', () => {
  it('says who changed what, when, and from where', () => {
    const event = { action: 'team.update', subject: 'growth', before: { a: 1 }, after: { a: 2 } };
    expect(JSON.parse(auditLine(event, { name: 'admin', address: '10.0.0.1' }, NOW))).toEqual({
      at: '2026-11-21T12:00:00.000Z',
      actor: 'admin',
      address: '10.0.0.1',
      action: 'team.update',
      subject: 'growth',
      before: { a: 1 },
      after: { a: 2 },
    });
  });

  it('is one line, also of what the gateway does by itself', () => {
    const line = auditLine({ action: 'token.recover', subject: 'a\nb' }, GATEWAY_ACTOR, NOW);
    expect(line).not.toContain('\n');
    expect(JSON.parse(line)).toEqual({
      at: '2026-11-21T12:00:00.000Z',
      actor: 'gateway',
      address: null,
      action: 'token.recover',
      subject: 'a\nb',
    });
  });
});

const plain = { colours: false };
const line = (members: object) =>
  `${JSON.stringify({ level: 'warn', time: '2026-11-22T09:06:44.040Z', pid: 7, ...members })}\n`;

it('has time, level, what happened, and the rest', () => {
  expect(prettyLine(line({ status: 200, path: '/a', who: 'two words', msg: 'request' }), plain)).toBe(
    '09:06:44.040 WARN  request status=200 path=/a who="two words"\n',
  );
});

it('has an error below', () => {
  expect(prettyLine(line({ err: { message: 'no', stack: 'Error: no\n  at x' }, msg: 'failed' }), plain)).toBe(
    '09:06:44.040 WARN  failed\n    Error: no\n      at x\n',
  );
});

it('colours the level alone, and lets nothing else act on the terminal', () => {
  expect(prettyLine(line({ msg: 'a\u001b[31mb' }), { colours: true })).toBe(
    '09:06:44.040 \u001b[33mWARN \u001b[0m a�[31mb\n',
  );
});

it('leaves alone what is no line of JSON', () => {
  expect(prettyLine('half a li', plain)).toBe('half a li');
});
