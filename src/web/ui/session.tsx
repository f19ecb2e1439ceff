/** Who is signed in. The cookie is out of reach of scripts; the page knows what the gateway says of it. */
import { type ComponentChildren, createContext } from 'preact';
import { useCallback, useContext, useEffect, useMemo, useState } from 'preact/hooks';
import { type Answer, type CallOptions, call, type Method, Refused, wordsOf } from './api.js';
import { type Loaded, useLoad } from './load.js';
import { Looking } from './parts.js';

/** What both planes say of a session. */
export interface SessionBase {
  readonly csrf: string;
  readonly expiresAt: string;
}

/** The calls of a page, by the session. All throw Refused and Unreachable. */
export interface Api {
  get<T>(path: string, signal?: AbortSignal): Promise<T>;
  /** With headers, and the body as it came. */
  raw(path: string, signal?: AbortSignal): Promise<Answer>;
  send<T>(method: Exclude<Method, 'GET'>, path: string, body?: unknown): Promise<T>;
}

export interface Signed<S extends SessionBase> {
  readonly session: S;
  readonly api: Api;
  /** Asks the gateway again who is signed in: a role or scope may have changed. @throws Refused, Unreachable */
  readonly refresh: () => Promise<void>;
  readonly signOut: () => Promise<void>;
}

const Current = createContext<Signed<SessionBase> | null>(null);

/** Below {@link SessionGate} alone. */
export function useSigned<S extends SessionBase>(): Signed<S> {
  const signed = useContext(Current);
  if (signed === null) throw new Error('nobody is signed in');
  return signed as unknown as Signed<S>;
}

/** What a path of the gateway answers, with the session of who is signed in. @param path null asks nothing */
export function useGet<T>(path: string | null, everyMs: number | null = null): Loaded<T> {
  const { api } = useSigned();
  return useLoad(path, (signal) => api.get<T>(path ?? '', signal), everyMs);
}

export interface SignInProps {
  /** Why it has to be done, where it was not done by the person: the session ended. */
  readonly why: string | null;
  /** @param secret what is typed. @throws Refused, Unreachable */
  readonly signIn: (secret: string) => Promise<void>;
}

interface GateProps {
  /** Where sessions are made and ended, `/admin/v1/session`. */
  readonly path: string;
  /** The member of the body that holds the secret. */
  readonly member: 'token' | 'key';
  readonly signInPage: (props: SignInProps) => ComponentChildren;
  readonly children: ComponentChildren;
}

type State =
  | { readonly is: 'looking' }
  | { readonly is: 'out'; readonly why: string | null }
  | { readonly is: 'in'; readonly session: SessionBase };

const ENDED = 'Your session has ended. Sign in again to continue.';

/** Shows the sign-in page until somebody is signed in; a reload of the page asks the gateway whether it still is so. */
export function SessionGate({ path, member, signInPage, children }: GateProps) {
  const [state, setState] = useState<State>({ is: 'looking' });
  const look = useCallback(async () => {
    const { text } = await call('GET', path);
    // The same session keeps its identity: nothing is drawn anew.
    setState((was) => {
      const isNew = was.is === 'looking' || (was.is === 'in' && JSON.stringify(was.session) !== text);
      return isNew ? { is: 'in', session: JSON.parse(text) as SessionBase } : was;
    });
  }, [path]);
  useEffect(() => {
    look().catch((error: unknown) =>
      setState({ is: 'out', why: isSignedOut(error) ? null : wordsOf(error) }),
    );
  }, [look]);
  const ended = useCallback(() => setState((was) => (was.is === 'in' ? { is: 'out', why: ENDED } : was)), []);
  const refresh = useCallback(
    () =>
      look().catch((error: unknown) => {
        if (!isSignedOut(error)) throw error;
        ended();
      }),
    [look, ended],
  );
  useEffect(() => {
    const focused = () => void refresh().catch(() => {});
    window.addEventListener('focus', focused);
    return () => window.removeEventListener('focus', focused);
  }, [refresh]);
  const session = state.is === 'in' ? state.session : null;
  const signed = useMemo(
    () =>
      session && {
        session,
        api: createApi(session.csrf, { ended, refresh }),
        refresh,
        signOut: async () => {
          // One that is over already is what was wanted.
          await call('DELETE', path, { csrf: session.csrf }).catch((error: unknown) => {
            if (!isSignedOut(error)) throw error;
          });
          setState({ is: 'out', why: null });
        },
      },
    [session, ended, refresh, path],
  );
  if (state.is === 'looking') return <Looking />;
  if (signed === null) {
    const signIn = async (secret: string) => {
      const { text } = await call('POST', path, { body: { [member]: secret } });
      setState({ is: 'in', session: JSON.parse(text) as SessionBase });
    };
    return <>{signInPage({ why: state.is === 'out' ? state.why : null, signIn })}</>;
  }
  return <Current.Provider value={signed}>{children}</Current.Provider>;
}

const isSignedOut = (error: unknown): boolean => error instanceof Refused && error.problem.status === 401;

interface Told {
  /** The gateway knows the session no more. */
  readonly ended: () => void;
  /** A call was refused that the page offered. */
  readonly refresh: () => Promise<void>;
}

function createApi(csrf: string, { ended, refresh }: Told): Api {
  async function asked(method: Method, path: string, options?: CallOptions): Promise<Answer> {
    try {
      return await call(method, path, options);
    } catch (error) {
      if (isSignedOut(error)) ended();
      if (error instanceof Refused && error.problem.status === 403) void refresh().catch(() => {});
      throw error;
    }
  }
  const parsed = <T,>({ text }: Answer): T => (text === '' ? null : JSON.parse(text)) as T;
  const withSignal = (signal?: AbortSignal) => (signal === undefined ? {} : { signal });
  return {
    get: async (path, signal) => parsed(await asked('GET', path, withSignal(signal))),
    raw: (path, signal) => asked('GET', path, withSignal(signal)),
    send: async (method, path, body) =>
      parsed(await asked(method, path, { csrf, ...(body === undefined ? {} : { body }) })),
  };
}
