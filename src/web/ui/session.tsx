/** The session. Scripts cannot read its cookie, so the page asks the gateway about it. */
import { type ComponentChildren, createContext } from 'preact';
import { useCallback, useContext, useEffect, useMemo, useState } from 'preact/hooks';
import { type Answer, type CallOptions, call, type Method, Refused, wordsOf } from './api.js';
import { type Loaded, useLoad } from './load.js';
import { Looking } from './parts.js';
import { SignInPage, type SignInWords } from './sign-in.js';

/** The members that both planes answer. */
export type SessionBase = Readonly<{ csrf: string; expiresAt: string }> & HeldBy;

/** Of the console and of the explorer: whether a person has signed in with a company account. */
interface HeldBy {
  readonly isPerson?: boolean;
  readonly person?: object | null;
}

const isOfPerson = ({ isPerson, person }: HeldBy) => isPerson === true || (person ?? null) !== null;

/** Calls with the session. @throws Refused, Unreachable */
export interface Api {
  get<T>(path: string, signal?: AbortSignal): Promise<T>;
  /** With headers and the unparsed body. */
  raw(path: string, signal?: AbortSignal, isFresh?: boolean): Promise<Answer>;
  send<T>(method: Exclude<Method, 'GET'>, path: string, body?: unknown): Promise<T>;
}

export interface Signed<S extends SessionBase> {
  readonly session: S;
  readonly api: Api;
  /** Reloads the session: its role or scopes may have changed. @throws Refused, Unreachable */
  readonly refresh: () => Promise<void>;
  readonly signOut: () => Promise<void>;
}

const Current = createContext<Signed<SessionBase> | null>(null);

/** Only below {@link SessionGate}. */
export function useSigned<S extends SessionBase>(): Signed<S> {
  const signed = useContext(Current);
  if (signed === null) throw new Error('nobody is signed in');
  return signed as unknown as Signed<S>;
}

/** Loads a path. @param path null: nothing */
export function useGet<T>(path: string | null, everyMs: number | null = null): Loaded<T> {
  const { api } = useSigned();
  return useLoad(path, (signal) => api.get<T>(path ?? '', signal), everyMs);
}

export interface GateProps extends SignInWords {
  /** Of the session calls, `/admin/v1/session`. */
  readonly path: string;
  /** The member of the body with the secret. */
  readonly member: 'token' | 'key';
  readonly children: ComponentChildren;
}

type State =
  | { readonly is: 'looking' }
  | { readonly is: 'out'; readonly why: string | null }
  | { readonly is: 'in'; readonly session: SessionBase };

const ENDED = 'Your session has ended. Sign in again to continue.';

/** Shows the sign-in page without a session, else its children. */
export function SessionGate({ path, member, children, ...words }: GateProps) {
  const [state, setState] = useState<State>({ is: 'looking' });
  const look = useCallback(async () => {
    const { text } = await call('GET', path);
    // An unchanged session keeps its identity, which avoids rendering.
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
        api: createApi(session.csrf, ended, refresh),
        refresh,
        signOut: async () => {
          if (isOfPerson(session)) return leave(session.csrf);
          // It may have ended already.
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
    return <SignInPage {...words} why={state.is === 'out' ? state.why : null} signIn={signIn} />;
  }
  return <Current.Provider value={signed}>{children}</Current.Provider>;
}

/** Ends a person's session here, then at the provider, which sends the browser back. */
async function leave(csrf: string): Promise<void> {
  const { text } = await call('POST', '/auth/logout', { csrf });
  location.assign((JSON.parse(text) as { location: string }).location);
}

const isSignedOut = (error: unknown): boolean => error instanceof Refused && error.problem.status === 401;

/** @param ended the session has ended. @param refresh the role or scopes have changed */
function createApi(csrf: string, ended: () => void, refresh: () => Promise<void>): Api {
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
    raw: (path, signal, isFresh = false) => asked('GET', path, { ...withSignal(signal), isFresh }),
    send: async (method, path, body) =>
      parsed(await asked(method, path, { csrf, ...(body === undefined ? {} : { body }) })),
  };
}
