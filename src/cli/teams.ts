/** `dsp-gateway teams`: who may call. */
import { type Command, InvalidArgumentError } from 'commander';
import { JsonError, parseJson } from '../reports/rows/json.js';
import type { NewTeam, Team, TeamPatch } from '../teams/auth/team.js';
import type { Admin, AdminOptions } from './admin-client.js';
import { CommandError } from './command-error.js';
import { act, adminCommand, refuseSecret, show } from './define.js';
import { EXIT } from './exit-codes.js';
import { confirm, readText } from './read-secret.js';
import { renderFields, renderTable } from './table.js';
import type { Terminal } from './terminal.js';

interface TeamOptions extends AdminOptions {
  readonly name?: string;
  readonly advertisers?: readonly number[] | '*';
  readonly scopes?: readonly string[];
  readonly ipAllow?: readonly string[];
  readonly defaultFormat?: string;
  readonly requestsPerMinute?: number;
  readonly upstreamCallsPerDay?: number;
  readonly maxRangeDays?: number;
  readonly maxConcurrent?: number;
  readonly enabled?: boolean;
  readonly disabled?: boolean;
  readonly writeGuard?: string;
}

export function addTeamsCommands(program: Command, terminal: Terminal): void {
  const teams = program.command('teams').description('Teams: who may call, for which advertisers, how much.');
  adminCommand(teams, {
    name: 'list',
    description: 'List all teams.',
    examples: ['teams list', "teams list --json | jq -r '.[].id'"],
  }).action(
    act<AdminOptions>(terminal, async (admin, options) => {
      const { teams: all } = await admin.ask('GET /admin/v1/teams');
      show(terminal, options, all, (list) =>
        list.length === 0
          ? 'There are no teams yet; make one: dsp-gateway teams create <team> --advertisers 1,2\n'
          : listTeams(list),
      );
    }),
  );
  adminCommand(teams, { name: 'show', description: 'Show one team.', examples: ['teams show growth'] })
    .argument('<team>', 'its id', readId)
    .action(
      act<AdminOptions>(terminal, async (admin, options, id) =>
        show(terminal, options, await admin.ask('GET /admin/v1/teams/:id', { id }), describeTeam),
      ),
    );
  addTeamChanges(teams, terminal);
  addTeamDelete(teams, terminal);
}

function addTeamChanges(teams: Command, terminal: Terminal): void {
  withTeamOptions(
    adminCommand(teams, {
      name: 'create',
      description: 'Create a team. One that is given no advertisers may see none.',
      examples: [
        'teams create growth --name "Growth analytics" --advertisers 1,2,3',
        'teams create finance --advertisers all --max-range-days 92',
      ],
    }).argument('<team>', 'its id: lower-case letters, digits and hyphens, at most 40', readId),
  ).action(
    act<TeamOptions>(terminal, async (admin, options, id) =>
      show(
        terminal,
        options,
        await admin.ask('POST /admin/v1/teams', { body: newTeam(id, await teamBody(terminal, options)) }),
        describeTeam,
      ),
    ),
  );
  withTeamOptions(
    adminCommand(teams, {
      name: 'update',
      description: 'Change what is named of a team; a list replaces the whole list.',
      examples: [
        'teams update growth --advertisers 1,2,7',
        'teams update growth --disabled',
        'teams update growth --write-guard guard.json',
      ],
    }).argument('<team>', 'its id', readId),
  ).action(
    act<TeamOptions>(terminal, async (admin, options, id) =>
      show(terminal, options, await update(admin, terminal, options, id), describeTeam),
    ),
  );
}

function addTeamDelete(teams: Command, terminal: Terminal): void {
  adminCommand(teams, {
    name: 'delete',
    description: 'Delete a team and revoke its keys, for good.',
    examples: ['teams delete growth --yes'],
  })
    .argument('<team>', 'its id', readId)
    .option('--yes', 'do not ask')
    .action(
      act<AdminOptions & { yes?: boolean }>(terminal, async (admin, options, id) => {
        await confirm(terminal, `The team ${id} and all its keys will be gone for good.`, options.yes);
        await admin.ask('DELETE /admin/v1/teams/:id', { id });
        show(terminal, options, { deleted: id }, () => `deleted: ${id}\n`);
      }),
    );
}

