/** What a view shows, asked for when it opens, and again from time to time while somebody looks. */
import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { Unreachable } from './api.js';

export interface Loaded<T> {
  /** The newest that came; it stays while a newer one is asked for, and when that fails. */
  readonly value: T | null;
  readonly error: unknown;
  /** Under way for the first time, or for another question. */
  readonly loading: boolean;
  readonly reload: () => void;
}

/**
 * @param question names what is asked; a new one drops the old value. null asks nothing
 * @param everyMs asks again so often, in a tab that is visible
 */
export function useLoad<T>(
  question: string | null,
  ask: (signal: AbortSignal) => Promise<T>,
  everyMs: number | null = null,
): Loaded<T> {
  const [state, setState] = useState<{
    question: string | null;
    value: T | null;
    error: unknown;
  }>({
    question: null,
    value: null,
    error: null,
  });
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
          setState({ question, value, error: null });
        },
        (error: unknown) => {
          if (ending.signal.aborted) return;
          reportReach(!(error instanceof Unreachable));
          setState((was) => ({
            question,
            value: was.question === question ? was.value : null,
            error,
          }));
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
    loading: question !== null && (!current || (state.value === null && state.error === null)),
    reload,
  };
}

/** Once, then again each time after a while; a hidden tab asks nothing, and does so at once when it is seen again. */
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

/** Whether the gateway answers; told by every call that is loaded. */
type ReachListener = (reached: boolean) => void;
const listeners = new Set<ReachListener>();

function reportReach(reached: boolean): void {
  for (const listener of listeners) listener(reached);
}

/** @returns false after a call that nobody answered, until one is answered */
export function useReach(): boolean {
  const [reached, setReached] = useState(true);
  useEffect(() => {
    listeners.add(setReached);
    return () => void listeners.delete(setReached);
  }, []);
  return reached;
}
