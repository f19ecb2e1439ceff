/** `dsp-gateway teams` and `apply`: who may call. */
import {
  applyTeams,
  changeTeam,
  createTeam,
  deleteTeam,
  getTeam,
  listTeams,
} from '../api/operations/teams.js';
import { JsonError, parseJson } from '../reports/rows/json.js';
import type { Team } from '../teams/auth/team.js';
import { countChanges, describeChanges } from '../teams/declared/describe-changes.js';
import { call, type Given, type Values } from './call-command.js';
import { CommandError, EXIT } from './command-error.js';
import { group } from './define.js';
import { type FlagChanges, readId, readList, readNumber } from './flags.js';
import { readText } from './read-secret.js';
import { type Columns, renderFields, renderRows } from './table.js';
import type { Terminal } from './terminal.js';

const OF_TEAM = { id: ['<team>', 'its id', readId] } as const;

const TEAM_FLAGS: FlagChanges = {
  scopes: { flag: '--scopes <names>', about: 'what the team may do, e.g. report:read,platform:read; none' },
  advertisers: {
    flag: '--advertisers <ids>',
    about: 'advertisers the team may see, e.g. 1,2,3; all; none',
    read: (text) => (text === 'all' || text === '*' ? '*' : readList(text).map(readNumber)),
  },
  ipAllow: {
    flag: '--ip-allow <ranges>',
    about: 'addresses and CIDR ranges the team may call from; none: any',
  },
  defaultFormat: {
    flag: '--default-format <format>',
    about: 'format when a request asks for none: json, csv, ndjson or raw',
  },
  disabled: { about: 'refuse everything' },
  writeGuard: {
    flag: '--write-guard <path>',
    about: 'JSON file of the write guard; - is standard input; none: without one',
  },
};

/** A limit that is not named stays as it is, where the schema's descriptions say what a new team gets. */
const LIMITS_TO_CHANGE: FlagChanges = {
  'limits.requestsPerMinute': { about: 'requests a minute, shared by all replicas' },
  'limits.upstreamCallsPerDay': { about: 'share of platform calls a day' },
  'limits.maxRangeDays': { about: 'longest range of one report, in days' },
  'limits.maxConcurrent': { about: 'requests at once' },
};

interface TeamOptions {
  readonly enabled?: boolean;
}

export const addTeamsCommands = group(
  'teams',
  'Teams: who may call, for which advertisers, how much.',
  call({
    name: 'list',
    operation: listTeams,
    description: 'List all teams.',
    examples: ['teams list', "teams list --json | jq -r '.[].id'"],
    json: ({ teams }) => teams,
    render: ({ teams }) =>
      teams.length === 0
        ? 'There are no teams yet; make one: dsp-gateway teams create <team> --advertisers 1,2\n'
        : renderRows(teams, COLUMNS),
  }),
  call({
    name: 'show',
    operation: getTeam,
    description: 'Show one team.',
    examples: ['teams show growth'],
    args: OF_TEAM,
    render: describeTeam,
  }),
  call({
    name: 'create',
    operation: createTeam,
    description: 'Create a team. A team without advertisers may see none.',
    examples: [
      'teams create growth --name "Growth analytics" --advertisers 1,2,3',
      'teams create finance --advertisers all --max-range-days 92',
    ],
    args: { id: ['<team>', 'its id: lower-case letters, digits and hyphens, at most 40', readId] },
    flags: TEAM_FLAGS,
    own: (added) => added.option('--enabled', 'allow it again'),
    async prepare(given: Given<typeof createTeam, TeamOptions>) {
      const { writeGuard, ...team } = await teamOf(given);
      // A new team has no guard that could be taken away.
      return writeGuard ? { ...team, writeGuard } : team;
    },
    render: describeTeam,
  }),
  call({
    name: 'update',
    operation: changeTeam,
    description: 'Change what is named of a team; a list replaces the whole list.',
    examples: [
      'teams update growth --advertisers 1,2,7',
      'teams update growth --disabled',
      'teams update growth --write-guard guard.json',
    ],
    args: OF_TEAM,
    flags: { ...TEAM_FLAGS, ...LIMITS_TO_CHANGE },
    own: (added) => added.option('--enabled', 'allow it again'),
    async prepare(given: Given<typeof changeTeam, TeamOptions>) {
      const change = await teamOf(given);
      if (Object.keys(change).length > 1) return change;
      throw new CommandError('nothing to change was named; see --help', EXIT.usage);
    },
    render: describeTeam,
  }),
  call({
    name: 'delete',
    operation: deleteTeam,
    description: 'Delete a team and revoke its keys, for good.',
    examples: ['teams delete growth --yes'],
    args: OF_TEAM,
    confirm: ({ id }) => `The team ${id} and all its keys will be gone for good.`,
    json: (_answer, { values }) => ({ deleted: values.id }),
    render: (_answer, { values }) => `deleted: ${values.id}\n`,
  }),
);

