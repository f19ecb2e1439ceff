/** Notices of success and failure, announced to screen readers. */
import { type ComponentChildren, createContext } from 'preact';
import { useCallback, useContext, useEffect, useMemo, useState } from 'preact/hooks';
import { Refused, wordsWithId } from './api.js';
import { Button } from './parts.js';

type Notice = Readonly<{ kind: 'done' | 'fault'; words: string }>;

export interface Notices {
  done(words: string): void;
  fault(error: unknown): void;
  clear(): void;
  /** Shows a dialog that stays open when the part of the page that opened it is removed; null closes it. */
  show(dialog: ComponentChildren): void;
  /** Runs an action and shows its success or failure. @returns whether it succeeded */
  act(work: () => Promise<unknown>, words: string): Promise<boolean>;
}

/** How long a success is shown. */
const SHOWN_MS = 8000;

const Current = createContext<Notices | null>(null);

export function useNotices(): Notices {
  const notices = useContext(Current);
  if (notices === null) throw new Error('no notices here');
  return notices;
}

export function WithNotices({ children }: { readonly children: ComponentChildren }) {
  const [notice, setNotice] = useState<Notice | null>(null);
  const [dialog, show] = useState<ComponentChildren>(null);
  const clear = useCallback(() => setNotice(null), []);
  // A fault stays until it is read.
  useEffect(() => {
    if (notice?.kind !== 'done') return;
    const timer = setTimeout(clear, SHOWN_MS);
    return () => clearTimeout(timer);
  }, [notice]);
  const notices = useMemo<Notices>(() => {
    const done = (words: string) => setNotice({ kind: 'done', words });
    const fault = (error: unknown) => setNotice({ kind: 'fault', words: wordsWithId(error) });
    return {
      done,
      fault,
      clear,
      show,
      act: async (work, words) => {
        setNotice(null);
        try {
          await work();
          done(words);
          return true;
        } catch (error) {
          fault(error);
          return false;
        }
      },
    };
  }, [clear]);
  return (
    <Current.Provider value={notices}>
      {children}
      {dialog}
      <div class="notices">
        <div role="status">{notice?.kind === 'done' ? <Shown {...notice} close={clear} /> : null}</div>
        <div role="alert">{notice?.kind === 'fault' ? <Shown {...notice} close={clear} /> : null}</div>
      </div>
    </Current.Provider>
  );
}

function Shown({ kind, words, close }: Notice & { readonly close: () => void }) {
  return (
    <div class={`notice ${kind}`}>
      <span>{words}</span>
      <Button label="×" class="plain" aria-label="Close this message" act={close} />
    </div>
  );
}

/** Only pages over https or from this machine have a clipboard; others copy what is selected. @param shown is selected; null: the text is not shown. @throws Refused */
export async function copied(text: string, shown: HTMLElement | null): Promise<void> {
  if (shown instanceof HTMLInputElement) shown.select();
  else if (shown !== null) getSelection()?.selectAllChildren(shown);
  const isCopied = await navigator.clipboard?.writeText(text).then(
    () => true,
    () => false,
  );
  if (isCopied === true) return;
  const own = shown ?? document.body.appendChild(document.createElement('p'));
  if (shown === null) {
    own.textContent = text;
    getSelection()?.selectAllChildren(own);
  }
  const isTaken = document.execCommand('copy');
  if (shown === null) own.remove();
  if (isTaken) return;
  const detail = 'The browser does not allow copying: press Ctrl+C or ⌘C.';
  throw new Refused({ title: 'Not copied', detail, status: 0, code: 'unknown' }, null);
}
