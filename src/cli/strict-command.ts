/** Refuses two mistakes that commander accepts: repeated options, and flags as values. */
import { Command, type Option } from 'commander';

export class StrictCommand extends Command {
  #words: readonly string[] = [];

  override createCommand(name?: string): StrictCommand {
    return new StrictCommand(name);
  }

  override parseOptions(words: string[]): ReturnType<Command['parseOptions']> {
    this.#words = words;
    return super.parseOptions(words);
  }

  override addOption(option: Option): this {
    // Registered before commander's listener, which reads the value.
    if (option.required) this.on(`option:${option.name()}`, (text: string) => this.#refuseSlip(option, text));
    return super.addOption(option);
  }

  #refuseSlip(option: Option, text: string): void {
    const { flags, long, parseArg } = option;
    // A parser with two parameters accumulates values.
    const isRepeatable = parseArg !== undefined && parseArg.length > 1;
    if (!isRepeatable && this.getOptionValueSource(option.attributeName()) === 'cli')
      this.error(`error: option '${flags}' is given twice`);
    // Not repeated: the value may contain a secret.
    if (text.startsWith('--') && !this.#words.includes(`${long}=${text}`))
      this.error(
        `error: option '${flags}' is followed by a flag; write a value that begins with -- as ${long}=--…`,
      );
  }
}