/** @throws CommandError */
async function teamOf({ values, options, terminal }: Given<never, TeamOptions>): Promise<Values> {
  const { disabled, writeGuard } = values;
  if (options.enabled && disabled)
    throw new CommandError('--enabled and --disabled exclude each other', EXIT.usage);
  return {
    ...values,
    ...(options.enabled ? { disabled: false } : {}),
    ...(typeof writeGuard === 'string' ? { writeGuard: await readGuard(terminal, writeGuard) } : {}),
  };
}

/** @returns null for none; the gateway judges what is in it. @throws CommandError for what is no JSON */
async function readGuard(terminal: Terminal, file: string): Promise<unknown> {
  if (file === 'none') return null;
  const text = await readText(terminal, file);
  try {
    // A limit that is there twice would be the last one only.
    parseJson(text);
  } catch (error) {
    if (!(error instanceof JsonError)) throw error;
    const source = file === '-' ? 'standard input' : file;
    throw new CommandError(`${source} is not JSON as taken here: ${error.message}`, EXIT.data);
  }
  return JSON.parse(text);
}

const stateOf = ({ disabled }: Team) => (disabled ? 'disabled' : 'active');

const COLUMNS: Columns<Team> = [
  ['team', 'id'],
  'name',
  ['advertisers', ({ advertisers }) => shortened(advertisers)],
  ['scopes', ({ scopes }) => scopes.join(' ')],
  ['requests/min', ({ limits }) => limits.requestsPerMinute],
  ['calls/day', ({ limits }) => limits.upstreamCallsPerDay],
  ['state', stateOf],
  ['managed by', ({ managedBy = 'hand' }) => managedBy],
];

/** A list that would fill the line is told by its length. */
function shortened(advertisers: Team['advertisers']): string {
  if (advertisers === '*') return 'all';
  if (advertisers.length === 0) return 'none';
  const [first, ...rest] = advertisers;
  return advertisers.length <= 4 ? advertisers.join(',') : `${first} and ${rest.length} more`;
}

/** By its routes; --json shows the rules. */
function describeGuard({ writeGuard }: Team): string {
  if (writeGuard === undefined) return 'none';
  return Object.keys(writeGuard).join(', ') || 'refuses every write';
}

function describeTeam(team: Team): string {
  const { limits } = team;
  return renderFields([
    ['team', team.id],
    ['name', team.name],
    ['state', stateOf(team)],
    ['managed by', team.managedBy ?? 'hand'],
    ['scopes', team.scopes.join(', ') || 'none'],
    ['advertisers', team.advertisers === '*' ? 'all' : team.advertisers.join(', ') || 'none'],
    ['addresses', team.ipAllow.join(', ') || 'any'],
    ['default format', team.defaultFormat],
    ['requests a minute', limits.requestsPerMinute],
    ['platform calls a day', limits.upstreamCallsPerDay],
    ['longest range', `${limits.maxRangeDays} d`],
    ['requests at once', limits.maxConcurrent],
    ['write guard', describeGuard(team)],
  ]);
}

interface ApplyOptions {
  readonly file: string;
  readonly prune?: boolean;
  readonly release?: boolean;
}

export const addApplyCommand = call({
  name: 'apply',
  operation: applyTeams,
  description:
    'Make the teams what a file declares. Teams made by hand are left alone; a team that left the file is kept, unless --prune or --release says otherwise.',
  examples: ['apply -f teams.yaml --dry-run', 'apply -f teams.yaml', 'apply -f teams.yaml --prune'],
  flags: { teams: null, removed: null, dryRun: { about: 'only show what would change' } },
  own: (added) =>
    added
      .requiredOption('-f, --file <path>', 'YAML file of teams; - is standard input')
      .option('--prune', 'delete teams that left the file, and revoke their keys for good')
      .option('--release', 'hand teams that left the file over to management by hand'),
  async prepare({ values, terminal, options }: Given<typeof applyTeams, ApplyOptions>) {
    const { file, prune, release } = options;
    if (prune && release) throw new CommandError('--prune and --release exclude each other', EXIT.usage);
    const { parseTeams } = await import('../teams/declared/parse-teams.js');
    const { teams, faults } = parseTeams(await readText(terminal, file), file === '-' ? 'stdin' : file);
    if (faults.length > 0) throw new CommandError(faults.join('\n'), EXIT.data);
    return { ...values, teams, removed: prune ? 'delete' : release ? 'release' : 'keep' };
  },
  render: ({ dryRun, changes }) =>
    [...describeChanges(changes), `${dryRun ? 'would be: ' : ''}${countChanges(changes)}`, ''].join('\n'),
});
