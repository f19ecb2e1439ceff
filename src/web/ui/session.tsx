/** Who is signed in. The cookie is out of reach of scripts; the page knows what the gateway says of it. */
import { type ComponentChildren, createContext } from 'preact';
import { useCallback, useContext, useEffect, useMemo, useState } from 'preact/hooks';
import { type Answer, type CallOptions, call, type Method, Refused, wordsOf } from './api.js';

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
  readonly signOut: () => Promise<void>;
}

const Current = createContext<Signed<SessionBase> | null>(null);

/** Below {@link SessionGate} alone. */
export function useSigned<S extends SessionBase>(): Signed<S> {
  const signed = useContext(Current);
  if (signed === null) throw new Error('nobody is signed in');
  return signed as unknown as Signed<S>;
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

const ENDED = 'Your session has ended. Sign in again to go on where you were.';

/** Shows the sign-in page until somebody is signed in; a reload of the page asks the gateway whether it still is so. */
export function SessionGate({ path, member, signInPage, children }: GateProps) {
  const [state, setState] = useState<State>({ is: 'looking' });
  useEffect(() => {
    call('GET', path)
      .then(({ text }) => setState({ is: 'in', session: JSON.parse(text) as SessionBase }))
      .catch((error: unknown) => setState({ is: 'out', why: isSignedOut(error) ? null : wordsOf(error) }));
  }, [path]);
  const ended = useCallback(() => setState({ is: 'out', why: ENDED }), []);
  const session = state.is === 'in' ? state.session : null;
  const signed = useMemo(
    () =>
      session && {
        session,
        api: createApi(session.csrf, ended),
        signOut: async () => {
          // One that is over already is what was wanted.
          await call('DELETE', path, { csrf: session.csrf }).catch((error: unknown) => {
            if (!isSignedOut(error)) throw error;
          });
          setState({ is: 'out', why: null });
        },
      },
    [session, ended, path],
  );
  if (state.is === 'looking')
    return (
      <p class="looking" role="status">
        One moment …
      </p>
    );
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

/** @param ended told when the gateway knows the session no more */
function createApi(csrf: string, ended: () => void): Api {
  async function asked(method: Method, path: string, options?: CallOptions): Promise<Answer> {
    try {
      return await call(method, path, options);
    } catch (error) {
      if (isSignedOut(error)) ended();
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
