/** Commands of the admin API as entries: an operation says what a command takes, the entry how its answer is shown. */
import type { Command } from 'commander';
import type { AdminOperation, AnswerOf } from '../api/operations/operation.js';
import { ADMIN_PLANE, type Admin, type ClientOptions, openAdmin } from './client.js';
import { type AddCommand, type CommandHead, command, show, type Typed } from './define.js';
import { type FlagChanges, flagsOf, valuesOf } from './flags.js';
import { confirm } from './read-secret.js';

/** Members of a call by name: of its path, query or body. */
export type Values = Readonly<Record<string, unknown>>;

interface Entry<O extends AdminOperation> extends CommandHead {
  readonly operation: O;
  /** Members that are arguments, in their order: as help shows each, e.g. `<team>`, what it is, and how it is read. */
  readonly args?: Readonly<
    Record<string, readonly [shown: string, about: string, read?: (text: string) => unknown]>
  >;
  /** Flags that are not as the schema of query or body has them. */
  readonly flags?: FlagChanges;
}

/** A command as it was typed. */
export interface Given<O extends AdminOperation = AdminOperation, Own = object>
  extends Typed<ClientOptions & Own> {
  readonly values: Values;
  readonly admin: Admin;
  /** Makes the call. */
  send(values: Values): Promise<AnswerOf<O>>;
}

/** A command that is one call. */
interface CallEntry<O extends AdminOperation> extends Entry<O> {
  /** What is sent, where it is not what was typed. */
  prepare?(given: Given<O>): Values | Promise<Values>;
  /** What a yes is asked for; `--yes` stands for it. */
  confirm?(values: Values): string;
  /** What `--json` prints; absent: the answer. */
  json?(answer: AnswerOf<O>, given: Given<O>): unknown;
  render(answer: AnswerOf<O>, given: Given<O>): string;
}

export function call<const O extends AdminOperation>(entry: CallEntry<O>): AddCommand {
  const own = (added: Command) => {
    entry.own?.(added);
    return entry.confirm === undefined ? added : added.option('--yes', 'do not ask');
  };
  return steps({
    ...entry,
    own,
    async run(given: Given<O, { readonly yes?: boolean }>) {
      const { terminal, options } = given;
      const values = (await entry.prepare?.(given)) ?? given.values;
      if (entry.confirm !== undefined) await confirm(terminal, entry.confirm(values), options.yes);
      const answer = await given.send(values);
      show(terminal, options, entry.json === undefined ? answer : entry.json(answer, given), () =>
        entry.render(answer, given),
      );
    },
  });
}

/** A command with steps of its own. Its operation says what it takes, and which call it stands for. */
interface StepsEntry<O extends AdminOperation> extends Entry<O> {
  run(given: Given<O>): Promise<void>;
}

export function steps<const O extends AdminOperation>(entry: StepsEntry<O>): AddCommand {
  const { operation, args = {}, flags: changes = {} } = entry;
  const flags = flagsOf(operation.query ?? operation.body ?? {}, changes, (path) => path in args);
  return command<ClientOptions>({
    ...entry,
    plane: ADMIN_PLANE,
    own(added) {
      for (const [shown, about, read = (text: string) => text] of Object.values(args))
        added.argument(shown, about, read);
      for (const { option } of flags) added.addOption(option);
      return entry.own?.(added) ?? added;
    },
    meaning: {
      call: operation.call,
      members: new Map([
        ...Object.entries(args).map(([member, [shown]]) => [member, shown] as const),
        ...flags.map(({ path, option }) => [path, option.long ?? option.flags] as const),
      ]),
    },
    async run(given) {
      const { options, typed, terminal } = given;
      const admin = openAdmin(options, terminal.env);
      const values = { ...valuesOf(flags, { ...options }) };
      for (const [at, member] of Object.keys(args).entries())
        if (typed[at] !== undefined) values[member] = typed[at];
      const send = (sent: Values) => admin.ask(operation, inputOf(operation, sent));
      await entry.run({ ...given, values, admin, send });
    },
  });
}

/** Where each member goes: into the path, the query or the body. */
function inputOf({ path, query, body }: AdminOperation, values: Values) {
  const { id, ...others } = values;
  const members = path === undefined ? values : others;
  return {
    id: path && (id as string),
    query: query && members,
    body: body && (members as never),
  };
}
