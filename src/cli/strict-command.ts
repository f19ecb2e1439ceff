/** Refuses two slips that commander lets pass, by which less or more would be done than was meant. */
import { Command, type Option } from 'commander';

/** Of two values commander takes the last, and as a value whatever comes next. */
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
    // Before commander's own listener, which reads the value.
    if (option.required) this.on(`option:${option.name()}`, (text: string) => this.#refuseSlip(option, text));
    return super.addOption(option);
  }

  #refuseSlip(option: Option, text: string): void {
    const { flags, long, parseArg } = option;
    // What reads the value before it, too, loses nothing of it.
    const isRepeatable = parseArg !== undefined && parseArg.length > 1;
    if (!isRepeatable && this.getOptionValueSource(option.attributeName()) === 'cli')
      this.error(`error: option '${flags}' is given twice`);
    // The value may be a flag with a secret, so it is not repeated.
    if (text.startsWith('--') && !this.#words.includes(`${long}=${text}`))
      this.error(
        `error: option '${flags}' is followed by a flag; a value that begins with -- is given as ${long}=--…`,
      );
  }
}
