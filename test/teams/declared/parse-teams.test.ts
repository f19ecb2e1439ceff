/** A file of teams: what it may hold, and where it is wrong. */
import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { parseTeams } from '../../../src/teams/declared/parse-teams.js';
import { newTeams } from './team-arbitraries.js';

const faultsOf = (text: string) => parseTeams(text, 'teams.yaml').faults;

describe('a file of teams', () => {
  it('gives the teams it holds, whatever they are called', () => {
    fc.assert(
      fc.property(newTeams, (teams) => {
        expect(parseTeams(stringify({ teams }), 'teams.yaml')).toEqual({ teams, faults: [] });
      }),
    );
  });

  it('may use anchors, and be JSON', () => {
    const anchors = 'teams:\n  - id: a\n    limits: &few {maxRangeDays: 7}\n  - {id: b, limits: *few}\n';
    expect(parseTeams(anchors, 'teams.yaml').teams).toMatchObject([
      { id: 'a', limits: { maxRangeDays: 7 } },
      { id: 'b', limits: { maxRangeDays: 7 } },
    ]);
    expect(parseTeams('{"teams":[{"id":"a"}]}', 'teams.yaml')).toEqual({ teams: [{ id: 'a' }], faults: [] });
  });

  it('has an example that is right', () => {
    const text = readFileSync(new URL('../../../config/teams.example.yaml', import.meta.url), 'utf8');
    const { teams, faults } = parseTeams(text, 'teams.example.yaml');
    expect(faults).toEqual([]);
    expect(teams.map(({ id }) => id)).toEqual(['growth', 'finance']);
  });
});

describe('faults', () => {
  it('name file, line, place and what is allowed, all of them, from top to bottom', () => {
    const text = `teams:
  - id: Growth
    name: ""
    advertisers: [1, 0]
  - id: ok
    advertisers: all
    limits:
      maxRangeDays: 0
      maxRange: 3
    disabled: "no"
    colour:
      red: 1
  - name: without an id
    scopes: [report:read, report:write]
  - 7
`;
    expect(faultsOf(text)).toEqual([
      'teams.yaml:2: teams.0.id: was "Growth"; allowed is lower-case letters, digits and hyphens, at most 40, and not gateway',
      'teams.yaml:3: teams.0.name: was ""; allowed is text of 1 to 200 characters',
      'teams.yaml:4: teams.0.advertisers.1: was 0; allowed is a whole number from 1 to 9007199254740991',
      'teams.yaml:6: teams.1.advertisers: was "all"; allowed is a list of at most 10000 whole numbers from 1 to 9007199254740991, each once, or "*"',
      'teams.yaml:8: teams.1.limits.maxRangeDays: was 0; allowed is a whole number from 1 to 10000',
      'teams.yaml:9: teams.1.limits.maxRange: was set; allowed is no member of this name; known: requestsPerMinute, upstreamCallsPerDay, maxRangeDays, maxConcurrent',
      'teams.yaml:10: teams.1.disabled: was "no"; allowed is true or false',
      expect.stringMatching(/^teams\.yaml:11: teams\.1\.colour: was set; allowed is no member of this name/),
      'teams.yaml:13: teams.2.id: was not set; allowed is lower-case letters, digits and hyphens, at most 40, and not gateway',
      'teams.yaml:14: teams.2.scopes.1: was "report:write"; allowed is one of report:read, report:pin, platform:read, platform:write, cache:refresh, mcp',
      expect.stringMatching(/^teams\.yaml:15: teams\.3: was 7; allowed is a mapping of id, name/),
    ]);
  });

  it.each([
    [
      '',
      'teams.yaml:1: teams: was not set; allowed is a list of at most 10000 mappings of id, name, scopes, advertisers, ipAllow, defaultFormat, disabled, writeGuard, limits',
    ],
    [
      'teams:',
      'teams.yaml:1: teams: was nothing; allowed is a list of at most 10000 mappings of id, name, scopes, advertisers, ipAllow, defaultFormat, disabled, writeGuard, limits',
    ],
    ['[]', 'teams.yaml:1: file: was an empty list; allowed is a mapping of teams'],
    ['teams: []\nTeams: []', 'teams.yaml:2: Teams: was set; allowed is no member of this name; known: teams'],
    [
      'teams:\n  - id: a\n  - id: b\n  - id: a',
      'teams.yaml:4: teams.2.id: must be unique; teams.0 is a, too',
    ],
    [
      'teams:\n  - id: a\n    ipAllow:\n      - 10.0.0.0/8\n      - 10/8',
      'teams.yaml:5: teams.0.ipAllow.1: must be an IPv4 or IPv6 address, or a range such as 10.0.0.0/8',
    ],
    [
      'teams:\n  - id: a\n    managedBy: file',
      'teams.yaml:3: teams.0.managedBy: was set; allowed is no member of this name; known: id, name, scopes, advertisers, ipAllow, defaultFormat, disabled, writeGuard, limits',
    ],
    ['teams: [{id: a}', 'teams.yaml:1: is no YAML: bad indent'],
    ['teams:\n  - id: a\n    id: b', 'teams.yaml:3: is no YAML: duplicate key'],
    ['teams:\n  - id: a\n    advertisers: *', /^teams\.yaml:3: an alias \(\*\).* needs quotes: "\*"$/],
    ['teams:\n  - id: a\n    advertisers: *all', /^teams\.yaml: an alias \(\*\).* needs quotes: "\*"$/],
    [
      'teams:\n  - id: a\n    writeGuard:\n      POST /api/v1/x:\n        budget: {field: body.x, perCall: 1}',
      'teams.yaml:5: teams.0.writeGuard.POST /api/v1/x.budget.perCall: was set; allowed is no member of this name; known: field, currencyField, currency, maxPerCall, maxPerDay',
    ],
    [
      'teams:\n  - id: a\n    writeGuard:\n      POST /api/v1/x:\n        amounts:\n          - {field: bid, max: 1}',
      'teams.yaml:6: teams.0.writeGuard.POST /api/v1/x.amounts.0.field: was "bid"; allowed is a place in the body, e.g. body.budget.total',
    ],
    [
      'teams:\n  - id: a\n    writeGuard:\n      POST /api/v1/x:\n        budget: {field: body.x}',
      'teams.yaml:5: teams.0.writeGuard.POST /api/v1/x.budget: must have maxPerCall or maxPerDay',
    ],
    ['teams:\n  - id: a\n    __proto__: {disabled: true}', /^teams\.yaml:3: teams\.0\.__proto__: was set;/],
  ])('in %j', (text, fault) => {
    expect(faultsOf(text)).toEqual([typeof fault === 'string' ? fault : expect.stringMatching(fault)]);
  });

  it.each(['keys', 'key', 'apiKey'])('never show what stands in the place of a key (%s)', (name) => {
    const [fault, ...others] = faultsOf(`teams:\n  - id: a\n    ${name}: dgw_SECRET\n`);
    expect(others).toEqual([]);
    expect(fault).toBe(
      `teams.yaml:3: teams.0.${name}: was set; allowed is no key, ever; issue one by: dsp-gateway keys issue <team>`,
    );
  });

  it('are found whatever the file holds, and never thrown', () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string(),
          fc.json(),
          fc.jsonValue().map((value) => stringify(value)),
        ),
        (text) => {
          const { teams, faults } = parseTeams(text, 'teams.yaml');
          expect(faults.length > 0 || Array.isArray(teams)).toBe(true);
          for (const fault of faults) expect(fault).toMatch(/^teams\.yaml(:\d+)?: /);
        },
      ),
    );
  });
});
