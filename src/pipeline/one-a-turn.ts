/** Work behind answers, one piece in each turn of the event loop: what came meanwhile is never behind more than one. */
import { nextTurn } from '../time.js';

export interface OneATurn {
  /** Resolves when it is one's turn, never in this one. */
  next(): Promise<void>;
}

export function createOneATurn(): OneATurn {
  const waiting: (() => void)[] = [];

  function turn(): void {
    waiting.shift()?.();
    if (waiting.length > 0) nextTurn(turn);
  }

  return {
    next() {
      if (waiting.length === 0) nextTurn(turn);
      return new Promise((resolve) => {
        waiting.push(resolve);
      });
    },
  };
}
