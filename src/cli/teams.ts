/** `dsp-gateway teams` and `apply`. */
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

const OF_TEAM = { id: ['<team>', 'team id', readId] } as const;

const TEAM_FLAGS: FlagChanges = {
  scopes: { flag: '--scopes <names>', about: 'permissions, e.g. report:read,platform:read, or none' },
  advertisers: {
    flag: '--advertisers <ids>',
    about: 'visible advertisers, e.g. 1,2,3, or all, or none',
    read: (text) => (text === 'all' || text === '*' ? '*' : readList(text).map(readNumber)),
  },
  ipAllow: {
    flag: '--ip-allow <ranges>',
    about: 'allowed addresses and CIDR ranges; none: all are allowed',
  },
  defaultFormat: {
    flag: '--default-format <format>',
    about: 'default format: json, csv, ndjson or raw',
  },
  disabled: { about: 'refuse all requests' },
  writeGuard: {
    flag: '--write-guard <path>',
    about: 'JSON file of the write guard; - is standard input; none: remove',
  },
};

/** Without the defaults of the schema, which apply to new teams. */
const LIMITS_TO_CHANGE: FlagChanges = {
  'limits.requestsPerMinute': { about: 'requests per minute, over all replicas' },
  'limits.upstreamCallsPerDay': { about: 'platform calls per day' },
  'limits.maxRangeDays': { about: 'maximum days of one report' },
  'limits.maxConcurrent': { about: 'concurrent requests' },
};

type TeamOptions = { readonly enabled?: boolean };

export const addTeamsCommands = group(
  'teams',
  'Teams with their advertisers and limits.',
  call({
    name: 'list',
    operation: listTeams,
    description: 'List all teams.',
    examples: ['teams list', "teams list --json | jq -r '.[].id'"],
    json: ({ teams }) => teams,
    render: ({ teams }) =>
      teams.length === 0
        ? 'There are no teams yet; create one: dsp-gateway teams create <team> --advertisers 1,2\n'
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
    description: 'Create a team. Without --advertisers it sees no advertiser.',
    examples: [
      'teams create growth --name "Growth analytics" --advertisers 1,2,3',
      'teams create finance --advertisers all --max-range-days 92',
    ],
    args: { id: ['<team>', 'team id: at most 40 lower-case letters, digits and hyphens', readId] },
    flags: TEAM_FLAGS,
    own: (added) => added.option('--enabled', 'allow requests again'),
    async prepare(given: Given<typeof createTeam, TeamOptions>) {
      const { writeGuard, ...team } = await teamOf(given);
      // A new team has no guard to remove.
      return writeGuard ? { ...team, writeGuard } : team;
    },
    render: describeTeam,
  }),
  call({
    name: 'update',
    operation: changeTeam,
    description: 'Change the given fields of a team; a list replaces the whole list.',
    examples: [
      'teams update growth --advertisers 1,2,7',
      'teams update growth --disabled',
      'teams update growth --write-guard guard.json',
    ],
    args: OF_TEAM,
    flags: { ...TEAM_FLAGS, ...LIMITS_TO_CHANGE },
    own: (added) => added.option('--enabled', 'allow requests again'),
    async prepare(given: Given<typeof changeTeam, TeamOptions>) {
      const change = await teamOf(given);
      if (Object.keys(change).length > 1) return change;
      throw new CommandError('nothing to change was given; see --help', EXIT.usage);
    },
    render: describeTeam,
  }),
  call({
    name: 'delete',
    operation: deleteTeam,
    description: 'Delete a team and revoke its keys permanently.',
    examples: ['teams delete growth --yes'],
    args: OF_TEAM,
    confirm: ({ id }) => `The team ${id} and all its keys will be deleted permanently.`,
    json: (_answer, { values }) => ({ deleted: values.id }),
    render: (_answer, { values }) => `deleted: ${values.id}\n`,
  }),
);

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

/** @returns null for `none`. Validated by the gateway. @throws CommandError for invalid JSON */
async function readGuard(terminal: Terminal, file: string): Promise<unknown> {
  if (file === 'none') return null;
  const text = await readText(terminal, file);
  try {
    // Refuses duplicate members.
    parseJson(text);
  } catch (error) {
    if (!(error instanceof JsonError)) throw error;
    const source = file === '-' ? 'standard input' : file;
    throw new CommandError(`${source} is not valid JSON: ${error.message}`, EXIT.data);
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

function shortened(advertisers: Team['advertisers']): string {
  if (advertisers === '*') return 'all';
  if (advertisers.length === 0) return 'none';
  const [first, ...rest] = advertisers;
  return advertisers.length <= 4 ? advertisers.join(',') : `${first} and ${rest.length} more`;
}

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
    ['requests per minute', limits.requestsPerMinute],
    ['platform calls per day', limits.upstreamCallsPerDay],
    ['maximum range', `${limits.maxRangeDays} d`],
    ['concurrent requests', limits.maxConcurrent],
    ['write guard', describeGuard(team)],
  ]);
}

type ApplyOptions = Readonly<{ file: string; prune?: boolean; release?: boolean }>;

export const addApplyCommand = call({
  name: 'apply',
  operation: applyTeams,
  description:
    'Apply a file of teams. Teams not managed by a file are unchanged. Without --prune or --release, teams removed from the file are kept as they are.',
  examples: ['apply -f teams.yaml --dry-run', 'apply -f teams.yaml', 'apply -f teams.yaml --prune'],
  flags: { teams: null, removed: null, dryRun: { about: 'only show what would change' } },
  own: (added) =>
    added
      .requiredOption('-f, --file <path>', 'YAML file of teams; - is standard input')
      .option('--prune', 'delete teams removed from the file, and revoke their keys permanently')
      .option('--release', 'keep teams removed from the file, managed by hand'),
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
