import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { loadConfig } from '../../src/config/load.js';
import { listSettings } from '../../src/config/settings.js';
import { runs } from '../support/runs.js';
import { at, BASE, FAULT_LINE, faultsOf, file, folder, load } from './settings-in.js';

describe('settings of the YAML', () => {
  it('give way to the environment, one by one', () => {
    const yaml =
      'server:\n  port: 1\n  adminPort: 2\nplatform: {baseUrl: "https://from.yaml"}\nlogLevel: warn\n';
    const config = load({ PORT: '3', LOG_LEVEL: 'error' }, yaml);
    expect(config.server).toMatchObject({ port: 3, adminPort: 2, host: '0.0.0.0' });
    expect(config.platform.baseUrl).toBe('https://from.yaml');
    expect(config.logLevel).toBe('error');
  });

  it('replace lists and maps as a whole', () => {
    const config = load(
      BASE,
      stringify({
        routes: [{ method: 'GET', path: '/api/v1/files/*' }],
        report: { endpoints: { 'a/b': { rowsAt: 'result.rows' } } },
        platform: { timezones: { 7: 'Europe/Berlin' }, loginPaths: [] },
      }),
    );
    // Members that were not said have their defaults inside of them, too.
    expect(config.routes).toEqual([
      { method: 'GET', path: '/api/v1/files/*', read: false, account: [], pathChars: '' },
    ]);
    expect(config.report.endpoints).toEqual({
      'a/b': {
        rowsAt: 'result.rows',
        readByPost: false,
        divisible: 'auto',
        freshness: 'own',
        knownParameters: [],
        unknownParameters: 'pass',
      },
    });
    expect(config.platform.timezones).toEqual({ 7: 'Europe/Berlin' });
    expect(config.platform.loginPaths).toEqual([]);
  });

  it('declare a parameter by its name or path, with a kind or as a word', () => {
    const yaml = (entry: string) =>
      stringify({ report: { endpoints: { 'a/b': { knownParameters: [entry] } } } });
    for (const entry of ['sort2', 'limit2:int', 'filter.status:set', 'a.b.c'])
      expect(load(BASE, yaml(entry)).report.endpoints['a/b']?.knownParameters).toEqual([entry]);
    for (const entry of ['limit2:number', 'filter.:set', '.status', 'a b', 'a:'])
      expect(faultsOf(BASE, yaml(entry)).join()).toContain('knownParameters');
  });

  it('may be there with nothing after them', () => {
    const config = load(
      BASE,
      'server:\nplatform:\n  retry:\n  probe:\n  timezone:\nredis: {url: }\nlogLevel:\n',
    );
    expect(config).toEqual({ ...load(), source: config.source });
  });

  it('are empty in an empty file, and in a file that is not there', () => {
    expect(load(BASE, '# nothing').server.port).toBe(8080);
    const before = process.cwd();
    process.chdir(folder());
    try {
      const config = loadConfig(BASE);
      expect(config.source).toBeNull();
      expect(config.server.port).toBe(8080);
    } finally {
      process.chdir(before);
    }
  });

  it('come from config/default.yaml when no other file is named', () => {
    expect(loadConfig(BASE).source).toBe('config/default.yaml');
    expect(loadConfig({ ...BASE, GATEWAY_CONFIG: '' }).source).toBe('config/default.yaml');
  });
});

