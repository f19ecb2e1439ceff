/** `dsp-gateway completion`: what a shell offers at a tab, made from the commands themselves. */
import { Argument, type Command, type Option } from 'commander';
import { withExamples } from './define.js';
import type { Terminal } from './terminal.js';

/** What may follow at one place of the command line. */
interface Place {
  /** The words up to there, each after a blank; empty at the beginning. */
  readonly at: string;
  readonly words: readonly Offer[];
  readonly options: readonly Offer[];
}

interface Offer {
  readonly name: string;
  readonly about: string;
  readonly takesValue: boolean;
}

const SHELLS: Readonly<Record<string, (places: readonly Place[]) => string>> = { bash, zsh, fish };

export function addCompletionCommand(program: Command, { print }: Terminal): void {
  const completion = program
    .command('completion')
    .description(
      'Print what a shell needs to complete commands and options; it is read once when the shell starts.',
    )
    .addArgument(new Argument('<shell>', 'which one').choices(Object.keys(SHELLS)))
    .action((shell: string) => print((SHELLS[shell] as typeof bash)(placesOf(program))));
  withExamples(completion, [
    'source <(dsp-gateway completion bash)',
    'source <(dsp-gateway completion zsh)',
    'dsp-gateway completion fish | source',
  ]);
}

/** The innermost first, for the first that fits is taken. */
function placesOf(command: Command, at = ''): Place[] {
  const words = command.commands.map((one) => offer(one.name(), one.description(), false));
  const choices = command.registeredArguments.flatMap(({ argChoices = [] }) =>
    argChoices.map((name) => offer(name, '', false)),
  );
  const options = command
    .createHelp()
    .visibleOptions(command)
    .flatMap(({ long, description, required, optional }: Option) =>
      long ? [offer(long, description, required || optional)] : [],
    );
  const inner = command.commands.flatMap((one) => placesOf(one, `${at} ${one.name()}`));
  return [...inner, { at, words: [...words, ...choices], options }];
}

/** The first clause of a description is enough for a line. */
function offer(name: string, description: string, takesValue: boolean): Offer {
  const about = (description.split(/[.;:(]/)[0] ?? '').replace(/['"\\`$[\]]/g, '').trim();
  return { name, about, takesValue };
}

const names = (offers: readonly Offer[]) => offers.map(({ name }) => name).join(' ');

function bash(places: readonly Place[]): string {
  const cases = places.map(
    ({ at, words, options }) => `    "${at} "*) words="${names(words)}" options="${names(options)}" ;;`,
  );
  return `_dsp_gateway() {
  local now="\${COMP_WORDS[COMP_CWORD]}" before=" " words="" options="" word
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    [[ "$word" == -* ]] || before+="$word "
  done
  case "$before" in
${cases.join('\n')}
  esac
  [[ "$now" == -* ]] && words="$options"
  COMPREPLY=($(compgen -W "$words" -- "$now"))
}
complete -o default -F _dsp_gateway dsp-gateway
`;
}

function zsh(places: readonly Place[]): string {
  const list = (offers: readonly Offer[]) =>
    offers.map(({ name, about }) => `'${name}${about === '' ? '' : `:${about}`}'`).join(' ');
  const cases = places.map(
    ({ at, words, options }) => `    "${at} "*) offers=(${list(words)}); options=(${list(options)}) ;;`,
  );
  return `#compdef dsp-gateway
_dsp_gateway() {
  local before=" " word
  local -a offers options
  for word in "\${(@)words[2,CURRENT-1]}"; do
    [[ "$word" == -* ]] || before+="$word "
  done
  case "$before" in
${cases.join('\n')}
  esac
  if [[ "\${words[CURRENT]}" == -* ]]; then
    _describe -o option options
  elif (( \${#offers} )); then
    _describe command offers
  else
    _files
  fi
}
compdef _dsp_gateway dsp-gateway
`;
}

function fish(places: readonly Place[]): string {
  const lines = places.flatMap(({ at, words, options }) => {
    const seen = at
      .trim()
      .split(' ')
      .filter((word) => word !== '');
    const conditions = [
      ...seen.map((word) => `__fish_seen_subcommand_from ${word}`),
      ...(words.length === 0 ? [] : [`not __fish_seen_subcommand_from ${names(words)}`]),
    ];
    const when = `complete -c dsp-gateway -n '${conditions.join('; and ')}'`;
    return [
      ...words.map(({ name, about }) => `${when} -f -a ${name} -d '${about}'`),
      ...options.map(
        ({ name, about, takesValue }) =>
          `${when} -l ${name.slice(2)}${takesValue ? ' -r' : ''} -d '${about}'`,
      ),
    ];
  });
  return `${lines.join('\n')}\n`;
}
