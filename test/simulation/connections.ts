/** A replica's connections to the platform, in the place of undici's. */
import { Dispatcher } from 'undici';

export type Asked = Dispatcher.DispatchOptions;

export interface UnderWay {
  fail(error: Error): void;
  /** Without a word to whoever asked. */
  end(): void;
}
type Receive = (asked: Asked, handler: Dispatcher.DispatchHandler, open: Set<UnderWay>) => void;

export class Connections extends Dispatcher {
  readonly #open = new Set<UnderWay>();
  readonly #receive: Receive;

  constructor(receive: Receive) {
    super();
    this.#receive = receive;
  }
  get underWay(): number {
    return this.#open.size;
  }
  /** As those of a process that is killed. */
  forget(): void {
    for (const { end } of this.#open) end();
  }
  override dispatch(asked: Asked, handler: Dispatcher.DispatchHandler): boolean {
    this.#receive(asked, handler, this.#open);
    return true;
  }
  override async close(): Promise<void> {}
  override async destroy(): Promise<void> {
    for (const { fail } of this.#open) fail(new Error('the connections are closed'));
  }
}
