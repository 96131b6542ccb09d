import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';

export interface Tab<Name extends string> {
  readonly name: Name;
  readonly label: string;
  readonly href: string;
  /** Shown behind the label. */
  readonly count?: ComponentChildren;
}

/** Links among which one is current: each tab has its own address. */
export const Tabs = <Name extends string>({
  tabs,
  current,
  label,
}: {
  readonly tabs: readonly Tab<Name>[];
  readonly current: Name;
  readonly label: string;
}) => {
  const list = useRef<HTMLElement>(null);
  useEffect(() => showCurrent(list.current), [current]);
  return (
    <nav class="tabs" aria-label={label} ref={list}>
      {tabs.map(({ name, label: text, href, count }) => (
        <a key={name} href={href} aria-current={name === current ? 'page' : undefined}>
          {text}
          {count != null && <span class="count">{count}</span>}
        </a>
      ))}
    </nav>
  );
};

/** On a phone, not all tabs fit. Only the list is scrolled, not the page. */
const showCurrent = (list: HTMLElement | null): void => {
  const tab = list?.querySelector<HTMLElement>('[aria-current]');
  if (!list || !tab) return;
  const [start, end] = [tab.offsetLeft - list.offsetLeft, tab.offsetLeft - list.offsetLeft + tab.offsetWidth];
  if (start < list.scrollLeft) list.scrollLeft = start;
  if (end > list.scrollLeft + list.clientWidth) list.scrollLeft = end - list.clientWidth;
};
