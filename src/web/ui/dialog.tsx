/** Buttons that open a dialog. */
import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { Button } from './parts.js';

interface DialogProps {
  readonly title: string;
  readonly close: () => void;
  readonly children: ComponentChildren;
}

/** Open while mounted; Escape closes it, and the focus returns. */
function Dialog({ title, close, children }: DialogProps) {
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
        <Button label="×" class="plain" aria-label="Close" act={close} />
      </div>
      {children}
    </dialog>
  );
}

interface DialogButtonProps {
  /** On the button and, by default, above the dialog. */
  readonly label: string;
  readonly title?: string;
  /** For screen readers, if several buttons have this label. */
  readonly name?: string | undefined;
  readonly look?: string | undefined;
  readonly disabled?: boolean;
  readonly children: (close: () => void) => ComponentChildren;
}

export function DialogButton(props: DialogButtonProps) {
  const { label, title = label, name, look = '', disabled = false, children } = props;
  const [open, setOpen] = useState(false);
  const close = () => setOpen(false);
  return (
    <>
      <Button label={label} class={look} aria-label={name} disabled={disabled} act={() => setOpen(true)} />
      {open ? (
        <Dialog title={title} close={close}>
          {children(close)}
        </Dialog>
      ) : null}
    </>
  );
}

interface ConfirmProps extends Pick<DialogButtonProps, 'label' | 'disabled'> {
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
