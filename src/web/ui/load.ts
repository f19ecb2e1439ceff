/** Loads the data of a view, repeatedly while it is visible. */
import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { Unreachable } from './api.js';

export interface Loaded<T> {
  /** The last loaded value; it stays during a reload, and if that fails. */
  readonly value: T | null;
  readonly error: unknown;
  /** When the value was loaded, if a later reload failed; null: it is the latest. */
  readonly staleSince: Date | null;
  /** There is neither value nor error for this question yet. */
  readonly loading: boolean;
  readonly reload: () => void;
}

/**
 * @param question identifies the data; another one drops the value. null: nothing is loaded
 * @param everyMs interval of reloads in a visible tab; null: none
 */
export function useLoad<T>(
  question: string | null,
  ask: (signal: AbortSignal) => Promise<T>,
  everyMs: number | null = null,
): Loaded<T> {
  const nothing = {
    question: null as string | null,
    value: null as T | null,
    loadedAt: null as Date | null,
    error: null as unknown,
  };
  const [state, setState] = useState(nothing);
  const [turn, setTurn] = useState(0);
  const asking = useRef(ask);
  asking.current = ask;
  useEffect(() => {
    if (question === null) return;
    const ending = new AbortController();
    const once = () =>
      asking.current(ending.signal).then(
        (value) => {
          if (ending.signal.aborted) return;
          reportReach(true);
          setState({ question, value, loadedAt: new Date(), error: null });
        },
        (error: unknown) => {
          if (ending.signal.aborted) return;
          reportReach(!(error instanceof Unreachable));
          setState((was) => ({ ...(was.question === question ? was : nothing), question, error }));
        },
      );
    const stop = whileVisible(once, everyMs);
    return () => {
      ending.abort();
      stop();
    };
  }, [question, everyMs, turn]);
  const reload = useCallback(() => setTurn((was) => was + 1), []);
  const current = state.question === question;
  return {
    value: current ? state.value : null,
    error: current ? state.error : null,
    staleSince: current && state.error !== null ? state.loadedAt : null,
    loading: question !== null && (!current || (state.value === null && state.error === null)),
    reload,
  };
}

/** Runs once, then at intervals. A hidden tab pauses, and runs at once when it is visible again. */
function whileVisible(once: () => Promise<void>, everyMs: number | null): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let ended = false;
  let isAsking = false;
  const turn = async () => {
    clearTimeout(timer);
    if (ended || isAsking || document.hidden) return;
    isAsking = true;
    await once();
    isAsking = false;
    if (everyMs === null) ended = true;
    else if (!ended) timer = setTimeout(() => void turn(), everyMs);
  };
  const seen = () => void turn();
  document.addEventListener('visibilitychange', seen);
  void turn();
  return () => {
    ended = true;
    clearTimeout(timer);
    document.removeEventListener('visibilitychange', seen);
  };
}

/** Called after each loaded call: whether the gateway responds. */
const listeners = new Set<(reached: boolean) => void>();

function reportReach(reached: boolean): void {
  for (const listener of listeners) listener(reached);
}

/** @returns whether the gateway responded to the last call */
export function useReach(): boolean {
  const [reached, setReached] = useState(true);
  useEffect(() => {
    listeners.add(setReached);
    return () => void listeners.delete(setReached);
  }, []);
  return reached;
}
