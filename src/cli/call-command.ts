/** Commands of the admin API: the operation defines flags and types, the entry how the answer is rendered. */
import type { Command } from 'commander';
import type { AdminOperation, AnswerOf } from '../api/operations/operation.js';
import { ADMIN_PLANE, type Admin, type ClientOptions, openAdmin } from './client.js';
import { type AddCommand, type CommandHead, command, show, type Typed } from './define.js';
import { type FlagChanges, flagsOf, valuesOf } from './flags.js';
import { confirm } from './read-secret.js';

/** Members of the path, query or body of a call, by name. */
export type Values = Readonly<Record<string, unknown>>;

interface Entry<O extends AdminOperation> extends CommandHead {
  readonly operation: O;
  /** Members that are arguments, in order: placeholder, e.g. `<team>`, description, and parser. */
  readonly args?: Readonly<
    Record<string, readonly [shown: string, about: string, read?: (text: string) => unknown]>
  >;
  readonly flags?: FlagChanges;
}

export interface Given<O extends AdminOperation = AdminOperation, Own = object>
  extends Typed<ClientOptions & Own> {
  readonly values: Values;
  readonly admin: Admin;
  send(values: Values): Promise<AnswerOf<O>>;
}

/** A command that is one call. */
interface CallEntry<O extends AdminOperation> extends Entry<O> {
  prepare?(given: Given<O>): Values | Promise<Values>;
  /** The confirmation prompt; `--yes` skips it. */
  confirm?(values: Values): string;
  /** Output of `--json`; default: the answer. */
  json?(answer: AnswerOf<O>, given: Given<O>): unknown;
  render(answer: AnswerOf<O>, given: Given<O>): string;
}

export function call<const O extends AdminOperation>(entry: CallEntry<O>): AddCommand {
  const own = (added: Command) => {
    entry.own?.(added);
    return entry.confirm === undefined ? added : added.option('--yes', 'skip confirmation');
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

type StepsEntry<O extends AdminOperation> = Entry<O> & { run(given: Given<O>): Promise<void> };

/** A command with its own steps. Its operation defines flags, and the call it is shown for in errors. */
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
    apiCall: {
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

/** Assigns members to path, query or body. */
function inputOf({ path, query, body }: AdminOperation, values: Values) {
  const { id, ...others } = values;
  const members = path === undefined ? values : others;
  return { id: path && (id as string), query: query && members, body: body && (members as never) };
}