async function update(
  admin: Admin,
  terminal: Terminal,
  options: TeamOptions,
  id: string | undefined,
): Promise<Team> {
  const body = await teamBody(terminal, options);
  if (Object.keys(body).length === 0)
    throw new CommandError('nothing to change was named; see --help', EXIT.usage);
  return admin.ask('PATCH /admin/v1/teams/:id', { id, body });
}

/** An id as an argument. What is no id at all is refused here, for in a path it could name something else. */
export function readId(text: string): string {
  // A key in the place of its id is a secret on the command line.
  if (text.startsWith('dgw_')) refuseSecret();
  if (!/^[A-Za-z0-9_-]{1,100}$/.test(text))
    throw new InvalidArgumentError('An id holds letters, digits, _ and - only.');
  return text;
}

function withTeamOptions(command: Command): Command {
  return command
    .option('--name <text>', 'for people')
    .option('--advertisers <ids>', 'e.g. 1,2,3; all; none', readAdvertisers)
    .option('--scopes <names>', 'e.g. report:read,platform:read; none', readList)
    .option('--ip-allow <ranges>', 'addresses and CIDR ranges the team may call from; none: any', readList)
    .option('--default-format <format>', 'json, csv, ndjson or raw')
    .option('--requests-per-minute <number>', 'requests a minute', readNumber)
    .option('--upstream-calls-per-day <number>', 'share of platform calls a day', readNumber)
    .option('--max-range-days <number>', 'longest range of one report', readNumber)
    .option('--max-concurrent <number>', 'requests at once', readNumber)
    .option('--write-guard <path>', 'JSON file of the write guard; - is standard input; none: without one')
    .option('--disabled', 'refuse everything')
    .option('--enabled', 'allow it again');
}

export function readNumber(text: string): number {
  if (!/^[0-9]{1,15}$/.test(text)) throw new InvalidArgumentError('It must be a whole number.');
  return Number(text);
}

function readList(text: string): string[] {
  return text === 'none' ? [] : text.split(',').map((item) => item.trim());
}

function readAdvertisers(text: string): number[] | '*' {
  return text === 'all' || text === '*' ? '*' : readList(text).map(readNumber);
}

/** There is no guard yet that could be taken away. */
function newTeam(id: string | undefined, { writeGuard, ...body }: TeamPatch): NewTeam {
  return { id: id as string, ...body, ...(writeGuard ? { writeGuard } : {}) };
}

/** What was named, as the admin API takes it: the gateway judges the values. @throws CommandError */
async function teamBody(terminal: Terminal, options: TeamOptions): Promise<TeamPatch> {
  const { name, advertisers, scopes, ipAllow, defaultFormat, enabled, disabled, writeGuard } = options;
  if (enabled && disabled) throw new CommandError('--enabled and --disabled exclude each other', EXIT.usage);
  const { requestsPerMinute, upstreamCallsPerDay, maxRangeDays, maxConcurrent } = options;
  const limits = defined({ requestsPerMinute, upstreamCallsPerDay, maxRangeDays, maxConcurrent });
  return defined({
    name,
    advertisers,
    scopes,
    ipAllow,
    defaultFormat,
    disabled: disabled ? true : enabled ? false : undefined,
    limits: Object.keys(limits).length === 0 ? undefined : limits,
    writeGuard: writeGuard === undefined ? undefined : await readGuard(terminal, writeGuard),
  });
}

/** @returns null for none; what is in it the gateway judges. @throws CommandError for what is no JSON */
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

function defined(members: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined));
}

function listTeams(teams: readonly Team[]): string {
  return renderTable(
    ['team', 'name', 'advertisers', 'scopes', 'requests/min', 'calls/day', 'state', 'managed by'],
    teams.map((team) => [
      team.id,
      team.name,
      shortened(team.advertisers),
      team.scopes.join(' '),
      team.limits.requestsPerMinute,
      team.limits.upstreamCallsPerDay,
      team.disabled ? 'disabled' : 'active',
      team.managedBy ?? 'hand',
    ]),
  );
}

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
    ['state', team.disabled ? 'disabled' : 'active'],
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
