/** Buttons that open a dialog. */
import type { ComponentChildren } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { Button } from './parts.js';

interface DialogProps {
  readonly title: string;
  /** Absent: Escape does not close it. */
  readonly close?: () => void;
  readonly children: ComponentChildren;
}

const FIELD = ':is(input, select, textarea):not(:disabled)';

/** Open while mounted, with the focus in its first field if it has one; then the focus returns. */
export function Dialog({ title, close, children }: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  // Before the next key: what is typed at once is in the field.
  useLayoutEffect(() => {
    const before = document.activeElement;
    dialog.current?.showModal();
    dialog.current?.querySelector<HTMLElement>(FIELD)?.focus();
    return () => {
      if (before instanceof HTMLElement && before.isConnected) before.focus();
    };
  }, []);
  return (
    <dialog ref={dialog} aria-label={title} onClose={close ?? (() => dialog.current?.showModal())}>
      <div class="card-head">
        <h2>{title}</h2>
        {close && <Button label="×" class="plain" aria-label="Close" act={close} />}
      </div>
      {children}
    </dialog>
  );
}

interface DialogButtonProps {
  readonly label: string;
  /** Above the dialog and, for screen readers, on the button; by default the label. */
  readonly title?: string | undefined;
  readonly look?: string | undefined;
  readonly disabled?: boolean;
  readonly children: (close: () => void) => ComponentChildren;
}

export function DialogButton(props: DialogButtonProps) {
  const { label, title = label, look = '', disabled = false, children } = props;
  const [open, setOpen] = useState(false);
  const close = () => setOpen(false);
  return (
    <>
      <Button label={label} class={look} aria-label={title} disabled={disabled} act={() => setOpen(true)} />
      {open ? (
        <Dialog title={title} close={close}>
          {children(close)}
        </Dialog>
      ) : null}
    </>
  );
}

interface ConfirmProps extends Pick<DialogButtonProps, 'label' | 'title' | 'disabled'> {
  readonly question: ComponentChildren;
  /** Red: the action cannot be undone. */
  readonly grave?: boolean;
  readonly act: () => unknown;
}

/** A button whose action needs a confirmation. */
export const ConfirmButton = ({ question, grave = false, act, ...button }: ConfirmProps) => (
  <DialogButton {...button} look={grave ? 'grave' : ''}>
    {(close) => (
      <>
        <div>{question}</div>
        <div class="row end">
          <Button label="Cancel" act={close} />
          <Button
            label={button.label}
            class={grave ? 'grave primary' : 'primary'}
            act={() => {
              close();
              return act();
            }}
          />
        </div>
      </>
    )}
  </DialogButton>
);
