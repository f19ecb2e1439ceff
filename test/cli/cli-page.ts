/** `docs/cli.md`, made from the commands themselves. */
import { PassThrough } from 'node:stream';
import type { Argument, Command, Option } from 'commander';
import { ADMIN_PLANE, DATA_PLANE } from '../../src/cli/client.js';
import { EXIT_CODES } from '../../src/cli/command-error.js';
import { examplesOf } from '../../src/cli/define.js';
import { createProgram } from '../../src/cli/program.js';

export function program(): Command {
  const quiet = () => {};
  return createProgram({
    env: {},
    input: new PassThrough(),
    print: quiet,
    say: quiet,
    deliver: async () => {},
    ready: async () => {},
    nowMs: () => 0,
  });
}

/** Every command that does something, in the order of the help. */
export function leaves(command: Command): Command[] {
  return command.commands.length === 0 ? [command] : command.commands.flatMap(leaves);
}

/** E.g. `dsp-gateway teams show`. */
export function nameOf(command: Command): string {
  return command.parent === null ? command.name() : `${nameOf(command.parent)} ${command.name()}`;
}

export function isAdminCommand(command: Command): boolean {
  return command.options.some(({ helpGroupHeading }) => helpGroupHeading === ADMIN_PLANE.group);
}

export function isTeamCommand(command: Command): boolean {
  return command.options.some(({ helpGroupHeading }) => helpGroupHeading === DATA_PLANE.group);
}

export function cliPage(): string {
  const all = leaves(program());
  const example = all.find(isAdminCommand) as Command;
  const shared = optionsOf(example).filter(({ helpGroupHeading }) => helpGroupHeading === ADMIN_PLANE.group);
  const team = optionsOf(all.find(isTeamCommand) as Command);
  const asTeam = team.filter(({ helpGroupHeading }) => helpGroupHeading === DATA_PLANE.group);
  return `# Command line

\`dsp-gateway\` below is \`node dist/cli.js\` in a checkout, and the image's entry point. Every command says by \`--help\` what
it takes; this page is made from that: \`npx vitest run test/cli/docs.test.ts --update\`.

## The gateway and who asks

Commands that ask a running gateway do so by its admin API. All of them take:

${optionTable(shared)}

What an operator sets once:

\`\`\`
export GATEWAY_ADMIN_URL=http://127.0.0.1:8081
export ADMIN_TOKEN_FILE=~/.config/dsp-gateway/admin.token
dsp-gateway status
\`\`\`

Commands below \`report\` ask as a team, by the data plane and with a team key:

${optionTable(asTeam)}

\`--csv\` is written as it comes, for a file.

Answers go to standard output, as a table or, with \`--json\`, as JSON; everything else goes to standard error.
What others wrote is shown without characters that a terminal acts on; JSON has them as escapes. A key is shown once:
\`keys issue\` and \`keys roll\` do nothing when standard output cannot be written (a blank line is written to a file or
pipe to find out), and a key that could not be shown after all is revoked.

**Secrets are never arguments**: other users of the machine can read those (\`ps\`), and the shell keeps them. A platform
token is read from the file that \`--from-file\` names, else from standard input when that is a pipe, else it is asked for
without being shown. A secret that stands on the command line all the same is refused, and not repeated.

## Exit codes

| Code | Means |
|---|---|
${EXIT_CODES.map(([code, meaning]) => `| ${code} | ${cell(meaning)} |`).join('\n')}

## Teams as a file

\`\`\`
dsp-gateway apply -f teams.yaml --dry-run
dsp-gateway apply -f teams.yaml
\`\`\`

The file holds teams as the admin API takes them; \`config/teams.example.yaml\` is one to start from. A member that is left
out has its default. Keys are never in the file. With \`GATEWAY_TEAMS_FILE\` the file is applied at each start, too, and a
faulty one stops the start.

- Everything is applied in one step or not at all; applying the same file again changes nothing.
- Teams in the file are marked \`"managedBy":"file"\` and refuse edits elsewhere (409 \`conflict\`); their keys are issued,
  rolled and revoked as ever. A team that was made by hand and is in the file is taken over.
- Teams that were made by hand and are not in the file are left alone.
- A team that **left** the file is kept as it is, and goes on being marked: a wrong file must not take anybody's access.
  \`--prune\` deletes such teams and revokes their keys for good; \`--release\` hands them over to management by hand. At a
  start they are always kept, and the log names them.

\`\`\`
~ growth
    advertisers          +7 -2
    limits.maxRangeDays  400 → 92
= finance
? sales is no longer in the file: kept as it is (--release: manage it by hand; --prune: delete it)
1 changed, 1 as declared already, 1 kept though not declared
\`\`\`

The console does the same by a form: *Teams*, *Apply a file*. It shows the difference first.

Faults name the line, the place and what is allowed:

\`\`\`
teams.yaml:8: teams.1.limits.maxRangeDays: was 0; allowed is a whole number from 1 to 10000
\`\`\`

## Commands

${all.map(section).join('\n\n')}
`;
}

function section(command: Command): string {
  const own = optionsOf(command).filter(
    ({ helpGroupHeading }) => ![ADMIN_PLANE.group, DATA_PLANE.group].includes(helpGroupHeading ?? ''),
  );
  const given = [...command.registeredArguments.map(argumentRow), ...own.map(optionRow)];
  const parts = [
    `### ${[nameOf(command).replace(/^dsp-gateway /, ''), ...command.registeredArguments.map(written)].join(' ')}`,
    command.description(),
    ...(given.length === 0 ? [] : [['| | |', '|---|---|', ...given].join('\n')]),
    `\`\`\`\n${examplesOf(command).join('\n')}\n\`\`\``,
  ];
  return parts.join('\n\n');
}

function optionsOf(command: Command): Option[] {
  return command
    .createHelp()
    .visibleOptions(command)
    .filter(({ long }) => long !== '--help');
}

function optionTable(options: readonly Option[]): string {
  return ['| Option | |', '|---|---|', ...options.map(optionRow)].join('\n');
}

function optionRow(option: Option): string {
  const { defaultValue } = option;
  const shown = ['string', 'number'].includes(typeof defaultValue) ? ` (default: ${defaultValue})` : '';
  return `| \`${option.flags}\` | ${cell(option.description + shown)} |`;
}

function argumentRow(argument: Argument): string {
  return `| \`${written(argument)}\` | ${cell(argument.description)} |`;
}

function written(argument: Argument): string {
  return argument.required ? `<${argument.name()}>` : `[${argument.name()}]`;
}

function cell(text: string): string {
  return text.replaceAll('|', '\\|');
}
