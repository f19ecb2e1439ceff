/** Questions before what cannot be undone, and forms that need room. */
import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';

interface DialogProps {
  readonly title: string;
  readonly close: () => void;
  readonly children: ComponentChildren;
}

/** Open as long as it is there; Escape closes it, and the focus goes back to where it was. */
export function Dialog({ title, close, children }: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const before = document.activeElement;
    dialog.current?.showModal();
    return () => {
      if (before instanceof HTMLElement && before.isConnected) before.focus();
    };
  }, []);
  return (
    <dialog ref={dialog} aria-label={title} onClose={close}>
      <div class="card-head">
        <h2>{title}</h2>
        <button type="button" class="plain" aria-label="Close" onClick={close}>
          ×
        </button>
      </div>
      {children}
    </dialog>
  );
}

interface ConfirmProps {
  /** On the button that opens the question, and on the one that answers it. */
  readonly label: string;
  readonly question: ComponentChildren;
  /** What cannot be undone is shown in red. */
  readonly grave?: boolean;
  readonly disabled?: boolean;
  readonly act: () => Promise<unknown>;
}

/** A button that asks first. */
export function ConfirmButton({ label, question, grave = false, disabled = false, act }: ConfirmProps) {
  const [open, setOpen] = useState(false);
  const close = () => setOpen(false);
  return (
    <>
      <button type="button" class={grave ? 'grave' : ''} disabled={disabled} onClick={() => setOpen(true)}>
        {label}
      </button>
      {open ? (
        <Dialog title={label} close={close}>
          <div>{question}</div>
          <div class="row end">
            <button type="button" onClick={close}>
              Cancel
            </button>
            <button
              type="button"
              class={grave ? 'grave primary' : 'primary'}
              onClick={() => {
                close();
                void act();
              }}
            >
              {label}
            </button>
          </div>
        </Dialog>
      ) : null}
    </>
  );
}