describe('a YAML that cannot be', () => {
  it.each([
    [
      'server: {prot: 1}',
      'server.prot: was set; allowed is no setting of this name; did you mean server.port?',
    ],
    ['platfrom: {x: 1}', 'platfrom: was set; allowed is no setting of this name; did you mean platform?'],
    ['prot: 1', 'prot: was set; allowed is no setting of this name'],
    ['prot:', 'prot: was set; allowed is no setting of this name'],
    ['toString: 1', 'toString: was set; allowed is no setting of this name'],
    ['constructor: {name: x}', 'constructor: was set; allowed is no setting of this name'],
    ['server: {hasOwnProperty: 1}', 'server.hasOwnProperty: was set; allowed is no setting of this name'],
    [
      'redis: {sentinels: [{host: a, prot: 1}]}',
      'redis.sentinels.0.prot: was set; allowed is no setting of this name',
    ],
    [
      'report: {endpoints: {a/b: {row: x}}}',
      'report.endpoints.a/b.row: was set; allowed is no setting of this name',
    ],
    [
      'report: {endpoints: {A: {}}}',
      'report.endpoints.A: was set; allowed is a name that matches ^[a-z0-9._~-]+(/[a-z0-9._~-]+)*$',
    ],
    [
      'platform: {timezones: {x: UTC}}',
      'platform.timezones.x: was set; allowed is a name that matches ^[1-9][0-9]{0,15}$',
    ],
    ['server: {port: "80"}', 'PORT: was "80"; allowed is a whole number from 0 to 65535'],
    [
      'server: {maxUriBytes: 255}',
      'server.maxUriBytes: was 255; allowed is a whole number from 256 to 65536',
    ],
    ['server: {metricsAuth: "true"}', 'server.metricsAuth: was "true"; allowed is 1, true, 0 or false'],
    ['server: {host: ""}', 'HOST: was ""; allowed is a local address or host name, e.g. 0.0.0.0'],
    ['server: 5', 'server: was a number; allowed is a group of settings'],
    ['server: [1]', 'server: was a list; allowed is a group of settings'],
    ['routes: {}', 'routes: was a mapping; allowed is a list'],
    [
      'report: {accountFields: []}',
      'report.accountFields: was an empty list; allowed is a list that is not empty',
    ],
    [
      'routes: [{method: GET}]',
      'routes.0.path: was not set; allowed is text that matches ^/api/v1(/[A-Za-z0-9._~-]+)*(/\\*)?$',
    ],
    [
      'routes: [{method: TRACE, path: /api/v1/x}]',
      'routes.0.method: was "TRACE"; allowed is one of GET, HEAD, POST, PUT, PATCH, DELETE',
    ],
    [
      'routes: [{method: GET, path: /api/v1/x, account: [header.id]}]',
      'routes.0.account.0: was "header.id"; allowed is text that matches ^(query|body)\\.[A-Za-z][A-Za-z0-9_]*$',
    ],
    [
      'report: {freshness: {finalSeconds: 1.5}}',
      'report.freshness.finalSeconds: was 1.5; allowed is a whole number from 0 to 31622400',
    ],
  ])('is one line: %s', (yaml, line) => {
    expect(faultsOf(BASE, yaml)).toEqual([line]);
  });

  it('is not mended by the environment', () => {
    expect(faultsOf({ ...BASE, PORT: '80' }, 'server: hello')).toEqual([
      'server: was text; allowed is a group of settings',
    ]);
  });

  it.each([
    ['- a\n- b', 'the file must hold a mapping of settings'],
    ['just text', 'the file must hold a mapping of settings'],
    ['a: b: c', 'block as implicit key at line 1, column 4'],
    ['logLevel: info\nlogLevel: warn', 'duplicate key at line 2, column 1'],
    ['logLevel: info\n---\nlogLevel: warn', 'multiple docs at line 2, column 1'],
    ['server: {port: !secret 1}', 'tag resolve failed at line 1, column 16'],
    ['logLevel: *unknown', 'undefined alias (*); quote text that starts with *'],
  ])('is refused as a file: %j', (yaml, why) => {
    const path = file(yaml);
    expect(faultsOf({ ...BASE, GATEWAY_CONFIG: path })).toEqual([
      `GATEWAY_CONFIG: was ${path}; allowed is a readable YAML file of settings (${why})`,
    ]);
  });

  it('is refused when it is named and not there, or a folder', () => {
    const missing = join(folder(), 'none.yaml');
    for (const path of [missing, folder()]) {
      const [line, ...others] = faultsOf({ ...BASE, GATEWAY_CONFIG: path });
      expect(line).toContain(`GATEWAY_CONFIG: was ${path}; allowed is a readable YAML file`);
      expect(others).toEqual([]);
    }
  });
});

describe('a loaded configuration', () => {
  it('is equal each time, and frozen all the way down', () => {
    const yaml = stringify({ routes: [{ method: 'GET', path: '/api/v1/x' }], redis: { prefix: 'other' } });
    const path = file(yaml);
    const read = () => loadConfig({ ...BASE, GATEWAY_CONFIG: path });
    const [first, second] = [read(), read()];
    expect(second).toEqual(first);
    for (const { path: place } of listSettings()) {
      const value = at(first, place);
      if (typeof value === 'object') expect(Object.isFrozen(value), place).toBe(true);
    }
    expect(Object.isFrozen(first)).toBe(true);
    expect(Object.isFrozen(first.server)).toBe(true);
    expect(Object.isFrozen(first.routes[0]?.account)).toBe(true);
  });

  it('takes any value in range that the YAML says, and is a line for each other', () => {
    const whole = listSettings().filter(
      ({ schema, path }) => schema.type === 'integer' && path !== 'server.workers',
    );
    fc.assert(
      fc.property(
        fc.constantFrom(...whole),
        fc.oneof(fc.integer(), fc.maxSafeInteger(), fc.double(), fc.boolean(), fc.string()),
        ({ path, schema, env }, value) => {
          const yaml = stringify(
            path.split('.').reduceRight<unknown>((inner, name) => ({ [name]: inner }), value),
          );
          const { minimum = 0, maximum = 0 } = schema;
          if (typeof value === 'number' && Number.isInteger(value) && value >= minimum && value <= maximum) {
            expect(at(load(BASE, yaml), path)).toBe(value);
            return;
          }
          const faults = faultsOf(BASE, yaml);
          expect(faults).toHaveLength(1);
          expect(faults[0]).toMatch(FAULT_LINE);
          expect(faults[0]?.startsWith(`${env ?? path}: was `)).toBe(true);
        },
      ),
      runs(30, 60),
    );
  });
});

describe('a setting of an earlier release', () => {
  it('stops the start by either name when it was removed, and the line says what to do', () => {
    const rest = 'was set; allowed is no value: the setting was removed; delete it';
    const yaml = stringify({ server: { hitsOnSocket: false } });
    expect(() => load({ ...BASE, HITS_ON_SOCKET: '0' }, yaml)).toThrow(
      `HITS_ON_SOCKET: ${rest}\nserver.hitsOnSocket: ${rest}`,
    );
    expect(() => load({ ...BASE, HITS_ON_SOCKET: '' }, stringify({}))).not.toThrow();
  });

  it.each([
    ['answerBufferBytes', 1024],
    ['weights', { growth: 2 }],
  ])('stops the start by platform.%s', (name, value) => {
    expect(() => load(BASE, stringify({ platform: { [name]: value } }))).toThrow(
      `platform.${name}: was set; allowed is no value: the setting was removed`,
    );
  });

  it('stops the start when it has another name, and the line says what it is called now', () => {
    const yaml = stringify({ report: { endpoints: { 'a/b': { rows: 'result.rows' } } } });
    expect(() => load(BASE, yaml)).toThrow(
      'report.endpoints.a/b.rows: was set; allowed is the new name rowsAt',
    );
  });
});
