import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { findErrorSign } from '../../../src/reports/rows/flaws.js';
import { parseJson } from '../../../src/reports/rows/json.js';

const signIn = (text: string, hasRows = false) => findErrorSign(parseJson(text), null, hasRows);

describe('an answer says that it is an error', () => {
  it.each([
    ['{"success":false}', 'success'],
    ['{"ok":0}', 'ok'],
    ['{"success":"false","data":[]}', 'success'],
    ['{"status":"error"}', 'status'],
    ['{"status":"INTERNAL_ERROR"}', 'status'],
    ['{"status":500}', 'status'],
    ['{"status_code":"404"}', 'status_code'],
    ['{"status":false}', 'status'],
    ['{"result":"failed"}', 'result'],
    ['{"error":"x"}', 'error'],
    ['{"error":true}', 'error'],
    ['{"error":{"code":4,"message":"x"}}', 'error'],
    ['{"errors":[{"message":"x"}]}', 'errors'],
    ['{"errors":{"dateFrom":["is wrong"]}}', 'errors'],
    ['{"error_message":"x"}', 'error_message'],
    ['{"exception":"RuntimeException"}', 'exception'],
    ['{"is_error":true,"data":[]}', 'is_error'],
    ['{"hasErrors":"true","data":[]}', 'hasErrors'],
    ['{"failed":1}', 'failed'],
    ['{"message":"Server Error","trace":[{"file":"a"}]}', 'trace'],
    ['{"code":50001,"message":"x"}', 'code'],
    ['{"code":"E_FAIL: error"}', 'code'],
    ['{"code":-1}', 'code'],
    ['{"data":{"success":false}}', 'success'],
    ['{"meta":{"status":{"code":500}}}', 'code'],
    ['{"response":{"result":{"error":"x"}}}', 'error'],
  ])('%s by %s', (text, sign) => {
    expect(signIn(text)).toBe(sign);
  });

  it.each([
    '{"success":true,"ok":1,"status":"ok","code":0,"error":null,"errors":[],"message":""}',
    '{"status":200,"code":200,"message":"OK"}',
    '{"status":"success","code":"SUCCESS"}',
    '{"code":10000,"message":"Success"}',
    '{"code":1}',
    '{"error":{"code":0,"message":""}}',
    '{"error":"","errors":{},"exception":null}',
    '{"error":"none","error_message":"No error."}',
    '{"status":"paused"}',
    '{"is_error":false,"hasErrors":0,"failed":null}',
    '{"trace":"4bf92f3577b34da6"}',
    '{"data":[{"status":"error","error":"x"}]}',
    '[]',
    '"error"',
  ])('%s does not', (text) => {
    expect(signIn(text)).toBeNull();
  });

  it('says so beside rows too, but for codes and counts', () => {
    expect(signIn('{"success":false}', true)).toBe('success');
    expect(signIn('{"errors":["shard 3"]}', true)).toBe('errors');
    expect(signIn('{"code":7,"errors":3}', true)).toBeNull();
  });

  it('is told of any JSON without a fault', () => {
    fc.assert(
      fc.property(fc.json(), (text) => {
        let json: ReturnType<typeof parseJson>;
        try {
          json = parseJson(text);
        } catch {
          return;
        }
        const sign = findErrorSign(json, null, false);
        expect(sign === null || text.includes(JSON.stringify(sign))).toBe(true);
      }),
    );
  });
});
