/** The stage in brief: each target with the inputs of one seed; and that it can fail. */
import { expect, it, onTestFinished } from 'vitest';
import { wrongGrowth, wrongReport, wrongWith } from './answers.js';
import { longAnswers } from './platform-answers.js';
import { playTarget } from './play.js';
import { registry } from './registry.js';
import { TARGETS } from './targets.js';
import { wrongBytes, wrongCalls } from './wire.js';

const INPUTS = 60;
/** Of those that take long each: a gateway starts for one, or reads some megabytes. */
const INPUTS_OF = new Map([
  [longAnswers, 2],
  [registry, 20],
]);

it.each(TARGETS.map((open) => [open.name, open] as const))(
  '%s: nothing that was not foreseen',
  async (_, open) => {
    const target = await open();
    onTestFinished(() => target.close());
    const inputs = INPUTS_OF.get(open) ?? INPUTS;
    const result = await playTarget(target, 1, (tried) => tried < inputs);
    expect(result).toMatchObject({ times: inputs, result: 'held', note: 'seed 1' });
  },
);

it('tells what is wrong, with the input that was', async () => {
  const reply = (status: number, text: string, type = 'application/problem+json') => ({
    ...{ status, text, headers: { 'content-type': type }, body: Buffer.from(text) },
    json: <T>() => JSON.parse(text) as T,
  });
  expect(wrongWith(reply(500, '{}'))).toBe('answered 500: {}');
  expect(wrongWith(reply(404, '<p>', 'text/html'))).toContain('as text/html');
  expect(wrongWith(reply(404, '{"status":400,"code":"x"}'))).toContain('is no problem');
  expect(wrongReport(reply(200, '{"data":[1]}'))).toContain('is no report');
  expect(wrongGrowth(10, 45, 4)).toBeNull();
  expect(wrongGrowth(10, 160, 4)).toBe(
    'took 10 ms of CPU time, and 16.0 times that when it was 4 times as long',
  );
  const target = { name: 'a', what: 'b', tryOne: async () => 'was wrong', close: async () => {} };
  expect(await playTarget(target, 3, () => false)).toMatchObject({
    ...{ times: 1, result: 'failed', note: 'seed 3; input 0: was wrong' },
  });
});

it('tells what is wrong with bytes that came back, and with what the platform was asked', () => {
  const ok = 'HTTP/1.1 200 OK\r\n\r\n{}';
  expect(wrongBytes('', [])).toBeNull();
  const problem = 'HTTP/1.1 404 Not Found\r\nContent-Type: application/problem+json\r\n\r\n';
  expect(wrongBytes(`${ok}${problem}{}`, ['token'])).toBeNull();
  expect(wrongBytes(`${problem}{}HTTP/1.1 404 Not Found\r\n\r\n`, [])).toContain('404 by no problem');
  expect(wrongBytes(`${ok}HTTP/1.1 500 Internal\r\n\r\n`, [])).toContain('answered 500');
  expect(wrongBytes('HTTP/1.1 200 OK\r\n\r\nthe token', ['token'])).toContain('a secret');
  expect(wrongBytes('SSH-2.0', [])).toContain('was answered "SSH-2.0"');
  const call = {
    ...{ method: 'GET', url: '/api/v1/report/campaigns/get?advertiserId=1' },
    ...{ headers: { authorization: 'Bearer t' }, body: '' },
  };
  expect(wrongCalls([call], 't')).toBeNull();
  expect(wrongCalls([call], 'u')).toContain('by Bearer t');
  for (const url of ['/api/v1/report/a?advertiserId=2', `${call.url}&advertiserId=1`, '/api/v1/campaign/1'])
    expect(wrongCalls([call, { ...call, url }], 't')).toContain(url);
  const post = { ...call, method: 'POST', url: '/api/v1/report/campaigns/get', body: '{"advertiserId":1}' };
  expect(wrongCalls([post, { ...call, method: 'POST', body: '{}' }], 't')).toBeNull();
  for (const body of ['{}', '{"advertiserId":2}', '{"advertiserId":[1,2]}'])
    expect(wrongCalls([{ ...post, body }], 't')).toContain(body);
  expect(wrongCalls([{ ...post, url: '/api/v1/report/other' }], 't')).toContain('other');
  expect(wrongCalls([{ ...call, headers: { ...call.headers, range: 'bytes=0-' } }], 't')).toContain(
    'with range',
  );
});
