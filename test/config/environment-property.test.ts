import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Config, ConfigError, loadConfig } from '../../src/config/load.js';
import { listSettings, type Setting } from '../../src/config/settings.js';
import { runs } from '../support/runs.js';
import { at, BASE, FAULT_LINE } from './settings-in.js';

const TYPED = listSettings().filter(
  ({ env, schema }) =>
    env !== undefined &&
    (schema.type === 'integer' || schema.type === 'boolean' || schema.enum !== undefined),
);

/** Texts that are often nearly right. */
const text = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.integer().map(String),
  fc.double().map(String),
  fc.constantFrom(
    'true',
    'false',
    'True',
    '1',
    '0',
    '01',
    '1e3',
    '+1',
    '-0',
    'info',
    'INFO',
    'silent',
    'null',
    '\u2028',
  ),
);

function isRight({ schema }: Setting, value: unknown): boolean {
  if (schema.enum !== undefined) return schema.enum.includes(value);
  if (schema.type === 'boolean') return typeof value === 'boolean';
  const { minimum = 0, maximum = 0 } = schema;
  return (
    Number.isInteger(value) && !Object.is(value, -0) && Number(value) >= minimum && Number(value) <= maximum
  );
}

describe('any text for a typed setting', () => {
  it.each(TYPED.map((setting) => [setting.env as string, setting] as const))(
    '%s takes it as a value in range, or is exactly one line',
    (env, setting) => {
      fc.assert(
        fc.property(text, (given) => {
          const environment = {
            ...BASE,
            GATEWAY_CONFIG: '/dev/null',
            // So that more than one worker is no fault.
            REDIS_URL: 'redis://cache.example',
            GATEWAY_MASTER_KEY: Buffer.alloc(32).toString('base64'),
            ADMIN_TOKEN: 'opens-the-admin-plane',
          };
          let config: Config;
          try {
            config = loadConfig({ ...environment, [env]: given });
          } catch (error) {
            expect(error).toBeInstanceOf(ConfigError);
            const { faults } = error as ConfigError;
            expect(faults).toHaveLength(1);
            expect(faults[0]).toMatch(FAULT_LINE);
            expect(faults[0]?.startsWith(`${env}: was `)).toBe(true);
            return;
          }
          const value = at(config, setting.path);
          if (given === '') expect(value).toEqual(setting.schema.default);
          else expect(isRight(setting, value)).toBe(true);
        }),
        runs(15, 40),
      );
    },
  );
});
