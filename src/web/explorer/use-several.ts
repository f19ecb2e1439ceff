/** Loads the reports of several advertisers one after another, so that the platform is asked as little as possible. */
import { useCallback, useEffect, useMemo, useState } from 'preact/hooks';
import { eachOf, type Question } from './question.js';
import { nameIn, type Part } from './several.js';
import { useTeam } from './team.js';
import { loadReport, type Shown, shownPath } from './use-report.js';

/** Path: of its call. */
export type Load = Readonly<{ id: string; path: string }> &
  (
    | { readonly is: 'waiting' | 'loading' | 'stopped' }
    | { readonly is: 'failed'; readonly error: unknown }
    | { readonly is: 'loaded'; readonly report: Shown }
  );

export type LoadOf<Is extends Load['is']> = Extract<Load, { readonly is: Is }>;

export interface Several {
  /** In the order of the question. */
  readonly loads: readonly Load[];
  /** Keeps what is loaded. */
  readonly stop: () => void;
  /** Loads what failed or was stopped. */
  readonly resume: () => void;
  /** Loads all again. */
  readonly again: () => void;
}

/** @param known a report that is loaded already. What another question has in common with it, and with the one before, is kept */
export function useSeveral(question: Question, known: Load | null = null): Several {
  const { api } = useTeam();
  const parts = useMemo(
    () => eachOf(question).map((one) => ({ id: one.advertiserId, path: shownPath(one) })),
    [JSON.stringify(question)],
  );
  const startFrom = (was: readonly (Load | null)[]): Load[] =>
    parts.map(
      (part) =>
        was.find((one) => one?.is === 'loaded' && one.path === part.path) ?? { ...part, is: 'waiting' },
    );
  const [{ of, loads }, setState] = useState({ of: parts, loads: startFrom([known]) });
  const current = useMemo(() => (of === parts ? loads : startFrom(loads)), [of, loads, parts]);
  const [turn, setTurn] = useState({ of: parts, isOn: true });
  // Another question starts at once.
  const isOn = turn.isOn || turn.of !== parts;
  useEffect(() => {
    const ending = new AbortController();
    const { signal } = ending;
    const set = (load: Load) =>
      setState((was) => {
        const now = was.of === parts ? was.loads : startFrom(was.loads);
        return { of: parts, loads: now.map((one) => (one.id === load.id ? load : one)) };
      });
    const loaded = new Set(current.flatMap(({ id, is }) => (is === 'loaded' ? id : [])));
    const left = parts.filter(({ id }) => !loaded.has(id));
    // A stop keeps what failed, with its reason.
    const failed = new Set(current.flatMap(({ id, is }) => (is === 'failed' ? id : [])));
    for (const part of left)
      if (isOn || !failed.has(part.id)) set({ ...part, is: isOn ? 'waiting' : 'stopped' });
    const run = async () => {
      for (const part of left) {
        if (signal.aborted) return;
        set({ ...part, is: 'loading' });
        try {
          const report = await loadReport(api, part.path, signal);
          if (!signal.aborted) set({ ...part, is: 'loaded', report });
        } catch (error) {
          if (!signal.aborted) set({ ...part, is: 'failed', error });
        }
      }
    };
    if (isOn) void run();
    return () => ending.abort();
  }, [parts, turn]);
  return {
    loads: current,
    stop: useCallback(() => setTurn({ of: parts, isOn: false }), [parts]),
    resume: useCallback(() => setTurn({ of: parts, isOn: true }), [parts]),
    again: useCallback(() => {
      setState({ of: parts, loads: parts.map((part) => ({ ...part, is: 'waiting' })) });
      setTurn({ of: parts, isOn: true });
    }, [parts]),
  };
}

/** Those that are loaded. @param nameOf of advertisers whose rows have no name */
export const partsOf = (loads: readonly Load[], nameOf: (id: string) => string | null): Part[] =>
  loads.flatMap((load): Part[] => {
    if (load.is !== 'loaded') return [];
    return [{ id: load.id, name: nameIn(load.report) ?? nameOf(load.id), report: load.report }];
  });

/** Whether it is asked, or will be. */
export const isOpen = ({ is }: Load): boolean => is === 'waiting' || is === 'loading';
