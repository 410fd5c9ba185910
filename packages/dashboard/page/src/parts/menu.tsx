import type { ComponentChildren, JSX } from "preact";
import { useContext, useId, useRef } from "preact/hooks";
import { truncateVisible } from "../format/text.ts";
import type { ActionDraft } from "../page-context.ts";
import { PageContext } from "../page-context.ts";

export interface MenuItem {
  readonly title: string;
  readonly run: () => void;
}

/** A button that opens a list of actions. The browser closes it on Escape or a click elsewhere. */
export function Menu({ label, items }: { label: string; items: readonly MenuItem[] }): JSX.Element {
  const id = useId();
  const list = useRef<HTMLDivElement>(null);
  const button = useRef<HTMLButtonElement>(null);
  return (
    <span class="menu">
      <button
        ref={button}
        type="button"
        class="quiet-button"
        popovertarget={id}
        aria-label={label}
        title={label}
      >
        ⋯
      </button>
      <div
        id={id}
        ref={list}
        popover="auto"
        class="menu-list"
        onBeforeToggle={(event) => {
          if ((event as unknown as ToggleEvent).newState === "open")
            positionList(list.current, button.current);
        }}
      >
        {items.map(({ title, run }) => (
          <button
            key={title}
            type="button"
            onClick={() => {
              list.current?.hidePopover();
              run();
            }}
          >
            {title}
          </button>
        ))}
      </div>
    </span>
  );
}

/** Positions the list below its button or, if there is no room, above it. */
function positionList(list: HTMLElement | null, button: HTMLElement | null): void {
  if (!list || !button) return;
  const { right, bottom, top } = button.getBoundingClientRect();
  const height = 40 * list.childElementCount + 12;
  list.style.right = `${Math.max(8, document.documentElement.clientWidth - right)}px`;
  list.style.top = `${bottom + height > innerHeight ? Math.max(8, top - height) : bottom + 4}px`;
}

/** A button that opens the dialog of an action. The label tells screen readers the object of the action. */
export function ActionButton({
  draft,
  label,
  children,
}: {
  draft: ActionDraft;
  label?: string;
  children: ComponentChildren;
}): JSX.Element {
  const { openDialog } = useContext(PageContext);
  return (
    <button
      type="button"
      aria-label={label === undefined ? undefined : truncateVisible(label, 160)}
      onClick={() => openDialog(draft)}
    >
      {children}
    </button>
  );
}
